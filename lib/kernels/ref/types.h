/* types: the kernels in plain C, one for each type. A level of the CPU may compile the same
 * source for itself, so that its loops use vectors (avx2/level.mk), and have kernels on
 * vectors besides. Internal to kernels.
 */
#ifndef KERNELS_REF_H
#define KERNELS_REF_H

#include <float.h>

#include "core/only.h"
#include "kernels/kernel.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic must not be wider than float");

/* All types with a kernel. */
#define KERNELS(X) \
	X(f32) X(f16) X(bf16) X(f8_e4m3) X(f8_e5m2) \
	X(q4_0) X(q4_1) X(q5_0) X(q5_1) X(q8_0) X(q8_1) \
	X(q2_k) X(q3_k) X(q4_k) X(q5_k) X(q6_k) X(q8_k) \
	X(iq4_nl) X(iq4_xs) X(tq1_0) X(tq2_0) X(mxfp4) \
	GRID_KERNELS(X) X(apr_q4)

/* Those whose encoders make tables at first use (kernels/common/near.h), in 2 to 40 ms. */
#define GRID_KERNELS(X) \
	X(iq1_s) X(iq1_m) X(iq2_xxs) X(iq2_xs) X(iq2_s) X(iq3_xxs) X(iq3_s)

/* The name of what a file type_*.c defines. level.mk of a level that compiles it again
 * makes it plain_LEVEL_TYPE. */
#ifndef KERNEL
#define KERNEL(type) ref_##type
#endif

#define KERNEL_DECLARE(type) extern const struct kernel ref_##type;
KERNELS(KERNEL_DECLARE)
#undef KERNEL_DECLARE

#endif
