/* ref: the plain C kernels, one a type, and what stands in their place at a level of
 * the CPU: the same source compiled for it, whose loops then use its vectors (Makefile),
 * and in front of that what is written for it by hand. Only kernel.c, level.c and they
 * include this.
 */
#ifndef KERNELS_REF_H
#define KERNELS_REF_H

#include <float.h>

#include "kernels/kernel.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic must not be wider than float");

/* All of them. */
#define KERNELS(X) \
	X(f32) X(f16) X(bf16) X(f8_e4m3) X(f8_e5m2) \
	X(q4_0) X(q4_1) X(q5_0) X(q5_1) X(q8_0) X(q8_1) \
	X(q2_k) X(q3_k) X(q4_k) X(q5_k) X(q6_k) X(q8_k) \
	X(iq4_nl) X(iq4_xs) X(tq1_0) X(tq2_0) X(mxfp4) \
	X(iq1_s) X(iq1_m) X(iq2_xxs) X(iq2_xs) X(iq2_s) X(iq3_xxs) X(iq3_s) X(apr_q4)

/* What a file *_ref.c defines for a type. Where that is compiled for a level, the
 * Makefile says plain_LEVEL_TYPE. */
#ifndef KERNEL
#define KERNEL(type) ref_##type
#endif

#define KERNEL_DECLARE(type) extern const struct kernel ref_##type;
KERNELS(KERNEL_DECLARE)
#undef KERNEL_DECLARE

#endif
