/* compare: a level against plain C, on made-up rows. Internal to kernels. */
#ifndef KERNELS_COMPARE_H
#define KERNELS_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/common/products.h"
#include "kernels/level.h"

/* What the level gives other bytes for: the name of a type, "sums", or "points of grids";
 * NULL: nothing. Leaves plain C in use. */
const char *level_differs(const struct level *l);

/* True if the level's searches for points of grids find those of plain C, on small made-up
 * grids: the true ones take time to make. */
bool grids_agree(const struct level *l);

/* What the products make out of bounds: the name of a type or of a form of activations,
 * "decoded types", or "keys" for attention; NULL: nothing. Leaves plain C in use. */
const char *products_differ(const struct products *p);

/* The next of a sequence of 32 bits (xorshift), from *last, which is not 0. */
static inline uint32_t
next_random(uint32_t *last)
{
	*last ^= *last << 13;
	*last ^= *last >> 17;
	return *last ^= *last << 5;
}

#endif
