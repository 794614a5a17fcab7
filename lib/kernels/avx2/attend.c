/* Attention with AVX2. */
#include <immintrin.h>

#define ATTEND attend_avx2
#define BYTES 32
#define WIDEN(p) _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define WIDEN_HALVES(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define FMA(x, y, z) (vector)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z))
#include "kernels/common/attend_loops.h"
