/* text: what a model says, token by token, as text that may be shown: whole characters,
 * and nothing that could yet turn out to be the beginning of a stop text.
 */
#ifndef GENERATE_TEXT_H
#define GENERATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"

struct text {
	const char *const *stops; /* none of them empty; the caller's */
	size_t stop_count;
	struct buf held;          /* bytes that were not given out yet */
	bool stopped;
};

/* Add bytes, and append to out what may be shown now. Bytes that are no part of a
 * character become U+FFFD. After a stop text nothing more is, and stopped is set; the
 * stop text itself is not shown. */
void text_add(struct text *t, const void *p, size_t n, struct buf *out);

/* At the end: what was held for a stop text is shown; a character that is not whole is
 * not. */
void text_end(struct text *t, struct buf *out);

void text_free(struct text *t);

#endif
