/* Plain C: the level that every CPU has. Its kernels, and its products (rows.c), are what
 * kernel.c and dot.c use where a level has none. */
#include "core/only.h"
#include "kernels/common/products.h"
#include "kernels/common/search.h"
#include "kernels/level.h"
#include "kernels/numbers.h"

static const struct products products = { .name = "ref", .attend = &attend_ref };
static const struct products *const variants[] = { &products, NULL };

const struct level level_ref = {
	.name = "ref", .search = ONLY_WRITES(&search_ref), .numbers = &ref_numbers,
	.products = ONLY_WRITES(variants)
};
