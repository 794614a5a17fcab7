/* training.h with NEON. */
#include <arm_neon.h>

#define TRAINING training_neon
#define LANES 4
typedef float32x4_t vector;
#define LOAD(p) vld1q_f32(p)
#define STORE(p, v) vst1q_f32(p, v)
#define SPREAD(x) vdupq_n_f32(x)
#define FUSED(a, b, c) vfmaq_f32(c, a, b)
#define ROWS 6
#define WIDE 4
#define ROW_CASES(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "kernels/common/training_product.h"
#include "kernels/common/training_values.h"

#define ROOTS(v) roots((float *)(v))
static inline __attribute__((always_inline)) void
roots(float *v)
{
	int i;

	for (i = 0; i < TRAINING_LANES; i += 4)
		vst1q_f32(v + i, vsqrtq_f32(vld1q_f32(v + i)));
}
#include "kernels/common/training_loss.h"
