/* training.h with AVX-512. */
#include <immintrin.h>

#define TRAINING training_avx512
#define LANES 16
typedef __m512 vector;
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPREAD(x) _mm512_set1_ps(x)
#define FUSED(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ROWS 14
#define WIDE 2
#define ROW_CASES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#include "kernels/common/training_product.h"
#include "kernels/common/training_values.h"

#define ROOTS(v) _mm512_storeu_ps(v, _mm512_sqrt_ps(_mm512_loadu_ps(v)))
#include "kernels/common/training_loss.h"
