/* attend_loops: attend.h, for any vector unit: the file that includes this says how it
 * is called (ATTEND) and how many bytes a vector has (BYTES), and is compiled for a level.
 */
#include <math.h>
#include <string.h>

#include "kernels/dot/kinds.h"

enum {
	LANES = BYTES / 4,                  /* of a vector */
	PARTS = ATTEND_LANES / LANES,       /* vectors of a column */
	MANY = BYTES == 64 ? 8 : 4,         /* queries at a time, */
	GROUPS = BYTES == 64 ? 2 : 1,       /* with so many groups of keys */
	ALONE = BYTES == 16 ? 1 : 4 / PARTS, /* groups, with one query */
	TOGETHER = BYTES == 64 ? 4 : 2,     /* sums of values at a time, */
	WIDE = 4,                           /* of so many vectors */
};

/* Not aligned. They are passed by address only: how they are passed otherwise depends on
 * the level. */
typedef float vector __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(BYTES)));
typedef int8_t bytes __attribute__((vector_size(BYTES / 4), aligned(1), may_alias));

static const vector *
at(const float *p)
{
	return (const vector *)(const void *)p;
}

static vector *
to(float *p)
{
	return (vector *)(void *)p;
}

/* ---- codes ---- */

static inline __attribute__((always_inline)) void
numbers(const int8_t *code, const vector *scale, float *y)
{
	whole v = __builtin_convertvector(*(const bytes *)(const void *)code, whole);

	*to(y) = __builtin_convertvector(v, vector) * *scale;
}

static void
columns(const int8_t *code, const float scale[ATTEND_LANES], size_t n, float *y)
{
	vector s[PARTS];
	size_t i;
	int k;

#pragma GCC unroll 4
	for (k = 0; k < PARTS; k++)
		s[k] = *at(scale + LANES * k);
	for (i = 0; i < n * ATTEND_LANES; i += ATTEND_LANES)
#pragma GCC unroll 4
		for (k = 0; k < PARTS; k++)
			numbers(code + i + LANES * k, &s[k], y + i + LANES * k);
}

static void
row(const int8_t *code, const float *scale, size_t n, float *y)
{
	size_t i, k;

	for (i = 0; i + ATTEND_BLOCK <= n; i += ATTEND_BLOCK) {
		vector s = (vector){ 0 } + scale[i / ATTEND_BLOCK];

#pragma GCC unroll 8
		for (k = 0; k < ATTEND_BLOCK; k += LANES)
			numbers(code + i + k, &s, y + i + k);
	}
	for (; i < n; i++)
		y[i] = (float)code[i] * scale[i / ATTEND_BLOCK];
}

/* ---- scores ---- */

/* many queries with groups of keys: the sums of a tile stay in registers. */
static inline __attribute__((always_inline)) void
tile(const float *const *q, int many, const float *key, size_t width, int groups, bool more,
     float (*score)[ATTEND_RUN])
{
	vector sum[MANY * 4], k[4];
	const float *query[MANY];
	int n = groups * PARTS, i, j;
	size_t d;

#pragma GCC unroll 8
	for (j = 0; j < many; j++) {
		query[j] = q[j];
#pragma GCC unroll 4
		for (i = 0; i < n; i++)
			sum[j * n + i] = more ? *at(score[j] + LANES * i) : (vector){ 0 };
	}
	for (d = 0; d < width; d++) {
#pragma GCC unroll 4
		for (i = 0; i < n; i++)
			k[i] = *at(key + (size_t)(i / PARTS) * width * ATTEND_LANES + d * ATTEND_LANES +
			           (size_t)(i % PARTS * LANES));
#pragma GCC unroll 8
		for (j = 0; j < many; j++)
#pragma GCC unroll 4
			for (i = 0; i < n; i++)
				sum[j * n + i] += k[i] * query[j][d];
	}
#pragma GCC unroll 8
	for (j = 0; j < many; j++)
#pragma GCC unroll 4
		for (i = 0; i < n; i++)
			*to(score[j] + LANES * i) = sum[j * n + i];
}

/* All groups, so many queries at a time, with so many groups. */
#define TILES(queries, at_once) \
	for (; j + (queries) <= count; j += (queries)) { \
		for (g = 0; g + (at_once) <= groups; g += (at_once)) \
			tile(q + j, queries, key + g * group, width, at_once, more, \
			     (float (*)[ATTEND_RUN])(score[j] + g * ATTEND_LANES)); \
		for (; g < groups; g++) \
			tile(q + j, queries, key + g * group, width, 1, more, \
			     (float (*)[ATTEND_RUN])(score[j] + g * ATTEND_LANES)); \
	}

static void
scores(const float *const *q, size_t count, const float *key, size_t width, size_t groups,
       bool more, float (*score)[ATTEND_RUN])
{
	size_t group = width * ATTEND_LANES, j = 0, g;

	TILES(MANY, GROUPS)
	TILES(1, ALONE)
}

/* ---- weights ---- */

/* e^x for x <= 88: 2^n × e^r, n being whole and r between -ln 2 / 2 and ln 2 / 2, by the
 * series of e^r; below e^-87, zero. Within 2 × 2^-23 of e^x. */
static inline __attribute__((always_inline)) void
exponential(vector *x)
{
	const float big = 0x1.8p23f; /* whose last bit counts ones */
	vector n = *x * 0x1.715476p0f + big, r, y;
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
	y *= (vector)two;
	*x = (vector)((whole)y & ~none);
}

/* cap × tanh(x / cap), by e^(-2 |x / cap|) */
static inline __attribute__((always_inline)) void
capped(vector *x, float cap)
{
	const whole sign = (whole){ 0 } + INT32_MIN;
	vector e = *x / cap * 2.0f, t;

	e = (vector)((whole)e | sign);
	exponential(&e);
	t = (1.0f - e) / (1.0f + e) * cap;
	*x = (vector)((whole)t | ((whole)*x & sign));
}

static inline __attribute__((always_inline)) void
keep_larger(vector *most, const vector *x)
{
	whole larger = *x > *most;

	*most = (vector)(((whole)*x & larger) | ((whole)*most & ~larger));
}

static float
soften(float score[ATTEND_RUN], size_t low, size_t high, float scale, float cap, float most)
{
	vector largest = (vector){ 0 } - INFINITY, v;
	float some[LANES];
	whole index, seen;
	size_t i;
	int k;

	for (k = 0; k < LANES; k++)
		index[k] = k;
	for (i = 0; i < (high + ATTEND_LANES - 1) / ATTEND_LANES * ATTEND_LANES; i += LANES) {
		v = *at(score + i) * scale;
		if (cap > 0)
			capped(&v, cap);
		seen = (index >= (int)low) & (index < (int)high);
		v = (vector)(((whole)v & seen) | (((whole){ 0 } + (int32_t)0xff800000) & ~seen));
		keep_larger(&largest, &v);
		*to(score + i) = v;
		index += LANES;
	}
	memcpy(some, &largest, sizeof some);
	for (k = 0; k < LANES; k++)
		if (some[k] > most)
			most = some[k];
	return most;
}

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

static float
weigh(float x[ATTEND_RUN], size_t groups, float most)
{
	vector sum[PARTS], v;
	float lanes[ATTEND_LANES];
	const four *f = (const four *)(const void *)lanes;
	four all;
	size_t i;
	int k;

#pragma GCC unroll 4
	for (k = 0; k < PARTS; k++)
		sum[k] = (vector){ 0 };
	for (i = 0; i < groups * ATTEND_LANES; i += ATTEND_LANES)
#pragma GCC unroll 4
		for (k = 0; k < PARTS; k++) {
			v = *at(x + i + LANES * k) - most;
			exponential(&v);
			*to(x + i + LANES * k) = v;
			sum[k] += v;
		}
	memcpy(lanes, sum, sizeof lanes);
	all = (f[0] + f[2]) + (f[1] + f[3]);
	return (all[0] + all[2]) + (all[1] + all[3]);
}

/* ---- values ---- */

/* many sums, of so many vectors each, stay in registers. */
static inline __attribute__((always_inline)) void
sums(float *const *a, const float *const *weight, int many, size_t d, const float *values,
     size_t n, size_t stride, int wide)
{
	vector sum[TOGETHER * WIDE], v[WIDE];
	const float *w[TOGETHER];
	size_t i;
	int j, k;

#pragma GCC unroll 4
	for (j = 0; j < many; j++) {
		w[j] = weight[j];
#pragma GCC unroll 4
		for (k = 0; k < wide; k++)
			sum[j * wide + k] = *at(a[j] + d + LANES * k);
	}
	for (i = 0; i < n; i++) {
#pragma GCC unroll 4
		for (k = 0; k < wide; k++)
			v[k] = *at(values + i * stride + d + (size_t)(LANES * k));
#pragma GCC unroll 4
		for (j = 0; j < many; j++)
#pragma GCC unroll 4
			for (k = 0; k < wide; k++)
				sum[j * wide + k] += v[k] * w[j][i];
	}
#pragma GCC unroll 4
	for (j = 0; j < many; j++)
#pragma GCC unroll 4
		for (k = 0; k < wide; k++)
			*to(a[j] + d + LANES * k) = sum[j * wide + k];
}

/* All values of so many rows. */
static inline __attribute__((always_inline)) void
rows(float *const *a, const float *const *weight, int many, const float *values, size_t n,
     size_t width, size_t stride)
{
	size_t d, i;
	int j;

	for (d = 0; d + WIDE * LANES <= width; d += WIDE * LANES)
		sums(a, weight, many, d, values, n, stride, WIDE);
	for (; d + LANES <= width; d += LANES)
		sums(a, weight, many, d, values, n, stride, 1);
	for (; d < width; d++)
		for (j = 0; j < many; j++)
			for (i = 0; i < n; i++)
				a[j][d] += values[i * stride + d] * weight[j][i];
}

static void
add(float *const *a, const float *const *weight, size_t count, const float *values, size_t n,
    size_t width, size_t stride)
{
	size_t j;

	for (j = 0; j + TOGETHER <= count; j += TOGETHER)
		rows(a + j, weight + j, TOGETHER, values, n, width, stride);
	for (; j < count; j++)
		rows(a + j, weight + j, 1, values, n, width, stride);
}

static void
scale(float *a, float by, size_t width)
{
	size_t d;

	for (d = 0; d + LANES <= width; d += LANES)
		*to(a + d) *= by;
	for (; d < width; d++)
		a[d] *= by;
}

/* ---- the gate ---- */

/* The last few lie in some. */
static void
gate(const float *x, float *y, size_t n)
{
	float some[LANES] = { 0 };
	vector v, e;
	whole high;
	size_t i, k, j;

	for (i = 0; i < n; i += k) {
		k = n - i < LANES ? n - i : LANES;
		memcpy(some, x + i, k * sizeof *x);
		v = *at(some);
		/* From e^87 on the gate is as good as shut. */
		e = -v;
		high = e > 87.0f;
		e = (vector)(((whole)e & ~high) | (((whole){ 0 } + 0x42ae0000) & high)); /* 87 */
		exponential(&e);
		v /= e + 1.0f;
		*to(some) = v;
		for (j = 0; j < k; j++)
			y[i + j] *= some[j];
	}
}

const struct attend ATTEND = { columns, row, scores, soften, weigh, add, scale, gate };
