/* Products with AVX-512 and its instructions for bytes (VNNI). */
#ifdef __x86_64__
#include "kernels/dot/codes_avx512.h"

/* Sums of four products each, of bytes without and with a sign. */
INLINE __m512i
four(__m512i w, __m512i a)
{
	return _mm512_dpbusd_epi32(_mm512_setzero_si512(), w, a);
}

/* acc + sums × scales, scales being those of z that which names, one for each lane. */
INLINE __m512
scaled(__m512 acc, __m512i sums, __m512 z, __m512i which)
{
	return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_permutexvar_ps(which, z), acc);
}

/* ---- blocks of 32 ---- */

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
		_mm_prefetch((const char *)w + AHEAD, _MM_HINT_T0);
		if (bytes > 16)
			_mm_prefetch((const char *)w + AHEAD + 64, _MM_HINT_T0);
		if (bytes > 32)
			_mm_prefetch((const char *)w + AHEAD + 128, _MM_HINT_T0);
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

/* ---- blocks of 256 ---- */

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
		for (i = 0; i < (int)bytes; i += 64)
			_mm_prefetch((const char *)w + AHEAD + i, _MM_HINT_T0);
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
LARGE_ROWS(tq1_0, tq1_0_scales, 54, 32, true)
LARGE_ROWS(tq2_0, tq2_0_scales, 66, 32, true)

/* ---- floats ---- */

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
	{ "TQ1_0", tq1_0_rows }, { "TQ2_0", tq2_0_rows },
	{ NULL, NULL }
};
#else
typedef int nothing_here;
#endif
