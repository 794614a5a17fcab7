/* avx512: what the files of this folder provide to level.c. */
#ifndef KERNELS_AVX512_H
#define KERNELS_AVX512_H

#include "kernels/common/products.h"
#include "kernels/level.h"

/* Types with products: each has a function in rows*.c and one in panel_*.c. */
#define AVX512_PRODUCTS(X) \
	X("F32", f32) X("F16", f16) X("BF16", bf16) X("F8_E4M3", f8_e4m3) X("F8_E5M2", f8_e5m2) \
	X("Q4_0", q4_0) X("Q4_1", q4_1) X("Q5_0", q5_0) X("Q5_1", q5_1) X("Q8_0", q8_0) \
	X("Q2_K", q2_k) X("Q3_K", q3_k) X("Q4_K", q4_k) X("Q5_K", q5_k) X("Q6_K", q6_k) \
	X("IQ4_NL", iq4_nl) X("IQ4_XS", iq4_xs) X("MXFP4", mxfp4) X("TQ1_0", tq1_0) \
	X("TQ2_0", tq2_0) X("IQ1_S", iq1_s) X("IQ1_M", iq1_m) X("IQ2_XXS", iq2_xxs) \
	X("IQ2_XS", iq2_xs) X("IQ2_S", iq2_s) X("IQ3_XXS", iq3_xxs) X("IQ3_S", iq3_s)

#define AVX512_DECLARE(dtype, name) \
	dot_rows name##_rows_avx512; dot_panels name##_panels_avx512;
AVX512_PRODUCTS(AVX512_DECLARE)
#undef AVX512_DECLARE
dot_panels add_f32_avx512;

extern const struct search search_avx512;   /* kernels/common/search.h */
extern const struct numbers numbers_avx512; /* kernels/numbers.h */
extern const struct packing packings_avx512[];
extern const struct attend attend_avx512;
extern const struct thin_products thin_avx512[];

#endif
