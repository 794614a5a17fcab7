/* Q8_0 and Q8_1: 32 values in 34 or 36 bytes, value = d × code.
 *
 *	 0      2                                34
 *	+------+----------------------------------+
 *	| d    | code 0 … code 31                 | Q8_0
 *	+------+----------------------------------+
 *	 0      2      4                                36
 *	+------+------+----------------------------------+
 *	| d    | sum  | code 0 … code 31                 | Q8_1
 *	+------+------+----------------------------------+
 *	  f16    f16    i8 each, -127 to 127 as written
 *
 * GGML has Q8_1 for activations only; its sum of the values serves products. Models
 * do not store it, so it is only read.
 *
 * d is the largest magnitude over 127, so that -128 is never written; readers accept
 * it. Codes come from d before it is rounded to half precision.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <math.h>

#include "core/half.h"
#include "core/le.h"

enum { ITEMS = 32, CODES = 2, BYTES = CODES + ITEMS, Q8_1_CODES = 4, Q8_1_BYTES = 36 };
_Static_assert(BYTES == 34, "Q8_0 block");

static float
magnitude(const float *x)
{
	float a, most = 0;
	int i;

	for (i = 0; i < ITEMS; i++) {
		a = fabsf(x[i]);
		most = a > most ? a : most;
	}
	return most;
}

/* The nearest integer, halves away from zero. A value that no code can hold (NaN, or
 * infinite where 1/d overflowed) becomes 0, so that the conversion is defined. */
static int
code_of(float v)
{
	int whole;
	float rest;

	v = fabsf(v) < 128.0f ? v : 0;
	whole = (int)v;
	rest = v - (float)whole;
	return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static void
block_encode(const float *x, uint8_t *y)
{
	float d = magnitude(x) / 127.0f;
	float inverse = d != 0 ? 1.0f / d : 0;
	int i;

	le16_put(y, half_f32_f16(d));
	for (i = 0; i < ITEMS; i++)
		y[CODES + i] = (uint8_t)code_of(x[i] * inverse);
}

static void
block_decode(float d, const uint8_t *code, float *y)
{
	int i;

	for (i = 0; i < ITEMS; i++)
		y[i] = (float)(int8_t)code[i] * d;
}

static void
q8_0_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES)
		block_encode(x, y);
}

static void
q8_0_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS)
		block_decode(half_f16_f32(le16(x)), x + CODES, y);
}

static void
q8_1_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q8_1_BYTES, y += ITEMS)
		block_decode(half_f16_f32(le16(x)), x + Q8_1_CODES, y);
}

const struct kernel KERNEL(q8_0) = {
	"Q8_0", ONLY_WRITES(q8_0_encode), NULL, q8_0_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(q8_1) = {
	"Q8_1", NULL, NULL, q8_1_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
