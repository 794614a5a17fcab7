/* Attention with AVX-512. */
#include <immintrin.h>

#define ATTEND attend_avx512
#define BYTES 64
#define WIDEN(p) _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define WIDEN_HALVES(p) \
	_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define FMA(x, y, z) (vector)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z))
#include "kernels/common/attend_loops.h"
