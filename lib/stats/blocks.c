#include "stats/blocks.h"

#include <stdbool.h>
#include <string.h>

#include "core/le.h"

enum scale { HALF, FLOAT, POWER, QUARTERS };
enum word { ANY, TRITS, PAIRS, TRUTH };

#define NONE UINT8_MAX

/* A type: where scale and minimum are in a block, and the codes whose bytes are zero if the
 * scale is 0 (code_bytes 0: any may stand there). */
struct blocks_row {
	const char *type;
	enum scale form;
	uint8_t scale, least; /* offsets; NONE: the block has none */
	bool positive;        /* the scale is, */
	bool magnitude;       /* and the minimum: of K types. Those of Q4_1 and Q5_1 are values */
	uint8_t code;
	uint8_t code_bytes;
	uint8_t zero;         /* two codes of 0, as a byte */
	enum word word;
};

static const struct blocks_row rows[] = {
	{ "Q4_0", HALF, 0, NONE, false, false, 2, 16, 0x88, ANY },
	{ "Q4_1", HALF, 0, 2, true, false, 4, 16, 0, ANY },
	{ "Q5_0", HALF, 0, NONE, false, false, 0, 0, 0, ANY },
	{ "Q5_1", HALF, 0, 2, true, false, 4, 20, 0, ANY },
	{ "Q8_0", HALF, 0, NONE, true, false, 2, 32, 0, ANY },
	{ "Q8_1", HALF, 0, NONE, true, false, 4, 32, 0, ANY },
	{ "Q2_K", HALF, 80, 82, true, true, 16, 64, 0, ANY },
	{ "Q3_K", HALF, 108, NONE, false, false, 0, 0, 0, ANY },
	{ "Q4_K", HALF, 0, 2, true, true, 16, 128, 0, ANY },
	{ "Q5_K", HALF, 0, 2, true, true, 16, 160, 0, ANY },
	{ "Q6_K", HALF, 208, NONE, false, false, 0, 0, 0, ANY },
	{ "Q8_K", FLOAT, 0, NONE, false, false, 0, 0, 0, ANY },
	{ "IQ1_S", HALF, 0, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ1_M", QUARTERS, 48, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ2_XXS", HALF, 0, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ2_XS", HALF, 0, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ2_S", HALF, 0, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ3_XXS", HALF, 0, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ3_S", HALF, 0, NONE, true, false, 0, 0, 0, ANY },
	{ "IQ4_NL", HALF, 0, NONE, false, false, 0, 0, 0, ANY },
	{ "IQ4_XS", HALF, 0, NONE, false, false, 0, 0, 0, ANY },
	{ "MXFP4", POWER, 0, NONE, false, false, 0, 0, 0, ANY },
	{ "TQ1_0", HALF, 52, NONE, true, false, 0, 52, 0, TRITS },
	{ "TQ2_0", HALF, 64, NONE, true, false, 0, 64, 0, PAIRS },
	{ "BOOL", HALF, NONE, NONE, false, false, 0, 1, 0, TRUTH },
};

const struct blocks_row *
blocks_row(const struct dtype *t)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].type, t->name) == 0)
			return &rows[i];
	return NULL;
}

/* The bits of a scale as those of a half: infinite and NaN, sign, zero and the largest are
 * kept. */
static uint16_t
half_of(enum scale form, const uint8_t *x)
{
	uint32_t u;

	switch (form) {
	case HALF:
		return le16(x);
	case QUARTERS:
		return (uint16_t)(le16(x) >> 12 | le16(x + 2) >> 12 << 4 |
		                  le16(x + 4) >> 12 << 8 | le16(x + 6) >> 12 << 12);
	case POWER: /* the exponent 255 is NaN */
		return *x == 255 ? 0x7e00 : 0x3c00;
	case FLOAT:
		break;
	}
	u = le32(x);
	if ((u & INT32_MAX) >= 0x7f800000)
		return 0x7e00;
	return (uint16_t)((u & INT32_MAX ? 0x3c00 : 0) | u >> 31 << 15);
}

static bool
is_only(const uint8_t *x, size_t n, uint8_t byte)
{
	uint8_t other = 0;

	while (n-- > 0)
		other |= (uint8_t)(*x++ ^ byte);
	return other == 0;
}

/* True if a byte of TQ1_0 holds five digits of base 3: the fraction n / 243 in 256ths,
 * rounded up. */
static bool
is_trits(uint8_t byte)
{
	unsigned n = byte * 243u / 256;

	return (n * 256 + 242) / 243 == byte;
}

static bool
is_word(enum word word, uint8_t byte)
{
	switch (word) {
	case TRITS:
		return is_trits(byte);
	case PAIRS: /* no pair of bits is 3 */
		return (byte & byte >> 1 & 0x55) == 0;
	case TRUTH:
		return byte < 2;
	case ANY:
		break;
	}
	return true;
}

static uint64_t
other_words(const struct blocks_row *r, const uint8_t *x)
{
	uint64_t found = 0;
	size_t i;

	for (i = 0; r->word != ANY && i < r->code_bytes; i++)
		found += !is_word(r->word, x[r->code + i]);
	return found;
}

static void
judge_half(uint16_t h, bool positive, struct blocks *b)
{
	b->not_finite += (h & 0x7c00) == 0x7c00;
	b->saturated += (h & 0x7fff) == 0x7bff;
	b->negative += positive && h > 0x8000 && (h & 0x7c00) != 0x7c00;
}

static void
judge(const struct blocks_row *r, const uint8_t *x, struct blocks *b)
{
	uint16_t h;

	b->words += other_words(r, x);
	if (r->scale == NONE)
		return;
	h = half_of(r->form, x + r->scale);
	judge_half(h, r->positive, b);
	if (r->least != NONE)
		judge_half(le16(x + r->least), r->magnitude, b);
	if ((h & 0x7fff) == 0 && r->word == ANY && r->code_bytes)
		b->zero += !is_only(x + r->code, r->code_bytes, r->zero);
}

static uint64_t
all_of(const struct blocks *b)
{
	return b->not_finite + b->negative + b->zero + b->saturated + b->words;
}

void
blocks_of(const struct blocks_row *r, const struct dtype *t, const uint8_t *x, size_t bytes,
          uint64_t at, struct blocks *b)
{
	*b = (struct blocks)BLOCKS_INIT;
	if (!r)
		return;
	for (; bytes >= t->bytes; bytes -= t->bytes, x += t->bytes, b->count++) {
		judge(r, x, b);
		if (b->first == UINT64_MAX && all_of(b))
			b->first = at + b->count;
	}
}

void
blocks_join(struct blocks *b, const struct blocks *behind)
{
	if (b->first == UINT64_MAX)
		b->first = behind->first;
	b->count += behind->count;
	b->not_finite += behind->not_finite;
	b->negative += behind->negative;
	b->zero += behind->zero;
	b->saturated += behind->saturated;
	b->words += behind->words;
}
