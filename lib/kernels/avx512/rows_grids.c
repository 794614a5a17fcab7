/* The IQ types with AVX-512: points are looked up as words of eight bytes or four, and signs
 * are masks. With one activation, the activation takes the signs, so that levels have none.
 * Panels hold levels with their sign plus 64, since all codes there have no sign.
 */
#include "kernels/avx512/avx512.h"
#include "kernels/common/grids_x86.h"
#include "kernels/avx512/panel.h"

/* Levels of 64 values from number 64 × part on, and a mask of those with a minus. */
struct signed_levels {
	__m512i level;
	__mmask64 minus;
};
typedef struct signed_levels signed_codes(const uint8_t *block, int part);

/* The points of a grid by eight or sixteen indexes. */
INLINE __m512i
eight_points(const uint64_t *grid, const unsigned *i)
{
	__m256i low = _mm256_setr_m128i(_mm_set_epi64x((long long)grid[i[1]], (long long)grid[i[0]]),
	                                _mm_set_epi64x((long long)grid[i[3]], (long long)grid[i[2]]));
	__m256i high = _mm256_setr_m128i(_mm_set_epi64x((long long)grid[i[5]], (long long)grid[i[4]]),
	                                 _mm_set_epi64x((long long)grid[i[7]], (long long)grid[i[6]]));

	return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

INLINE __m512i
sixteen_points(const uint32_t *grid, const unsigned *i)
{
	__m128i v[4];
	int k;

#pragma GCC unroll 4
	for (k = 0; k < 4; k++)
		v[k] = _mm_setr_epi32((int)grid[i[4 * k]], (int)grid[i[4 * k + 1]],
		                      (int)grid[i[4 * k + 2]], (int)grid[i[4 * k + 3]]);
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_setr_m128i(v[0], v[1])),
	                          _mm256_setr_m128i(v[2], v[3]), 1);
}

/* 2 for each of eight values where a bit of word is not set. */
INLINE __m512i
raised(__m512i v, uint64_t word, __m512i bit)
{
	__mmask8 up = _mm512_testn_epi64_mask(_mm512_set1_epi64((long long)word), bit);

	return _mm512_mask_add_epi64(v, up, v, _mm512_set1_epi8(2));
}

INLINE __m512i
iq1_s_codes(const uint8_t *x, int part)
{
	const __m512i bit = _mm512_setr_epi64(1 << 15, 1 << 15, 1 << 15, 1 << 15, 1ll << 31,
	                                      1ll << 31, 1ll << 31, 1ll << 31);
	unsigned i[8];
	uint64_t down = iq1_s_indexes(x, part, i);

	return raised(eight_points(grid_iq1, i), down, bit);
}

INLINE __m512i
iq1_m_codes(const uint8_t *x, int part)
{
	const __m512i bit = _mm512_setr_epi64(1 << 3, 1 << 7, 1 << 11, 1 << 15, 1 << 19, 1 << 23,
	                                      1 << 27, 1ll << 31);
	unsigned i[8];
	uint64_t down = iq1_m_indexes(x, part, i);

	return raised(eight_points(grid_iq1, i), down, bit);
}

INLINE __m512i
from_zero(struct signed_levels v)
{
	const __m512i zero = _mm512_set1_epi8(ZERO);

	return _mm512_mask_sub_epi8(_mm512_add_epi8(zero, v.level), v.minus, zero, v.level);
}

#define SIGNED(NAME, POINTS) \
INLINE struct signed_levels \
NAME##_levels(const uint8_t *x, int part) \
{ \
	struct signed_levels y; \
	unsigned i[16]; \
\
	y.minus = NAME##_indexes(x, part, i); \
	y.level = POINTS(grid_##NAME, i); \
	return y; \
} \
INLINE __m512i \
NAME##_codes(const uint8_t *x, int part) \
{ \
	return from_zero(NAME##_levels(x, part)); \
}

SIGNED(iq2_xxs, eight_points)
SIGNED(iq2_xs, eight_points)
SIGNED(iq2_s, eight_points)
SIGNED(iq3_xxs, sixteen_points)
SIGNED(iq3_s, sixteen_points)

/* A scale for each 16 or 32 values; zero was added to codes. */
INLINE struct scales
scales_from(struct odd s, int sub, int zero)
{
	struct scales y;

	y.scale = sub == SUB ? _mm512_cvtepi16_epi32(s.scale)
		: _mm512_castsi256_si512(_mm256_and_si256(s.scale, _mm256_set1_epi32(0xffff)));
	y.least16 = s.scale;
	y.d = s.d;
	y.m = (float)zero * s.d;
	return y;
}

#define SCALES(NAME, SUBS, FROM) \
INLINE struct scales \
NAME##_scales(const uint8_t *x) \
{ \
	return scales_from(NAME##_odd(x), SUBS, FROM); \
}

SCALES(iq1_s, 32, ZERO_IQ1)
SCALES(iq1_m, 16, ZERO_IQ1)
SCALES(iq2_xxs, 32, ZERO)
SCALES(iq2_xs, 16, ZERO)
SCALES(iq2_s, 16, ZERO)
SCALES(iq3_xxs, 32, ZERO)
SCALES(iq3_s, 32, ZERO)

/* ---- one activation ---- */

/* For points with signs, or for codes without a sign and with a min. */
INLINE float
grid_row(signed_codes *levels, large_codes *codes, large_scales *scales, size_t bytes, int sub,
         const uint8_t *w, const uint8_t *a, size_t n)
{
	const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m512i which = _mm512_srli_epi32(lanes, sub == SUB ? 2 : 3);
	struct quantized q = quantized_at(a, n, LARGE);
	__m512 acc[2] = { _mm512_setzero_ps(), _mm512_setzero_ps() }, z;
	__m256 leasts = _mm256_setzero_ps();
	const int16_t *of = q.sums;
	struct signed_levels v;
	struct scales s;
	__m512i act, sum;
	__m256i taken;
	size_t b;
	int i;

	for (b = 0; b < n / LARGE; b++, w += bytes, of += LARGE / SUB, q.code += LARGE) {
		for (i = 0; i < (int)bytes; i += 64)
			_mm_prefetch((const char *)w + AHEAD + i, _MM_HINT_T0);
		s = scales(w);
		z = _mm512_mul_ps(_mm512_cvtepi32_ps(s.scale), _mm512_set1_ps(s.d * q.scale[b]));
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			act = load(q.code + 64 * i);
			if (levels) {
				v = levels(w, i);
				act = _mm512_mask_sub_epi8(act, v.minus, _mm512_setzero_si512(), act);
			} else {
				v.level = codes(w, i);
			}
			sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), v.level, act);
			act = _mm512_add_epi32(which, _mm512_set1_epi32(i * (sub == SUB ? 4 : 2)));
			acc[i % 2] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
			                             _mm512_permutexvar_ps(act, z), acc[i % 2]);
		}
		if (levels)
			continue;
		taken = _mm256_madd_epi16(s.least16, _mm256_loadu_si256((const __m256i *)
		                                                        (const void *)of));
		leasts = _mm256_fmadd_ps(_mm256_cvtepi32_ps(taken),
		                         _mm256_set1_ps(s.m * q.scale[b]), leasts);
	}
	return _mm512_reduce_add_ps(_mm512_add_ps(acc[0], acc[1])) - add_eight(leasts);
}

#define GRID_ROWS(NAME, LEVELS, CODES, BYTES, SUBS) \
void \
NAME##_rows_avx512(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                 float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = grid_row(LEVELS, CODES, NAME##_scales, BYTES, SUBS, w, a, n); \
}

GRID_ROWS(iq1_s, NULL, iq1_s_codes, 50, 32)
GRID_ROWS(iq1_m, NULL, iq1_m_codes, 56, 16)
GRID_ROWS(iq2_xxs, iq2_xxs_levels, NULL, 66, 32)
GRID_ROWS(iq2_xs, iq2_xs_levels, NULL, 74, 16)
GRID_ROWS(iq2_s, iq2_s_levels, NULL, 82, 16)
GRID_ROWS(iq3_xxs, iq3_xxs_levels, NULL, 98, 32)
GRID_ROWS(iq3_s, iq3_s_levels, NULL, 110, 32)


/* ---- many ---- */

LARGE_PANELS(iq1_s, iq1_s_scales, 50, 32)
LARGE_PANELS(iq1_m, iq1_m_scales, 56, 16)
LARGE_PANELS(iq2_xxs, iq2_xxs_scales, 66, 32)
LARGE_PANELS(iq2_xs, iq2_xs_scales, 74, 16)
LARGE_PANELS(iq2_s, iq2_s_scales, 82, 16)
LARGE_PANELS(iq3_xxs, iq3_xxs_scales, 98, 32)
LARGE_PANELS(iq3_s, iq3_s_scales, 110, 32)
