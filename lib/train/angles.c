/* angles: cosines and sines of rotary positions, from sums and products alone. powf, cosf and sinf
 * differ in last bits between C libraries, and in one library between CPUs with and without fused
 * multiplication; the values of a model that learns must not. */
#include <math.h>

#include "train/train_parts.h"

#define LN2 0x1.62e42fefa39efp-1

/* ln(x) for x > 0: with m = (1 + s) / (1 - s) between sqrt(1/2) and sqrt(2), 2 (s + s³/3 + s⁵/5 + …). */
static double
logarithm(double x)
{
	int exponent, k;
	double m = frexp(x, &exponent), s, sum = 0;

	if (m < 0x1.6a09e667f3bcdp-1) {
		m *= 2;
		exponent--;
	}
	s = (m - 1) / (m + 1);
	for (k = 25; k > 0; k -= 2)
		sum = sum * s * s + 2.0 / k;
	return sum * s + exponent * LN2;
}

/* e^x for |x| below 700, by its series near 0. */
static double
exponential(double x)
{
	double n = floor(x / LN2 + 0.5), sum = 1;
	int k;

	x -= n * LN2;
	for (k = 16; k > 0; k--)
		sum = 1 + sum * x / k;
	return ldexp(sum, (int)n);
}

float
train_power(float x, float y)
{
	return x > 0 && x < INFINITY && fabsf(y) <= 1 ? (float)exponential((double)y * logarithm((double)x))
	                                              : NAN;
}

/* 1 - x²/(first (first + 1)) (1 - x²/((first + 2) (first + 3)) (…)): cos(x), or sin(x)/x from 2 on. */
static double
series(double x, int first)
{
	double sum = 1;
	int k;

	for (k = first + 18; k >= first; k -= 2)
		sum = 1 - sum * x * x / (double)(k * (k + 1));
	return sum;
}

void
train_angle(float angle, float *cosine, float *sine)
{
	double x = (double)angle, n, c, s;
	int64_t quarter;

	*cosine = *sine = NAN;
	if (!isfinite(x))
		return;
	if (fabs(x) > 0x1p31)
		x = fmod(x, 0x1.921fb54442d18p2);
	n = floor(x * 0x1.45f306dc9c883p-1 + 0.5);
	/* π/2 in parts of 33 bits, whose products with n are exact up to 2^20. */
	x = x - n * 0x1.921fb544p0 - n * 0x1.0b4611a6p-34 - n * 0x1.3198a2e037073p-69;
	c = series(x, 1);
	s = series(x, 2) * x;
	quarter = (int64_t)n;
	*cosine = (float)(quarter & 1 ? s : c) * (float)((quarter + 1) & 2 ? -1 : 1);
	*sine = (float)(quarter & 1 ? c : s) * (float)(quarter & 2 ? -1 : 1);
}

void
train_angles(const struct rope *r, double position, float *cosines, float *sines)
{
	size_t i;

	rope_turns(r, position, train_power((float)r->base, -2 / (float)r->rot), cosines);
	for (i = 0; i < r->rot / 2; i++) {
		train_angle(cosines[i], &cosines[i], &sines[i]);
		cosines[i] *= (float)r->length;
		sines[i] *= (float)r->length;
	}
}
