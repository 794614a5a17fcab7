/* grids_x86: the IQ types for AVX2 and AVX-512. Internal to kernels. */
#ifndef DOT_GRIDS_X86_H
#define DOT_GRIDS_X86_H

#include "kernels/common/grids.h"
#include "kernels/common/x86.h"

/* Added to levels so that codes have no sign. */
enum { ZERO = 64, ZERO_IQ1 = 9 };

/* The upper seven bits of a word are signs. */
GRID_INLINE uint64_t
iq2_xs_indexes(const uint8_t *x, int part, unsigned *index)
{
	__m128i v = _mm_srli_epi16(_mm_loadu_si128((const __m128i *)(x + 2 + 16 * part)), 9);
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		index[i] = le16(x + 2 + 16 * part + 2 * i) & 511u;
	return grid_signs((uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(v, v)));
}

/* Scales, which are odd numbers: 16 bits for each 16 values, in units of d. */
struct odd {
	__m256i scale;
	float d;
};
typedef struct odd odd_scales(const uint8_t *block);

/* 2 s + 1 for the 16 numbers s. */
static inline struct odd
odd_of(__m256i s, float d)
{
	struct odd y = { _mm256_or_si256(_mm256_slli_epi16(s, 1), _mm256_set1_epi16(1)), d };

	return y;
}

/* Eight numbers, each twice. */
static inline __m256i
each_twice(__m256i v)
{
	return _mm256_or_si256(v, _mm256_slli_epi32(v, 16));
}

static inline struct odd
iq2_xxs_odd(const uint8_t *x)
{
	__m256i a = _mm256_srli_epi64(_mm256_loadu_si256((const __m256i *)(x + 2)), 60);
	__m256i b = _mm256_srli_epi64(_mm256_loadu_si256((const __m256i *)(x + 34)), 60);

	/* a has numbers of two bits in every second place, b the others. */
	a = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a),
	                                          _mm256_castsi256_ps(b), 0x88));
	return odd_of(each_twice(_mm256_permute4x64_epi64(a, 0xd8)), half_at(x) * 0.125f);
}

/* Sixteen numbers of four bits. */
static inline __m256i
nibbles_odd(const uint8_t *x)
{
	__m128i v = _mm_loadl_epi64((const __m128i *)x);

	v = _mm_unpacklo_epi8(v, _mm_srli_epi16(v, 4));
	return _mm256_cvtepu8_epi16(_mm_and_si128(v, _mm_set1_epi8(15)));
}

static inline struct odd
iq2_xs_odd(const uint8_t *x)
{
	return odd_of(nibbles_odd(x + 66), half_at(x) * 0.125f);
}

static inline struct odd
iq2_s_odd(const uint8_t *x)
{
	return odd_of(nibbles_odd(x + 74), half_at(x) * 0.125f);
}

static inline struct odd
iq3_xxs_odd(const uint8_t *x)
{
	__m256i s = _mm256_srli_epi32(_mm256_loadu_si256((const __m256i *)(x + 66)), 28);

	return odd_of(each_twice(s), half_at(x) * 0.25f);
}

static inline struct odd
iq3_s_odd(const uint8_t *x)
{
	__m256i s = _mm256_srlv_epi32(_mm256_set1_epi32((int)le32(x + 106)),
	                              _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));

	return odd_of(each_twice(_mm256_and_si256(s, _mm256_set1_epi32(15))), half_at(x));
}

static inline struct odd
iq1_s_odd(const uint8_t *x)
{
	__m128i s = _mm_srli_epi16(_mm_loadu_si128((const __m128i *)(x + 34)), 12);

	s = _mm_and_si128(s, _mm_set1_epi16(7));
	return odd_of(each_twice(_mm256_cvtepu16_epi32(s)), half_at(x) * 0.125f);
}

/* A word has four numbers of three bits; a multiplication shifts each to the same place. */
static inline struct odd
iq1_m_odd(const uint8_t *x)
{
	const __m256i word = _mm256_setr_epi64x(0x0100010001000100, 0x0302030203020302,
	                                        0x0504050405040504, 0x0706070607060706);
	const __m256i by = _mm256_set1_epi64x(1ll << 48 | 1ll << 35 | 1ll << 22 | 1ll << 9);
	__m256i s = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)le64(x + 48)), word);

	s = _mm256_srli_epi16(_mm256_mullo_epi16(s, by), 9);
	return odd_of(_mm256_and_si256(s, _mm256_set1_epi16(7)),
	              _cvtsh_ss(iq1_m_half(x)) * 0.125f);
}

#endif
