#include "predict/walk.h"

#include <math.h>
#include <string.h>

#include "predict/ranks.h"

#define ROW_TREES (8 * WALK_ROWS) /* trees of one row before their leaves are added */

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

uint32_t
walk_step(const struct forest *f, const struct forest_node *n, const double *row)
{
	double x = row[n->word & WALK_FEATURE];
	bool gone = isnan(x) || (n->word & WALK_ZEROS && fabs(x) <= FOREST_ZERO_LIMIT) ||
	            (n->word & WALK_NEGATIVE && x < 0);

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

/* ---- one row and one tree: the definition ---- */

static uint32_t
walk_one(const struct forest *f, const struct forest_tree *t, const double *row)
{
	uint32_t at = t->root, next;

	while ((next = walk_step(f, &f->nodes[at], row)) != at)
		at = next;
	return at;
}

/* ---- several rows, or several trees ---- */

/* WALK_ROWS walks of plain trees go down together, as many levels as the deepest tree has, so
 * that the loads of one wait while those of another arrive. Walk k is of the row at rows + k * stride. */
static inline void
walk_together(const struct forest *f, uint32_t depth, const double *rows, size_t stride,
              uint32_t at[WALK_ROWS], uint32_t (*one)(const struct forest_node *, const double *))
{
	const struct forest_node *nodes = f->nodes;
	uint32_t level, k, moved, next;

	for (level = 0; level < depth; level++) {
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
walk_plain(const struct forest *f, uint32_t depth, const double *rows, size_t stride, bool missing,
           uint32_t at[WALK_ROWS])
{
	if (missing)
		walk_together(f, depth, rows, stride, at, step_missing);
	else
		walk_together(f, depth, rows, stride, at, step);
}

void
walk_leaves(const struct forest *f, const struct forest_tree *t, const double *rows, size_t n,
            bool missing, uint32_t *leaf)
{
	size_t i = 0, k;

	for (; t->plain && i + WALK_ROWS <= n; i += WALK_ROWS) {
		for (k = 0; k < WALK_ROWS; k++)
			leaf[i + k] = t->root;
		walk_plain(f, t->depth, rows + i * f->features, f->features, missing, leaf + i);
	}
	for (; i < n; i++)
		leaf[i] = walk_one(f, t, rows + i * f->features);
	for (i = 0; i < n; i++)
		leaf[i] = f->leaf[leaf[i]];
}

/* The leaves of one row in n trees from tree k on, at most WALK_ROWS. ranks: NULL, or of the row. */
static void
walk_trees(const struct forest *f, size_t k, size_t n, const double *row, bool missing,
           const int16_t *ranks, uint32_t leaf[WALK_ROWS])
{
	const struct forest_tree *t = f->trees + k;
	uint32_t depth = 0;
	bool plain = n == WALK_ROWS;
	size_t i;

	if (ranks && n == WALK_ROWS && ranks_trees_of_row(f, k, ranks, leaf))
		return;
	for (i = 0; i < n; i++) {
		plain &= t[i].plain;
		depth = t[i].depth > depth ? t[i].depth : depth;
		leaf[i] = t[i].root;
	}
	if (plain)
		walk_plain(f, depth, row, 0, missing, leaf);
	for (i = 0; i < n; i++)
		leaf[i] = f->leaf[plain ? leaf[i] : walk_one(f, &t[i], row)];
}

/* ---- sums ---- */

void
walk_add(const struct forest *f, const struct forest_tree *t, const uint32_t *leaf, size_t n,
         double *sums)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		const double *v = f->values + (size_t)leaf[i] * f->width;
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

	for (i = 0; f->average && !f->sums && each && i < all; i++)
		sums[i] /= (double)each;
	for (i = 0; f->scaled && i < all; i++)
		sums[i] = f->scale * sums[i] + f->bias[i % f->groups];
}

/* Adds the leaves of one row in n trees to one sum, which stays in a register. */
static double
add_trees(const struct forest *f, const uint32_t *leaf, size_t n, double sum)
{
	float single = (float)sum;
	size_t i;

	if (!f->single) {
		for (i = 0; i < n; i++)
			sum += f->values[leaf[i]];
		return sum;
	}
	for (i = 0; i < n; i++)
		single += f->ranks ? f->ranks->singles[leaf[i]] : (float)f->values[leaf[i]];
	return (double)single;
}

/* Asks for the values of leaves, which are far apart, before they are needed. */
static void
fetch_leaves(const struct forest *f, const uint32_t *leaf, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (f->ranks && f->single && f->width == 1)
			__builtin_prefetch(f->ranks->singles + leaf[i]);
		else
			__builtin_prefetch(f->values + (size_t)leaf[i] * f->width);
}

/* One row: in several trees at a time. */
static void
one_row(const struct forest *f, const double *row, bool missing, const int16_t *ranks, double *sums,
        uint32_t *leaves)
{
	uint32_t leaf[ROW_TREES];
	size_t i, k, n, some;

	for (k = 0; k < f->tree_count; k += some) {
		some = f->tree_count - k < ROW_TREES ? f->tree_count - k : ROW_TREES;
		for (i = 0; i < some; i += n) {
			n = some - i < WALK_ROWS ? some - i : WALK_ROWS;
			walk_trees(f, k + i, n, row, missing, ranks, leaf + i);
			fetch_leaves(f, leaf + i, n);
		}
		if (sums && f->groups == 1)
			sums[0] = add_trees(f, leaf, some, sums[0]);
		for (i = 0; i < some && sums && f->groups > 1; i++)
			walk_add(f, &f->trees[k + i], leaf + i, 1, sums);
		for (i = 0; i < some && leaves; i++)
			leaves[k + i] = f->ids[leaf[i]];
	}
}

static void
one_by_one(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
           uint32_t *leaves)
{
	int16_t ranks[RANKS_COLUMNS];
	size_t i;

	for (i = 0; i < n; i++) {
		if (f->ranks)
			ranks_row(f, rows + i * f->features, ranks);
		one_row(f, rows + i * f->features, missing, f->ranks ? ranks : NULL,
		        sums ? sums + i * f->groups : NULL, leaves ? leaves + i * f->tree_count : NULL);
	}
}

static void
tree_by_tree(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
             uint32_t *leaves)
{
	uint32_t leaf[FOREST_BLOCK];
	size_t i, k;

	for (k = 0; k < f->tree_count; k++) {
		walk_leaves(f, &f->trees[k], rows, n, missing, leaf);
		if (sums)
			walk_add(f, &f->trees[k], leaf, n, sums);
		for (i = 0; leaves && i < n; i++)
			leaves[i * f->tree_count + k] = f->ids[leaf[i]];
	}
}

void
forest_rows(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
            uint32_t *leaves)
{
	size_t i;

	for (i = 0; sums && i < n; i++)
		memcpy(sums + i * f->groups, f->base, f->groups * sizeof *sums);
	if (f->lines)
		lines_rows(f, rows, n, missing, sums, leaves);
	else if (n < (f->ranks ? RANKS_FEWEST : WALK_ROWS))
		one_by_one(f, rows, n, missing, sums, leaves);
	else if (!f->ranks || !ranks_rows(f, rows, n, missing, sums, leaves))
		tree_by_tree(f, rows, n, missing, sums, leaves);
	if (sums)
		finish(f, n, sums);
}
