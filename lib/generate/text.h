/* text: what a model says, token by token, as text that may be shown: whole characters,
 * and nothing that could yet turn out to be the beginning of a stop text.
 */
#ifndef GENERATE_TEXT_H
#define GENERATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

struct text {
	const char *const *stops; /* none of them empty; the caller's */
	size_t stop_count;
	bool stopped;             /* a stop text came */

	/* Private. */
	struct buf held;          /* bytes that were not given out yet */
	uint64_t given;           /* bytes before these */
	size_t ready;             /* so many that are held may be shown: what follows them is a
	                           * stop text, or may become one */
	bool ended;
};

/* Add bytes. After a stop text they are ignored. */
void text_add(struct text *t, const void *p, size_t n);

/* No more bytes come: what was held for a stop text may be shown. */
void text_end(struct text *t);

/* Append to out the characters that end within the first "until" of all bytes that were
 * added, as far as they may be shown now and were not given out before. Bytes that are
 * no part of a character become U+FFFD; half a character at the end is dropped, as are a
 * stop text and what follows it. Returns whether that is all: false if later bytes decide
 * what the rest becomes. Out of memory: out->failed. */
bool text_take(struct text *t, uint64_t until, struct buf *out);

void text_free(struct text *t);

#endif
