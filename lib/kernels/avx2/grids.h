/* grids: the IQ types with AVX2. Points are looked up as words of eight bytes or four.
 * Internal to this folder.
 */
#ifndef DOT_GRIDS_AVX2_H
#define DOT_GRIDS_AVX2_H

#include "kernels/avx2/codes.h"
#include "kernels/common/grids_x86.h"

/* Added to levels so that codes have no sign. */
enum { ZERO_IQ2 = 43, ZERO_IQ3_S = 16, ZERO_IQ3_XXS = 32 };

/* 64 values from number 64 × part on: levels without a sign, and the factor that gives an
 * activation the sign of its level; or codes without a sign. */
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

/* 2 for each of eight values where a bit of word is not set. */
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

/* ---- as other blocks of 256 ---- */

/* Levels with their sign, plus zero. */
#define SIGNED_CODES(NAME, FROM) \
INLINE __m256i \
NAME##_codes(const uint8_t *x, int part) \
{ \
	struct half_levels half[2]; \
\
	NAME##_levels(x, part / 2, half); \
	return _mm256_add_epi8(_mm256_sign_epi8(half[part % 2].level, half[part % 2].sign), \
	                       _mm256_set1_epi8(FROM)); \
}
#define ODD_SCALES(NAME, TIMES) \
INLINE struct scales \
NAME##_scales(const uint8_t *x) \
{ \
	struct odd s = NAME##_odd(x); \
	struct scales y = { s.scale, s.scale, s.d * (TIMES), 0 }; \
\
	return y; \
}

SIGNED_CODES(iq2_xxs, ZERO_IQ2)
SIGNED_CODES(iq2_xs, ZERO_IQ2)
SIGNED_CODES(iq2_s, ZERO_IQ2)
SIGNED_CODES(iq3_s, ZERO_IQ3_S)
ODD_SCALES(iq2_xxs, 1)
ODD_SCALES(iq2_xs, 1)
ODD_SCALES(iq2_s, 1)
ODD_SCALES(iq3_s, 1)

/* Levels are even; halves of them need one bit less. */
INLINE __m256i
iq3_xxs_codes(const uint8_t *x, int part)
{
	struct half_levels half[2];
	__m256i v;

	iq3_xxs_levels(x, part / 2, half);
	v = _mm256_sign_epi8(_mm256_srli_epi16(half[part % 2].level, 1), half[part % 2].sign);
	return _mm256_add_epi8(v, _mm256_set1_epi8(ZERO_IQ3_XXS));
}

ODD_SCALES(iq3_xxs, 2)

INLINE __m256i
iq1_s_codes(const uint8_t *x, int part)
{
	struct half_levels half[2];

	iq1_s_levels(x, part / 2, half);
	return half[part % 2].level;
}

INLINE __m256i
iq1_m_codes(const uint8_t *x, int part)
{
	struct half_levels half[2];

	iq1_m_levels(x, part / 2, half);
	return half[part % 2].level;
}

ODD_SCALES(iq1_s, 1)
ODD_SCALES(iq1_m, 1)

#endif
