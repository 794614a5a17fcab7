#include "kernels/numbers.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/ref/types.h"

enum { LANES = 8 };
typedef int32_t i32x8 __attribute__((vector_size(4 * LANES)));

static void
widen(const float *x, double *y, size_t n)
{
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES)
		for (j = 0; j < LANES; j++)
			y[i + j] = x[i + j];
	for (; i < n; i++)
		y[i] = x[i];
}

/* Without the sign, bits are in the order of the numbers. */
static uint32_t
most(const float *x, size_t n)
{
	uint32_t all = 0, u;
	i32x8 best = { 0 }, more, v;
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES) {
		memcpy(&v, x + i, sizeof v);
		v &= INT32_MAX;
		more = v > best;
		best = (v & more) | (best & ~more);
	}
	for (; i < n; i++) {
		memcpy(&u, x + i, sizeof u);
		u &= INT32_MAX;
		all = u > all ? u : all;
	}
	for (j = 0; j < LANES; j++)
		all = (uint32_t)best[j] > all ? (uint32_t)best[j] : all;
	return all;
}

static double
lanes_sum(const double *a)
{
	return ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]));
}

/* Lanes 0 to 3, and 4 to 7: vectors of any CPU hold them, whole or in parts. */
enum { HALF = LANES / 2 };
typedef double four __attribute__((vector_size(8 * HALF)));
typedef double four_anywhere __attribute__((vector_size(8 * HALF), aligned(8), may_alias));
typedef float four_floats_anywhere __attribute__((vector_size(4 * HALF), aligned(4), may_alias));
typedef int64_t whole __attribute__((vector_size(8 * HALF)));

struct part {
	four min, max, sum, squares;
	whole zeros; /* counted down from 0 */
};

static inline void
part_add(struct part *p, const double *x)
{
	const four v = *(const four_anywhere *)x;
	whole less = v < p->min, more = v > p->max;

	p->min = (four)(((whole)v & less) | ((whole)p->min & ~less));
	p->max = (four)(((whole)v & more) | ((whole)p->max & ~more));
	p->zeros += v == 0;
	p->sum += v;
	p->squares += v * v;
}

/* A last part of fewer than LANES values. */
static void
part_end(struct part *p, const double *v, size_t count, double like)
{
	double x[LANES], sum[LANES], squares[LANES];
	size_t j;

	memcpy(sum, &p[0].sum, sizeof p->sum);
	memcpy(sum + HALF, &p[1].sum, sizeof p->sum);
	memcpy(squares, &p[0].squares, sizeof p->squares);
	memcpy(squares + HALF, &p[1].squares, sizeof p->squares);
	for (j = 0; j < LANES; j++)
		x[j] = j < count ? v[j] : like;
	part_add(p, x);
	part_add(p + 1, x + HALF);
	for (j = count; j < LANES; j++) {
		p[j / HALF].sum[j % HALF] = sum[j];
		p[j / HALF].squares[j % HALF] = squares[j];
		p[j / HALF].zeros[j % HALF] += like == 0;
	}
}

static void
find(const double *v, size_t n, struct numbers_found *f)
{
	struct part p[2];
	double sum[LANES], squares[LANES];
	size_t i, j;

	memset(p, 0, sizeof p);
	for (j = 0; j < HALF; j++)
		p[0].min[j] = p[0].max[j] = p[1].min[j] = p[1].max[j] = v[0];
	for (i = 0; i + LANES <= n; i += LANES) {
		part_add(p, v + i);
		part_add(p + 1, v + i + HALF);
	}
	if (i < n)
		part_end(p, v + i, n - i, v[0]);

	*f = (struct numbers_found){ .min = v[0], .max = v[0] };
	for (j = 0; j < LANES; j++) {
		const struct part *half = p + j / HALF;
		size_t at = j % HALF;

		f->min = half->min[at] < f->min ? half->min[at] : f->min;
		f->max = half->max[at] > f->max ? half->max[at] : f->max;
		f->zeros -= (uint64_t)half->zeros[at];
		sum[j] = half->sum[at];
		squares[j] = half->squares[at];
	}
	f->sum = lanes_sum(sum);
	f->squares = lanes_sum(squares);
	/* A NaN among the values makes the sum NaN. */
	f->finite = f->sum == f->sum && f->min >= -DBL_MAX && f->max <= DBL_MAX;
}

static double
deviations(const double *v, size_t n, double from)
{
	double a[LANES] = { 0 };
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES)
		for (j = 0; j < LANES; j++)
			a[j] += (v[i + j] - from) * (v[i + j] - from);
	for (j = 0; i < n; i++, j++)
		a[j] += (v[i] - from) * (v[i] - from);
	return lanes_sum(a);
}

struct pairs {
	four aa, bb, ab, dd, d, most;
	whole equal, within; /* counted down from 0 */
};

static inline void
pairs_add(struct pairs *p, const four *x, const four *y, double tolerance)
{
	const four a = *x, b = *y, d = b - a, size = (four)((whole)d & INT64_MAX);
	whole more = size > p->most;

	p->aa += a * a;
	p->bb += b * b;
	p->ab += a * b;
	p->dd += d * d;
	p->d += size;
	p->most = (four)(((whole)size & more) | ((whole)p->most & ~more));
	p->equal += size == 0;
	p->within += size <= tolerance;
}

static inline void
pairs_add_doubles(struct pairs p[2], const double *a, const double *b, double tolerance)
{
	const four x[2] = { *(const four_anywhere *)a, *(const four_anywhere *)(a + HALF) };
	const four y[2] = { *(const four_anywhere *)b, *(const four_anywhere *)(b + HALF) };

	pairs_add(p, x, y, tolerance);
	pairs_add(p + 1, x + 1, y + 1, tolerance);
}

#define WIDENED(x) __builtin_convertvector(*(const four_floats_anywhere *)(x), four)

static inline void
pairs_add_floats(struct pairs p[2], const float *a, const float *b, double tolerance)
{
	const four x[2] = { WIDENED(a), WIDENED(a + HALF) };
	const four y[2] = { WIDENED(b), WIDENED(b + HALF) };

	pairs_add(p, x, y, tolerance);
	pairs_add(p + 1, x + 1, y + 1, tolerance);
}

/* The lanes of both halves. */
static double
halves_sum(const four *low, const four *high)
{
	double a[LANES];

	memcpy(a, low, sizeof *low);
	memcpy(a + HALF, high, sizeof *high);
	return lanes_sum(a);
}

/* zeros: the last values of the sums are this many pairs of zeros, which are not counted. */
static void
pairs_end(const struct pairs p[2], size_t zeros, struct numbers_pair *f)
{
	size_t j;

	*f = (struct numbers_pair){ .aa = halves_sum(&p[0].aa, &p[1].aa),
		.bb = halves_sum(&p[0].bb, &p[1].bb), .ab = halves_sum(&p[0].ab, &p[1].ab),
		.dd = halves_sum(&p[0].dd, &p[1].dd), .d = halves_sum(&p[0].d, &p[1].d) };
	for (j = 0; j < LANES; j++) {
		const struct pairs *half = p + j / HALF;
		size_t at = j % HALF;

		f->most = half->most[at] > f->most ? half->most[at] : f->most;
		f->equal -= (uint64_t)half->equal[at];
		f->within -= (uint64_t)half->within[at];
	}
	f->equal -= zeros;
	f->within -= zeros;
	f->finite = f->aa <= DBL_MAX && f->bb <= DBL_MAX;
}

static void
pair(const double *a, const double *b, size_t n, double tolerance, struct numbers_pair *f)
{
	double x[LANES] = { 0 }, y[LANES] = { 0 };
	struct pairs p[2];
	size_t i, rest = n % LANES;

	memset(p, 0, sizeof p);
	for (i = 0; i + LANES <= n; i += LANES)
		pairs_add_doubles(p, a + i, b + i, tolerance);
	if (rest > 0) {
		memcpy(x, a + i, rest * sizeof *a);
		memcpy(y, b + i, rest * sizeof *b);
		pairs_add_doubles(p, x, y, tolerance);
	}
	pairs_end(p, rest > 0 ? LANES - rest : 0, f);
}

static void
pair_floats(const float *a, const float *b, size_t n, double tolerance, struct numbers_pair *f)
{
	float x[LANES] = { 0 }, y[LANES] = { 0 };
	struct pairs p[2];
	size_t i, rest = n % LANES;

	memset(p, 0, sizeof p);
	for (i = 0; i + LANES <= n; i += LANES)
		pairs_add_floats(p, a + i, b + i, tolerance);
	if (rest > 0) {
		memcpy(x, a + i, rest * sizeof *a);
		memcpy(y, b + i, rest * sizeof *b);
		pairs_add_floats(p, x, y, tolerance);
	}
	pairs_end(p, rest > 0 ? LANES - rest : 0, f);
}

static void
range(const float *x, size_t n, float *min, float *max)
{
	float low[LANES], high[LANES];
	size_t i, j;

	for (j = 0; j < LANES; j++)
		low[j] = high[j] = x[0];
	for (i = 0; i + LANES <= n; i += LANES)
		for (j = 0; j < LANES; j++) {
			low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
			high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
		}
	for (j = 0; i < n; i++, j++) {
		low[j] = x[i] < low[j] ? x[i] : low[j];
		high[j] = x[i] > high[j] ? x[i] : high[j];
	}
	for (j = 1; j < LANES; j++) {
		low[0] = low[j] < low[0] ? low[j] : low[0];
		high[0] = high[j] > high[0] ? high[j] : high[0];
	}
	*min = low[0];
	*max = high[0];
}

/* A product that became 0 was too small. */
static void
bins_of(const float *x, size_t n, float by, int32_t low, uint8_t *bin)
{
	size_t i;

	for (i = 0; i < n; i++) {
		float q = x[i] * by;
		int32_t k = (int32_t)q;

		bin[i] = (uint8_t)(k - ((q < (float)k) | ((q == 0) & (x[i] < 0))) - low);
	}
}

enum { BINS = 2048, WIDTH = 32 }; /* values at once; of a vector */
typedef uint8_t u8x32 __attribute__((vector_size(WIDTH)));

/* The number of bytes of at most BINS that are k: at most 64 for each byte of the sum. */
static uint64_t
count_of(const u8x32 *bin, size_t vectors, unsigned k)
{
	u8x32 sum = { 0 }, like = { 0 };
	uint64_t n = 0;
	size_t i;

	like += (uint8_t)k;
	for (i = 0; i < vectors; i++)
		sum -= (u8x32)(bin[i] == like);
	for (i = 0; i < WIDTH; i++)
		n += sum[i];
	return n;
}

static void
count(const float *x, size_t n, float by, int32_t low, unsigned bins, uint64_t *to)
{
	union {
		u8x32 v[BINS / WIDTH];
		uint8_t b[BINS];
	} bin;
	size_t part, vectors;
	unsigned k;

	for (; n > 0; n -= part, x += part) {
		part = n < BINS ? n : BINS;
		vectors = (part + WIDTH - 1) / WIDTH;
		bins_of(x, part, by, low, bin.b);
		memset(bin.b + part, 0xff, vectors * WIDTH - part);
		for (k = 0; k < bins; k++)
			to[k] += count_of(bin.v, vectors, k);
	}
}

enum { RUNS = 4 }; /* vectors of LANES floats whose sums do not wait for each other */
typedef float f32x8 __attribute__((vector_size(4 * LANES)));
typedef float f32x8_anywhere __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static double
magnitudes(const float *x, float *to, size_t n)
{
	f32x8 sum[RUNS] = { 0 }, v;
	float lane[RUNS * LANES];
	double eight[LANES] = { 0 };
	size_t i, j;

	for (i = 0; i + RUNS * LANES <= n; i += RUNS * LANES)
		for (j = 0; j < RUNS; j++) {
			v = *(const f32x8_anywhere *)(x + i + LANES * j);
			v = (f32x8)((i32x8)v & INT32_MAX);
			*(f32x8_anywhere *)(to + i + LANES * j) += v;
			sum[j] += v;
		}
	memcpy(lane, sum, sizeof lane);
	for (j = 0; i < n; i++, j++) {
		to[i] += fabsf(x[i]);
		lane[j] += fabsf(x[i]);
	}
	for (j = 0; j < RUNS * LANES; j++)
		eight[j % LANES] += (double)lane[j];
	return lanes_sum(eight);
}

static void
squares(const float *x, double *to, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] += (double)x[i] * (double)x[i];
}

typedef uint64_t u64x4 __attribute__((vector_size(8 * HALF)));

static void
checksum(const uint8_t *x, size_t n, uint64_t first[LANES], uint64_t second[LANES])
{
	u64x4 sum[2] = { 0 }, sums[2] = { 0 }, word;
	size_t i, j;

	for (i = 0; i < n; i += 2 * sizeof word)
		for (j = 0; j < 2; j++) {
			memcpy(&word, x + i + sizeof word * j, sizeof word);
			sum[j] += word;
			sums[j] += sum[j];
		}
	memcpy(first, sum, sizeof sum);
	memcpy(second, sums, sizeof sums);
}

const struct numbers KERNEL(numbers) = {
	widen, most, find, deviations, magnitudes, squares, checksum, pair, pair_floats, range, count
};
