/* One row of activations with weights of F8, which are converted to halves; activations are
 * F32.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/codes.h"

typedef __m256i load_halves(const uint8_t *p);

/* The bias of halves is 8 more: the result is 2^-8 of the number. NaN has all bits set; it
 * alone reaches the next bit when 1 is added. */
INLINE __m256i
f8_e4m3_load(const uint8_t *p)
{
	const __m256i more = _mm256_set1_epi16(0x4000);
	__m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p)), nan;

	v = _mm256_andnot_si256(more, _mm256_slli_epi16(v, 7));
	nan = _mm256_and_si256(_mm256_add_epi16(v, _mm256_set1_epi16(0x80)), more);
	return _mm256_or_si256(v, nan);
}

INLINE __m256i
f8_e5m2_load(const uint8_t *p)
{
	__m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));

	return _mm256_slli_epi16(v, 8);
}

INLINE float
byte_row(load_halves *get, float times, const uint8_t *w, const float *a, size_t n)
{
	__m256 acc[4];
	uint8_t last[16] = { 0 };
	float rest[16] = { 0 };
	__m256i v;
	size_t i;
	int k;

	for (k = 0; k < 4; k++)
		acc[k] = _mm256_setzero_ps();
	for (i = 0; i + 32 <= n; i += 32) {
		_mm_prefetch((const char *)w + AHEAD + i, _MM_HINT_T0);
#pragma GCC unroll 2
		for (k = 0; k < 4; k += 2) {
			v = get(w + i + 8 * k);
			acc[k] = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(v)),
			                         _mm256_loadu_ps(a + i + 8 * k), acc[k]);
			acc[k + 1] = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(v, 1)),
			                             _mm256_loadu_ps(a + i + 8 * k + 8), acc[k + 1]);
		}
	}
	for (; i < n; i += 16) {
		memset(last, 0, sizeof last);
		memset(rest, 0, sizeof rest);
		memcpy(last, w + i, n - i < 16 ? n - i : 16);
		memcpy(rest, a + i, (n - i < 16 ? n - i : 16) * sizeof *a);
		v = get(last);
		acc[0] = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(v)),
		                         _mm256_loadu_ps(rest), acc[0]);
		acc[1] = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(v, 1)),
		                         _mm256_loadu_ps(rest + 8), acc[1]);
	}
	return times * add_eight(_mm256_add_ps(_mm256_add_ps(acc[0], acc[1]),
	                                       _mm256_add_ps(acc[2], acc[3])));
}

#define BYTE_ROWS(NAME, TIMES) \
void \
NAME##_rows_avx2(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                 float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = byte_row(NAME##_load, TIMES, w, (const float *)(const void *)a, n); \
}

BYTE_ROWS(f8_e4m3, 256)
BYTE_ROWS(f8_e5m2, 1)
