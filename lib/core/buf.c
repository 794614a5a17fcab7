#include "core/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"

uint8_t *
buf_room(struct buf *b, size_t n)
{
	size_t need, cap = b->cap ? b->cap : 256;
	uint8_t *p;

	if (b->failed)
		return NULL;
	if (__builtin_add_overflow(b->n, n, &need) || need > SIZE_MAX / 2) {
		b->failed = true;
		return NULL;
	}
	if (b->p && need <= b->cap)
		return b->p + b->n;
	while (cap < need)
		cap *= 2;
	p = realloc(b->p, cap);
	if (!p) {
		b->failed = true;
		return NULL;
	}
	b->p = p;
	b->cap = cap;
	return b->p + b->n;
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
	uint8_t *to = buf_room(b, n);

	if (to && n) {
		memcpy(to, p, n);
		b->n += n;
	}
}

void
buf_text(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;
	uint8_t *to;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !(to = buf_room(b, (size_t)n + 1))) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf((char *)to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

void
buf_zeros(struct buf *b, size_t n)
{
	uint8_t *to = buf_room(b, n);

	if (to && n) {
		memset(to, 0, n);
		b->n += n;
	}
}

void
buf_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

void
buf_u16(struct buf *b, uint16_t v)
{
	uint8_t p[2];

	le16_put(p, v);
	buf_put(b, p, sizeof p);
}

void
buf_u32(struct buf *b, uint32_t v)
{
	uint8_t p[4];

	le32_put(p, v);
	buf_put(b, p, sizeof p);
}

void
buf_u64(struct buf *b, uint64_t v)
{
	uint8_t p[8];

	le64_put(p, v);
	buf_put(b, p, sizeof p);
}

void
buf_integer(struct buf *b, size_t bytes, uint64_t v)
{
	uint8_t p[8];

	le64_put(p, v);
	buf_put(b, p, bytes);
}

const char *
buf_string(struct buf *b)
{
	uint8_t *to = buf_room(b, 1);

	if (!to)
		return NULL;
	*to = '\0';
	return (const char *)b->p;
}

void
buf_clear(struct buf *b)
{
	b->n = 0;
	b->failed = false;
}

void
buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}
