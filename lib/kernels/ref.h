/* ref: the plain C kernels, one a type, and what stands in their place at a level of
 * the CPU. Only kernel.c, level.c and they include this.
 */
#ifndef KERNELS_REF_H
#define KERNELS_REF_H

#include <float.h>

#include "kernels/kernel.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic must not be wider than float");

extern const struct kernel ref_f32, ref_f16, ref_bf16;
extern const struct kernel ref_f8_e4m3, ref_f8_e5m2;
extern const struct kernel ref_q4_0, ref_q4_1, ref_q5_0, ref_q5_1, ref_q8_0, ref_q8_1;
extern const struct kernel ref_q2_k, ref_q3_k, ref_q4_k, ref_q5_k, ref_q6_k, ref_q8_k;
extern const struct kernel ref_iq4_nl, ref_iq4_xs;
extern const struct kernel ref_tq1_0, ref_tq2_0, ref_mxfp4;
extern const struct kernel ref_iq1_s, ref_iq1_m;
extern const struct kernel ref_iq2_xxs, ref_iq2_xs, ref_iq2_s;
extern const struct kernel ref_iq3_xxs, ref_iq3_s;
extern const struct kernel ref_apr_q4;

/* Members that are NULL are those of plain C. */
#ifdef __x86_64__
extern const struct kernel avx2_f16, avx2_bf16, avx2_q8_0, avx2_q4_0;
#endif

/* Put these, a NULL after the last, before plain C; NULL for none. Not while
 * threads compute. */
void kernels_use(const struct kernel *const *better);

#endif
