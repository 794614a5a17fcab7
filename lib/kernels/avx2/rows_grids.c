/* One row of activations with the IQ types. Activations take the signs, so that levels have
 * none.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/grids.h"

/* zero is subtracted from codes that have no sign; it is 0 for levels. */
INLINE float
grid_row(grid_levels *levels, odd_scales *scales, size_t bytes, int zero, const uint8_t *w,
         const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, LARGE);
	__m256 acc = _mm256_setzero_ps();
	const int16_t *of = q.sums;
	struct half_levels half[2];
	__m256i act, p, sum;
	struct odd s;
	size_t b;
	int i, k;

	for (b = 0; b < n / LARGE; b++, w += bytes, of += LARGE / SUB, q.code += LARGE) {
		for (i = 0; i < (int)bytes; i += 64)
			_mm_prefetch((const char *)w + AHEAD + i, _MM_HINT_T0);
		s = scales(w);
		sum = _mm256_setzero_si256();
		if (zero) {
			p = _mm256_madd_epi16(s.scale, load(of));
			sum = _mm256_mullo_epi32(p, _mm256_set1_epi32(-zero));
		}
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			levels(w, i, half);
#pragma GCC unroll 2
			for (k = 0; k < 2; k++) {
				act = load(q.code + 64 * i + SMALL * k);
				if (!zero)
					act = _mm256_sign_epi8(act, half[k].sign);
				p = _mm256_maddubs_epi16(half[k].level, act);
				p = _mm256_madd_epi16(p, scales_of(s.scale, 2 * i + k));
				sum = _mm256_add_epi32(sum, p);
			}
		}
		acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(s.d * q.scale[b]),
		                      acc);
	}
	return add_eight(acc);
}

#define GRID_ROWS(NAME, BYTES, FROM) \
void \
NAME##_rows_avx2(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                 float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = grid_row(NAME##_levels, NAME##_odd, BYTES, FROM, w, a, n); \
}

GRID_ROWS(iq1_s, 50, ZERO_IQ1)
GRID_ROWS(iq1_m, 56, ZERO_IQ1)
GRID_ROWS(iq2_xxs, 66, 0)
GRID_ROWS(iq2_xs, 74, 0)
GRID_ROWS(iq2_s, 82, 0)
GRID_ROWS(iq3_xxs, 98, 0)
GRID_ROWS(iq3_s, 110, 0)
