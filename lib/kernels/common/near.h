/* near: for each rounding of a few values to levels, the point of a grid that it is, or the
 * points nearest to it. Internal to kernels.
 *
 * An encoder of an IQ type rounds eight or four values to levels, each on its own. The levels'
 * numbers, packed as in iq_grid.h, may not be a point of the grid. Then the encoder takes the
 * best, by weighted error, of the points at the smallest distances: as many different
 * distances as shells says, where levels are one apart. Lists are ordered by distance, then by
 * number of the point; the first of equally good points is taken, so the order matters.
 * Source: the initialisation of GGML's quantizers, which makes the same lists.
 *
 * Tables are made at first use and kept; all lie in memory that the system provides when it is
 * written: 0.9 MB for IQ1, 0.5 to 0.6 MB for each of IQ2, 0.1 MB for each of IQ3.
 */
#ifndef KERNELS_NEAR_H
#define KERNELS_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEAR_TOGETHER 16 /* lists have a multiple of this, filled with their first point */
#define NEAR_MOST 304    /* no list is longer */

struct grid {
	int values;  /* of a point: 8 of two bits, or 4 of three */
	int bits;
	int levels;  /* 3 or 8 */
	/* By packed point. Below NEAR_LIST: its number. From there on: a list begins at
	 * list + NEAR_TOGETHER × (place >> 9 & 0x3fffff), and has place & 511 points. */
	const uint32_t *place;
	const uint16_t *list; /* packed points */
};

#define NEAR_LIST 0x80000000u

enum near_grid {
	NEAR_IQ1, NEAR_IQ2_XXS, NEAR_IQ2_XS, NEAR_IQ2_S, NEAR_IQ3_XXS, NEAR_IQ3_S, NEAR_GRIDS
};

/* The tables of a grid. Threads may call it at the same time. */
const struct grid *near_grid(enum near_grid which);

/* A list of a grid. */
struct near_list {
	const uint16_t *point;
	size_t count;
};

static inline struct near_list
near_list(const struct grid *g, uint32_t place)
{
	return (struct near_list){ g->list + (size_t)NEAR_TOGETHER * (place >> 9 & 0x3fffff),
		place & 511 };
}

#endif
