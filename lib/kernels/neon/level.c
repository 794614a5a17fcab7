/* The level for 64-bit ARM, with three variants of products; and for WebAssembly, with the first of
 * them (core/wasm/include/arm_neon.h). */
#include "kernels/cpu.h"
#include "kernels/neon/neon.h"
#include "kernels/neon/types.h"
#include "kernels/numbers.h"

static const struct kernel *const kernels[] = {
#ifdef __aarch64__
	&neon_f16, &neon_bf16,
#endif
	&neon_q8_0, &neon_q4_0, NULL
};

#define PLAIN(dtype, name) { dtype, name##_rows_neon, name##_panels_neon },
#ifdef __wasm__ /* panels of the usual types alone: the other ones would be 40 KB */
#define NO_PANELS(dtype, name) { dtype, name##_rows_neon, NULL },
#else
#define NO_PANELS PLAIN
#endif
static const struct type_products plain_types[] = {
	NEON_FLOATS(PLAIN) NEON_USUAL(PLAIN) NEON_OTHERS(NO_PANELS)
	{ NULL, NULL, NULL }
};

#define PRODUCTS(NAME, NEEDS, TYPES) { \
	.name = NAME, .needs = NEEDS, .types = TYPES, .quantizers = quantizers_neon, \
	.add_f32 = add_f32_neon, .attend = &attend_neon \
}
static const struct products plain = PRODUCTS("neon", 0, plain_types);

#ifdef __aarch64__
#define SDOT_FLOAT(dtype, name) { dtype, name##_rows_sdot, name##_panels_neon },
#define SDOT(dtype, name) { dtype, name##_rows_sdot, name##_panels_sdot },
static const struct type_products sdot_types[] = {
	NEON_FLOATS(SDOT_FLOAT) NEON_BLOCKS(SDOT)
	{ NULL, NULL, NULL }
};

/* One row of activations gains nothing from products of matrices. */
#define I8MM(dtype, name) { dtype, name##_rows_sdot, name##_panels_i8mm },
static const struct type_products i8mm_types[] = {
	NEON_FLOATS(SDOT_FLOAT) NEON_BLOCKS(I8MM)
	{ NULL, NULL, NULL }
};

static const struct products sdot = PRODUCTS("sdot", CPU_SDOT, sdot_types);
static const struct products i8mm = PRODUCTS("i8mm", CPU_SDOT | CPU_I8MM, i8mm_types);
static const struct products *const variants[] = { &i8mm, &sdot, &plain, NULL };
#else
static const struct products *const variants[] = { &plain, NULL };
#endif

const struct level level_neon = {
	.name = "neon", .search = &search_neon, .numbers = &ref_numbers, .kernels = kernels,
	.products = variants
};
