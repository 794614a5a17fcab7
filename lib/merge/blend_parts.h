/* blend_parts: what the files of blend.h share. */
#ifndef MERGE_BLEND_PARTS_H
#define MERGE_BLEND_PARTS_H

#include "merge/blend.h"

struct blend_tile {
	uint64_t from;            /* its first value in the tensor */
	size_t n;                 /* its values */
	uint64_t (*equals)[3];    /* of each keep: values equal to the top and the low border before
	                           * the tile, and to the low one in it */
};

struct blend_slot {
	atomic_flag used;
	uint32_t *bins;           /* BORDER_COARSE for each keep; or BORDER_FINE for its top border,
	                           * then for its low one */
	uint64_t counted;         /* values since the bins were added up */
	uint64_t varied;
};

static inline float *
blend_vector(const struct blend *b, size_t tile, size_t vector)
{
	return b->x + (tile * b->vectors + vector) * b->tile;
}

/* Whether coefficients are those of rows, which mixing computes by itself; of columns. */
bool blend_by_rows(const struct blend_task *t);
bool blend_by_columns(const struct blend_task *t);

/* Whether sums of magnitudes before and after dropping are needed. */
bool blend_rescales(const struct blend_task *t);

/* A value in single precision, rounded to the type of mergekit's steps. */
float blend_round(const struct dtype *work, float v);

/* Read a tile and make its vectors; with KEEP_RANDOM and KEEP_RANKED, drop values. With
 * KEEP_VARIED and a histogram, y gets the variances. */
void blend_load(struct blend *b, size_t tile);

/* Drop the values outside the borders. */
void blend_drop(struct blend *b, size_t tile);

/* The sums of a tile, in b->sums. blend_sums_size: how many. blend_add: add those of a tile to the
 * tensor's. */
size_t blend_sums_size(const struct blend *b);
void blend_sum(struct blend *b, size_t tile);
void blend_add(struct blend *b, size_t tile);

/* Sum of products of n values, by eight sums in turn. */
double blend_dot(const float *x, const float *y, size_t n);

/* Coefficients from the sums; false if there are none (multislerp). */
bool blend_weigh(struct blend *b);

/* The result of a tile in y. */
void blend_mix(struct blend *b, size_t tile);

#endif
