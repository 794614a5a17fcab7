/* Statistics of many numbers, with eight lanes in one vector: see numbers.h. */
#include "kernels/numbers.h"

#include <float.h>
#include <immintrin.h>
#include <string.h>

enum { LANES = 8, FLOATS = 16 };

/* A mask of the first count of eight lanes. */
static inline __mmask8
some(size_t count)
{
	return (__mmask8)(count >= LANES ? 0xff : (1u << count) - 1);
}

static void
widen(const float *x, double *y, size_t n)
{
	__mmask8 m;
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		_mm512_storeu_pd(y + i, _mm512_cvtps_pd(_mm256_loadu_ps(x + i)));
	m = some(n - i);
	if (m)
		_mm512_mask_storeu_pd(y + i, m, _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, x + i)));
}

static uint32_t
most(const float *x, size_t n)
{
	const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
	__m512i best = _mm512_setzero_si512();
	__mmask16 m = 0xffff;
	size_t i;

	for (i = 0; i < n; i += FLOATS) {
		if (n - i < FLOATS)
			m = (__mmask16)((1u << (n - i)) - 1);
		best = _mm512_max_epi32(best, _mm512_and_si512(
			_mm512_maskz_loadu_epi32(m, x + i), magnitude));
	}
	return (uint32_t)_mm512_reduce_max_epi32(best);
}

static double
lanes_sum(__m512d v)
{
	__m256d four = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
	double a[4];

	_mm256_storeu_pd(a, four);
	return (a[0] + a[1]) + (a[2] + a[3]);
}

struct lanes {
	__m512d min, max, sum, squares;
	__m512i zeros;
};

/* Of equal numbers, such as zeros of either sign, and beside a NaN, the earlier one stays:
 * the instructions return their second operand. */
static inline void
lanes_add(struct lanes *p, const double *v, __mmask8 m)
{
	__m512d x = _mm512_maskz_loadu_pd(m, v);
	__mmask8 zero = _mm512_mask_cmp_pd_mask(m, x, _mm512_setzero_pd(), _CMP_EQ_OQ);

	p->min = _mm512_mask_min_pd(p->min, m, x, p->min);
	p->max = _mm512_mask_max_pd(p->max, m, x, p->max);
	p->sum = _mm512_mask_add_pd(p->sum, m, p->sum, x);
	p->squares = _mm512_mask_add_pd(p->squares, m, p->squares, _mm512_mul_pd(x, x));
	p->zeros = _mm512_mask_add_epi64(p->zeros, zero, p->zeros, _mm512_set1_epi64(1));
}

static void
find(const double *v, size_t n, struct numbers_found *f)
{
	const __m512d first = _mm512_set1_pd(v[0]), zero = _mm512_setzero_pd();
	struct lanes p = { first, first, zero, zero, _mm512_setzero_si512() };
	double low[LANES], high[LANES];
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES)
		lanes_add(&p, v + i, 0xff);
	if (i < n)
		lanes_add(&p, v + i, some(n - i));
	_mm512_storeu_pd(low, p.min);
	_mm512_storeu_pd(high, p.max);
	*f = (struct numbers_found){ .min = v[0], .max = v[0], .sum = lanes_sum(p.sum),
		.squares = lanes_sum(p.squares),
		.zeros = (uint64_t)_mm512_reduce_add_epi64(p.zeros) };
	for (j = 0; j < LANES; j++) {
		f->min = low[j] < f->min ? low[j] : f->min;
		f->max = high[j] > f->max ? high[j] : f->max;
	}
	f->finite = f->sum == f->sum && f->min >= -DBL_MAX && f->max <= DBL_MAX;
}

static inline __m512d
square_add(__m512d sum, const double *v, double from, __mmask8 m)
{
	__m512d x = _mm512_sub_pd(_mm512_maskz_loadu_pd(m, v), _mm512_set1_pd(from));

	return _mm512_mask_add_pd(sum, m, sum, _mm512_mul_pd(x, x));
}

static double
deviations(const double *v, size_t n, double from)
{
	__m512d sum = _mm512_setzero_pd();
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		sum = square_add(sum, v + i, from, 0xff);
	if (i < n)
		sum = square_add(sum, v + i, from, some(n - i));
	return lanes_sum(sum);
}

/* The first count of sixteen values. Returns their magnitudes. */
static inline __m512
add_some(const float *x, float *to, size_t count)
{
	__mmask16 m = (__mmask16)(count >= FLOATS ? 0xffff : (1u << count) - 1);
	__m512 v = _mm512_abs_ps(_mm512_maskz_loadu_ps(m, x));

	_mm512_mask_storeu_ps(to, m, _mm512_add_ps(_mm512_maskz_loadu_ps(m, to), v));
	return v;
}

static inline __m512
add_all(const float *x, float *to)
{
	__m512 v = _mm512_abs_ps(_mm512_loadu_ps(x));

	_mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), v));
	return v;
}

/* The lower and the upper eight as doubles. */
static inline __m512d
lower(__m512 v)
{
	return _mm512_cvtps_pd(_mm512_castps512_ps256(v));
}

static inline __m512d
upper(__m512 v)
{
	return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}

static double
magnitudes(const float *x, float *to, size_t n)
{
	__m512 a = _mm512_setzero_ps(), b = _mm512_setzero_ps();
	size_t i;

	for (i = 0; i + 2 * FLOATS <= n; i += 2 * FLOATS) {
		a = _mm512_add_ps(a, add_all(x + i, to + i));
		b = _mm512_add_ps(b, add_all(x + i + FLOATS, to + i + FLOATS));
	}
	if (i < n)
		a = _mm512_add_ps(a, add_some(x + i, to + i, n - i));
	if (i + FLOATS < n)
		b = _mm512_add_ps(b, add_some(x + i + FLOATS, to + i + FLOATS, n - i - FLOATS));
	return lanes_sum(_mm512_add_pd(_mm512_add_pd(_mm512_add_pd(lower(a), upper(a)), lower(b)),
	                               upper(b)));
}

/* The square of a float is exact in double precision. */
static void
squares(const float *x, double *to, size_t n)
{
	__m512d v;
	__mmask8 m;
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES) {
		v = _mm512_cvtps_pd(_mm256_loadu_ps(x + i));
		_mm512_storeu_pd(to + i, _mm512_fmadd_pd(v, v, _mm512_loadu_pd(to + i)));
	}
	m = some(n - i);
	v = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, x + i));
	_mm512_mask_storeu_pd(to + i, m, _mm512_fmadd_pd(v, v, _mm512_maskz_loadu_pd(m, to + i)));
}

static void
checksum(const uint8_t *x, size_t n, uint64_t first[LANES], uint64_t second[LANES])
{
	__m512i sum = _mm512_setzero_si512(), sums = sum;
	size_t i;

	for (i = 0; i < n; i += sizeof sum) {
		sum = _mm512_add_epi64(sum, _mm512_loadu_si512(x + i));
		sums = _mm512_add_epi64(sums, sum);
	}
	_mm512_storeu_si512(first, sum);
	_mm512_storeu_si512(second, sums);
}

struct pairs {
	__m512d aa, bb, ab, dd, d, most;
	uint64_t equal, within;
};

static inline uint64_t
ones(unsigned mask)
{
	return (uint64_t)_mm_popcnt_u64(mask);
}

/* m: the lanes that count. In the others d is 0. */
static inline void
differences_add(struct pairs *p, __m512d d, __m512d size, __m512d tolerance, __mmask8 m)
{
	p->dd = _mm512_add_pd(p->dd, _mm512_mul_pd(d, d));
	p->d = _mm512_add_pd(p->d, size);
	p->most = _mm512_max_pd(size, p->most);
	p->within += ones(_mm512_mask_cmp_pd_mask(m, size, tolerance, _CMP_LE_OQ));
}

static inline void
doubles_add(struct pairs *p, __m512d a, __m512d b, __m512d tolerance, __mmask8 m)
{
	__m512d d = _mm512_sub_pd(b, a), size = _mm512_abs_pd(d);

	p->aa = _mm512_add_pd(p->aa, _mm512_mul_pd(a, a));
	p->bb = _mm512_add_pd(p->bb, _mm512_mul_pd(b, b));
	p->ab = _mm512_add_pd(p->ab, _mm512_mul_pd(a, b));
	p->equal += ones(_mm512_mask_cmp_pd_mask(m, size, _mm512_setzero_pd(), _CMP_EQ_OQ));
	differences_add(p, d, size, tolerance, m);
}

/* A product of two floats is exact in double precision. Therefore adding it in the same
 * instruction makes no other sum. That of d², which may be rounded, would be another. */
static inline void
floats_add(struct pairs *p, __m256 x, __m256 y, __m512d tolerance, __mmask8 m)
{
	__m512d a = _mm512_cvtps_pd(x), b = _mm512_cvtps_pd(y), d = _mm512_sub_pd(b, a);

	p->aa = _mm512_fmadd_pd(a, a, p->aa);
	p->bb = _mm512_fmadd_pd(b, b, p->bb);
	p->ab = _mm512_fmadd_pd(a, b, p->ab);
	differences_add(p, d, _mm512_abs_pd(d), tolerance, m);
}

static inline void
pairs_end(const struct pairs *p, struct numbers_pair *f)
{
	*f = (struct numbers_pair){ .aa = lanes_sum(p->aa), .bb = lanes_sum(p->bb),
		.ab = lanes_sum(p->ab), .dd = lanes_sum(p->dd), .d = lanes_sum(p->d),
		.most = _mm512_reduce_max_pd(p->most), .equal = p->equal, .within = p->within };
	f->finite = f->aa <= DBL_MAX && f->bb <= DBL_MAX;
}

static inline struct pairs
pairs_begin(void)
{
	const __m512d zero = _mm512_setzero_pd();

	return (struct pairs){ zero, zero, zero, zero, zero, zero, 0, 0 };
}

static void
pair(const double *a, const double *b, size_t n, double tolerance, struct numbers_pair *f)
{
	const __m512d limit = _mm512_set1_pd(tolerance);
	struct pairs p = pairs_begin();
	__mmask8 m = some(n % LANES);
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		doubles_add(&p, _mm512_loadu_pd(a + i), _mm512_loadu_pd(b + i), limit, 0xff);
	if (m)
		doubles_add(&p, _mm512_maskz_loadu_pd(m, a + i), _mm512_maskz_loadu_pd(m, b + i),
		            limit, m);
	pairs_end(&p, f);
}

static void
pair_floats(const float *a, const float *b, size_t n, double tolerance, struct numbers_pair *f)
{
	const __m512d limit = _mm512_set1_pd(tolerance);
	struct pairs p = pairs_begin();
	size_t i, part;

	for (i = 0; i + FLOATS <= n; i += FLOATS) {
		__m512 x = _mm512_loadu_ps(a + i), y = _mm512_loadu_ps(b + i);

		p.equal += ones(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ));
		floats_add(&p, _mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), limit, 0xff);
		floats_add(&p, _mm256_loadu_ps(a + i + LANES), _mm256_loadu_ps(b + i + LANES),
		           limit, 0xff);
	}
	for (; i < n; i += part) {
		__mmask8 m = some(n - i);
		__m256 x = _mm256_maskz_loadu_ps(m, a + i), y = _mm256_maskz_loadu_ps(m, b + i);

		part = n - i < LANES ? n - i : LANES;
		p.equal += ones(_mm256_mask_cmp_ps_mask(m, x, y, _CMP_EQ_OQ));
		floats_add(&p, x, y, limit, m);
	}
	pairs_end(&p, f);
}

static void
range(const float *x, size_t n, float *min, float *max)
{
	__m512 low = _mm512_set1_ps(x[0]), high = low, v;
	size_t i;

	for (i = 0; i + FLOATS <= n; i += FLOATS) {
		v = _mm512_loadu_ps(x + i);
		low = _mm512_min_ps(v, low);
		high = _mm512_max_ps(v, high);
	}
	if (i < n) {
		v = _mm512_mask_loadu_ps(low, (__mmask16)((1u << (n - i)) - 1), x + i);
		high = _mm512_mask_max_ps(high, (__mmask16)((1u << (n - i)) - 1), v, high);
		low = _mm512_min_ps(v, low);
	}
	*min = _mm512_reduce_min_ps(low);
	*max = _mm512_reduce_max_ps(high);
}

/* A product that became 0 was too small. */
static inline __m128i
bins_of(__m512 x, __m512 by, __m512i low)
{
	__m512 q = _mm512_mul_ps(x, by), zero = _mm512_setzero_ps();
	__mmask16 small = _mm512_mask_cmp_ps_mask(
		_mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ), q, zero, _CMP_EQ_OQ);
	__m512i bin = _mm512_cvtps_epi32(
		_mm512_roundscale_ps(q, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));

	bin = _mm512_sub_epi32(bin, low);
	return _mm512_cvtepi32_epi8(_mm512_mask_sub_epi32(bin, small, bin, _mm512_set1_epi32(1)));
}

enum { BINS = 2048, BYTES = 64 }; /* values at once; of a vector */

/* The number of n bytes that are k. */
static uint64_t
count_of(const uint8_t *bin, size_t n, unsigned k)
{
	const __m512i like = _mm512_set1_epi8((char)k);
	uint64_t found = 0;
	size_t i;

	for (i = 0; i < n; i += BYTES)
		found += (uint64_t)_mm_popcnt_u64(_mm512_cmpeq_epi8_mask(_mm512_load_si512(bin + i), like));
	return found;
}

static void
count(const float *x, size_t n, float by, int32_t low, unsigned bins, uint64_t *to)
{
	const __m512 factor = _mm512_set1_ps(by);
	const __m512i first = _mm512_set1_epi32(low);
	_Alignas(BYTES) uint8_t bin[BINS];
	size_t i, part, all;
	unsigned k;

	for (; n > 0; n -= part, x += part) {
		part = n < BINS ? n : BINS;
		all = (part + BYTES - 1) / BYTES * BYTES;
		for (i = 0; i + FLOATS <= part; i += FLOATS)
			_mm_store_si128((__m128i *)(bin + i),
			                bins_of(_mm512_loadu_ps(x + i), factor, first));
		if (i < part)
			_mm_store_si128((__m128i *)(bin + i), bins_of(_mm512_maskz_loadu_ps(
				(__mmask16)((1u << (part - i)) - 1), x + i), factor, first));
		memset(bin + part, 0xff, all - part);
		for (k = 0; k < bins; k++)
			to[k] += count_of(bin, all, k);
	}
}

const struct numbers numbers_avx512 = {
	widen, most, find, deviations, magnitudes, squares, checksum, pair, pair_floats, range, count
};
