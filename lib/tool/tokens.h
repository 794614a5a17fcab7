/* tokens: a list of token numbers, as a person writes it. */
#ifndef TOOL_TOKENS_H
#define TOOL_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct tokens {
	uint32_t *p; /* free it */
	size_t n, cap;
};

int tokens_add(struct tokens *t, uint32_t id, struct err *e);

/* ID,ID,… with blanks between. ERR_USAGE where that is no number, or there is none. */
int tokens_parse(struct tokens *t, const char *text, struct err *e);

#endif
