/* pattern: PCRE2 regular expressions, unanchored, with limits on what a match
 * may cost, so that no pattern can hang a pipe. */
#ifndef CORE_PATTERN_H
#define CORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct pattern {
	const char *text;  /* as given; not owned */
	void *code, *data; /* PCRE2's */
	uint64_t matches;  /* so far: a pattern that matched nothing is an error */
};

/* Compile text (UTF-8). ERR_USAGE if it is no pattern. */
int pattern_open(struct pattern *p, const char *text, struct err *e);

/* Does it match somewhere in s? 1, 0, or -1 where the limits were exceeded. */
int pattern_match(struct pattern *p, const char *s, struct err *e);

void pattern_close(struct pattern *p);

#endif
