/* codes: blocks of weights as codes without a sign, and scales; floats. Internal to this
 * folder. */
#ifndef DOT_CODES_AVX512_H
#define DOT_CODES_AVX512_H

#include <immintrin.h>
#include <stdbool.h>

#include "kernels/common/rows.h"
#include "kernels/common/x86.h"

#define INLINE static inline __attribute__((always_inline))

INLINE __m512i
load(const void *p)
{
	return _mm512_loadu_si512(p);
}

/* The same 32 bytes twice. */
INLINE __m512i
twice(const uint8_t *p)
{
	return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p));
}

/* The low half of v shifted right by low bits and the high half by high bits, masked. */
INLINE __m512i
shifted(__m512i v, int low, int high, int mask)
{
	__m512i by = _mm512_inserti64x4(_mm512_set1_epi64(low), _mm256_set1_epi64x(high), 1);

	return _mm512_and_si512(_mm512_srlv_epi64(v, by), _mm512_set1_epi8((char)mask));
}

/* ---- blocks of 32 ---- */

/* Codes of a block, without a sign. */
typedef __m256i small_codes(const uint8_t *block);

INLINE __m256i
nibbles(const uint8_t *x)
{
	__m128i v = _mm_loadu_si128((const __m128i *)x);

	return _mm256_and_si256(_mm256_inserti128_si256(_mm256_castsi128_si256(v),
	                        _mm_srli_epi16(v, 4), 1), _mm256_set1_epi8(15));
}

/* 16 where bit i is set. */
INLINE __m256i
fifths(const uint8_t *x)
{
	return _mm256_maskz_mov_epi8((__mmask32)le32(x), _mm256_set1_epi8(16));
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
	return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(x + 2)),
	                        _mm256_set1_epi8(-128));
}

INLINE __m256i
iq4_nl_codes(const uint8_t *x)
{
	return _mm256_shuffle_epi8(levels_128(), nibbles(x + 2));
}

INLINE __m256i
mxfp4_codes(const uint8_t *x)
{
	return _mm256_shuffle_epi8(levels_mxfp4(), nibbles(x + 1));
}

/* ---- blocks of 256 ---- */

/* Codes of 64 values from number 64 × part on, without a sign. */
typedef __m512i large_codes(const uint8_t *block, int part);

/* Scales and mins as integers, sub of them, in lanes from 0 on. */
struct scales {
	__m512i scale;
	__m256i least16; /* 16 of 16 bits: the whole min of each 16 values */
	float d, m;      /* their units; m is for least16 */
};
typedef struct scales large_scales(const uint8_t *block);

INLINE __m512i
q4_k_codes(const uint8_t *x, int part)
{
	return shifted(twice(x + 16 + 32 * part), 0, 4, 15);
}

INLINE struct scales
q4_k_scales(const uint8_t *x)
{
	struct six s = six_at(x + 4);
	struct scales y;

	y.scale = _mm512_castsi256_si512(_mm256_cvtepu8_epi32(s.scale));
	y.least16 = doubled(s.least);
	y.d = half_at(x);
	y.m = half_at(x + 2);
	return y;
}

INLINE __m512i
q5_k_codes(const uint8_t *x, int part)
{
	__m512i bits = _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << 2 * part)),
	                                  _mm256_set1_epi8((char)(2 << 2 * part)), 1);
	__mmask64 fifth = _mm512_test_epi8_mask(twice(x + 16), bits);
	__m512i low = shifted(twice(x + 48 + 32 * part), 0, 4, 15);

	return _mm512_mask_add_epi8(low, fifth, low, _mm512_set1_epi8(16));
}

INLINE __m512i
q6_k_codes(const uint8_t *x, int part)
{
	__m512i low = load(x + 64 * (part / 2)), high = twice(x + 128 + 32 * (part / 2));

	low = part % 2 ? _mm512_srli_epi16(low, 4) : low;
	low = _mm512_and_si512(low, _mm512_set1_epi8(15));
	high = part % 2 ? shifted(high, 4, 6, 3) : shifted(high, 0, 2, 3);
	return _mm512_or_si512(low, _mm512_slli_epi16(high, 4));
}

INLINE struct scales
q6_k_scales(const uint8_t *x)
{
	__m128i s = _mm_loadu_si128((const __m128i *)(x + 192));
	struct scales y;

	y.scale = _mm512_cvtepi8_epi32(s);
	y.least16 = _mm256_cvtepi8_epi16(s);
	y.d = half_at(x + 208);
	y.m = 32 * y.d;
	return y;
}

INLINE __m512i
q2_k_codes(const uint8_t *x, int part)
{
	__m512i v = twice(x + 16 + 32 * (part / 2));

	return part % 2 ? shifted(v, 4, 6, 3) : shifted(v, 0, 2, 3);
}

INLINE struct scales
q2_k_scales(const uint8_t *x)
{
	__m128i s = _mm_loadu_si128((const __m128i *)x), low = _mm_set1_epi8(15);
	struct scales y;

	y.scale = _mm512_cvtepu8_epi32(_mm_and_si128(s, low));
	y.least16 = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(s, 4), low));
	y.d = half_at(x + 80);
	y.m = half_at(x + 82);
	return y;
}

INLINE __m512i
q3_k_codes(const uint8_t *x, int part)
{
	__m512i v = twice(x + 32 + 32 * (part / 2));
	__m512i bits = _mm512_inserti64x4(_mm512_set1_epi8((char)(1 << 2 * part)),
	                                  _mm256_set1_epi8((char)(2 << 2 * part)), 1);
	__mmask64 third = _mm512_test_epi8_mask(twice(x), bits);

	v = part % 2 ? shifted(v, 4, 6, 3) : shifted(v, 0, 2, 3);
	return _mm512_mask_add_epi8(v, third, v, _mm512_set1_epi8(4));
}

INLINE struct scales
q3_k_scales(const uint8_t *x)
{
	__m128i s = q3_k_scales_at(x + 96);
	struct scales y;

	y.scale = _mm512_cvtepi8_epi32(s);
	y.least16 = _mm256_cvtepi8_epi16(s);
	y.d = half_at(x + 108);
	y.m = 4 * y.d;
	return y;
}

INLINE __m512i
iq4_xs_codes(const uint8_t *x, int part)
{
	const __m512i order = _mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3);
	const __m512i by = _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4);
	__m512i v = twice(x + 8 + 32 * part);

	v = _mm512_srlv_epi64(_mm512_permutexvar_epi64(order, v), by);
	v = _mm512_and_si512(v, _mm512_set1_epi8(15));
	return _mm512_shuffle_epi8(_mm512_broadcast_i64x4(levels_128()), v);
}

INLINE struct scales
iq4_xs_scales(const uint8_t *x)
{
	__m128i s = iq4_xs_scales_at(x);
	struct scales y;

	y.scale = _mm512_castsi256_si512(_mm256_cvtepi8_epi32(s));
	y.least16 = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(s, s));
	y.d = half_at(x);
	y.m = 128 * y.d;
	return y;
}

INLINE __m512i
tq2_0_codes(const uint8_t *x, int part)
{
	return q2_k_codes(x - 16, part);
}

INLINE struct scales
tq2_0_scales(const uint8_t *x)
{
	struct scales y;

	y.scale = _mm512_set1_epi32(1);
	y.least16 = _mm256_set1_epi16(1);
	y.d = y.m = half_at(x + 64);
	return y;
}

/* Eight bits of the product of bytes and by, which is the same for each two bytes. */
INLINE __m512i
bytes_by(__m512i v, __m512i by)
{
	const __m512i low = _mm512_set1_epi16(0xff);
	__m512i high = _mm512_mullo_epi16(_mm512_andnot_si512(low, v), by);

	return _mm512_or_si512(_mm512_and_si512(_mm512_mullo_epi16(v, by), low), high);
}

/* A byte is a fraction of 256; multiplied by 3, 9 and so on, it has the next digit before
 * the point. 32 bytes have five digits each, then 16 have five, then four have four. */
INLINE __m512i
tq1_0_codes(const uint8_t *x, int part)
{
	const __m512i one = _mm512_set1_epi8(1);
	__m512i v, by;
	__m128i last;

	if (part < 2) {
		v = twice(x);
		by = _mm512_inserti64x4(_mm512_set1_epi16(part ? 9 : 1),
		                        _mm256_set1_epi16(part ? 27 : 3), 1);
	} else if (part == 2) {
		v = _mm512_inserti64x4(twice(x), _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)(x + 32))), 1);
		by = _mm512_setr_epi64(0x0051005100510051, 0x0051005100510051, 0x0051005100510051,
			0x0051005100510051, 0x0001000100010001, 0x0001000100010001,
			0x0003000300030003, 0x0003000300030003);
	} else {
		last = _mm_set1_epi32((int)le32(x + 48));
		v = _mm512_inserti32x4(_mm512_broadcast_i32x4(
			_mm_loadu_si128((const __m128i *)(x + 32))), last, 3);
		by = _mm512_setr_epi64(0x0009000900090009, 0x0009000900090009, 0x001b001b001b001b,
			0x001b001b001b001b, 0x0051005100510051, 0x0051005100510051,
			0x0003000300010001, 0x001b001b00090009);
	}
	v = bytes_by(v, by);
	/* A third of 256 is between 85 and 86, two are between 170 and 171. */
	return _mm512_add_epi8(_mm512_min_epu8(_mm512_subs_epu8(v, _mm512_set1_epi8(85)), one),
	                       _mm512_min_epu8(_mm512_subs_epu8(v, _mm512_set1_epi8((char)170)), one));
}

INLINE struct scales
tq1_0_scales(const uint8_t *x)
{
	return tq2_0_scales(x - 12);
}

/* ---- floats ---- */

/* A mask of the first count of sixteen lanes. */
INLINE __mmask16
some(size_t count)
{
	return count >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << count) - 1);
}

typedef __m512 load_floats(const uint8_t *p, __mmask16 m);

INLINE __m512
f32_load(const uint8_t *p, __mmask16 m)
{
	return _mm512_maskz_loadu_ps(m, p);
}

INLINE __m512
f16_load(const uint8_t *p, __mmask16 m)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
}

INLINE __m512
bf16_load(const uint8_t *p, __mmask16 m)
{
	__m512i v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));

	return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

#endif
