/* One row of activations. Bytes without a sign times bytes with one make sums of two
 * products in 16 bits, which must not overflow. Where codes have seven bits or more, the
 * activation takes the sign of the code.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/codes.h"

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

/* acc + the sums of the block at w × scale. With sign, zero is the code that stands for 0;
 * blocks with mins have codes without a sign. */
INLINE __m256
small_block(__m256 acc, small_codes *codes, const uint8_t *w, int zero, const int8_t *a,
            __m256 scale, bool sign)
{
	__m256i code = codes(w), sums;

	if (zero)
		code = _mm256_sub_epi8(code, _mm256_set1_epi8((char)zero));
	sums = _mm256_madd_epi16(pairs(code, load(a), sign), _mm256_set1_epi16(1));
	return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), scale, acc);
}

INLINE __m256
lane(__m128 v, int i)
{
	return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(v), _mm256_set1_epi32(i));
}

INLINE float
small_row(small_codes *codes, size_t bytes, int zero, bool least, const uint8_t *w,
          const uint8_t *a, size_t n)
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
		acc0 = small_block(acc0, codes, w, zero, q.code, lane(s, 0), !least);
		acc1 = small_block(acc1, codes, w + bytes, zero, q.code + 32, lane(s, 1), !least);
		acc0 = small_block(acc0, codes, w + 2 * bytes, zero, q.code + 64, lane(s, 2),
		                   !least);
		acc1 = small_block(acc1, codes, w + 3 * bytes, zero, q.code + 96, lane(s, 3),
		                   !least);
		if (least)
			leasts = _mm_fmadd_ps(four_halves(w + 2, bytes), _mm_loadu_ps(values + b),
			                      leasts);
	}
	for (; b < n / SMALL; b++, w += bytes, q.code += SMALL) {
		sum = bytes == 17 ? power_at(w) : half_at(w);
		acc0 = small_block(acc0, codes, w, zero, q.code,
		                   _mm256_set1_ps(sum * q.scale[b]), !least);
		if (least)
			leasts = _mm_add_ss(leasts, _mm_set_ss(half_at(w + 2) * values[b]));
	}
	return add_eight(_mm256_add_ps(acc0, acc1)) + add_four(leasts);
}

/* ---- blocks of 256 ---- */

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

#define SMALL_ROWS(NAME, BYTES, ZERO, LEAST) \
void \
NAME##_rows_avx2(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                 float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = small_row(NAME##_codes, BYTES, ZERO, LEAST, w, a, n); \
}

#define LARGE_ROWS(NAME, SCALES, BYTES, LEAST) \
void \
NAME##_rows_avx2(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                 float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = large_row(NAME##_codes, SCALES, BYTES, LEAST, w, a, n); \
}

SMALL_ROWS(q4_0, 18, 8, false)
SMALL_ROWS(q5_0, 22, 16, false)
SMALL_ROWS(q8_0, 34, 0, false)
SMALL_ROWS(iq4_nl, 18, 0, false)
SMALL_ROWS(mxfp4, 17, 12, false)
SMALL_ROWS(q4_1, 20, 0, true)
SMALL_ROWS(q5_1, 24, 0, true)
LARGE_ROWS(q2_k, q2_k_scales, 84, true)
LARGE_ROWS(q3_k, q3_k_scales, 110, true)
LARGE_ROWS(q4_k, q4_k_scales, 144, true)
LARGE_ROWS(q5_k, q4_k_scales, 176, true)
LARGE_ROWS(q6_k, q6_k_scales, 210, true)
LARGE_ROWS(iq4_xs, iq4_xs_scales, 136, false)
LARGE_ROWS(tq1_0, tq1_0_scales, 54, true)
LARGE_ROWS(tq2_0, tq2_0_scales, 66, true)

/* ---- floats ---- */

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
			                         f32_load(a + sizeof(float) * (i + 8 * k)), acc[k]);
	sum = add_eight(_mm256_add_ps(_mm256_add_ps(acc[0], acc[1]),
	                              _mm256_add_ps(acc[2], acc[3])));
	for (; i < n; i++)
		sum += one(w + bytes * i) * f32_one(a + sizeof(float) * i);
	return sum;
}

#define FLOAT_ROWS(NAME, BYTES) \
void \
NAME##_rows_avx2(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                 float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = float_row(NAME##_load, NAME##_one, BYTES, w, a, n); \
}

FLOAT_ROWS(f32, 4)
FLOAT_ROWS(f16, 2)
FLOAT_ROWS(bf16, 2)
