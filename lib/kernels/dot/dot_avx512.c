/* Products with AVX-512 and its instructions for bytes (VNNI). */
#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/blocks/iq4.h"
#include "kernels/dot/kinds.h"
#include "kernels/dot/x86.h"

#define INLINE static inline __attribute__((always_inline))

/* Sums of four products each, of bytes without and with a sign. */
INLINE __m512i
four(__m512i w, __m512i a)
{
	return _mm512_dpbusd_epi32(_mm512_setzero_si512(), w, a);
}

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

/* The halves of v shifted right by so many bits, of which mask is kept. */
INLINE __m512i
shifted(__m512i v, int low, int high, int mask)
{
	__m512i by = _mm512_inserti64x4(_mm512_set1_epi64(low), _mm256_set1_epi64x(high), 1);

	return _mm512_and_si512(_mm512_srlv_epi64(v, by), _mm512_set1_epi8((char)mask));
}

/* acc + sums × scales, scales being those of z that which names, one for each lane. */
INLINE __m512
scaled(__m512 acc, __m512i sums, __m512 z, __m512i which)
{
	return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_permutexvar_ps(which, z), acc);
}

/* ---- blocks of 32 ---- */

/* Codes of a block, without a sign. */
typedef __m256i small_codes(const uint8_t *block);

INLINE float
small_row(small_codes *codes, size_t bytes, int zero, bool least, const uint8_t *w,
          const uint8_t *a, size_t n)
{
	const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
	const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(2));
	const __m512i zeros = _mm512_set1_epi8((char)zero);
	struct quantized q = quantized_at(a, n, SMALL);
	const float *values = q.sums;
	__m512 acc0 = _mm512_setzero_ps(), acc1 = acc0, z;
	__m128 leasts = _mm_setzero_ps(), scales;
	__m512i a0, a1, sum0, sum1;
	__m256i code;
	float sum;
	size_t b;

	for (b = 0; b + 4 <= n / SMALL; b += 4, w += 4 * bytes) {
		scales = bytes == 17 ? four_powers(w, bytes) : four_halves(w, bytes);
		z = _mm512_castps128_ps512(_mm_mul_ps(scales, _mm_loadu_ps(q.scale + b)));
		a0 = load(q.code + SMALL * b);
		a1 = load(q.code + SMALL * (b + 2));
		sum0 = four(_mm512_inserti64x4(_mm512_castsi256_si512(codes(w)), codes(w + bytes), 1),
		            a0);
		sum1 = four(_mm512_inserti64x4(_mm512_castsi256_si512(codes(w + 2 * bytes)),
		                               codes(w + 3 * bytes), 1), a1);
		if (zero) {
			sum0 = _mm512_sub_epi32(sum0, four(zeros, a0));
			sum1 = _mm512_sub_epi32(sum1, four(zeros, a1));
		}
		acc0 = scaled(acc0, sum0, z, first);
		acc1 = scaled(acc1, sum1, z, second);
		if (least)
			leasts = _mm_fmadd_ps(four_halves(w + 2, bytes), _mm_loadu_ps(values + b),
			                      leasts);
	}
	sum = _mm512_reduce_add_ps(_mm512_add_ps(acc0, acc1)) + add_four(leasts);
	for (; b < n / SMALL; b++, w += bytes) {
		a0 = _mm512_castsi256_si512(_mm256_loadu_si256(
			(const __m256i *)(const void *)(q.code + SMALL * b)));
		code = codes(w);
		sum0 = _mm512_sub_epi32(four(_mm512_castsi256_si512(code), a0), four(zeros, a0));
		sum += (bytes == 17 ? power_at(w) : half_at(w)) * q.scale[b] *
			(float)_mm512_mask_reduce_add_epi32(0xff, sum0);
		if (least)
			sum += half_at(w + 2) * values[b];
	}
	return sum;
}

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

/* Codes of 64 values, without a sign, of which 64 × part is the first. */
typedef __m512i large_codes(const uint8_t *block, int part);

/* Scales and leasts, as whole numbers, sub of them in lanes from 0 on. */
struct scales {
	__m512i scale;
	__m256i least16; /* 16 of 16 bits: of each 16 values, all that is taken away */
	float d, m;      /* what they count; m for least16 */
};
typedef struct scales large_scales(const uint8_t *block);

INLINE float
large_row(large_codes *codes, large_scales *scales, size_t bytes, int sub, bool least,
          const uint8_t *w, const uint8_t *a, size_t n)
{
	const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	struct quantized q = quantized_at(a, n, LARGE);
	const int16_t *of = q.sums;
	__m512 acc0 = _mm512_setzero_ps(), acc1 = acc0, z;
	__m512i which[4];
	__m256 leasts = _mm256_setzero_ps();
	__m256i taken;
	struct scales s;
	size_t b;
	int i;

	for (i = 0; i < 4; i++)
		which[i] = _mm512_add_epi32(_mm512_srli_epi32(lanes, sub == SUB ? 2 : 3),
		                            _mm512_set1_epi32(sub == SUB ? 4 * i : 2 * i));
	for (b = 0; b < n / LARGE; b++, w += bytes, of += LARGE / SUB, q.code += LARGE) {
		s = scales(w);
		z = _mm512_mul_ps(_mm512_cvtepi32_ps(s.scale), _mm512_set1_ps(s.d * q.scale[b]));
		acc0 = scaled(acc0, four(codes(w, 0), load(q.code)), z, which[0]);
		acc1 = scaled(acc1, four(codes(w, 1), load(q.code + 64)), z, which[1]);
		acc0 = scaled(acc0, four(codes(w, 2), load(q.code + 128)), z, which[2]);
		acc1 = scaled(acc1, four(codes(w, 3), load(q.code + 192)), z, which[3]);
		if (!least)
			continue;
		taken = _mm256_madd_epi16(s.least16, _mm256_loadu_si256((const __m256i *)
		                                                        (const void *)of));
		leasts = _mm256_fmadd_ps(_mm256_cvtepi32_ps(taken),
		                         _mm256_set1_ps(s.m * q.scale[b]), leasts);
	}
	acc0 = _mm512_add_ps(acc0, acc1);
	return _mm512_reduce_add_ps(acc0) - add_eight(leasts);
}

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

#define SMALL_ROWS(NAME, BYTES, ZERO, LEAST) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = small_row(NAME##_codes, BYTES, ZERO, LEAST, w, a, n); \
}

#define LARGE_ROWS(NAME, SCALES, BYTES, SUBS, LEAST) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = large_row(NAME##_codes, SCALES, BYTES, SUBS, LEAST, w, a, n); \
}

SMALL_ROWS(q4_0, 18, 8, false)
SMALL_ROWS(q5_0, 22, 16, false)
SMALL_ROWS(q8_0, 34, 128, false)
SMALL_ROWS(iq4_nl, 18, 128, false)
SMALL_ROWS(mxfp4, 17, 12, false)
SMALL_ROWS(q4_1, 20, 0, true)
SMALL_ROWS(q5_1, 24, 0, true)
LARGE_ROWS(q2_k, q2_k_scales, 84, 16, true)
LARGE_ROWS(q3_k, q3_k_scales, 110, 16, true)
LARGE_ROWS(q4_k, q4_k_scales, 144, 32, true)
LARGE_ROWS(q5_k, q4_k_scales, 176, 32, true)
LARGE_ROWS(q6_k, q6_k_scales, 210, 16, true)
LARGE_ROWS(iq4_xs, iq4_xs_scales, 136, 32, true)
LARGE_ROWS(tq2_0, tq2_0_scales, 66, 32, true)

/* ---- floats ---- */

/* The first count of sixteen lanes. */
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

INLINE float
float_row(load_floats *get, size_t bytes, const uint8_t *w, const uint8_t *a, size_t n)
{
	const __mmask16 all = 0xffff;
	__m512 acc[4];
	__mmask16 m;
	size_t i, k;

	for (k = 0; k < 4; k++)
		acc[k] = _mm512_setzero_ps();
	for (i = 0; i + 64 <= n; i += 64)
		for (k = 0; k < 4; k++)
			acc[k] = _mm512_fmadd_ps(get(w + bytes * (i + 16 * k), all),
			                         get(a + bytes * (i + 16 * k), all), acc[k]);
	for (; i < n; i += 16) {
		m = some(n - i);
		acc[0] = _mm512_fmadd_ps(get(w + bytes * i, m), get(a + bytes * i, m), acc[0]);
	}
	return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(acc[0], acc[1]),
	                                          _mm512_add_ps(acc[2], acc[3])));
}

#define FLOAT_ROWS(NAME, BYTES) \
static void \
NAME##_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = float_row(NAME##_load, BYTES, w, a, n); \
}

FLOAT_ROWS(f32, 4)
FLOAT_ROWS(f16, 2)
FLOAT_ROWS(bf16, 2)

const struct dot_fast dots_avx512[] = {
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
