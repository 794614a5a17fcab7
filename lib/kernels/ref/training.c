/* training.h in plain C. */
#include <math.h>

#define TRAINING training_ref
#define LANES 1
typedef float vector;
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define SPREAD(x) (x)
#define FUSED(a, b, c) fmaf(a, b, c)
#define ROWS 2
#define WIDE 4
#define ROW_CASES(X) X(1) X(2)
#include "kernels/common/training_product.h"
#include "kernels/common/training_values.h"

#define ROOTS(v) \
	do { \
		int lane; \
		for (lane = 0; lane < TRAINING_LANES; lane++) \
			(*(v))[lane] = sqrtf((*(v))[lane]); \
	} while (0)
#include "kernels/common/training_loss.h"
