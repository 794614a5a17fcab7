/* attend_loops: attend.h, for any vector unit: the file that includes this says how it
 * is called (ATTEND), and is compiled for a level.
 */
#include <stdint.h>
#include <string.h>

#include "kernels/dot/kinds.h"

enum { LANES = ATTEND_RUN, QUERIES = 8, WIDE = 4 };

/* Not aligned. They are passed by address only: how they are passed otherwise depends on
 * the level. */
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(64)));

static const lanes *
at(const float *p)
{
	return (const lanes *)(const void *)p;
}

static void
turn(const float *keys, size_t n, size_t width, float *turned)
{
	size_t d, i;

	for (d = 0; d < width; d++) {
		for (i = 0; i < n; i++)
			turned[d * LANES + i] = keys[i * width + d];
		for (; i < LANES; i++)
			turned[d * LANES + i] = 0;
	}
}

static inline __attribute__((always_inline)) void
some_scores(const float *q, int count, const float *turned, size_t width,
            float (*score)[ATTEND_RUN])
{
	lanes sum[QUERIES];
	size_t d;
	int j;

#pragma GCC unroll 8
	for (j = 0; j < count; j++)
		sum[j] = (lanes){ 0 };
	for (d = 0; d < width; d++)
#pragma GCC unroll 8
		for (j = 0; j < count; j++)
			sum[j] += *at(turned + d * LANES) * q[(size_t)j * width + d];
#pragma GCC unroll 8
	for (j = 0; j < count; j++)
		*(lanes *)(void *)score[j] = sum[j];
}

static void
scores(const float *q, size_t count, const float *turned, size_t width,
       float (*score)[ATTEND_RUN])
{
	size_t j;

	for (j = 0; j + QUERIES <= count; j += QUERIES)
		some_scores(q + j * width, QUERIES, turned, width, score + j);
	for (; j < count; j++)
		some_scores(q + j * width, 1, turned, width, score + j);
}

/* e^x for x <= 88: 2^n × e^r, n being whole and r between -ln 2 / 2 and ln 2 / 2, by the
 * series of e^r; below e^-87, zero. Within 2 × 2^-23 of e^x. */
static inline __attribute__((always_inline)) void
exponential(lanes *x)
{
	const float big = 0x1.8p23f; /* whose last bit counts ones */
	lanes n = *x * 0x1.715476p0f + big, r, y;
	whole two = ((whole)n - 0x4b400000 + 127) << 23, none = *x < -87.0f;

	n -= big;
	r = *x - n * 0x1.62e4p-1f;     /* ln 2, in two parts; the first has few bits */
	r = r - n * 0x1.7f7d1cp-20f;
	y = r * (1.0f / 5040) + 1.0f / 720;
	y = y * r + 1.0f / 120;
	y = y * r + 1.0f / 24;
	y = y * r + 1.0f / 6;
	y = y * r + 0.5f;
	y = y * r + 1.0f;
	y = y * r + 1.0f;
	y *= (lanes)two;
	*x = (lanes)((whole)y & ~none);
}

static float
weigh(float x[ATTEND_RUN], float most)
{
	lanes v = *at(x) - most;
	float sum[LANES];
	size_t i, half;

	exponential(&v);
	*(lanes *)(void *)x = v;
	memcpy(sum, x, sizeof sum);
	for (half = LANES / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			sum[i] += sum[i + half];
	return sum[0];
}

static inline __attribute__((always_inline)) void
add_lanes(float *a, float scale, const float *weight, const float *values, size_t n,
          size_t width, int wide)
{
	lanes sum[WIDE];
	size_t i;
	int k;

#pragma GCC unroll 4
	for (k = 0; k < wide; k++)
		sum[k] = *at(a + LANES * k) * scale;
	for (i = 0; i < n; i++)
#pragma GCC unroll 4
		for (k = 0; k < wide; k++)
			sum[k] += *at(values + i * width + (size_t)(LANES * k)) * weight[i];
#pragma GCC unroll 4
	for (k = 0; k < wide; k++)
		*(lanes *)(void *)(a + LANES * k) = sum[k];
}

static void
add(float *a, float scale, const float *weight, const float *values, size_t n, size_t width)
{
	size_t d, i;

	for (d = 0; d + WIDE * LANES <= width; d += WIDE * LANES)
		add_lanes(a + d, scale, weight, values + d, n, width, WIDE);
	for (; d + LANES <= width; d += LANES)
		add_lanes(a + d, scale, weight, values + d, n, width, 1);
	for (; d < width; d++) {
		a[d] *= scale;
		for (i = 0; i < n; i++)
			a[d] += values[i * width + d] * weight[i];
	}
}

/* The last few lie in some. */
static void
gate(const float *x, float *y, size_t n)
{
	float some[LANES] = { 0 };
	lanes v, e;
	whole high;
	size_t i, k, j;

	for (i = 0; i < n; i += k) {
		k = n - i < LANES ? n - i : LANES;
		memcpy(some, x + i, k * sizeof *x);
		v = *at(some);
		/* From e^87 on the gate is as good as shut. */
		e = -v;
		high = e > 87.0f;
		e = (lanes)(((whole)e & ~high) | (((whole){ 0 } + 0x42ae0000) & high)); /* 87 */
		exponential(&e);
		v /= e + 1.0f;
		*(lanes *)(void *)some = v;
		for (j = 0; j < k; j++)
			y[i + j] *= some[j];
	}
}

const struct attend ATTEND = { turn, scores, weigh, add, gate };
