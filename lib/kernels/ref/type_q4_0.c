/* Q4_0 and Q5_0: 32 values in 18 or 22 bytes, value = d × (code - half), where
 * half is 8 or 16.
 *
 *	 0      2                18
 *	+------+------------------+
 *	| d    | low four bits    |        Q4_0
 *	+------+------------------+
 *	 0      2       6                22
 *	+------+-------+------------------+
 *	| d    | fifth | low four bits    | Q5_0
 *	+------+-------+------------------+
 *	  f16    bit i   byte i: code i in the low, code i + 16 in the high half
 *	         of code i
 *
 * d is the value of largest magnitude over -half: that value, whatever its sign,
 * becomes code 0 exactly, and the other end reaches the last code at most. Codes
 * come from d before its rounding to half precision.
 *
 * With importance, d has the least squared error of 19 candidates around that
 * one, each value weighted by importance × sqrt(mean square of the row + its
 * own square); codes are those of the search.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <math.h>

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum { ITEMS = 32, Q4_BYTES = 18, Q5_BYTES = 22 };

/* The first value of the largest magnitude. */
static float
extreme(const float *x)
{
	float a, most = 0, value = 0;
	int i;

	for (i = 0; i < ITEMS; i++) {
		a = fabsf(x[i]);
		value = a > most ? x[i] : value;
		most = a > most ? a : most;
	}
	return value;
}

/* v is -half to half, up to rounding. A v that no code can hold (NaN, or infinite
 * where 1/d overflowed) becomes 0, so that the conversion is defined. */
static uint8_t
code_of(float v, int half)
{
	int code;

	v += (float)half + 0.5f;
	v = fabsf(v) < 128.0f ? v : 0;
	code = (int)v;
	return (uint8_t)(code < 2 * half ? code : 2 * half - 1);
}

static void
block_put(float d, const uint8_t *code, int half, uint8_t *y)
{
	uint32_t fifth = 0;
	int i;

	half_put(y, d);
	y += 2;
	if (half == 16) {
		for (i = 0; i < ITEMS; i++)
			fifth |= (uint32_t)(code[i] >> 4) << i;
		le32_put(y, fifth);
		y += 4;
	}
	nibbles_pack(code, y);
}

static inline void
block_encode(const float *x, int half, uint8_t *y)
{
	float d = extreme(x) / (float)-half;
	float inverse = d != 0 ? 1.0f / d : 0;
	uint8_t code[ITEMS];
	int i;

	for (i = 0; i < ITEMS; i++)
		code[i] = code_of(x[i] * inverse, half);
	block_put(d, code, half, y);
}

/* Quantize up to LANES blocks of a row whose mean square is power. */
static void
blocks_encode_weighted(const float *x, const float *importance, float power, int count,
                       int half, uint8_t *y, int bytes)
{
	static const float none[LANES];
	float powers[LANES];
	uint8_t code[LANES * ITEMS];
	struct scale_fit f;
	struct lanes l;
	int j;

	lanes_set(powers, power);
	search->load(&l, x, ITEMS, count);
	search->weigh_power(&l, importance, powers, count);
	search->scale(&l, half, &f);
	search->scale_codes(&l, &f, none, half, code);
	for (j = 0; j < count; j++, y += bytes)
		block_put(f.scale[j], code + ITEMS * j, half, y);
}

static void
row_encode_weighted(const float *x, const float *importance, size_t n, int half, uint8_t *y,
                    int bytes)
{
	float power = squares(x, n) / (float)n;
	size_t blocks = n / ITEMS, i;
	int count;

	for (i = 0; i < blocks; i += LANES) {
		count = blocks - i < LANES ? (int)(blocks - i) : LANES;
		blocks_encode_weighted(x + i * ITEMS, importance + i * ITEMS, power, count,
		                       half, y + i * (size_t)bytes, bytes);
	}
}

static inline void
block_decode(const uint8_t *x, int half, float *y)
{
	float d = half_f16_f32(le16(x));
	uint32_t fifth = half == 16 ? le32(x + 2) : 0;
	uint8_t code[ITEMS];
	int i;

	nibbles_unpack(x + (half == 16 ? 6 : 2), code);
	for (i = 0; i < ITEMS; i++)
		y[i] = (float)((int)(code[i] | (fifth >> i & 1) << 4) - half) * d;
}

static void
q4_0_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q4_BYTES)
		block_encode(x, 8, y);
}

static void
q4_0_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	row_encode_weighted(x, importance, n, 8, y, Q4_BYTES);
}

static void
q4_0_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q4_BYTES, y += ITEMS)
		block_decode(x, 8, y);
}

static void
q5_0_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q5_BYTES)
		block_encode(x, 16, y);
}

static void
q5_0_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	row_encode_weighted(x, importance, n, 16, y, Q5_BYTES);
}

static void
q5_0_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q5_BYTES, y += ITEMS)
		block_decode(x, 16, y);
}

const struct kernel KERNEL(q4_0) = {
	"Q4_0", ONLY_WRITES(q4_0_encode), ONLY_WRITES(q4_0_encode_weighted), q4_0_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(q5_0) = {
	"Q5_0", ONLY_WRITES(q5_0_encode), ONLY_WRITES(q5_0_encode_weighted), q5_0_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
