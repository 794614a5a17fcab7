/* buf: a growable array of bytes; all text and headers are built in one.
 *
 * An all-zero buf is empty and valid. Failure is sticky: after an allocation fails, every
 * put is ignored and buf_ok is false, so the caller checks once at the end.
 */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

void buf_put(struct buf *b, const void *p, size_t n);
void buf_text(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void buf_zeros(struct buf *b, size_t n);
void buf_u8(struct buf *b, uint8_t v);
void buf_u16(struct buf *b, uint16_t v); /* little-endian, like those below */
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);
void buf_integer(struct buf *b, size_t bytes, uint64_t v); /* of 1, 2, 4 or 8 bytes */

/* Returns room for n more bytes, or NULL on failure. The caller fills it and adds to
 * b->n. */
uint8_t *buf_room(struct buf *b, size_t n);

static inline bool
buf_ok(const struct buf *b)
{
	return !b->failed;
}

/* Terminates the bytes with a NUL, which b->n does not count. NULL on failure. */
const char *buf_string(struct buf *b);

/* buf_clear empties b and keeps its memory; buf_free releases it. */
void buf_clear(struct buf *b);
void buf_free(struct buf *b);

#endif
