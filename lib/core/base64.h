/* base64: bytes as text (RFC 4648, the standard alphabet, padded, no line ends).
 * Read strictly: each sequence of bytes has one spelling.
 */
#ifndef CORE_BASE64_H
#define CORE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* Characters that n bytes take: 0 and *length, or -1 where that overflows. */
int base64_length(uint64_t n, uint64_t *length);

/* Append the text of n bytes, padding included: texts of pieces can only be
 * joined where each piece but the last is a multiple of 3. */
void base64_put(struct buf *b, const void *p, size_t n);

/* A decoder for text that arrives in pieces. All zero is its beginning. */
struct base64_reader {
	uint32_t bits;  /* of the group of four that is incomplete */
	unsigned have;  /* characters of it */
	unsigned pads;  /* '=' so far: after the first, nothing else may come */
};

/* Append to b what n more characters say. 0, or -1 if they are no base64. */
int base64_add(struct base64_reader *r, const void *text, size_t n, struct buf *b);

/* 0 if the text may end here. */
int base64_end(const struct base64_reader *r);

#endif
