#include "predict/walk.h"

#include <math.h>
#include <string.h>

/* ---- one step ---- */

/* 0 if the category x is in the set at place t, else 1. */
static uint32_t
outside(const struct forest *f, double t, double x)
{
	const uint32_t *set = (const uint32_t *)(const void *)f->sets.p + (size_t)t;
	uint32_t c;

	if (!(x > -1 && x < 4294967296.0))
		return 1;
	c = (uint32_t)(x < 0 ? 0 : x);
	return c / 32 >= set[0] || !(set[1 + c / 32] >> c % 32 & 1);
}

static uint32_t
step_any(const struct forest *f, const struct forest_node *n, const double *row)
{
	double x = row[n->word & WALK_FEATURE];
	bool gone = isnan(x) || (n->word & WALK_ZEROS && fabs(x) <= (double)1e-35f);

	if (gone)
		return n->left + !!(n->word & WALK_RIGHT);
	return n->left + (n->word & WALK_CATEGORY ? outside(f, n->t, x) : x > n->t);
}

static inline uint32_t
step(const struct forest_node *n, const double *row)
{
	return n->left + (row[n->word & WALK_FEATURE] > n->t);
}

static inline uint32_t
step_missing(const struct forest_node *n, const double *row)
{
	double x = row[n->word & WALK_FEATURE];

	return n->left + ((x > n->t) | ((x != x) & (n->word >> 24 & 1)));
}

/* ---- one tree ---- */

/* The leaf of one row. */
static uint32_t
leaf_any(const struct forest *f, uint32_t at, const double *row)
{
	uint32_t next;

	while ((next = step_any(f, &f->nodes[at], row)) != at)
		at = next;
	return at;
}

/* WALK_ROWS rows go down together, as many levels as the tree has. */
static inline void
walk_rows(const struct forest *f, const struct forest_tree *t, const double *rows, size_t stride,
          uint32_t at[WALK_ROWS], uint32_t (*one)(const struct forest_node *, const double *))
{
	const struct forest_node *nodes = f->nodes;
	uint32_t level, k, moved, next;

	for (k = 0; k < WALK_ROWS; k++)
		at[k] = t->root;
	for (level = 0; level < t->depth; level++) {
		for (k = 0, moved = 0; k < WALK_ROWS; k++) {
			next = one(&nodes[at[k]], rows + k * stride);
			moved |= next ^ at[k];
			at[k] = next;
		}
		if (!moved)
			break;
	}
}

static void
walk_tree(const struct forest *f, const struct forest_tree *t, const double *rows, size_t n,
          bool missing, uint32_t *at)
{
	size_t i = 0;

	if (t->plain && !missing)
		for (; i + WALK_ROWS <= n; i += WALK_ROWS)
			walk_rows(f, t, rows + i * f->features, f->features, at + i, step);
	else if (t->plain)
		for (; i + WALK_ROWS <= n; i += WALK_ROWS)
			walk_rows(f, t, rows + i * f->features, f->features, at + i, step_missing);
	for (; i < n; i++)
		at[i] = leaf_any(f, t->root, rows + i * f->features);
}

/* ---- sums ---- */

/* Adds the leaves of one tree to the sums of n rows, in the order and precision of the library. */
static void
add(const struct forest *f, const struct forest_tree *t, const uint32_t *at, size_t n, double *sums)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		const double *v = f->values + (size_t)f->leaf[at[i]] * f->width;
		double *to = sums + i * f->groups + (f->width == 1 ? t->group : 0);

		for (k = 0; k < f->width; k++)
			to[k] = f->single ? (double)((float)to[k] + (float)v[k]) : to[k] + v[k];
	}
}

static void
finish(const struct forest *f, size_t n, double *sums)
{
	size_t i, all = n * f->groups;
	size_t each = f->width == 1 ? f->tree_count / f->groups : f->tree_count;

	for (i = 0; f->average && each && i < all; i++)
		sums[i] /= (double)each;
	for (i = 0; f->scaled && i < all; i++)
		sums[i] = f->scale * sums[i] + f->bias[i % f->groups];
}

void
forest_rows(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
            uint32_t *leaves)
{
	uint32_t at[FOREST_BLOCK];
	size_t i, k;

	for (i = 0; sums && i < n; i++)
		memcpy(sums + i * f->groups, f->base, f->groups * sizeof *sums);
	for (k = 0; k < f->tree_count; k++) {
		walk_tree(f, &f->trees[k], rows, n, missing, at);
		if (sums)
			add(f, &f->trees[k], at, n, sums);
		for (i = 0; leaves && i < n; i++)
			leaves[i * f->tree_count + k] = f->ids[f->leaf[at[i]]];
	}
	if (sums)
		finish(f, n, sums);
}
