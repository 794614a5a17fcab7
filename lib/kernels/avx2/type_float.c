/* F16, BF16 and the decoding of F8 with AVX2 and F16C, as ref/type_float.c and
 * ref/type_f8.c define them. */
#include <immintrin.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/avx2/types.h"

enum { WIDE = 8 };

static void
f16_encode(const float *x, uint8_t *y, size_t n)
{
	const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256 nan, v;

	for (; n >= WIDE; n -= WIDE, x += WIDE, y += 2 * WIDE) {
		v = _mm256_loadu_ps(x);
		/* All NaNs become one, with their sign. */
		nan = _mm256_or_ps(quiet, _mm256_and_ps(sign, v));
		v = _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
		_mm_storeu_si128((__m128i *)y, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
	}
	for (; n > 0; n--, x++, y += 2)
		le16_put(y, half_f32_f16(*x));
}

static void
f16_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= WIDE; n -= WIDE, x += 2 * WIDE, y += WIDE)
		_mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x)));
	for (; n > 0; n--, x += 2, y++)
		*y = half_f16_f32(le16(x));
}

static void
bf16_encode(const float *x, uint8_t *y, size_t n)
{
	const __m256i one = _mm256_set1_epi32(1), most = _mm256_set1_epi32(0x7fff);
	const __m256i quiet = _mm256_set1_epi32(0x400000);
	__m256i nan, u;
	__m256 v;

	for (; n >= WIDE; n -= WIDE, x += WIDE, y += 2 * WIDE) {
		v = _mm256_loadu_ps(x);
		nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
		u = _mm256_castps_si256(v);
		/* Half of the part that is cut off, less one if the part that stays is even. */
		u = _mm256_blendv_epi8(_mm256_add_epi32(u, _mm256_add_epi32(most,
		                       _mm256_and_si256(_mm256_srli_epi32(u, 16), one))),
		                       _mm256_or_si256(u, quiet), nan);
		u = _mm256_srli_epi32(u, 16);
		u = _mm256_packus_epi32(u, u);
		u = _mm256_permute4x64_epi64(u, 0x08);
		_mm_storeu_si128((__m128i *)y, _mm256_castsi256_si128(u));
	}
	for (; n > 0; n--, x++, y += 2)
		le16_put(y, half_f32_bf16(*x));
}

static void
bf16_decode(const uint8_t *x, float *y, size_t n)
{
	__m256i u;

	for (; n >= WIDE; n -= WIDE, x += 2 * WIDE, y += WIDE) {
		u = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x));
		_mm256_storeu_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(u, 16)));
	}
	for (; n > 0; n--, x += 2, y++)
		*y = half_bf16_f32(le16(x));
}

/* A half of the same sign and fraction. */
static inline __m256
f8_half(const uint8_t *x, int fraction)
{
	__m128i u = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)x));
	__m128i sign = _mm_and_si128(_mm_slli_epi16(u, 8), _mm_set1_epi16(-0x8000));

	u = _mm_slli_epi16(_mm_and_si128(u, _mm_set1_epi16(0x7f)), 10 - fraction);
	return _mm256_cvtph_ps(_mm_or_si128(u, sign));
}

/* The bias of a half is 8 more; 480 would be NaN. */
static void
e4m3_decode(const uint8_t *x, float *y, size_t n)
{
	const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
	const __m256 sign = _mm256_set1_ps(-0.0f), most = _mm256_set1_ps(448);
	__m256 beyond, v;

	for (; n >= WIDE; n -= WIDE, x += WIDE, y += WIDE) {
		v = _mm256_mul_ps(f8_half(x, 3), _mm256_set1_ps(256));
		beyond = _mm256_cmp_ps(_mm256_andnot_ps(sign, v), most, _CMP_GT_OQ);
		v = _mm256_blendv_ps(v, _mm256_or_ps(_mm256_and_ps(v, sign), nan), beyond);
		_mm256_storeu_ps(y, v);
	}
	if (n > 0)
		ref_f8_e4m3.decode(x, y, n);
}

static void
e5m2_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= WIDE; n -= WIDE, x += WIDE, y += WIDE)
		_mm256_storeu_ps(y, f8_half(x, 2));
	if (n > 0)
		ref_f8_e5m2.decode(x, y, n);
}

const struct kernel avx2_f16 = { .dtype = "F16", .encode = f16_encode, .decode = f16_decode };
const struct kernel avx2_bf16 = {
	.dtype = "BF16", .encode = bf16_encode, .decode = bf16_decode
};
const struct kernel avx2_f8_e4m3 = { .dtype = "F8_E4M3", .decode = e4m3_decode };
const struct kernel avx2_f8_e5m2 = { .dtype = "F8_E5M2", .decode = e5m2_decode };
