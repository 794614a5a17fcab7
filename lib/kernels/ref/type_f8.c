/* F8_E4M3, F8_E5M2: floats of one byte: sign, 4 or 5 exponent, 3 or 2 fraction
 * bits. Narrowing rounds to nearest, ties to even.
 *
 * E5M2 is the upper half of binary16: values that are too large become infinite. E4M3
 * has no infinities, and NaN only where all bits but the sign are set, so that its
 * largest number is 448; values that would round beyond it become NaN. NaN keeps its
 * sign and becomes 0x7f.
 * Source: OCP 8-bit Floating Point Specification 1.0, without saturation.
 */
#include "kernels/ref/types.h"

#include <math.h>
#include <string.h>

#include "core/half.h"

/* 2^e: adding it leaves multiples of 2^(e - 23) in the fraction bits. */
#define E4M3_STEPS 0x1p14f /* 2^-9, the smallest subnormal */
#define E5M2_STEPS 0x1p7f  /* 2^-16 */

static uint32_t
bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return u;
}

/* Exponent and fraction of a >= 0. In the normal range, from 2^(1 - bias) on, a
 * code is the upper bits of a, rounded; below, it counts subnormal steps. */
static uint32_t
narrow(float a, uint32_t bias, unsigned fraction, float steps)
{
	uint32_t u = bits_of(a), drop = 23 - fraction;

	if (u < (128 - bias) << 23)
		return bits_of(a + steps) - bits_of(steps);
	u -= (127 - bias) << 23;
	return (u + (1u << (drop - 1)) - 1 + (u >> drop & 1)) >> drop;
}

static uint8_t
e4m3_of(float f)
{
	uint32_t sign = bits_of(f) >> 31 << 7;
	float a = fabsf(f);

	if (!(a <= 464.0f)) /* half-way to 480, which would be next */
		return (uint8_t)(sign | 0x7f);
	return (uint8_t)(sign | narrow(a, 7, 3, E4M3_STEPS));
}

static uint8_t
e5m2_of(float f)
{
	uint32_t sign = bits_of(f) >> 31 << 7;
	float a = fabsf(f);

	if (a != a)
		return (uint8_t)(sign | 0x7f);
	if (a >= 61440.0f) /* half-way to 65536, which would be next */
		return (uint8_t)(sign | 0x7c);
	return (uint8_t)(sign | narrow(a, 15, 2, E5M2_STEPS));
}

static float
e4m3_value(uint8_t c)
{
	uint32_t u = (uint32_t)(c & 0x7f) << 20;
	float f;

	if ((c & 0x7f) == 0x7f)
		u = 0x7fc00000;
	else if ((c & 0x78) == 0)
		u = bits_of((float)(c & 7) * 0x1p-9f);
	else
		u += 120u << 23;
	u |= (uint32_t)(c & 0x80) << 24;
	memcpy(&f, &u, sizeof f);
	return f;
}

static void
e4m3_encode(const float *x, uint8_t *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = e4m3_of(x[i]);
}

static void
e4m3_decode(const uint8_t *x, float *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = e4m3_value(x[i]);
}

static void
e5m2_encode(const float *x, uint8_t *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = e5m2_of(x[i]);
}

static void
e5m2_decode(const uint8_t *x, float *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = half_f16_f32((uint16_t)(x[i] << 8));
}

const struct kernel KERNEL(f8_e4m3) = {
	"F8_E4M3", ONLY_WRITES(e4m3_encode), NULL, e4m3_decode, 448.0f, INFINITY
};
const struct kernel KERNEL(f8_e5m2) = {
	"F8_E5M2", ONLY_WRITES(e5m2_encode), NULL, e5m2_decode, 57344.0f, INFINITY
};
