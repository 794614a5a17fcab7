/* training.h with AVX2 and FMA. */
#include <immintrin.h>

#define TRAINING training_avx2
#define LANES 8
typedef __m256 vector;
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(x) _mm256_set1_ps(x)
#define FUSED(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ROWS 6
#define WIDE 2
#define ROW_CASES(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "kernels/common/training_product.h"
#include "kernels/common/training_values.h"

#define ROOTS(v) roots((float *)(v))
static inline __attribute__((always_inline)) void
roots(float *v)
{
	_mm256_storeu_ps(v, _mm256_sqrt_ps(_mm256_loadu_ps(v)));
	_mm256_storeu_ps(v + 8, _mm256_sqrt_ps(_mm256_loadu_ps(v + 8)));
}
#include "kernels/common/training_loss.h"
