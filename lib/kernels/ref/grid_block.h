/* grid_block: how the encoders of IQ2 and IQ3 begin and end. Their values are signs and
 * magnitudes; magnitudes of eight or four values together are a point of a grid. Each
 * type_iq*.c compiles it for itself, so that loops over lanes use vectors.
 *
 * A sub-block first tries scales that bring its largest magnitude to about the last level.
 * Each candidate rounds the magnitudes to levels, replaces roundings that are not a point of the
 * grid by the best point near them, and counts the error with the scale that is best for these
 * points. Then points are chosen anew at the best scale.
 * Source of the formula: GGML's reference quantizers. The bytes are theirs; the order of
 * operations in every sum and product matters.
 */
#ifndef KERNELS_GRID_BLOCK_H
#define KERNELS_GRID_BLOCK_H

#include <math.h>

#include "kernels/common/near.h"
#include "kernels/common/search.h"

enum { GRID_ITEMS = 256, BYTES_OF_SIGNS = DEPTH / 8 };

struct grid_type {
	enum near_grid grid;
	struct grid_range range;
	int depth;    /* values of a sub-block */
	float silent; /* a sub-block without a magnitude of at least that is zero */
	float power;  /* weights by importance have this × the mean square of the block */
	bool even;    /* the number of minuses of eight values is even: one value that costs
	               * least may get the wrong sign */
	bool steps;   /* candidates are around the scale that search->steps finds, not around
	               * that of the largest magnitude */
	/* Groups that get their point anew: those off the grid, or all if one is off, or all. */
	enum { GRID_OFF, GRID_ANY_OFF, GRID_ALL } again;
	bool off;     /* groups of a sub-block without a candidate count as off the grid */
};

/* Sub-blocks in the making: scales are not negative. */
struct grid_blocks {
	const struct grid *grid;
	struct grid_lanes lanes;
	struct grid_fit fit;
	uint8_t minus[BYTES_OF_SIGNS][LANES]; /* a bit for each of eight values */
};

/* Weights of up to LANES sub-blocks of whole blocks. Without importance, they are x² plus rest
 * times the mean square of the block. */
static inline void
grid_weigh(struct grid_lanes *l, const struct grid_type *t, const float *x,
           const float *importance, int count, float rest)
{
	int i, j, subs = GRID_ITEMS / t->depth;
	float power[LANES] = { 0 };

	for (j = 0; j < count; j++)
		power[j] = j % subs ? power[j - 1]
			: t->power * squares(x + t->depth * j, GRID_ITEMS) / GRID_ITEMS;
	if (importance) {
		search->weigh_power(&l->l, importance, power, count);
	} else {
		search->weigh_square(&l->l);
		for (i = 0; rest > 0 && i < t->depth; i++)
			for (j = 0; j < LANES; j++)
				l->l.w[i][j] = rest * power[j] + l->l.w[i][j];
	}
	for (i = 0; i < t->depth; i++)
		for (j = 0; j < LANES; j++)
			l->root[i][j] = sqrtf(l->l.w[i][j]);
}

/* Change the sign of the value that costs least in each lane where the number of minuses of
 * eight values is odd. */
static inline void
grid_even(float (*x)[LANES], float (*w)[LANES], uint8_t *minus)
{
	float cost, least[LANES];
	int at[LANES] = { 0 }, i, j;

	for (j = 0; j < LANES; j++)
		least[j] = w[0][j] * x[0][j] * x[0][j];
	for (i = 1; i < 8; i++) {
		for (j = 0; j < LANES; j++) {
			cost = w[i][j] * x[i][j] * x[i][j];
			at[j] = cost < least[j] ? i : at[j];
			least[j] = cost < least[j] ? cost : least[j];
		}
	}
	for (j = 0; j < LANES; j++) {
		if (!(0x6996 >> ((minus[j] ^ minus[j] >> 4) & 15) & 1))
			continue;
		x[at[j]][j] = -x[at[j]][j];
		minus[j] ^= (uint8_t)(1u << at[j]);
	}
}

/* Move the signs of the values to minus. */
static inline void
grid_signs_take(struct grid_blocks *b, const struct grid_type *t)
{
	float (*x)[LANES] = b->lanes.l.x;
	int i, j;

	memset(b->minus, 0, sizeof b->minus);
	for (i = 0; i < t->depth; i++) {
		for (j = 0; j < LANES; j++) {
			b->minus[i / 8][j] |= (uint8_t)((x[i][j] < 0) << i % 8);
			x[i][j] = x[i][j] < 0 ? -x[i][j] : x[i][j];
		}
	}
	for (i = 0; t->even && i < t->depth; i += 8)
		grid_even(x + i, b->lanes.l.w + i, b->minus[i / 8]);
}

/* The largest magnitude of each lane, which is to get the last level, and the scale that gives
 * it. */
static inline void
grid_begin(struct grid_blocks *b, const struct grid_type *t)
{
	float (*x)[LANES] = b->lanes.l.x, *most = b->fit.most, top;
	int i, j;

	top = (float)(2 * b->grid->levels - 1);
	for (j = 0; j < LANES; j++)
		most[j] = x[0][j];
	for (i = 1; i < t->depth; i++)
		for (j = 0; j < LANES; j++)
			most[j] = x[i][j] > most[j] ? x[i][j] : most[j];
	if (t->steps)
		search->steps(&b->lanes.l, b->grid->levels + 1, b->fit.scale);
	for (j = 0; j < LANES; j++) {
		most[j] = most[j] < t->silent ? 0 : most[j];
		if (!t->steps)
			b->fit.scale[j] = most[j] / top;
		else if (most[j] > 0)
			most[j] = b->fit.scale[j] * (float)b->grid->levels;
	}
	memset(b->fit.off, t->off, sizeof b->fit.off);
}

static inline void
grid_points_again(struct grid_blocks *b, const struct grid_type *t)
{
	int groups = t->depth / b->grid->values, j, k;
	uint8_t again[GROUPS][LANES], any[LANES] = { 0 };

	for (k = 0; k < groups; k++)
		for (j = 0; j < LANES; j++)
			any[j] |= b->fit.off[k][j];
	for (k = 0; k < groups; k++)
		for (j = 0; j < LANES; j++)
			again[k][j] = t->again == GRID_ALL ? 1
				: t->again == GRID_OFF ? b->fit.off[k][j] : any[j];
	search->grid_again(&b->lanes, b->grid, again, &b->fit);
}

/* Silent lanes are zeros; a negative scale becomes a positive one of the opposite signs. */
static inline void
grid_end(struct grid_blocks *b, const struct grid_type *t)
{
	float scale;
	int j, k;

	for (j = 0; j < LANES; j++) {
		scale = b->fit.most[j] > 0 ? number(b->fit.scale[j]) : 0;
		for (k = 0; k < t->depth / 8; k++) {
			if (!(b->fit.most[j] > 0))
				b->minus[k][j] = 0;
			else if (scale < 0)
				b->minus[k][j] = (uint8_t)~b->minus[k][j];
		}
		b->fit.scale[j] = scale < 0 ? -scale : scale;
	}
}

/* Fit up to LANES sub-blocks of whole blocks. rest: as in grid_weigh. */
static inline void
grid_fit(struct grid_blocks *b, const struct grid_type *t, const float *x,
         const float *importance, int count, float rest)
{
	b->grid = near_grid(t->grid);
	search->load(&b->lanes.l, x, t->depth, count);
	grid_weigh(&b->lanes, t, x, importance, count, rest);
	grid_signs_take(b, t);
	grid_begin(b, t);
	search->grid(&b->lanes, b->grid, &t->range, &b->fit);
	grid_points_again(b, t);
	grid_end(b, t);
}

/* Codes of four bits for the scales of a block's sub-blocks: the largest scale gets the last
 * code, and *d the unit. Returns false if all scales are 0. */
static inline bool
grid_scales(const float *scale, int count, float *d, uint8_t *code)
{
	float inverse, most = 0;
	int j;

	for (j = 0; j < count; j++)
		most = scale[j] > most ? scale[j] : most;
	*d = most / 31;
	inverse = 1 / *d;
	for (j = 0; j < count; j++)
		code[j] = (uint8_t)clamp_int(nearest_int(0.5f * (inverse * scale[j] - 1)), 0, 15);
	return most > 0;
}

/* The number of the point of group k of lane j. */
static inline unsigned
grid_index(const struct grid_blocks *b, int k, int j)
{
	return b->grid->place[b->fit.point[k][j]];
}

#endif
