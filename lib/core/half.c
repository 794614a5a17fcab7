#include "core/half.h"

#include <string.h>

/* binary32: 1 sign, 8 exponent (bias 127), 23 fraction bits.
 * binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */

#define F32_SIGN 0x80000000u
#define F32_INF 0x7f800000u
#define F32_QUIET 0x00400000u

static uint32_t
bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return u;
}

static float
float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

/* Drops the low n bits (1 to 31) of u: rounds to nearest, ties to even. */
static uint32_t
round_even(uint32_t u, unsigned n)
{
	uint32_t odd = u >> n & 1;

	return (u + (1u << (n - 1)) - 1 + odd) >> n;
}

float
half_f16_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
	uint32_t exponent = h >> 10 & 0x1fu;
	uint32_t fraction = h & 0x3ffu;

	if (exponent == 0x1f) /* infinity, or NaN: keep the payload, set the quiet bit */
		return float_of(sign | F32_INF | fraction << 13 |
		                (fraction ? F32_QUIET : 0));
	if (exponent == 0) /* subnormal: the fraction counts steps of 2^-24 */
		return float_of(sign | bits_of((float)fraction * 0x1p-24f));
	return float_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

uint16_t
half_f32_f16(float f)
{
	uint32_t u = bits_of(f);
	uint32_t sign = u >> 16 & 0x8000u;
	uint32_t a = u & ~F32_SIGN;
	uint32_t fraction;

	if (a > F32_INF)
		return (uint16_t)(sign | 0x7e00u);
	if (a >= 0x477ff000u) /* 65520, half-way above the largest half */
		return (uint16_t)(sign | 0x7c00u);
	if (a >= 0x38800000u) /* 2^-14, the smallest normal half */
		return (uint16_t)(sign | round_even(a - (112u << 23), 13));
	if (a <= 0x33000000u) /* 2^-25, half the smallest subnormal */
		return (uint16_t)sign;

	/* Subnormal: count steps of 2^-24. The exponent field is 102 to 112, so 24 to 14
	 * bits are dropped. */
	fraction = (a & 0x7fffffu) | 0x800000u;
	return (uint16_t)(sign | round_even(fraction, 126 - (a >> 23)));
}

float
half_bf16_f32(uint16_t h)
{
	return float_of((uint32_t)h << 16);
}

uint16_t
half_f32_bf16(float f)
{
	uint32_t u = bits_of(f);

	if ((u & ~F32_SIGN) > F32_INF)
		return (uint16_t)((u | F32_QUIET) >> 16);
	return (uint16_t)round_even(u, 16);
}
