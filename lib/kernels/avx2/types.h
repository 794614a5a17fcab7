/* types: kernels of this folder, for level.c. */
#ifndef KERNELS_AVX2_TYPES_H
#define KERNELS_AVX2_TYPES_H

#include "kernels/ref/types.h"

/* Plain C that is compiled for this level (level.mk). */
#define PLAIN_DECLARE(type) extern const struct kernel plain_avx2_##type;
KERNELS(PLAIN_DECLARE)
#undef PLAIN_DECLARE
extern const struct numbers plain_avx2_numbers; /* kernels/numbers.h */
extern const struct mixing plain_avx2_mixing;   /* kernels/mixing.h */

/* Kernels on vectors; plain C takes the place of members that are NULL. */
extern const struct kernel avx2_f16, avx2_bf16, avx2_f8_e4m3, avx2_f8_e5m2;
extern const struct kernel avx2_q8_0, avx2_q4_0, avx2_q4_1, avx2_q5_0, avx2_q5_1;
extern const struct kernel avx2_iq4_nl, avx2_iq4_xs, avx2_mxfp4;

/* Decodes Q4_0: type_nibbles.c, for avx2_q4_0 of type_block.c. */
void nibbles_avx2_q4_0(const uint8_t *x, float *y, size_t n);

#endif
