/* text: the text of generated tokens, as far as it can be shown: whole characters, without anything
 * that may turn out to be the beginning of a stop text.
 */
#ifndef GENERATE_TEXT_H
#define GENERATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

struct text {
	const char *const *stops; /* none of them empty; not owned */
	size_t stop_count;
	bool stopped;             /* a stop text has come */

	/* Private. */
	struct buf held;          /* bytes that have not been given out */
	uint64_t given;           /* bytes given out before these */
	size_t ready;             /* how many held bytes may be shown; a stop text, or what
	                           * may become one, follows them */
	bool ended;
};

/* Add bytes. They are ignored after a stop text. */
void text_add(struct text *t, const void *p, size_t n);

/* No more bytes come: bytes held for a stop text may be shown. */
void text_end(struct text *t);

/* Append to out the characters that end within the first `until` of all added bytes, except
 * those given out before and those that may not be shown yet. Bytes that are not part of a
 * character become U+FFFD; an incomplete character at the end, a stop text and all that
 * follows it are dropped. Returns false if later bytes decide the rest of these characters.
 * Out of memory: out->failed. */
bool text_take(struct text *t, uint64_t until, struct buf *out);

void text_free(struct text *t);

#endif
