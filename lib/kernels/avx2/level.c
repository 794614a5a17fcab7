/* The level for x86-64 with AVX2, FMA and F16C. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/types.h"
#include "kernels/cpu.h"

#define PLAIN(type) &plain_avx2_##type,
const struct kernel *const kernels_avx2[] = {
	KERNELS(PLAIN)
	&avx2_f16, &avx2_bf16, &avx2_f8_e4m3, &avx2_f8_e5m2, &avx2_q8_0, &avx2_q4_0, &avx2_q4_1,
	&avx2_q5_0, &avx2_q5_1, &avx2_iq4_nl, &avx2_iq4_xs, &avx2_mxfp4, NULL
};

#define PRODUCT(dtype, name) { dtype, name##_rows_avx2, name##_panels_avx2 },
static const struct type_products types[] = {
	AVX2_PRODUCTS(PRODUCT)
	{ NULL, NULL, NULL }
};

const struct products products_avx2 = {
	.name = "avx2", .types = types, .quantizers = quantizers_avx2, .add_f32 = add_f32_avx2,
	.attend = &attend_avx2
};
static const struct products *const variants[] = { &products_avx2, NULL };

const struct level level_avx2 = {
	.name = "avx2", .needs = CPU_AVX2, .search = &search_avx2,
	.numbers = &plain_avx2_numbers, .mixing = &plain_avx2_mixing, .kernels = kernels_avx2,
	 .products = variants
};
