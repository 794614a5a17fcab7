/* attend_loops: attend.h for any vector unit. The file that includes this is compiled for a
 * level, and defines the name of the result (ATTEND) and the bytes of a vector (BYTES). It
 * may define how codes become integers (WIDEN) and halves become floats (WIDEN_HALVES)
 * where compilers do not find the instruction by themselves, and the fused x × y + z of vectors
 * (FMA). The compiler fuses nothing: whether it does depends on its options.
 */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernels/common/products.h"

enum {
	LANES = BYTES / 4,            /* in a vector */
	PARTS = ATTEND_LANES / LANES, /* vectors in a column */
	SUMS = 16,                    /* partial sums of weights, added at the end */
	TILE = BYTES == 64 ? 16 : 8,  /* sums that stay in registers */
	MANY = TILE / 2,              /* queries at a time, with as many vectors as fit */
};

/* May be unaligned. Passed by address only, since the way to pass vectors by value depends
 * on the level. */
typedef float vector __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(BYTES)));
typedef uint32_t bits __attribute__((vector_size(BYTES)));
#ifndef WIDEN
typedef int8_t bytes __attribute__((vector_size(BYTES / 4), aligned(1), may_alias));
#endif

/* A vector of this number; less zero, it keeps its sign. */
#define SPREAD(x) ((x) - (vector){ 0 })

#ifdef FMA
#define FMA_ONE(x, y, z) fmaf(x, y, z)
#else
#define FMA(x, y, z) ((x) * (y) + (z))
#define FMA_ONE(x, y, z) FMA(x, y, z)
#endif

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

/* ---- codes and halves ---- */

/* The result goes to *y, since the way to return a vector depends on the level. */
static inline __attribute__((always_inline)) void
widen(const uint8_t *code, vector *y)
{
#ifdef WIDEN
	whole v = (whole)WIDEN(code);
#else
	whole v = __builtin_convertvector(*(const bytes *)(const void *)code, whole);
#endif

	*y = __builtin_convertvector(v, vector);
}

static inline __attribute__((always_inline)) void
widen_halves(const uint8_t *p, vector *y)
{
#ifdef WIDEN_HALVES
	*y = (vector)WIDEN_HALVES(p);
#else
	uint16_t h[LANES];
	int i;

	memcpy(h, p, sizeof h);
	for (i = 0; i < LANES; i++)
		(*y)[i] = half_f16_f32(h[i]);
#endif
}

/* A vector of numbers from value i on; *scale is the scale of codes. */
static inline __attribute__((always_inline)) void
load(enum attend_kind kind, const uint8_t *p, size_t i, const vector *scale, vector *y)
{
	switch (kind) {
	case ATTEND_F32:
		*y = *at((const float *)(const void *)p + i);
		break;
	case ATTEND_F16:
		widen_halves(p + 2 * i, y);
		break;
	case ATTEND_Q8_0:
		widen(p + i, y);
		*y *= *scale;
	}
}

static inline __attribute__((always_inline)) void
numbers(const int8_t *code, const vector *scale, float *y)
{
	vector v;

	load(ATTEND_Q8_0, (const uint8_t *)code, 0, scale, &v);
	*to(y) = v;
}

static void
columns(const int8_t *code, const float scale[ATTEND_LANES], size_t n, float *y)
{
	vector s[PARTS];
	size_t i;
	int k;

#pragma GCC unroll 8
	for (k = 0; k < PARTS; k++)
		s[k] = *at(scale + LANES * k);
	for (i = 0; i < n * ATTEND_LANES; i += ATTEND_LANES)
#pragma GCC unroll 8
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

/* Queries, and groups of keys from the given one on; the counts are constants. */
static inline __attribute__((always_inline)) void
tile(const float *const *q, int many, enum attend_kind kind, const struct attend_rows *keys,
     size_t first, int groups, size_t width, bool more, float (*score)[ATTEND_RUN])
{
	vector sum[TILE], k[TILE], s[TILE];
	const uint8_t *p = keys->p;
	const float *query[MANY];
	int n = groups * PARTS, i, j;
	size_t d, end, stride = keys->stride * ATTEND_LANES, at_first = first * stride;

#pragma GCC unroll 8
	for (j = 0; j < many; j++) {
		query[j] = q[j];
#pragma GCC unroll 8
		for (i = 0; i < n; i++)
			sum[j * n + i] = more ? *at(score[j] + first * ATTEND_LANES +
			                            (size_t)(LANES * i)) : (vector){ 0 };
	}
	for (d = 0; d < width;) {
		end = width;
		if (kind == ATTEND_Q8_0) {
			end = width - d < ATTEND_BLOCK ? width : d + ATTEND_BLOCK;
#pragma GCC unroll 8
			for (i = 0; i < n; i++)
				s[i] = *at(keys->scale + (first + (size_t)(i / PARTS)) * keys->scale_stride +
				           d / ATTEND_BLOCK * ATTEND_LANES + (size_t)(i % PARTS * LANES));
		}
		for (; d < end; d++) {
#pragma GCC unroll 8
			for (i = 0; i < n; i++)
				load(kind, p, at_first + (size_t)(i / PARTS) * stride + d * ATTEND_LANES +
				     (size_t)(i % PARTS * LANES), &s[i], &k[i]);
#pragma GCC unroll 8
			for (j = 0; j < many; j++)
#pragma GCC unroll 8
				for (i = 0; i < n; i++)
					sum[j * n + i] = FMA(k[i], SPREAD(query[j][d]), sum[j * n + i]);
		}
	}
#pragma GCC unroll 8
	for (j = 0; j < many; j++)
#pragma GCC unroll 8
		for (i = 0; i < n; i++)
			*to(score[j] + first * ATTEND_LANES + LANES * i) = sum[j * n + i];
}

/* All groups, for a constant number of queries and of groups at a time. */
#define TILES(queries, at_once) \
	for (; j + (queries) <= count; j += (queries)) { \
		for (g = 0; g + (at_once) <= groups; g += (at_once)) \
			tile(q + j, queries, kind, keys, g, at_once, width, more, score + j); \
		for (; g < groups; g++) \
			tile(q + j, queries, kind, keys, g, 1, width, more, score + j); \
	}

static inline __attribute__((always_inline)) void
scores_of(enum attend_kind kind, const float *const *q, size_t count,
          const struct attend_rows *keys, size_t width, size_t groups, bool more,
          float (*score)[ATTEND_RUN])
{
	size_t j = 0, g;

#if BYTES == 64
	TILES(8, 1)
	TILES(4, 2)
#else
	TILES(TILE / PARTS, 1)
#endif
	TILES(1, BYTES == 64 ? 2 : 1)
}

static void
scores(const float *const *q, size_t count, const struct attend_rows *keys, size_t width,
       size_t groups, bool more, float (*score)[ATTEND_RUN])
{
	switch (keys->kind) {
	case ATTEND_F32:
		scores_of(ATTEND_F32, q, count, keys, width, groups, more, score);
		break;
	case ATTEND_F16:
		scores_of(ATTEND_F16, q, count, keys, width, groups, more, score);
		break;
	case ATTEND_Q8_0:
		scores_of(ATTEND_Q8_0, q, count, keys, width, groups, more, score);
	}
}

/* ---- weights ---- */

#define FLOATS vector
#define WHOLES whole
#define BITS bits
#include "kernels/common/exponential.h"

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
	vector sum[SUMS / LANES], v;
	float lanes[SUMS];
	const four *f = (const four *)(const void *)lanes;
	four all;
	size_t i;
	int k;

#pragma GCC unroll 4
	for (k = 0; k < SUMS / LANES; k++)
		sum[k] = (vector){ 0 };
	for (i = 0; i < groups * ATTEND_LANES; i += SUMS)
#pragma GCC unroll 4
		for (k = 0; k < SUMS / LANES; k++) {
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

/* A constant number of sums, and of vectors each, from value d on. */
static inline __attribute__((always_inline)) void
sums(float *const *a, const float *const *weight, int many, enum attend_kind kind,
     const struct attend_rows *values, size_t low, size_t high, size_t d, int wide)
{
	vector sum[TILE], v[TILE], s = { 0 };
	const uint8_t *p = values->p;
	const float *w[MANY], *scale = values->scale;
	size_t i;
	int j, k;

#pragma GCC unroll 8
	for (j = 0; j < many; j++) {
		w[j] = weight[j];
#pragma GCC unroll 8
		for (k = 0; k < wide; k++)
			sum[j * wide + k] = *at(a[j] + d + LANES * k);
	}
	for (i = low; i < high; i++) {
#pragma GCC unroll 8
		for (k = 0; k < wide; k++) {
			size_t value = d + (size_t)(LANES * k);

			if (kind == ATTEND_Q8_0)
				s = (vector){ 0 } + scale[i * values->scale_stride + value / ATTEND_BLOCK];
			load(kind, p, i * values->stride + value, &s, &v[k]);
		}
#pragma GCC unroll 8
		for (j = 0; j < many; j++)
#pragma GCC unroll 8
			for (k = 0; k < wide; k++)
				sum[j * wide + k] = FMA(v[k], SPREAD(w[j][i]), sum[j * wide + k]);
	}
#pragma GCC unroll 8
	for (j = 0; j < many; j++)
#pragma GCC unroll 8
		for (k = 0; k < wide; k++)
			*to(a[j] + d + LANES * k) = sum[j * wide + k];
}

static float
value_at(const struct attend_rows *values, size_t i, size_t d)
{
	size_t at_it = i * values->stride + d;
	uint16_t half;

	switch (values->kind) {
	case ATTEND_F32:
		break;
	case ATTEND_F16:
		memcpy(&half, values->p + 2 * at_it, sizeof half);
		return half_f16_f32(half);
	case ATTEND_Q8_0:
		return (float)(int8_t)values->p[at_it] *
		       values->scale[i * values->scale_stride + d / ATTEND_BLOCK];
	}
	return ((const float *)(const void *)values->p)[at_it];
}

/* All values of a constant number of rows, and of vectors at a time. */
static inline __attribute__((always_inline)) void
rows(float *const *a, const float *const *weight, int many, enum attend_kind kind,
     const struct attend_rows *values, size_t low, size_t high, size_t width, int wide)
{
	size_t d, i, n = (size_t)(wide * LANES);
	int j;

	for (d = 0; d + n <= width; d += n)
		sums(a, weight, many, kind, values, low, high, d, wide);
	for (; d + LANES <= width; d += LANES)
		sums(a, weight, many, kind, values, low, high, d, 1);
	for (; d < width; d++)
		for (i = low; i < high; i++)
			for (j = 0; j < many; j++)
				a[j][d] = FMA_ONE(value_at(values, i, d), weight[j][i], a[j][d]);
}

static inline __attribute__((always_inline)) void
add_of(enum attend_kind kind, float *const *a, const float *const *weight, size_t count,
       const struct attend_rows *values, size_t low, size_t high, size_t width)
{
	size_t j = 0;

#if BYTES == 64
	for (; j + 8 <= count; j += 8)
		rows(a + j, weight + j, 8, kind, values, low, high, width, 2);
#endif
	for (; j + 4 <= count; j += 4)
		rows(a + j, weight + j, 4, kind, values, low, high, width, TILE / 4);
	for (; j < count; j++)
		rows(a + j, weight + j, 1, kind, values, low, high, width, 4);
}

static void
add(float *const *a, const float *const *weight, size_t count,
    const struct attend_rows *values, size_t low, size_t high, size_t width)
{
	switch (values->kind) {
	case ATTEND_F32:
		add_of(ATTEND_F32, a, weight, count, values, low, high, width);
		break;
	case ATTEND_F16:
		add_of(ATTEND_F16, a, weight, count, values, low, high, width);
		break;
	case ATTEND_Q8_0:
		add_of(ATTEND_Q8_0, a, weight, count, values, low, high, width);
	}
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

static inline __attribute__((always_inline)) void
vector_gate(const float *x, float *y)
{
	vector v = *at(x), e = -v;
	whole high = e > 87.0f;

	/* From e^87 on the gate is closed in single precision. */
	e = (vector)(((whole)e & ~high) | (((whole){ 0 } + 0x42ae0000) & high)); /* 87 */
	exponential(&e);
	*to(y) *= v / (e + 1.0f);
}

static void
gate(const float *x, float *y, size_t n)
{
	float some[2][LANES] = { { 0 } };
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		vector_gate(x + i, y + i);
	if (i < n) {
		memcpy(some[0], x + i, (n - i) * sizeof *x);
		memcpy(some[1], y + i, (n - i) * sizeof *y);
		vector_gate(some[0], some[1]);
		memcpy(y + i, some[1], (n - i) * sizeof *y);
	}
}

const struct attend ATTEND = { columns, row, scores, soften, weigh, add, scale, gate };
