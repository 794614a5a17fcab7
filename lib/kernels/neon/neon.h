/* neon: what the files of this folder provide to level.c.
 *
 * Products of blocks are compiled three times, from one source: with what every 64-bit ARM
 * has (neon), with sums of four products of bytes (sdot), and with products of matrices of
 * bytes (i8mm). The file that includes the source defines VARIANT(name), which makes the
 * name of a function.
 */
#ifndef KERNELS_NEON_H
#define KERNELS_NEON_H

#include "kernels/common/products.h"
#include "kernels/level.h"

/* Types with products: of floats, whose panels are the same in all variants, */
#define NEON_FLOATS(X) X("F32", f32) X("F16", f16) X("BF16", bf16)
/* and of blocks. */
#define NEON_USUAL(X) X("Q4_0", q4_0) X("Q8_0", q8_0) X("Q4_K", q4_k) X("Q6_K", q6_k)
#define NEON_OTHERS(X) \
	X("Q4_1", q4_1) X("Q5_0", q5_0) X("Q5_1", q5_1) X("Q2_K", q2_k) X("Q3_K", q3_k) X("Q5_K", q5_k) \
	X("IQ4_NL", iq4_nl) X("IQ4_XS", iq4_xs) X("MXFP4", mxfp4) X("TQ2_0", tq2_0)
#define NEON_BLOCKS(X) NEON_USUAL(X) NEON_OTHERS(X)

#define NEON_DECLARE(dtype, name) \
	dot_rows name##_rows_neon, name##_rows_sdot; dot_panels name##_panels_neon;
NEON_FLOATS(NEON_DECLARE)
NEON_BLOCKS(NEON_DECLARE)
#undef NEON_DECLARE
#define NEON_DECLARE(dtype, name) dot_panels name##_panels_sdot, name##_panels_i8mm;
NEON_BLOCKS(NEON_DECLARE)
#undef NEON_DECLARE
dot_panels add_f32_neon;

extern const struct search search_neon;
extern const struct quantizer quantizers_neon[];
extern const struct attend attend_neon;

#endif
