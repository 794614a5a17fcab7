/* round8 of kernels/mixing.h: each code against the formula in double precision, and the mean of
 * many turns against the weights. */
#include "kernels/mixing.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "test.h"

enum { N = 1024, BLOCK = 32, BYTES = 34, TURNS = 64 };
#define BY 0x6a09e667u
#define BY_TURN 0x9e3779b9u

static uint8_t y[N / BLOCK * BYTES];

/* Numbers from -1 up to 1, with most of them near 0. */
static void
fill(float *x, float scale)
{
	uint32_t s = 2463534242u;
	int i, k;

	for (i = 0; i < N; i++)
		for (x[i] = 0, k = 0; k < 4; k++) {
			s ^= s << 13;
			s ^= s >> 17;
			s ^= s << 5;
			x[i] += ((float)(s >> 8) * 0x1p-23f - 1) * 0.25f * scale;
		}
}

static double
scale_of(int i)
{
	return (double)half_f16_f32(le16(y + i / BLOCK * BYTES));
}

static int
code_of(int i)
{
	return (int8_t)y[i / BLOCK * BYTES + 2 + i % BLOCK];
}

static bool
is_formula(float scale)
{
	float x[N];
	int i, beside = 0;

	fill(x, scale);
	mixing->round8(x, N, 12345, BY, y);
	for (i = 0; i < N; i++) {
		const double v = (double)(12345u + (uint32_t)i * BY) * 0x1p-32;
		const double exact = (double)x[i] / scale_of(i) + v;

		if (fmin(fmax(floor(exact), -127), 127) == code_of(i))
			continue;
		/* Single precision may round a number just below an integer up to it. */
		beside++;
		if (fabs(exact - nearbyint(exact)) > 1e-4)
			return false;
	}
	return beside < N / 100;
}

/* Plain rounding is off by 0.29 of a step (RMS), whatever the number of turns. */
static bool
mean_is_near(void)
{
	double sum[N] = { 0 }, off, all = 0, most = 0;
	float x[N];
	uint32_t t;
	int i;

	fill(x, 0.02f);
	for (t = 0; t < TURNS; t++) {
		mixing->round8(x, N, t * BY_TURN, BY, y);
		for (i = 0; i < N; i++)
			sum[i] += scale_of(i) * code_of(i) / TURNS;
	}
	for (i = 0; i < N; i++) {
		off = fabs((sum[i] - (double)x[i]) / scale_of(i));
		most = fmax(most, off);
		all += off * off / N;
	}
	/* The largest of a block may be above 127 steps of the rounded scale. */
	return most < 0.07 && sqrt(all) < 0.02;
}

/* A block of zeros except for x. */
static void
round_one(float x)
{
	float block[BLOCK] = { [9] = x };

	mixing->round8(block, BLOCK, 0, BY, y);
}

static bool
is_not_finite(float x)
{
	round_one(x);
	return isnan(scale_of(9)) && code_of(9) == 0;
}

int
main(void)
{
	test_ok(is_formula(0.02f) && is_formula(1e-5f) && is_formula(5e4f), "codes follow the formula");
	test_ok(mean_is_near(), "the mean of 64 turns is near the weights");
	round_one(0);
	test_ok(scale_of(0) == 0 && code_of(9) == 0, "zeros stay zero");
	round_one(FLT_MIN);
	test_ok(scale_of(0) == 0 && code_of(9) == 0, "what is too small for a scale becomes zero");
	round_one(-1.4f * 127 * 0x1p-24f);
	test_ok(scale_of(0) == 0x1p-24 && code_of(9) == -127, "a code stays within 127");
	test_ok(is_not_finite(NAN) && is_not_finite(-INFINITY) && is_not_finite(FLT_MAX),
	        "a block without a finite scale is not a number");
	return test_done();
}
