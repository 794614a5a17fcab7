/* One row of activations with weights of F8, which are converted to halves; activations are
 * F32.
 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/streams.h"

/* The bias of halves is 8 more: the result is 2^-8 of the number. NaN has all bits set; it
 * alone reaches the next bit when 1 is added. */
INLINE __m512
f8_e4m3_load(const uint8_t *p, __mmask16 m)
{
	const __m256i more = _mm256_set1_epi16(0x4000);
	__m256i v = _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_maskz_loadu_epi8(m, p)), 7), nan;

	v = _mm256_andnot_si256(more, v);
	nan = _mm256_and_si256(_mm256_add_epi16(v, _mm256_set1_epi16(0x80)), more);
	return _mm512_cvtph_ps(_mm256_or_si256(v, nan));
}

INLINE __m512
f8_e5m2_load(const uint8_t *p, __mmask16 m)
{
	__m256i v = _mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(m, p));

	return _mm512_cvtph_ps(_mm256_slli_epi16(v, 8));
}

INLINE void
byte_streams(load_floats *get, float times, const uint8_t *const w[STREAMS], const uint8_t *a,
             size_t n, float *y)
{
	__m512 acc[STREAMS][2], x;
	size_t i;
	int r, k;

#pragma GCC unroll 4
	for (r = 0; r < STREAMS; r++)
		acc[r][0] = acc[r][1] = _mm512_setzero_ps();
	for (i = 0; i < n; i += 32)
#pragma GCC unroll 2
		for (k = 0; k < 2; k++) {
			size_t at = i + 16 * (size_t)k;
			__mmask16 m = at < n ? some(n - at) : 0;

			x = f32_load(a + sizeof(float) * at, m);
#pragma GCC unroll 4
			for (r = 0; r < STREAMS; r++)
				acc[r][k] = _mm512_fmadd_ps(get(w[r] + at, m), x, acc[r][k]);
		}
	for (r = 0; r < STREAMS; r++)
		y[r] = times * _mm512_reduce_add_ps(_mm512_add_ps(acc[r][0], acc[r][1]));
}

#define BYTE_STREAMS(NAME, TIMES) \
static void \
NAME##_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n, float *y) \
{ \
	byte_streams(NAME##_load, TIMES, w, a, n, y); \
} \
STREAM_ROWS(NAME)

BYTE_STREAMS(f8_e4m3, 256)
BYTE_STREAMS(f8_e5m2, 1)
