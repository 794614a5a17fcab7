/* base64: bytes as text (RFC 4648: standard alphabet, padded, no line breaks). The
 * decoder is strict: each sequence of bytes has exactly one spelling.
 */
#ifndef CORE_BASE64_H
#define CORE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* Sets *length to the number of characters that n bytes take. Returns 0, or -1 on
 * overflow. */
int base64_length(uint64_t n, uint64_t *length);

/* Appends the text of n bytes, padding included. The texts of several pieces can be joined
 * only if each piece except the last is a multiple of 3 bytes. */
void base64_put(struct buf *b, const void *p, size_t n);

/* A decoder for text that arrives in pieces. Initialize it to zero. */
struct base64_reader {
	uint32_t bits;  /* of the incomplete group of four characters */
	unsigned have;  /* characters in that group */
	unsigned pads;  /* '=' read so far; only '=' may follow the first */
};

/* Decodes n more characters and appends the bytes to b. Returns 0, or -1 if they are not
 * base64. */
int base64_add(struct base64_reader *r, const void *text, size_t n, struct buf *b);

/* Returns 0 if the text can end here, else -1. */
int base64_end(const struct base64_reader *r);

#endif
