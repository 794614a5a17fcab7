#include "predict/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/walk.h"

#define R CUTS_ROWS
#define TOGETHER 16 /* searches, or walks, at a time */
#define PARTS (FOREST_BLOCK / R)

/* What one call works with. Rows are in parts of R; the last one is filled up with any ranks. */
struct block {
	const struct forest *f;
	const struct forest_ranks *r;
	const double *rows;
	size_t n, parts;
	bool missing;
	uint8_t *ranks[PARTS];        /* of each part: columns x R */
	struct cuts_room room;
	uint32_t leaf[FOREST_BLOCK];  /* of the tree at hand */
	float single[FOREST_BLOCK];   /* sums, if there is one output */
};

/* ---- from values to ranks ---- */

/* The ranks of four values: the number of thresholds below each. Four searches hide each other's
 * waits, and fit into registers. */
static inline void
search(const double *t, uint32_t n, const double *x, uint32_t *rank)
{
	size_t a = 0, b = 0, c = 0, d = 0, half;

	for (; n > 1; n -= (uint32_t)half) {
		half = n / 2;
		a += x[0] > t[a + half - 1] ? half : 0;
		b += x[1] > t[b + half - 1] ? half : 0;
		c += x[2] > t[c + half - 1] ? half : 0;
		d += x[3] > t[d + half - 1] ? half : 0;
	}
	rank[0] = (uint32_t)a + (x[0] > t[a]);
	rank[1] = (uint32_t)b + (x[1] > t[b]);
	rank[2] = (uint32_t)c + (x[2] > t[c]);
	rank[3] = (uint32_t)d + (x[3] > t[d]);
}

/* The rank of a value in a column: that among the thresholds, unless the value is missing. */
static inline uint32_t
settled(const struct rank_column *c, double x, uint32_t rank)
{
	if (isnan(x) || (c->zeros && fabs(x) <= FOREST_ZERO_LIMIT))
		return c->right ? c->count : 0;
	return rank;
}

/* The ranks of the values of one part. */
static void
search_part(const struct block *b, const struct rank_column *c, const double x[R], uint32_t rank[R])
{
	const double *t = b->r->thresholds + c->first;
	float single[R];
	size_t i;

	if (b->f->rounded && b->r->level->search) {
		for (i = 0; i < R; i++)
			single[i] = (float)x[i];
		b->r->level->search(&c->list, single, rank);
		return;
	}
	for (i = 0; i < R; i += 4)
		search(t, c->count, x + i, rank + i);
}

static void
put_ranks(const struct block *b, const struct rank_column *c, const double x[R],
          const uint32_t rank[R], uint8_t *to)
{
	uint32_t own[R];
	size_t i;

	if (b->missing || c->zeros) {
		for (i = 0; i < R; i++)
			own[i] = settled(c, x[i], rank[i]);
		rank = own;
	}
	if (b->r->bytes == 1)
		for (i = 0; i < R; i++)
			((int8_t *)to)[i] = (int8_t)((int32_t)rank[i] + INT8_MIN);
	else
		for (i = 0; i < R; i++)
			((int16_t *)(void *)to)[i] = (int16_t)((int32_t)rank[i] + INT16_MIN);
}

/* Fills the columns from k on of one feature, in one part, whose values stay in the cache until the
 * next features need their neighbours. Returns the number of columns. */
static size_t
rank_feature(struct block *b, size_t part, size_t k)
{
	const struct rank_column *c = &b->r->columns[k];
	const double *from = b->rows + part * R * b->f->features + c->feature;
	size_t i, n = b->n - part * R < R ? b->n - part * R : R, columns = 1;
	double x[R];
	uint32_t rank[R];

	while (k + columns < b->r->column_count && c[columns].first == c->first)
		columns++;
	for (i = 0; i < n; i++)
		x[i] = from[i * b->f->features];
	for (; i < R; i++)
		x[i] = 0;
	search_part(b, c, x, rank);
	for (i = 0; i < columns; i++)
		put_ranks(b, &c[i], x, rank, b->ranks[part] + (k + i) * R * b->r->bytes);
	return columns;
}

/* The ranks of one row among the thresholds of n features from list k on, at most CUTS_LISTS. */
static void
row_lists(const struct forest *f, const double *row, size_t k, size_t n, uint32_t *rank)
{
	const struct forest_ranks *r = f->ranks;
	const struct rank_column *c;
	float x[CUTS_LISTS + 15] = { 0 };
	size_t i;

	if (f->rounded && r->level->search_lists) {
		const struct cuts_lists l = { r->floats, r->list_from + k, r->list_half + k };

		for (i = 0; i < n; i++)
			x[i] = (float)row[r->columns[r->list_column[k + i]].feature];
		r->level->search_lists(&l, x, (n + 15) / 16 * 16, rank);
		return;
	}
	for (i = 0; i < n; i++) {
		c = &r->columns[r->list_column[k + i]];
		rank[i] = ranks_of(r, c, row[c->feature]);
	}
}

void
ranks_row(const struct forest *f, const double *row, int16_t *ranks)
{
	const struct forest_ranks *r = f->ranks;
	uint32_t rank[CUTS_LISTS + 15];
	const struct rank_column *c = r->columns, *end = c + r->column_count;
	int32_t lowest = ranks_lowest(r);
	size_t i, k, n;

	for (k = 0; k < r->list_count; k += n) {
		n = r->list_count - k < CUTS_LISTS ? r->list_count - k : CUTS_LISTS;
		row_lists(f, row, k, n, rank);
		for (i = 0; i < n; i++) {
			uint32_t first = r->columns[r->list_column[k + i]].first;

			for (; c < end && c->first == first; c++)
				*ranks++ = (int16_t)(lowest + (int32_t)settled(c, row[c->feature], rank[i]));
		}
	}
	for (i = r->column_count; i < CUTS_COLUMNS; i++)
		*ranks++ = 0;
}

/* ---- below the cuts ---- */

static inline int32_t
rank_at(const uint8_t *ranks, size_t bytes, size_t column, size_t row)
{
	return bytes == 1 ? ((const int8_t *)ranks)[column * R + row]
	                  : ((const int16_t *)(const void *)ranks)[column * R + row];
}

/* Takes TOGETHER rows from the level of the cuts to the leaves. */
static inline void
down_heap(const struct rank_heap *heap, unsigned levels, const uint8_t *ranks, size_t bytes,
          uint32_t at[TOGETHER])
{
	unsigned level;
	size_t k;

	for (level = 0; level < levels; level++)
		for (k = 0; k < TOGETHER; k++) {
			struct rank_heap n = heap[at[k]];

			at[k] = 2 * at[k] + (rank_at(ranks, bytes, n.column, k) > n.rank);
		}
}

static void
down_heaps(const struct block *b, const struct rank_tree *t, size_t part, uint32_t *at)
{
	const struct rank_heap *heap = b->r->heaps + t->heap;
	uint32_t size = 1u << t->depth;
	const uint32_t *leaves = b->r->leaves + t->leaves;
	unsigned levels = t->depth - RANKS_LEVELS;
	size_t i;

	for (i = 0; i < R; i += TOGETHER)
		if (b->r->bytes == 1)
			down_heap(heap, levels, b->ranks[part] + i, 1, at + i);
		else
			down_heap(heap, levels, b->ranks[part] + 2 * i, 2, at + i);
	for (i = 0; i < R; i++)
		at[i] = t->full ? t->leaf + at[i] - size : leaves[at[i] - size];
}

/* The same in nodes, until no row moves. */
static inline void
down_node(const struct rank_node *nodes, const uint8_t *ranks, size_t bytes, uint32_t at[TOGETHER])
{
	uint32_t next, moved;
	size_t k;

	do {
		for (k = 0, moved = 0; k < TOGETHER; k++) {
			struct rank_node n = nodes[at[k]];

			next = n.left + (rank_at(ranks, bytes, n.column, k) > n.rank);
			moved |= next ^ at[k];
			at[k] = next;
		}
	} while (moved);
}

static void
down_nodes(const struct block *b, size_t part, uint32_t *at)
{
	size_t i;

	for (i = 0; i < R; i += TOGETHER)
		if (b->r->bytes == 1)
			down_node(b->r->nodes, b->ranks[part] + i, 1, at + i);
		else
			down_node(b->r->nodes, b->ranks[part] + 2 * i, 2, at + i);
	for (i = 0; i < R; i++)
		at[i] = b->f->leaf[at[i]];
}

/* Fills the part of b->leaf. */
static void
find_leaves(struct block *b, const struct rank_tree *t, size_t part)
{
	const struct cuts c = { b->r->cuts + t->from, b->r->cuts + t->both, b->r->cuts + t->to };
	const uint32_t *exits = b->r->exits + t->exits;
	uint32_t *at = b->leaf + part * R;
	const int8_t *bytes = NULL;
	const int16_t *words = NULL;
	size_t i;

	if (c.from == c.to) {
		for (i = 0; i < R; i++)
			at[i] = t->leaf;
		return;
	}
	if (b->r->bytes == 1)
		bytes = b->r->level->bytes(&c, (const int8_t *)b->ranks[part], &b->room);
	else
		words = b->r->level->words(&c, (const int16_t *)(const void *)b->ranks[part], &b->room);
	for (i = 0; bytes && i < R; i++)
		at[i] = (uint32_t)bytes[i];
	for (i = 0; words && i < R; i++)
		at[i] = (uint32_t)words[i];
	for (i = 0; i < R; i++)
		at[i] = t->form == RANK_CUTS ? at[i] + t->leaf : exits[at[i]];
	if (t->form == RANK_HEAPS)
		down_heaps(b, t, part, at);
	else if (t->form == RANK_NODES)
		down_nodes(b, part, at);
}

/* ---- sums ---- */

static void
tree_rows(struct block *b, size_t k, double *sums, uint32_t *leaves)
{
	const struct forest *f = b->f;
	const struct rank_tree *t = &b->r->trees[k];
	size_t i;

	if (t->form == RANK_WALKS)
		walk_leaves(f, &f->trees[k], b->rows, b->n, b->missing, b->leaf);
	else
		for (i = 0; i < b->parts; i++)
			find_leaves(b, t, i);
	if (sums && f->single && f->groups == 1)
		for (i = 0; i < b->n; i++)
			b->single[i] += b->r->singles[b->leaf[i]];
	else if (sums)
		walk_add(f, &f->trees[k], b->leaf, b->n, sums);
	for (i = 0; leaves && i < b->n; i++)
		leaves[i * f->tree_count + k] = f->ids[b->leaf[i]];
}

static void
run(struct block *b, double *sums, uint32_t *leaves)
{
	const struct forest *f = b->f;
	size_t i, k;

	cuts_room_begin(&b->room, b->r->bytes);
	for (i = 0; i < b->n; i++)
		b->single[i] = (float)f->base[0];
	for (k = 0; k < b->parts; k++)
		for (i = 0; i < b->r->column_count; )
			i += rank_feature(b, k, i);
	for (i = 0; i < f->tree_count; i++)
		tree_rows(b, i, sums, leaves);
	for (i = 0; sums && f->single && f->groups == 1 && i < b->n; i++)
		sums[i] = (double)b->single[i];
}

bool
ranks_rows(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
           uint32_t *leaves)
{
	size_t i, parts = (n + R - 1) / R, each = f->ranks->column_count * R * f->ranks->bytes;
	struct block *b = aligned_alloc(CUTS_ALIGN, (sizeof *b + CUTS_ALIGN - 1) / CUTS_ALIGN * CUTS_ALIGN);
	uint8_t *ranks = aligned_alloc(CUTS_ALIGN, parts * each + CUTS_ALIGN);
	bool done = b && ranks;

	if (done) {
		b->f = f;
		b->r = f->ranks;
		b->rows = rows;
		b->n = n;
		b->parts = parts;
		b->missing = missing;
		memset(ranks, 0, parts * each);
		for (i = 0; i < parts; i++)
			b->ranks[i] = ranks + i * each;
		run(b, sums, leaves);
	}
	free(b);
	free(ranks);
	return done;
}

/* ---- one row ---- */

_Static_assert(CUTS_TREES == WALK_ROWS && CUTS_TRIPLE * CUTS_TRIPLE == 1 << RANKS_LEVELS,
               "trees of six levels");

/* Goes down four heaps of the same size, which fit into registers. */
static inline void
four_heaps(const struct rank_heap *heap, size_t size, unsigned levels, const int16_t *ranks,
           uint32_t at[4])
{
	const struct rank_heap *h1 = heap + size, *h2 = h1 + size, *h3 = h2 + size;
	size_t a = 1, b = 1, c = 1, d = 1;

	while (levels-- > 0) {
		a = 2 * a + (ranks[heap[a].column] > heap[a].rank);
		b = 2 * b + (ranks[h1[b].column] > h1[b].rank);
		c = 2 * c + (ranks[h2[c].column] > h2[c].rank);
		d = 2 * d + (ranks[h3[d].column] > h3[d].rank);
	}
	at[0] = (uint32_t)a;
	at[1] = (uint32_t)b;
	at[2] = (uint32_t)c;
	at[3] = (uint32_t)d;
}

bool
ranks_trees_of_row(const struct forest *f, size_t k, const int16_t *ranks, uint32_t leaf[WALK_ROWS])
{
	const struct forest_ranks *r = f->ranks;
	const struct rank_tree *t = r->trees + k;
	uint32_t size = 1u << t->depth;
	size_t i;
	bool together = r->together && r->level->trees && t->depth == RANKS_LEVELS;

	if (!t->heaped)
		return false;
	if (together)
		r->level->trees(r->together + k / WALK_ROWS, ranks, leaf);
	for (i = 0; !together && i < WALK_ROWS; i += 4)
		four_heaps(r->heaps + t[i].heap, size, t->depth, ranks, leaf + i);
	for (i = 0; i < WALK_ROWS; i++)
		leaf[i] = t[i].full ? t[i].leaf + leaf[i] - size : r->leaves[t[i].leaves + leaf[i] - size];
	return true;
}
