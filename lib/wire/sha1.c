#include "wire/sha1.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 64

static uint32_t
left(uint32_t x, unsigned bits)
{
	return x << bits | x >> (32 - bits);
}

static uint32_t
big32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Function and constant of a step: they change every 20 steps. */
static uint32_t
mixed(unsigned step, const uint32_t *v)
{
	switch (step / 20) {
	case 0:
		return (v[3] ^ (v[1] & (v[2] ^ v[3]))) + 0x5a827999;
	case 1:
		return (v[1] ^ v[2] ^ v[3]) + 0x6ed9eba1;
	case 2:
		return ((v[1] & v[2]) | (v[3] & (v[1] | v[2]))) + 0x8f1bbcdc;
	default:
		return (v[1] ^ v[2] ^ v[3]) + 0xca62c1d6;
	}
}

static void
add_block(struct sha1_sum *s, const uint8_t *p)
{
	uint32_t w[80], v[5], next;
	unsigned i;

	for (i = 0; i < 16; i++)
		w[i] = big32(p + 4 * i);
	for (; i < 80; i++)
		w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(v, s->h, sizeof v);
	for (i = 0; i < 80; i++) {
		next = left(v[0], 5) + mixed(i, v) + v[4] + w[i];
		v[4] = v[3];
		v[3] = v[2];
		v[2] = left(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (i = 0; i < 5; i++)
		s->h[i] += v[i];
}

void
sha1_sum_begin(struct sha1_sum *s)
{
	*s = (struct sha1_sum){ .h = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 } };
}

void
sha1_sum_add(struct sha1_sum *s, const void *from, size_t n)
{
	const uint8_t *p = from;
	size_t have = (size_t)(s->bytes % BLOCK), room = BLOCK - have;

	s->bytes += n;
	if (have > 0 && n >= room) {
		memcpy(s->block + have, p, room);
		add_block(s, s->block);
		p += room;
		n -= room;
		have = 0;
	}
	for (; have == 0 && n >= BLOCK; p += BLOCK, n -= BLOCK)
		add_block(s, p);
	if (n > 0)
		memcpy(s->block + have, p, n);
}

void
sha1_sum_end(struct sha1_sum *s, char text[41])
{
	const uint64_t bits = s->bytes * 8;
	const uint8_t one = 0x80, zero = 0;
	uint8_t length[8];
	unsigned i;

	sha1_sum_add(s, &one, 1);
	while (s->bytes % BLOCK != BLOCK - sizeof length)
		sha1_sum_add(s, &zero, 1);
	for (i = 0; i < sizeof length; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha1_sum_add(s, length, sizeof length);
	for (i = 0; i < 5; i++)
		snprintf(text + 8 * i, 9, "%08x", (unsigned)s->h[i]);
}
