/* MXFP4: 32 values in 17 bytes, value = 2^(e - 128) × level.
 *
 *	 0    1                17
 *	+----+------------------+
 *	| e  | codes            |
 *	+----+------------------+
 *	  u8   as nibbles_pack says
 *
 * The low three bits of a code choose a magnitude, the fourth the sign: a float
 * of two exponent bits and one of fraction, here doubled to whole numbers.
 *
 * e is the exponent of the largest magnitude, less 2, so that this becomes 4 to
 * 6 (doubled: 8 to 12). Each value takes the nearest level, the smaller one of
 * two as near; zero is always code 0.
 * Source: OCP Microscaling Formats 1.0 for the layout; GGML's reference
 * quantizer for the choices.
 */
#include "kernels/ref/types.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/common/pack.h"

enum { ITEMS = 32, CODES = 1, BYTES = CODES + ITEMS / 2 };
_Static_assert(BYTES == 17, "MXFP4 block");

static const int8_t levels[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* 2^(e - 128), for any e; subnormal below 2. */
static float
power_of(uint8_t e)
{
	uint32_t u = e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23;
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

/* floorf(log2f(v)) for v > 0, as a correctly rounded log2f gives it: within some
 * steps below 2^k, the logarithm of 1 - steps / 2^24 is lost beside k. */
static int
exponent_of(float v)
{
	int subnormal = v < FLT_MIN;
	uint32_t u, steps;
	int k, reach = 1;

	v *= subnormal ? 0x1p24f : 1.0f;
	memcpy(&u, &v, sizeof u);
	k = (int)(u >> 23) - 126 - (subnormal ? 24 : 0);
	steps = 0x800000u - (u & 0x7fffff);

	/* Floats just below k lie 2^-24 × reach apart, and log2(e) is 1.4427. */
	while (reach < (k < 0 ? 1 - k : k))
		reach *= 2;
	return steps * UINT64_C(14427) < (unsigned)reach * UINT64_C(5000) ? k : k - 1;
}

static int
code_of(float v, float d)
{
	float a = fabsf(v), best = a, error;
	int code = 0, i;

	for (i = 1; i < 8; i++) {
		error = fabsf((float)levels[i] * d - a);
		code = error < best ? i : code;
		best = error < best ? error : best;
	}
	return code && v < 0 ? code + 8 : code;
}

static void
block_encode(const float *x, uint8_t *y)
{
	uint8_t code[ITEMS];
	float most = 0;
	int i;

	for (i = 0; i < ITEMS; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;

	/* Below 2^-125 e wraps, as it does in GGML: the block, whose scale is then
	 * huge, decodes to zeros. */
	y[0] = most > 0 ? (uint8_t)(exponent_of(most) - 2 + 127) : 0;
	for (i = 0; i < ITEMS; i++)
		code[i] = (uint8_t)code_of(x[i], power_of(y[0]));
	nibbles_pack(code, y + CODES);
}

static void
block_decode(const uint8_t *x, float *y)
{
	float d = power_of(x[0]);
	uint8_t code[ITEMS];
	int i;

	nibbles_unpack(x + CODES, code);
	for (i = 0; i < ITEMS; i++)
		y[i] = (float)levels[code[i]] * d;
}

static void
mxfp4_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES)
		block_encode(x, y);
}

static void
mxfp4_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS)
		block_decode(x, y);
}

const struct kernel KERNEL(mxfp4) = {
	"MXFP4", ONLY_WRITES(mxfp4_encode), NULL, mxfp4_decode, INFINITY, INFINITY
};
