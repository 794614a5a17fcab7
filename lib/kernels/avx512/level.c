/* The level for x86-64 with AVX-512 F, BW, DQ and VL. Its products need VNNI as well; where
 * that is missing, those of AVX2 are used. Kernels and quantizers are those of AVX2. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/types.h"
#include "kernels/avx512/avx512.h"
#include "kernels/cpu.h"

#define PRODUCT(dtype, name) { dtype, name##_rows_avx512, name##_panels_avx512 },
static const struct type_products types[] = {
	AVX512_PRODUCTS(PRODUCT)
	{ NULL, NULL, NULL }
};

static const struct products with_vnni = {
	.name = "avx512", .needs = CPU_VNNI, .types = types, .packings = packings_avx512,
	.quantizers = quantizers_avx2, .add_f32 = add_f32_avx512, .attend = &attend_avx512,
	.thin = thin_avx512
};
static const struct products *const variants[] = { &with_vnni, &products_avx2, NULL };

const struct level level_avx512 = {
	.name = "avx512", .needs = CPU_AVX512, .search = &search_avx512,
	.numbers = &numbers_avx512, .mixing = &plain_avx2_mixing, .kernels = kernels_avx2,
	 .products = variants
};
