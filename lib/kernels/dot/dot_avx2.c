/* Products with AVX2: bytes without a sign times bytes with one make sums of two products
 * in 16 bits, which must not overflow. Where codes have seven bits or more, the sign of a
 * code is taken to the activation.
 */
#ifdef __x86_64__
#include <immintrin.h>

#include "core/half.h"
#include "kernels/dot/kinds.h"
#include "kernels/dot/x86.h"

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i
load(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* Sixteen sums of two products. */
INLINE __m256i
pairs(__m256i code, __m256i a, bool sign)
{
	if (sign) {
		a = _mm256_sign_epi8(a, code);
		code = _mm256_abs_epi8(code);
	}
	return _mm256_maddubs_epi16(code, a);
}

/* ---- blocks of 32 ---- */

/* Codes of a block, with a sign. */
typedef __m256i small_codes(const uint8_t *block);

/* acc + the sums of a block × scale. */
INLINE __m256
small_block(__m256 acc, __m256i code, const int8_t *a, __m256 scale, bool sign)
{
	__m256i sums = _mm256_madd_epi16(pairs(code, load(a), sign), _mm256_set1_epi16(1));

	return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), scale, acc);
}

INLINE __m256
lane(__m128 v, int i)
{
	return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(v), _mm256_set1_epi32(i));
}

INLINE float
small_row(small_codes *codes, size_t bytes, bool least, const uint8_t *w, const uint8_t *a,
          size_t n)
{
	struct quantized q = quantized_at(a, n, SMALL);
	__m256 acc0 = _mm256_setzero_ps(), acc1 = acc0;
	const float *values = q.sums;
	__m128 leasts = _mm_setzero_ps(), s;
	float sum = 0;
	size_t b;

	for (b = 0; b + 4 <= n / SMALL; b += 4, w += 4 * bytes, q.code += 4 * SMALL) {
		s = bytes == 17 ? four_powers(w, bytes) : four_halves(w, bytes);
		s = _mm_mul_ps(s, _mm_loadu_ps(q.scale + b));
		acc0 = small_block(acc0, codes(w), q.code, lane(s, 0), !least);
		acc1 = small_block(acc1, codes(w + bytes), q.code + 32, lane(s, 1), !least);
		acc0 = small_block(acc0, codes(w + 2 * bytes), q.code + 64, lane(s, 2), !least);
		acc1 = small_block(acc1, codes(w + 3 * bytes), q.code + 96, lane(s, 3), !least);
		if (least)
			leasts = _mm_fmadd_ps(four_halves(w + 2, bytes), _mm_loadu_ps(values + b),
			                      leasts);
	}
	for (; b < n / SMALL; b++, w += bytes, q.code += SMALL) {
		sum = bytes == 17 ? power_at(w) : half_at(w);
		acc0 = small_block(acc0, codes(w), q.code, _mm256_set1_ps(sum * q.scale[b]),
		                   !least);
		if (least)
			leasts = _mm_add_ss(leasts, _mm_set_ss(half_at(w + 2) * values[b]));
	}
	return add_eight(_mm256_add_ps(acc0, acc1)) + add_four(leasts);
}

INLINE __m256i
nibbles(const uint8_t *x)
{
	__m128i v = _mm_loadu_si128((const __m128i *)x);

	return _mm256_and_si256(_mm256_inserti128_si256(_mm256_castsi128_si256(v),
	                        _mm_srli_epi16(v, 4), 1), _mm256_set1_epi8(15));
}

/* 16 where bit i is set: byte i / 8 is brought to place i, and all its bits but i % 8
 * are filled, so that it is -1 if that is set. */
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
	return _mm256_sub_epi8(nibbles(x + 2), _mm256_set1_epi8(8));
}

INLINE __m256i
q4_1_codes(const uint8_t *x)
{
	return nibbles(x + 4);
}

INLINE __m256i
q5_0_codes(const uint8_t *x)
{
	return _mm256_sub_epi8(_mm256_or_si256(nibbles(x + 6), fifths(x + 2)),
	                       _mm256_set1_epi8(16));
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

/* The levels that nibbles stand for. */
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
	return _mm256_sub_epi8(_mm256_shuffle_epi8(levels_mxfp4(), nibbles(x + 1)),
	                       _mm256_set1_epi8(12));
}

/* ---- blocks of 256 ---- */

/* Codes of 32 values, of which 32 × part is the first: with a sign, or without where
 * leasts take the rest away. */
typedef __m256i large_codes(const uint8_t *block, int part);

/* Of each 16 values the scale, and what is taken away; d and m are what they count. */
struct scales {
	__m256i scale, least;
	float d, m;
};
typedef struct scales large_scales(const uint8_t *block);

/* Those of values 32 × part and up, in the places of their sums. */
INLINE __m256i
scales_of(__m256i scale, int part)
{
	const __m256i order = _mm256_setr_m128i(_mm_set1_epi16(0x0100), _mm_set1_epi16(0x0302));

	return _mm256_shuffle_epi8(_mm256_permutevar8x32_epi32(scale, _mm256_set1_epi32(part)),
	                           order);
}

INLINE float
large_row(large_codes *codes, large_scales *scales, size_t bytes, bool least, const uint8_t *w,
          const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, LARGE);
	const int16_t *of = q.sums;
	__m256 acc = _mm256_setzero_ps(), leasts = acc;
	__m256i sum, p;
	struct scales s;
	size_t b;
	int i;

	for (b = 0; b < n / LARGE; b++, w += bytes, of += LARGE / SUB, q.code += LARGE) {
		for (i = 0; i < (int)bytes; i += 64)
			_mm_prefetch((const char *)w + AHEAD + i, _MM_HINT_T0);
		s = scales(w);
		sum = _mm256_setzero_si256();
#pragma GCC unroll 8
		for (i = 0; i < LARGE / SMALL; i++) {
			p = pairs(codes(w, i), load(q.code + SMALL * i), !least);
			p = _mm256_madd_epi16(p, scales_of(s.scale, i));
			sum = _mm256_add_epi32(sum, p);
		}
		acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum),
		                      _mm256_set1_ps(s.d * q.scale[b]), acc);
		if (!least)
			continue;
		p = _mm256_madd_epi16(s.least, load(of));
		leasts = _mm256_fmadd_ps(_mm256_cvtepi32_ps(p), _mm256_set1_ps(s.m * q.scale[b]),
		                         leasts);
	}
	return add_eight(acc) - add_eight(leasts);
}

INLINE __m256i
low_bits(__m256i v, int shift, int mask)
{
	return _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8((char)mask));
}

/* value where bit part of the bytes from x is set. */
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

#define SMALL_ROWS(NAME, BYTES, LEAST) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = small_row(NAME##_codes, BYTES, LEAST, w, a, n); \
}

#define LARGE_ROWS(NAME, SCALES, BYTES, LEAST) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = large_row(NAME##_codes, SCALES, BYTES, LEAST, w, a, n); \
}

SMALL_ROWS(q4_0, 18, false)
SMALL_ROWS(q5_0, 22, false)
SMALL_ROWS(q8_0, 34, false)
SMALL_ROWS(iq4_nl, 18, false)
SMALL_ROWS(mxfp4, 17, false)
SMALL_ROWS(q4_1, 20, true)
SMALL_ROWS(q5_1, 24, true)
LARGE_ROWS(q2_k, q2_k_scales, 84, true)
LARGE_ROWS(q3_k, q3_k_scales, 110, true)
LARGE_ROWS(q4_k, q4_k_scales, 144, true)
LARGE_ROWS(q5_k, q4_k_scales, 176, true)
LARGE_ROWS(q6_k, q6_k_scales, 210, true)
LARGE_ROWS(iq4_xs, iq4_xs_scales, 136, false)
LARGE_ROWS(tq2_0, tq2_0_scales, 66, true)

/* ---- floats ---- */

typedef __m256 load_floats(const uint8_t *p);
typedef float load_float(const uint8_t *p);

INLINE __m256
f32_load(const uint8_t *p)
{
	return _mm256_loadu_ps((const float *)(const void *)p);
}

INLINE float
f32_one(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof v);
	return v;
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

INLINE float
bf16_one(const uint8_t *p)
{
	return half_bf16_f32(le16(p));
}

INLINE float
float_row(load_floats *get, load_float *one, size_t bytes, const uint8_t *w, const uint8_t *a,
          size_t n)
{
	__m256 acc[4];
	float sum;
	size_t i, k;

	for (k = 0; k < 4; k++)
		acc[k] = _mm256_setzero_ps();
	for (i = 0; i + 32 <= n; i += 32)
		for (k = 0; k < 4; k++)
			acc[k] = _mm256_fmadd_ps(get(w + bytes * (i + 8 * k)),
			                         get(a + bytes * (i + 8 * k)), acc[k]);
	sum = add_eight(_mm256_add_ps(_mm256_add_ps(acc[0], acc[1]),
	                              _mm256_add_ps(acc[2], acc[3])));
	for (; i < n; i++)
		sum += one(w + bytes * i) * one(a + bytes * i);
	return sum;
}

#define FLOAT_ROWS(NAME, ONE, BYTES) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = float_row(NAME##_load, ONE, BYTES, w, a, n); \
}

FLOAT_ROWS(f32, f32_one, 4)
FLOAT_ROWS(f16, half_at, 2)
FLOAT_ROWS(bf16, bf16_one, 2)

const struct dot_fast dots_avx2[] = {
	{ "F32", f32_rows }, { "F16", f16_rows }, { "BF16", bf16_rows },
	{ "Q4_0", q4_0_rows }, { "Q5_0", q5_0_rows }, { "Q8_0", q8_0_rows },
	{ "IQ4_NL", iq4_nl_rows }, { "MXFP4", mxfp4_rows },
	{ "Q4_1", q4_1_rows }, { "Q5_1", q5_1_rows },
	{ "Q2_K", q2_k_rows }, { "Q3_K", q3_k_rows }, { "Q4_K", q4_k_rows },
	{ "Q5_K", q5_k_rows }, { "Q6_K", q6_k_rows }, { "IQ4_XS", iq4_xs_rows },
	{ "TQ2_0", tq2_0_rows },
	{ NULL, NULL }
};
#else
typedef int nothing_here;
#endif
