/* streams: rows of weights in four streams, with one row of activations. Internal to this
 * folder.
 *
 * The streams are a quarter of the rows apart. A CPU prefetches by itself up to the end of a
 * page; meanwhile the three other streams go on (tests/bench/ROOFLINE.md). Beyond that,
 * each stream prefetches as far ahead as dot_ahead says. Activations are read once for all
 * four.
 */
#ifndef DOT_STREAMS_AVX512_H
#define DOT_STREAMS_AVX512_H

#include "kernels/avx512/codes.h"

enum { STREAMS = 4 };

/* Prefetch the lines of bytes from w on. They may lie behind the weights: prefetching an
 * address without memory does no harm. */
INLINE void
ask(const uint8_t *w, size_t bytes)
{
	size_t i;

#pragma GCC unroll 4
	for (i = 0; i < bytes; i += 64)
		_mm_prefetch((const char *)w + i, _MM_HINT_T0);
}


/* y[i] = the row of n values at w[i] × a. The result of a row does not depend on the
 * others. */
typedef void dot_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n,
                         float y[STREAMS]);

/* As dot_rows (common/products.h). Where fewer than four rows are left, the last one is
 * repeated. */
INLINE void
streams(dot_streams *four, const uint8_t *w, size_t stride, size_t count, const uint8_t *a,
        size_t n, float *y)
{
	size_t part = count / STREAMS, left = count % STREAMS, i, k;
	const uint8_t *at[STREAMS];
	float sum[STREAMS];

	for (i = 0; i < part; i++) {
		for (k = 0; k < STREAMS; k++)
			at[k] = w + (i + k * part) * stride;
		four(at, a, n, sum);
		for (k = 0; k < STREAMS; k++)
			y[i + k * part] = sum[k];
	}
	for (k = 0; k < STREAMS; k++)
		at[k] = w + (count - left + (k < left ? k : left - 1)) * stride;
	if (left)
		four(at, a, n, sum);
	for (k = 0; k < left; k++)
		y[count - left + k] = sum[k];
}

#define STREAM_ROWS(NAME) \
void \
NAME##_rows_avx512(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                   float *y) \
{ \
	streams(NAME##_streams, w, stride, count, a, n, y); \
}

/* sum + sums of four products each, of bytes without and with a sign. */
INLINE __m512i
four(__m512i sum, __m512i w, __m512i a)
{
	return _mm512_dpbusd_epi32(sum, w, a);
}

/* acc + sums × scales; which names the scale in z for each lane. */
INLINE __m512
scaled(__m512 acc, __m512i sums, __m512 z, __m512i which)
{
	return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_permutexvar_ps(which, z), acc);
}

#endif
