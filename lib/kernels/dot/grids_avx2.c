/* Products of the IQ types with AVX2: points are looked up as words of eight bytes or
 * four. For one activation signs are given to that, so that levels need none.
 */
#ifdef __x86_64__
#include "kernels/dot/grids_x86.h"
#include "kernels/dot/kinds.h"

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i
load(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* Those of values 32 × part and up, in the places of their sums. */
INLINE __m256i
scales_of(__m256i scale, int part)
{
	const __m256i order = _mm256_setr_m128i(_mm_set1_epi16(0x0100), _mm_set1_epi16(0x0302));

	return _mm256_shuffle_epi8(_mm256_permutevar8x32_epi32(scale, _mm256_set1_epi32(part)),
	                           order);
}

/* 64 values, of which 64 × part is the first: levels without a sign, and what gives an
 * activation the sign of a level; or codes without a sign. */
struct half_levels {
	__m256i level, sign;
};
typedef void grid_levels(const uint8_t *block, int part, struct half_levels *half);

INLINE __m256i
four_points(const uint64_t *grid, const unsigned *i)
{
	return _mm256_setr_m128i(_mm_set_epi64x((long long)grid[i[1]], (long long)grid[i[0]]),
	                         _mm_set_epi64x((long long)grid[i[3]], (long long)grid[i[2]]));
}

INLINE __m256i
eight_points(const uint32_t *grid, const unsigned *i)
{
	return _mm256_setr_epi32((int)grid[i[0]], (int)grid[i[1]], (int)grid[i[2]],
	                         (int)grid[i[3]], (int)grid[i[4]], (int)grid[i[5]],
	                         (int)grid[i[6]], (int)grid[i[7]]);
}

/* -1 in bytes whose bit is set, else 1. */
INLINE __m256i
signs_of(uint32_t minus)
{
	const __m256i byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
	                                        0x0303030303030303);
	const __m256i fill = _mm256_set1_epi64x(0x7fbfdfeff7fbfdfe);
	__m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)minus), byte);

	v = _mm256_cmpeq_epi8(_mm256_or_si256(v, fill), _mm256_set1_epi8(-1));
	return _mm256_or_si256(v, _mm256_set1_epi8(1));
}

#define SIGNED(NAME, POINTS, COUNT) \
INLINE void \
NAME##_levels(const uint8_t *x, int part, struct half_levels *half) \
{ \
	unsigned i[2 * (COUNT)]; \
	uint64_t minus = NAME##_indexes(x, part, i); \
\
	half[0].level = POINTS(grid_##NAME, i); \
	half[1].level = POINTS(grid_##NAME, i + (COUNT)); \
	half[0].sign = signs_of((uint32_t)minus); \
	half[1].sign = signs_of((uint32_t)(minus >> 32)); \
}

SIGNED(iq2_xxs, four_points, 4)
SIGNED(iq2_xs, four_points, 4)
SIGNED(iq2_s, four_points, 4)
SIGNED(iq3_xxs, eight_points, 8)
SIGNED(iq3_s, eight_points, 8)

/* Two more for eight values each, where a bit of word is not set. */
INLINE __m256i
raised(__m256i v, uint64_t word, __m256i bit)
{
	__m256i up = _mm256_and_si256(_mm256_set1_epi64x((long long)word), bit);

	up = _mm256_cmpeq_epi64(up, _mm256_setzero_si256());
	return _mm256_add_epi8(v, _mm256_and_si256(up, _mm256_set1_epi8(2)));
}

INLINE void
iq1_s_levels(const uint8_t *x, int part, struct half_levels *half)
{
	unsigned i[8];
	uint64_t down = iq1_s_indexes(x, part, i);

	half[0].level = raised(four_points(grid_iq1, i), down, _mm256_set1_epi64x(1 << 15));
	half[1].level = raised(four_points(grid_iq1, i + 4), down, _mm256_set1_epi64x(1ll << 31));
}

INLINE void
iq1_m_levels(const uint8_t *x, int part, struct half_levels *half)
{
	const __m256i bit = _mm256_setr_epi64x(1 << 3, 1 << 7, 1 << 11, 1 << 15);
	unsigned i[8];
	uint64_t down = iq1_m_indexes(x, part, i);

	half[0].level = raised(four_points(grid_iq1, i), down, bit);
	half[1].level = raised(four_points(grid_iq1, i + 4), down >> 16, bit);
}

/* ---- one activation ---- */

/* zero is taken from codes that have no sign; with 0, levels have one. */
INLINE float
grid_row(grid_levels *levels, odd_scales *scales, size_t bytes, int zero, const uint8_t *w,
         const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, LARGE);
	__m256 acc = _mm256_setzero_ps();
	const int16_t *of = q.sums;
	struct half_levels half[2];
	__m256i act, p, sum;
	struct odd s;
	size_t b;
	int i, k;

	for (b = 0; b < n / LARGE; b++, w += bytes, of += LARGE / SUB, q.code += LARGE) {
		for (i = 0; i < (int)bytes; i += 64)
			_mm_prefetch((const char *)w + AHEAD + i, _MM_HINT_T0);
		s = scales(w);
		sum = _mm256_setzero_si256();
		if (zero) {
			p = _mm256_madd_epi16(s.scale, load(of));
			sum = _mm256_mullo_epi32(p, _mm256_set1_epi32(-zero));
		}
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			levels(w, i, half);
#pragma GCC unroll 2
			for (k = 0; k < 2; k++) {
				act = load(q.code + 64 * i + SMALL * k);
				if (!zero)
					act = _mm256_sign_epi8(act, half[k].sign);
				p = _mm256_maddubs_epi16(half[k].level, act);
				p = _mm256_madd_epi16(p, scales_of(s.scale, 2 * i + k));
				sum = _mm256_add_epi32(sum, p);
			}
		}
		acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(s.d * q.scale[b]),
		                      acc);
	}
	return add_eight(acc);
}

#define GRID_ROWS(NAME, BYTES, FROM) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = grid_row(NAME##_levels, NAME##_odd, BYTES, FROM, w, a, n); \
}

GRID_ROWS(iq1_s, 50, ZERO_IQ1)
GRID_ROWS(iq1_m, 56, ZERO_IQ1)
GRID_ROWS(iq2_xxs, 66, 0)
GRID_ROWS(iq2_xs, 74, 0)
GRID_ROWS(iq2_s, 82, 0)
GRID_ROWS(iq3_xxs, 98, 0)
GRID_ROWS(iq3_s, 110, 0)

const struct dot_fast grids_avx2[] = {
	{ "IQ1_S", iq1_s_rows }, { "IQ1_M", iq1_m_rows },
	{ "IQ2_XXS", iq2_xxs_rows }, { "IQ2_XS", iq2_xs_rows }, { "IQ2_S", iq2_s_rows },
	{ "IQ3_XXS", iq3_xxs_rows }, { "IQ3_S", iq3_s_rows },
	{ NULL, NULL }
};
#else
typedef int nothing_here;
#endif
