/* grid: the searches for points of a grid in plain C, which search.c lists. Internal to
 * kernels. */
#ifndef KERNELS_REF_GRID_H
#define KERNELS_REF_GRID_H

#include "kernels/common/search.h"

/* The values of a group in a lane, and what their errors cost. */
struct grid_group {
	const float *x, *w; /* value i at i × LANES */
	float scale;
	const float *level; /* by code */
};

/* Of the list at place, the first point whose weighted squared error is least; the first of
 * all where no error is a finite number. */
uint16_t grid_nearest(const struct grid *g, uint32_t place, const struct grid_group *v);

void grid_search(const struct grid_lanes *l, const struct grid *g,
                 const struct grid_range *r, struct grid_fit *f);
void grid_search_again(const struct grid_lanes *l, const struct grid *g,
                       uint8_t (*again)[LANES], struct grid_fit *f);
void thirds_search(const struct thirds_lanes *l, struct thirds_fit *f);
void thirds_search_halves(const struct thirds_lanes *l, struct thirds_fit *f);
void thirds_search_points(const struct lanes *l, const struct grid *g, const float *scale,
                          uint8_t (*down)[LANES], uint16_t (*point)[LANES]);
void steps_search(const struct lanes *l, int most, float *scale);

#endif
