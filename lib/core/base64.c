#include "core/base64.h"

#include "core/num.h"

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int
base64_length(uint64_t n, uint64_t *length)
{
	uint64_t groups = n / 3 + (n % 3 != 0);

	return num_mul(groups, 4, length);
}

void
base64_put(struct buf *b, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n > 0) {
		size_t have = n < 3 ? n : 3;
		uint32_t v = (uint32_t)from[0] << 16 | (have > 1 ? (uint32_t)from[1] << 8 : 0) |
		             (have > 2 ? from[2] : 0);
		uint8_t *to = buf_room(b, 4);

		if (!to)
			return;
		to[0] = (uint8_t)alphabet[v >> 18];
		to[1] = (uint8_t)alphabet[v >> 12 & 63];
		to[2] = (uint8_t)(have > 1 ? alphabet[v >> 6 & 63] : '=');
		to[3] = (uint8_t)(have > 2 ? alphabet[v & 63] : '=');
		b->n += 4;
		from += have;
		n -= have;
	}
}

static int
digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes a complete group of four characters to one to three bytes. Unused bits must be
 * zero, so that the same bytes have only one spelling. */
static int
close_group(struct base64_reader *r, struct buf *b)
{
	uint8_t bytes[3] = { (uint8_t)(r->bits >> 16), (uint8_t)(r->bits >> 8),
		(uint8_t)r->bits };
	unsigned n = 3 - r->pads, i;

	for (i = n; i < 3; i++)
		if (bytes[i])
			return -1;
	buf_put(b, bytes, n);
	r->bits = 0;
	r->have = 0;
	return 0;
}

int
base64_add(struct base64_reader *r, const void *text, size_t n, struct buf *b)
{
	const uint8_t *p = text;

	for (; n > 0; n--, p++) {
		int v = digit(*p);

		if (*p == '=' && r->have >= 2)
			r->pads++, v = 0;
		else if (v < 0 || r->pads)
			return -1;
		r->bits = r->bits << 6 | (uint32_t)v;
		if (++r->have == 4 && close_group(r, b) < 0)
			return -1;
	}
	return 0;
}

int
base64_end(const struct base64_reader *r)
{
	return r->have == 0 ? 0 : -1;
}
