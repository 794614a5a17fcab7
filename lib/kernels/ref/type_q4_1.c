/* Q4_1 and Q5_1: 32 values in 20 or 24 bytes, value = d × code + m.
 *
 *	 0      2      4                20
 *	+------+------+------------------+
 *	| d    | m    | low four bits    |        Q4_1
 *	+------+------+------------------+
 *	 0      2      4       8                24
 *	+------+------+-------+------------------+
 *	| d    | m    | fifth | low four bits    | Q5_1
 *	+------+------+-------+------------------+
 *	  f16    f16    bit i   byte i: code i in the low, code i + 16 in the high
 *	                of code i                                            half
 *
 * m is the least value, d the distance to the largest over the last code. Codes
 * come from both before their rounding to half precision.
 *
 * With importance, d and m are the line of least squared error through codes of
 * 37 candidates, each value weighted by importance × sqrt(mean square of the
 * row + its own square), with m held at zero where it would be positive; codes
 * are those of the search.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <float.h>
#include <math.h>

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum { ITEMS = 32, Q4_BYTES = 20, Q5_BYTES = 24 };

static const struct line_range q4_range = { 15, -0.9f, 0.05f, 36, false };
static const struct line_range q5_range = { 31, -0.9f, 0.05f, 36, false };

/* v is 0 to last, up to rounding. A v that no code can hold (NaN, or infinite where
 * 1/d overflowed) becomes 0, so that the conversion is defined. */
static uint8_t
code_of(float v, int last)
{
	int code;

	v += 0.5f;
	v = v >= 0 && v < 128.0f ? v : 0;
	code = (int)v;
	return (uint8_t)(code < last ? code : last);
}

static void
block_put(float d, float m, const uint8_t *code, int last, uint8_t *y)
{
	uint32_t fifth = 0;
	int i;

	half_put(y, d);
	half_put(y + 2, m);
	y += 4;
	if (last == 31) {
		for (i = 0; i < ITEMS; i++)
			fifth |= (uint32_t)(code[i] >> 4) << i;
		le32_put(y, fifth);
		y += 4;
	}
	nibbles_pack(code, y);
}

static inline void
block_encode(const float *x, int last, uint8_t *y)
{
	float d, inverse, least = FLT_MAX, most = -FLT_MAX;
	uint8_t code[ITEMS];
	int i;

	for (i = 0; i < ITEMS; i++) {
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
	}
	d = (most - least) / (float)last;
	inverse = d != 0 ? 1.0f / d : 0;
	for (i = 0; i < ITEMS; i++)
		code[i] = code_of((x[i] - least) * inverse, last);
	block_put(d, least, code, last, y);
}

/* Quantize up to LANES blocks of a row whose mean square is power. */
static void
blocks_encode_weighted(const float *x, const float *importance, float power, int count,
                       const struct line_range *r, uint8_t *y, int bytes)
{
	static const float none[LANES];
	float powers[LANES];
	uint8_t code[LANES * ITEMS];
	struct line_fit f;
	struct lanes l;
	int j;

	lanes_set(powers, power);
	search->load(&l, x, ITEMS, count);
	search->weigh_power(&l, importance, powers, count);
	search->line(&l, r, &f);
	search->line_codes(&l, &f, none, none, r->most, code);
	for (j = 0; j < count; j++, y += bytes)
		block_put(f.scale[j], f.offset[j], code + ITEMS * j, r->most, y);
}

static void
row_encode_weighted(const float *x, const float *importance, size_t n,
                    const struct line_range *r, uint8_t *y, int bytes)
{
	float power = squares(x, n) / (float)n;
	size_t blocks = n / ITEMS, i;
	int count;

	for (i = 0; i < blocks; i += LANES) {
		count = blocks - i < LANES ? (int)(blocks - i) : LANES;
		blocks_encode_weighted(x + i * ITEMS, importance + i * ITEMS, power, count,
		                       r, y + i * (size_t)bytes, bytes);
	}
}

static inline void
block_decode(const uint8_t *x, int last, float *y)
{
	float d = half_f16_f32(le16(x)), m = half_f16_f32(le16(x + 2));
	uint32_t fifth = last == 31 ? le32(x + 4) : 0;
	uint8_t code[ITEMS];
	int i;

	nibbles_unpack(x + (last == 31 ? 8 : 4), code);
	for (i = 0; i < ITEMS; i++)
		y[i] = (float)(int)(code[i] | (fifth >> i & 1) << 4) * d + m;
}

static void
q4_1_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q4_BYTES)
		block_encode(x, 15, y);
}

static void
q4_1_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	row_encode_weighted(x, importance, n, &q4_range, y, Q4_BYTES);
}

static void
q4_1_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q4_BYTES, y += ITEMS)
		block_decode(x, 15, y);
}

static void
q5_1_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q5_BYTES)
		block_encode(x, 31, y);
}

static void
q5_1_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	row_encode_weighted(x, importance, n, &q5_range, y, Q5_BYTES);
}

static void
q5_1_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q5_BYTES, y += ITEMS)
		block_decode(x, 31, y);
}

const struct kernel KERNEL(q4_1) = {
	"Q4_1", ONLY_WRITES(q4_1_encode), ONLY_WRITES(q4_1_encode_weighted), q4_1_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(q5_1) = {
	"Q5_1", ONLY_WRITES(q5_1_encode), ONLY_WRITES(q5_1_encode_weighted), q5_1_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
