/* codes: blocks of weights as codes and scales; floats. Internal to this folder. */
#ifndef DOT_CODES_AVX2_H
#define DOT_CODES_AVX2_H

#include <immintrin.h>
#include <stdbool.h>

#include "core/half.h"
#include "kernels/common/rows.h"
#include "kernels/common/x86.h"

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i
load(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* ---- blocks of 32 ---- */

/* Codes of a block as they are stored: without a sign, except those of Q8_0 and IQ4_NL. */
typedef __m256i small_codes(const uint8_t *block);

INLINE __m256i
nibbles(const uint8_t *x)
{
	__m128i v = _mm_loadu_si128((const __m128i *)x);

	return _mm256_and_si256(_mm256_inserti128_si256(_mm256_castsi128_si256(v),
	                        _mm_srli_epi16(v, 4), 1), _mm256_set1_epi8(15));
}

/* 16 where bit i is set: byte i / 8 moves to place i, and all its bits except i % 8 are
 * set, so that it is -1 if that bit is set. */
INLINE __m256i
fifths(const uint8_t *x)
{
	const __m256i byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
	                                        0x0303030303030303);
	const __m256i fill = _mm256_set1_epi64x(0x7fbfdfeff7fbfdfe);
	__m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)le32(x)), byte);

	v = _mm256_cmpeq_epi8(_mm256_or_si256(v, fill), _mm256_set1_epi8(-1));
	return _mm256_and_si256(v, _mm256_set1_epi8(16));
}

INLINE __m256i
q4_0_codes(const uint8_t *x)
{
	return nibbles(x + 2);
}

INLINE __m256i
q4_1_codes(const uint8_t *x)
{
	return nibbles(x + 4);
}

INLINE __m256i
q5_0_codes(const uint8_t *x)
{
	return _mm256_or_si256(nibbles(x + 6), fifths(x + 2));
}

INLINE __m256i
q5_1_codes(const uint8_t *x)
{
	return _mm256_or_si256(nibbles(x + 8), fifths(x + 4));
}

INLINE __m256i
q8_0_codes(const uint8_t *x)
{
	return load(x + 2);
}

/* The levels of nibbles. */
INLINE __m256i
iq4_levels_of(__m256i code)
{
	return _mm256_xor_si256(_mm256_shuffle_epi8(levels_128(), code), _mm256_set1_epi8(-128));
}

INLINE __m256i
iq4_nl_codes(const uint8_t *x)
{
	return iq4_levels_of(nibbles(x + 2));
}

INLINE __m256i
mxfp4_codes(const uint8_t *x)
{
	return _mm256_shuffle_epi8(levels_mxfp4(), nibbles(x + 1));
}

/* ---- blocks of 256 ---- */

/* Codes of 32 values from number 32 × part on, as they are stored: without a sign, except
 * those of IQ4_XS. */
typedef __m256i large_codes(const uint8_t *block, int part);

/* The scale and the min of each 16 values, in units of d and m. */
struct scales {
	__m256i scale, least;
	float d, m;
};
typedef struct scales large_scales(const uint8_t *block);

/* Scales of the values from 32 × part on, in the places of their sums. */
INLINE __m256i
scales_of(__m256i scale, int part)
{
	const __m256i order = _mm256_setr_m128i(_mm_set1_epi16(0x0100), _mm_set1_epi16(0x0302));

	return _mm256_shuffle_epi8(_mm256_permutevar8x32_epi32(scale, _mm256_set1_epi32(part)),
	                           order);
}

INLINE __m256i
low_bits(__m256i v, int shift, int mask)
{
	return _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8((char)mask));
}

/* value where bit part of the bytes at x is set. */
INLINE __m256i
bit_of(const uint8_t *x, int part, int value)
{
	const __m256i bit = _mm256_set1_epi8((char)(1 << part));
	__m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(load(x), bit), bit);

	return _mm256_and_si256(set, _mm256_set1_epi8((char)value));
}

INLINE __m256i
q4_k_codes(const uint8_t *x, int part)
{
	return low_bits(load(x + 16 + 32 * (part / 2)), 4 * (part % 2), 15);
}

INLINE struct scales
q4_k_scales(const uint8_t *x)
{
	struct six six = six_at(x + 4);
	struct scales s = { doubled(six.scale), doubled(six.least), half_at(x), half_at(x + 2) };

	return s;
}

INLINE __m256i
q5_k_codes(const uint8_t *x, int part)
{
	__m256i low = low_bits(load(x + 48 + 32 * (part / 2)), 4 * (part % 2), 15);

	return _mm256_or_si256(low, bit_of(x + 16, part, 16));
}

INLINE __m256i
q6_k_codes(const uint8_t *x, int part)
{
	__m256i low = load(x + 64 * (part / 4) + 32 * (part % 2));
	__m256i high = low_bits(load(x + 128 + 32 * (part / 4)), 2 * (part % 4), 3);

	low = low_bits(low, part % 4 / 2 * 4, 15);
	return _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
}

INLINE struct scales
q6_k_scales(const uint8_t *x)
{
	__m256i all = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(x + 192)));
	float d = half_at(x + 208);
	struct scales s = { all, all, d, 32 * d };

	return s;
}

INLINE __m256i
q2_k_codes(const uint8_t *x, int part)
{
	return low_bits(load(x + 16 + 32 * (part / 4)), 2 * (part % 4), 3);
}

INLINE struct scales
q2_k_scales(const uint8_t *x)
{
	__m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)x));
	struct scales s;

	s.scale = _mm256_and_si256(v, _mm256_set1_epi16(15));
	s.least = _mm256_srli_epi16(v, 4);
	s.d = half_at(x + 80);
	s.m = half_at(x + 82);
	return s;
}

INLINE __m256i
q3_k_codes(const uint8_t *x, int part)
{
	__m256i low = low_bits(load(x + 32 + 32 * (part / 4)), 2 * (part % 4), 3);

	return _mm256_or_si256(low, bit_of(x, part, 4));
}

INLINE struct scales
q3_k_scales(const uint8_t *x)
{
	__m256i all = _mm256_cvtepi8_epi16(q3_k_scales_at(x + 96));
	float d = half_at(x + 108);
	struct scales s = { all, all, d, 4 * d };

	return s;
}

INLINE __m256i
iq4_xs_codes(const uint8_t *x, int part)
{
	return iq4_levels_of(nibbles(x + 8 + 16 * part));
}

INLINE struct scales
iq4_xs_scales(const uint8_t *x)
{
	__m128i v = iq4_xs_scales_at(x);
	__m256i all = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(v, v));
	struct scales s = { all, all, half_at(x), 0 };

	return s;
}

INLINE __m256i
tq2_0_codes(const uint8_t *x, int part)
{
	return q2_k_codes(x - 16, part);
}

INLINE struct scales
tq2_0_scales(const uint8_t *x)
{
	__m256i one = _mm256_set1_epi16(1);
	float d = half_at(x + 64);
	struct scales s = { one, one, d, d };

	return s;
}

/* A byte is a fraction of 256; multiplied by 3, 9 and so on, it has the next digit before
 * the point. 32 bytes have five digits each, then 16 have five, then four have four. by has
 * the power of three for each two bytes. */
INLINE __m256i
digits(__m256i v, __m256i by)
{
	const __m256i low = _mm256_set1_epi16(0xff), one = _mm256_set1_epi8(1);
	__m256i high = _mm256_mullo_epi16(_mm256_andnot_si256(low, v), by);

	v = _mm256_or_si256(_mm256_and_si256(_mm256_mullo_epi16(v, by), low), high);
	/* A third of 256 is between 85 and 86, two are between 170 and 171. */
	return _mm256_add_epi8(_mm256_min_epu8(_mm256_subs_epu8(v, _mm256_set1_epi8(85)), one),
	                       _mm256_min_epu8(_mm256_subs_epu8(v, _mm256_set1_epi8((char)170)), one));
}

INLINE __m256i
tq1_0_codes(const uint8_t *x, int part)
{
	static const short powers[5] = { 1, 3, 9, 27, 81 };
	__m128i four = _mm_set1_epi32((int)le32(x + 48));
	__m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(x + 32)));
	int k = 2 * part - 10;

	if (part < 5)
		return digits(load(x), _mm256_set1_epi16(powers[part]));
	if (part < 7)
		return digits(v, _mm256_setr_m128i(_mm_set1_epi16(powers[k]),
		                                   _mm_set1_epi16(powers[k + 1])));
	return digits(_mm256_inserti128_si256(v, four, 1), _mm256_setr_m128i(
		_mm_set1_epi16(81), _mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27)));
}

INLINE struct scales
tq1_0_scales(const uint8_t *x)
{
	return tq2_0_scales(x - 12);
}

/* ---- floats ---- */

typedef __m256 load_floats(const uint8_t *p);

INLINE __m256
f32_load(const uint8_t *p)
{
	return _mm256_loadu_ps((const float *)(const void *)p);
}

INLINE __m256
f16_load(const uint8_t *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

INLINE __m256
bf16_load(const uint8_t *p)
{
	__m256i v = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));

	return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}

typedef float load_float(const uint8_t *p);

INLINE float
f32_one(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof v);
	return v;
}

INLINE float
f16_one(const uint8_t *p)
{
	return half_at(p);
}

INLINE float
bf16_one(const uint8_t *p)
{
	return half_bf16_f32(le16(p));
}

#endif
