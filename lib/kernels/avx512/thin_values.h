/* thin_values: what products of rows without zeros share. Internal to this folder. */
#ifndef THIN_VALUES_AVX512_H
#define THIN_VALUES_AVX512_H

#include "kernels/avx512/codes.h"
#include "kernels/common/thin_line.h"
#include "kernels/cpu.h"

/* 16 values at p. */
typedef __m512 thin_load(const uint8_t *p);

INLINE __m512
thin_f16(const uint8_t *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}

INLINE __m512
thin_bf16(const uint8_t *p)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(
		_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)), 16));
}

/* The n first of 64 floats. */
INLINE void
thin_floats(__m512 to[4], const float *x, size_t n)
{
	size_t k;

	if (n >= THIN_LINE) {
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			to[k] = _mm512_loadu_ps(x + 16 * k);
		return;
	}
	for (k = 0; k < 4; k++) {
		size_t from = 16 * k < n ? 16 * k : n;

		to[k] = _mm512_maskz_loadu_ps(some(n - from), x + from);
	}
}

/* Sums k and k + 16, then + 8, + 4, + 2, + 1. */
INLINE float
thin_total(__m512 low, __m512 high)
{
	const __m512 all = _mm512_add_ps(low, high);
	const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
	__m128 v = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));

	v = _mm_add_ps(v, _mm_movehl_ps(v, v));
	return _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)));
}

/* Rows with bitmaps (thin_bits.c): as struct thin_products has them. */
void thin_bits_f16(const uint8_t *data, const uint64_t *starts, size_t count, const float *x, size_t n,
                   float *y);
void thin_bits_bf16(const uint8_t *data, const uint64_t *starts, size_t count, const float *x, size_t n,
                    float *y);

#endif
