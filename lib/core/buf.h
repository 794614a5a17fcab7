/* buf: a growable run of bytes, and the only way text and headers are built.
 *
 * A buf of all zeros is empty and valid. Failure is sticky: after a failed
 * growth every put is ignored and buf_ok() is false, so that a builder checks
 * once at its end.
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
void buf_u16(struct buf *b, uint16_t v); /* little-endian, as all below */
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);

/* Room for n more bytes, to be filled by the caller, who then adds to b->n;
 * NULL on failure. */
uint8_t *buf_room(struct buf *b, size_t n);

static inline bool
buf_ok(const struct buf *b)
{
	return !b->failed;
}

/* The bytes as a terminated string (the terminator is not counted), or NULL. */
const char *buf_string(struct buf *b);

/* Empty it and keep the room; free it. */
void buf_clear(struct buf *b);
void buf_free(struct buf *b);

#endif
