/* squeeze: numbers in few bytes, by arithmetic coding. Each bit has a model, which learns how often
 * the bit is 1. The same calls write and read, so that both take the same steps: they return what was
 * written or read, and a reader ignores what it is given to write.
 *
 * SQUEEZE_WRITES is defined where tables are made; other files have the reader alone. A reader
 * finds zeros behind the end of its bytes.
 */
#ifndef WASM_SQUEEZE_H
#define WASM_SQUEEZE_H

#include <stddef.h>
#include <stdint.h>

/* How often a bit is 1, of 65536 times. */
struct odds {
	uint16_t one, seen;
};

#define SQUEEZE_MEMORY 12 /* a model forgets what lies much further back */
#define SQUEEZE_LEAST 48  /* no bit is more certain than 1 - LEAST / 65536 */

/* What is written lies in [low, high]; `at` is the value that a reader looks for. */
struct squeeze {
	uint32_t low, high, at;
	uint8_t *to;
	const uint8_t *from, *end;
};

static inline void
squeeze_learn(struct odds *o, unsigned bit)
{
	int aim = bit ? 65536 - SQUEEZE_LEAST : SQUEEZE_LEAST;

	o->one = (uint16_t)(o->one + (aim - o->one) * 2 / (2 * o->seen + 3));
	if (o->seen < SQUEEZE_MEMORY)
		o->seen++;
}

/* Writes or reads a byte when both ends of the range have it. */
static inline void
squeeze_shift(struct squeeze *z)
{
#ifdef SQUEEZE_WRITES
	*z->to++ = (uint8_t)(z->high >> 24);
#else
	z->at = z->at << 8 | (z->from < z->end ? *z->from++ : 0);
#endif
	z->low <<= 8;
	z->high = z->high << 8 | 255;
}

static inline unsigned
squeeze_bit(struct squeeze *z, struct odds *o, unsigned bit)
{
	uint32_t middle;

	if (o->one == 0)
		o->one = 1 << 15;
	middle = z->low + ((z->high - z->low) >> 12) * (o->one >> 4);
#ifndef SQUEEZE_WRITES
	bit = z->at <= middle;
#endif
	if (bit)
		z->high = middle;
	else
		z->low = middle + 1;
	squeeze_learn(o, bit);
	while ((z->low ^ z->high) >> 24 == 0)
		squeeze_shift(z);
	return bit;
}

static inline void
squeeze_begin(struct squeeze *z)
{
	int i;

	z->low = z->at = 0;
	z->high = UINT32_MAX;
	for (i = 0; i < 4; i++)
		z->at = z->at << 8 | (z->from < z->end ? *z->from++ : 0);
}

/* Numbers below 2^NUMBER_BITS: how many bits one has, then those below its first, each by a model of
 * the ones before it, or by its place if those are many. */
#define NUMBER_BITS 22
struct numbers {
	struct odds length[NUMBER_BITS], high[NUMBER_BITS + 1][32], low[NUMBER_BITS];
};

static inline uint32_t
squeeze_number(struct squeeze *z, struct numbers *m, uint32_t v)
{
	uint32_t got = 1;
	unsigned n = 0, bit;

	while (n < NUMBER_BITS && squeeze_bit(z, &m->length[n], v >> n != 0))
		n++;
	if (n == 0)
		return 0;
	for (bit = n - 1; bit-- > 0;)
		got = got << 1 | squeeze_bit(z, got < 32 ? &m->high[n][got] : &m->low[bit],
		                             v >> bit & 1);
	return got;
}

/* Values that are often the last one of the same place. There are two kinds of places: rough
 * ones, and exact ones, which are asked first. */
#define FIELD_EXACT 1024
#define FIELD_ROUGH 64
struct field {
	uint32_t exact[FIELD_EXACT], rough[FIELD_ROUGH];
	struct odds not_exact[FIELD_ROUGH], not_rough[FIELD_ROUGH];
	struct numbers other[8];
};

static inline uint32_t
squeeze_field(struct squeeze *z, struct field *f, unsigned exact, unsigned rough, uint32_t v)
{
	uint32_t *a = &f->exact[exact % FIELD_EXACT], *b = &f->rough[rough %= FIELD_ROUGH];

	if (!squeeze_bit(z, &f->not_exact[rough], v != *a))
		v = *a;
	else if (*a == *b || squeeze_bit(z, &f->not_rough[rough], v != *b))
		v = squeeze_number(z, &f->other[rough % 8], v);
	else
		v = *b;
	*a = *b = v;
	return v;
}

/* A difference as a number without sign; small ones stay small. */
static inline uint32_t
difference_fold(uint32_t to, uint32_t from)
{
	return to >= from ? 2 * (to - from) : 2 * (from - to) - 1;
}

static inline uint32_t
difference_add(uint32_t from, uint32_t folded)
{
	return folded & 1 ? from - (folded + 1) / 2 : from + folded / 2;
}

#endif
