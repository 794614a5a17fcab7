#include "predict/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/walk.h"

#define KEYS 4 /* columns of a feature: right, zeros */

/* ---- walks over the nodes of a tree ---- */

bool
ranks_leaf(const struct forest *f, size_t i)
{
	return f->nodes[i].left == i;
}

size_t
ranks_end(const struct forest *f, const struct forest_tree *t)
{
	size_t i, end = (size_t)t->root + 1;

	for (i = t->root; i < end; i++)
		if (!ranks_leaf(f, i))
			end = (size_t)f->nodes[i].left + 2;
	return end;
}

static bool
has_categories(const struct forest *f, const struct forest_tree *t)
{
	size_t i, end = t->plain ? 0 : ranks_end(f, t);

	for (i = t->root; i < end; i++)
		if (f->nodes[i].word & WALK_CATEGORY)
			return true;
	return false;
}

static size_t
key_of(const struct forest_node *n)
{
	return (size_t)(n->word & WALK_FEATURE) * KEYS + (n->word & WALK_RIGHT ? 1 : 0) +
	       (n->word & WALK_ZEROS ? 2 : 0);
}

/* ---- columns ---- */

static size_t
count_thresholds(struct rank_building *b)
{
	const struct forest *f = b->f;
	size_t i, k, end, all = 0;

	for (k = 0; k < f->tree_count; k++) {
		b->r->trees[k].form = has_categories(f, &f->trees[k]) ? RANK_WALKS : RANK_NODES;
		end = b->r->trees[k].form == RANK_WALKS ? 0 : ranks_end(f, &f->trees[k]);
		for (i = f->trees[k].root; i < end; i++)
			if (!ranks_leaf(f, i)) {
				b->keys[key_of(&f->nodes[i])]++;
				all++;
			}
	}
	return all;
}

/* Turns counts into columns. -1: there are too many. */
static int
make_columns(struct rank_building *b)
{
	struct forest_ranks *r = b->r;
	size_t i, n = 0, next = 0, first = 0, all = b->f->features * KEYS;

	for (i = 0; i < all; i++)
		n += b->keys[i] > 0;
	if (n > RANKS_COLUMNS)
		return -1;
	r->columns = mem_array(n, sizeof *r->columns);
	r->list_column = mem_array(n, sizeof *r->list_column);
	if (!r->columns || !r->list_column)
		return -1;
	for (i = 0; i < all; i++) {
		first = i % KEYS == 0 ? next : first;
		next += b->keys[i];
		if (!b->keys[i])
			continue;
		r->columns[r->column_count++] = (struct rank_column){ .feature = (uint32_t)(i / KEYS),
			.right = i & 1, .zeros = i & 2, .first = (uint32_t)first };
		b->keys[i] = (uint32_t)r->column_count;
	}
	return 0;
}

const struct rank_column *
ranks_column(const struct rank_building *b, const struct forest_node *n)
{
	return &b->r->columns[b->keys[key_of(n)] - 1];
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the thresholds of a feature, each once; c is its first column, which has counted them. The
 * number of its columns. */
static size_t
settle(struct forest_ranks *r, size_t k)
{
	struct rank_column *c = &r->columns[k];
	double *t = r->thresholds + c->first;
	size_t i, n = 0;

	qsort(t, c->count, sizeof *t, by_value);
	for (i = 0; i < c->count; i++)
		if (i == 0 || t[i] != t[n - 1])
			t[n++] = t[i];
	for (i = k; i < r->column_count && r->columns[i].first == c->first; i++)
		r->columns[i].count = (uint32_t)n;
	return i - k;
}

static int
fill_columns(struct rank_building *b)
{
	const struct forest *f = b->f;
	struct forest_ranks *r = b->r;
	size_t i, k, end;

	for (k = 0; k < f->tree_count; k++) {
		end = r->trees[k].form == RANK_WALKS ? 0 : ranks_end(f, &f->trees[k]);
		for (i = f->trees[k].root; i < end; i++)
			if (!ranks_leaf(f, i)) {
				struct rank_column *c = &r->columns[b->keys[key_of(&f->nodes[i])] - 1];

				for (; c > r->columns && c[-1].first == c->first; c--)
					;
				r->thresholds[c->first + c->count++] = f->nodes[i].t;
			}
	}
	for (i = 0; i < r->column_count; ) {
		r->list_column[r->list_count++] = (uint32_t)i;
		i += settle(r, i);
	}
	r->bytes = 1;
	for (i = 0; i < r->column_count; i++)
		if (r->columns[i].count > 65535)
			return -1;
		else if (r->columns[i].count > 255)
			r->bytes = 2;
	return 0;
}

/* The greatest float that is not above t: a float is greater than t if it is greater than that. */
static float
below(double t)
{
	float f = (float)t;

	return (double)f > t ? nextafterf(f, -HUGE_VALF) : f;
}

static unsigned
levels_of(const struct rank_column *c)
{
	unsigned levels = CUTS_LEVELS;

	while ((size_t)1 << levels <= c->count)
		levels++;
	return levels;
}

static void
fill_list(const struct forest_ranks *r, struct rank_column *c, float *to)
{
	size_t i, n = (size_t)1 << levels_of(c), part = n / CUTS_PIVOTS;

	c->list = (struct cuts_list){ to + n, to, levels_of(c) };
	for (i = 0; i < n; i++)
		to[i] = i < c->count ? below(r->thresholds[c->first + i]) : HUGE_VALF;
	for (i = 0; i < CUTS_PIVOTS; i++)
		to[n + i] = to[i * part + part - 1];
}

/* Makes the lists of all features, which their columns share. */
static int
fill_lists(struct forest_ranks *r)
{
	size_t i, k, n = 0;

	for (i = 0; i < r->list_count; i++)
		n += ((size_t)1 << levels_of(&r->columns[r->list_column[i]])) + CUTS_PIVOTS;
	r->floats = mem_array(n, sizeof *r->floats);
	r->list_from = mem_array(r->list_count + 15, sizeof *r->list_from);
	r->list_half = mem_array(r->list_count + 15, sizeof *r->list_half);
	if (!r->floats || !r->list_from || !r->list_half || n > INT32_MAX)
		return -1;
	for (i = n = 0; i < r->list_count; i++) {
		struct rank_column *c = &r->columns[r->list_column[i]];

		fill_list(r, c, r->floats + n);
		for (k = 1; c + k < r->columns + r->column_count && c[k].first == c->first; k++)
			c[k].list = c->list;
		n += ((size_t)1 << levels_of(c)) + CUTS_PIVOTS;
		r->list_from[i] = (uint32_t)(c->list.values - r->floats);
		r->list_half[i] = 1u << levels_of(c) >> 1;
	}
	return 0;
}

uint32_t
ranks_of(const struct forest_ranks *r, const struct rank_column *c, double x)
{
	const double *t = r->thresholds + c->first;
	size_t base = 0, half, n = c->count;

	for (; n > 1; n -= half) {
		half = n / 2;
		base += x > t[base + half - 1] ? half : 0;
	}
	return (uint32_t)base + (x > t[base]);
}

int32_t
ranks_lowest(const struct forest_ranks *r)
{
	return r->bytes == 1 ? INT8_MIN : INT16_MIN;
}

/* ---- all ---- */

/* About what it needs; heaps are at most four times as large as their trees. */
static size_t
bytes_of(const struct forest *f)
{
	return f->node_count * (sizeof(struct rank_node) + sizeof(struct cut) + sizeof(double) + 32) +
	       f->tree_count * (sizeof(struct rank_tree) + CUTS_EXITS * 4 +
	                        sizeof(struct cuts_trees) / CUTS_TREES) + f->value_count * 4;
}

static int
build(struct rank_building *b)
{
	const struct forest *f = b->f;
	struct forest_ranks *r = b->r;
	size_t i, n;

	r->trees = mem_array(f->tree_count, sizeof *r->trees);
	b->keys = mem_array(f->features * KEYS, sizeof *b->keys);
	if (!r->trees || !b->keys)
		return -1;
	n = count_thresholds(b);
	r->thresholds = mem_array(n, sizeof *r->thresholds);
	if (!r->thresholds || n > UINT32_MAX || make_columns(b) < 0 || fill_columns(b) < 0)
		return -1;
	if (f->rounded && fill_lists(r) < 0)
		return -1;
	r->cuts = mem_array(n, sizeof *r->cuts);
	r->singles = mem_array(f->single ? f->value_count : 0, sizeof *r->singles);
	if (!r->cuts || !r->singles)
		return -1;
	for (i = 0; f->single && i < f->value_count; i++)
		r->singles[i] = (float)f->values[i];
	return ranks_trees(b);
}

struct forest_ranks *
forest_ranks(const struct forest *f, size_t most)
{
	struct rank_building b = { .f = f };

	if (f->tree_count == 0 || f->lines || f->features > RANKS_FEATURES || bytes_of(f) > most)
		return NULL;
	b.r = mem_array(1, sizeof *b.r);
	if (b.r)
		b.r->level = cuts_best();
	if (b.r && build(&b) < 0) {
		ranks_free(b.r);
		b.r = NULL;
	}
	free(b.keys);
	return b.r;
}

void
ranks_free(struct forest_ranks *r)
{
	if (!r)
		return;
	free(r->columns);
	free(r->thresholds);
	free(r->floats);
	free(r->list_column);
	free(r->list_from);
	free(r->list_half);
	free(r->nodes);
	free(r->trees);
	free(r->cuts);
	free(r->exits);
	free(r->heaps);
	free(r->leaves);
	free(r->together);
	free(r->singles);
	free(r);
}
