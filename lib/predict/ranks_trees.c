#include "predict/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* ---- nodes ---- */

/* The rank and the column of a node; a leaf has a rank that no row exceeds. */
static struct rank_node
node_of(const struct rank_building *b, size_t i)
{
	const struct forest_node *from = &b->f->nodes[i];
	struct rank_node n = { .left = from->left };
	const struct rank_column *c;

	if (ranks_leaf(b->f, i)) {
		n.rank = b->r->bytes == 1 ? INT8_MAX : INT16_MAX;
		return n;
	}
	c = ranks_column(b, from);
	n.column = (uint16_t)(c - b->r->columns);
	n.rank = (int16_t)((int32_t)ranks_of(b->r, c, from->t) + ranks_lowest(b->r));
	return n;
}

/* ---- heaps ---- */

/* Chooses heaps for WALK_ROWS trees from tree k on, all of the greatest depth. */
static void
choose_heaps(const struct rank_building *b, size_t k)
{
	const struct forest *f = b->f;
	size_t i, n = f->tree_count - k < WALK_ROWS ? f->tree_count - k : WALK_ROWS, nodes = 0;
	uint32_t depth = 0;

	for (i = k; i < k + n; i++) {
		if (b->r->trees[i].form == RANK_WALKS)
			return;
		nodes += ranks_end(f, &f->trees[i]) - f->trees[i].root;
		depth = f->trees[i].depth > depth ? f->trees[i].depth : depth;
	}
	if (depth > RANKS_DEPTH || (n << depth) > 2 * nodes + 64)
		return;
	for (i = k; i < k + n; i++) {
		b->r->trees[i].heaped = true;
		b->r->trees[i].depth = (uint8_t)depth;
	}
}

/* Fills the heap of a tree. at: room for the node at each place. */
static void
put_heap(struct rank_building *b, struct rank_tree *tree, uint32_t root, uint32_t *at)
{
	const struct forest *f = b->f;
	size_t i, size = (size_t)1 << tree->depth;
	uint32_t *leaf = b->r->leaves + b->leaf_count;

	tree->heap = b->heap_count;
	b->heap_count += size;
	at[1] = root;
	for (i = 1; i < size; i++) {
		struct rank_node n = node_of(b, at[i]);
		bool last = ranks_leaf(f, at[i]);

		b->r->heaps[tree->heap + i] = (struct rank_heap){ n.column, n.rank };
		at[2 * i] = last ? at[i] : n.left;
		at[2 * i + 1] = last ? at[i] : n.left + 1;
	}
	tree->full = true;
	for (i = 0; i < size; i++) {
		leaf[i] = f->leaf[at[size + i]];
		tree->full &= leaf[i] == tree->leaf + i;
	}
	tree->leaves = b->leaf_count;
	b->leaf_count += tree->full ? 0 : size;
}

/* ---- heaps side by side ---- */

/* Three levels of a heap, from the node at a place on. */
static void
put_triple(struct cuts_triple *to, const struct rank_heap *heap, size_t place)
{
	size_t i, level, first;

	to->column[0] = 0;
	to->rank[0] = INT16_MAX;
	for (i = 1; i < CUTS_TRIPLE; i++) {
		level = i < 2 ? 0 : i < 4 ? 1 : 2;
		first = (size_t)1 << level;
		to->column[i] = heap[(place << level) + i - first].column;
		to->rank[i] = heap[(place << level) + i - first].rank;
	}
}

/* Makes r->together, if the CPU uses it. -1 if memory runs out. */
static int
put_together(struct forest_ranks *r, size_t groups)
{
	struct cuts_trees *to;
	size_t i, k;

	if (!r->level->trees || r->column_count > CUTS_COLUMNS || groups == 0)
		return 0;
	to = r->together = aligned_alloc(CUTS_ALIGN, groups * sizeof *to);
	if (!to)
		return -1;
	memset(to, 0, groups * sizeof *to);
	for (i = 0; i < groups * CUTS_TREES; i++) {
		const struct rank_tree *t = &r->trees[i];
		const struct rank_heap *heap = r->heaps + t->heap;

		if (!t->heaped || t->depth != RANKS_LEVELS)
			continue;
		put_triple(&to[i / CUTS_TREES].top[i % CUTS_TREES], heap, 1);
		for (k = 0; k < CUTS_TRIPLE; k++)
			put_triple(&to[i / CUTS_TREES].below[i % CUTS_TREES][k], heap, CUTS_TRIPLE + k);
	}
	return 0;
}

/* ---- cuts ---- */

/* The top of a tree: its first nodes that are not leaves, in breadth-first order. */
struct top {
	uint32_t node[CUTS_EXITS];  /* numbers of nodes */
	uint32_t place[CUTS_EXITS]; /* in a heap */
	uint16_t left[CUTS_EXITS], right[CUTS_EXITS]; /* a place in this list, or CUTS_EXIT and an exit */
	uint16_t slot[CUTS_EXITS];
	size_t count;
	uint32_t exit[CUTS_EXITS];  /* nodes, or places in a heap */
	size_t exits;
};

static void
take_top(const struct forest *f, size_t from, size_t end, size_t most, struct top *t)
{
	size_t i;

	t->count = t->exits = 0;
	for (i = from; i < end && t->count < most; i++)
		if (!ranks_leaf(f, i))
			t->node[t->count++] = (uint32_t)i;
}

/* One child of node i of the top. A child in the list is the next one of it. */
static uint16_t
side(struct top *t, size_t *next, uint32_t child, uint32_t place, bool heap)
{
	if (*next < t->count && t->node[*next] == child &&
	    (!heap || place < 1u << RANKS_LEVELS)) {
		t->place[*next] = place;
		return (uint16_t)(*next)++;
	}
	for (; heap && place < 1u << RANKS_LEVELS; place *= 2)
		; /* a leaf above the last level of the cuts */
	t->exit[t->exits] = heap ? place : child;
	return (uint16_t)(CUTS_EXIT | t->exits++);
}

static void
link_top(const struct forest *f, struct top *t, bool heap)
{
	size_t i, next = 1;

	t->place[0] = 1;
	for (i = 0; i < next && i < t->count; i++) {
		uint32_t left = f->nodes[t->node[i]].left;

		t->left[i] = side(t, &next, left, 2 * t->place[i], heap);
		t->right[i] = side(t, &next, left + 1, 2 * t->place[i] + 1, heap);
	}
	t->count = i; /* nodes of lower levels of a heap are left */
}

static uint16_t
slot_of(const struct top *t, uint16_t x)
{
	return x & CUTS_EXIT ? x : t->slot[x];
}

static void
put_cut(struct rank_building *b, struct top *t, size_t i, uint16_t to)
{
	struct rank_node n = node_of(b, t->node[i]);

	t->slot[i] = to;
	b->r->cuts[b->cut_count++] = (struct cut){ .column = n.column, .rank = n.rank,
		.left = slot_of(t, t->left[i]), .right = slot_of(t, t->right[i]), .to = to };
}

/* Children come before parents, whose result takes the slot of a child. */
static void
put_cuts(struct rank_building *b, struct rank_tree *tree, struct top *t)
{
	size_t i;
	uint16_t slot = 0;

	tree->from = b->cut_count;
	for (i = t->count; i-- > 0; )
		if (t->left[i] & t->right[i] & CUTS_EXIT)
			put_cut(b, t, i, slot++);
	tree->both = b->cut_count;
	for (i = t->count; i-- > 0; )
		if (!(t->left[i] & t->right[i] & CUTS_EXIT))
			put_cut(b, t, i, t->slot[t->left[i] & CUTS_EXIT ? t->right[i] : t->left[i]]);
	tree->to = b->cut_count;
}

/* ---- trees ---- */

static void
put_tree(struct rank_building *b, size_t k, uint32_t *at)
{
	const struct forest *f = b->f;
	struct rank_tree *tree = &b->r->trees[k];
	size_t i, from = f->trees[k].root, end = ranks_end(f, &f->trees[k]), splits = (end - from) / 2;
	struct top t;

	for (i = from; i < end && !ranks_leaf(f, i); i++)
		;
	tree->leaf = f->leaf[i];
	tree->form = splits < CUTS_EXITS ? RANK_CUTS : tree->heaped ? RANK_HEAPS : RANK_NODES;
	if (tree->heaped)
		put_heap(b, tree, f->trees[k].root, at);
	take_top(f, from, end, tree->form == RANK_CUTS ? splits : RANKS_TOP, &t);
	link_top(f, &t, tree->form == RANK_HEAPS);
	put_cuts(b, tree, &t);
	tree->exits = b->exit_count;
	if (tree->form != RANK_CUTS) {
		memcpy(b->r->exits + b->exit_count, t.exit, t.exits * sizeof *t.exit);
		b->exit_count += t.exits;
	}
	for (i = from; tree->form == RANK_NODES && i < end; i++)
		b->r->nodes[i] = node_of(b, i);
}

int
ranks_trees(struct rank_building *b)
{
	const struct forest *f = b->f;
	struct forest_ranks *r = b->r;
	size_t i, size = 0;
	uint32_t *at = mem_array((size_t)2 << RANKS_DEPTH, sizeof *at);

	for (i = 0; i < f->tree_count; i += WALK_ROWS)
		choose_heaps(b, i);
	for (i = 0; i < f->tree_count; i++)
		size += r->trees[i].heaped ? (size_t)1 << r->trees[i].depth : 0;
	r->nodes = mem_array(f->node_count, sizeof *r->nodes);
	r->exits = mem_array(f->tree_count * (RANKS_TOP + 1), sizeof *r->exits);
	r->heaps = mem_array(size, sizeof *r->heaps);
	r->leaves = mem_array(size, sizeof *r->leaves);
	if (!at || !r->nodes || !r->exits || !r->heaps || !r->leaves) {
		free(at);
		return -1;
	}
	for (i = 0; i < f->tree_count; i++)
		if (r->trees[i].form != RANK_WALKS)
			put_tree(b, i, at);
	free(at);
	return put_together(r, f->tree_count / CUTS_TREES);
}
