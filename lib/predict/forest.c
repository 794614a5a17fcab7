#include "predict/forest.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/mem.h"
#include "predict/forest_order.h"
#include "predict/ranks.h"
#include "predict/walk.h"

/* ---- a tree that is being read ---- */

void
tree_clear(struct tree *t)
{
	t->count = 0;
	buf_clear(&t->values);
	buf_clear(&t->sets);
	buf_clear(&t->terms);
	t->group = 0;
	t->covered = false;
}

void
tree_free(struct tree *t)
{
	free(t->nodes);
	buf_free(&t->values);
	buf_free(&t->sets);
	buf_free(&t->terms);
	*t = (struct tree){ 0 };
}

struct tree_node *
tree_add(struct tree *t)
{
	if (t->count == t->cap && mem_grow(&t->nodes, &t->cap, t->count + 1, sizeof *t->nodes) < 0)
		return NULL;
	t->nodes[t->count] = (struct tree_node){ 0 };
	return &t->nodes[t->count++];
}

int
tree_leaf(struct tree *t, struct tree_node *x, double value, uint32_t id)
{
	x->left = x->right = 0;
	x->id = id;
	x->values = t->values.n / sizeof value;
	if (t->values.cap - t->values.n < sizeof value && !buf_room(&t->values, sizeof value))
		return -1;
	memcpy(t->values.p + t->values.n, &value, sizeof value);
	t->values.n += sizeof value;
	return 0;
}

double
forest_below(float t)
{
	union { float f; uint32_t u; } x = { .f = t };

	if (t > 0)
		x.u--;
	else if (t < 0)
		x.u += t > -HUGE_VALF;
	else if (t == 0)
		x.u = 0x80000001u;
	return (double)x.f;
}

/* ---- the forest ---- */

int
forest_begin(struct forest *f, size_t features, size_t groups, size_t width, struct err *e)
{
	*f = (struct forest){ .features = features, .groups = groups, .width = width, .scale = 1,
		.most = f->most };
	f->base = mem_array(groups, sizeof *f->base);
	f->bias = mem_array(groups, sizeof *f->bias);
	return f->base && f->bias ? 0 : err_memory(e);
}

static bool
in_block(const struct forest *f, const void *p)
{
	return f->block && (uintptr_t)p - (uintptr_t)f->block < f->block_bytes;
}

static void
free_list(const struct forest *f, void *p)
{
	if (!in_block(f, p))
		free(p);
}

void
forest_free(struct forest *f)
{
	free(f->base);
	free(f->bias);
	free(f->trees);
	free_list(f, f->nodes);
	free_list(f, f->leaf);
	free(f->covers);
	free_list(f, f->values);
	free_list(f, f->ids);
	free(f->block);
	free(f->order);
	free(f->depth);
	free(f->seen);
	buf_free(&f->sets);
	buf_free(&f->terms);
	free(f->lines);
	ranks_free(f->ranks);
	*f = (struct forest){ 0 };
}

int
forest_limit(struct forest *f, size_t n, struct err *e)
{
	size_t i, count = 0, *used = mem_array(f->groups, sizeof *used);

	if (!used)
		return err_memory(e);
	for (i = 0; i < f->tree_count; i++)
		if (used[f->width == 1 ? f->trees[i].group : 0]++ < n)
			f->trees[count++] = f->trees[i];
	f->tree_count = count;
	ranks_free(f->ranks);
	f->ranks = NULL;
	free(used);
	return 0;
}

int
forest_sets(size_t used, size_t n, const char *where, struct err *e)
{
	if (used <= FOREST_SETS && n <= FOREST_SETS - used)
		return 0;
	return err_set(e, ERR_MEMORY, where, "the sets of categories have more than %u words",
	               FOREST_SETS);
}

/* The state of forest_add: nodes of the tree in breadth-first order. */
struct layout {
	struct forest *f;
	const struct tree *t;
	const char *where;
	struct err *e;
	uint32_t *order;  /* the reader's number of the i-th node */
	uint32_t *depth;
	bool *seen;
	size_t count;
	bool plain;
};

/* An error of tree k. Always -1. */
static int
wrong(const char *where, size_t k, struct err *e, const char *fmt, ...)
{
	char object[400];
	va_list ap;

	snprintf(object, sizeof object, "%.300s, tree %zu", where, k);
	va_start(ap, fmt);
	err_vset(e, ERR_CORRUPT, object, fmt, ap);
	va_end(ap);
	return -1;
}

#define HUGE ((size_t)2 << 20) /* bytes of a large page */

/* Room for this many bytes, a multiple of HUGE, in large pages. */
static void *
large(size_t bytes)
{
	void *new = aligned_alloc(HUGE, bytes);

#ifdef MADV_HUGEPAGE
	if (new)
		madvise(new, bytes, MADV_HUGEPAGE);
#endif
	return new;
}

/* Moves the n bytes at old, a list of the forest, to new. */
static void *
move(const struct forest *f, void *old, size_t n, void *new)
{
	if (new && n)
		memcpy(new, old, n);
	if (new)
		free_list(f, old);
	return new;
}

/* As mem_grow, but new items are not zeroed, and a large array lies in large pages: a page of memory
 * costs as much as a hundred nodes. */
static int
grow(const struct forest *f, void *p, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 1024, bytes;
	void *old, *new;

	if (need <= *cap)
		return 0;
	while (n < need && n <= SIZE_MAX / 2)
		n *= 2;
	if (n < need || __builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - HUGE)
		return -1;
	if (bytes >= HUGE / 4) { /* a whole page, then */
		bytes = (bytes + HUGE - 1) / HUGE * HUGE;
		n = bytes / size;
	}
	memcpy(&old, p, sizeof old);
	if (bytes < HUGE && !in_block(f, old))
		new = realloc(old, bytes);
	else
		new = move(f, old, *cap * size, bytes < HUGE ? malloc(bytes) : large(bytes));
	if (!new)
		return -1;
	memcpy(p, &new, sizeof new);
	*cap = n;
	return 0;
}

static int
room(struct forest *f, size_t nodes, struct err *e)
{
	size_t leaves = nodes / 2 + 1; /* at most: a split has two children of its own */
	size_t one = f->width == 1;

	if (nodes > FOREST_NODES - f->node_count)
		return err_set(e, ERR_MEMORY, NULL, "the model has more than %u nodes", FOREST_NODES);
	f->given += nodes;
	if (f->most && f->given > f->most)
		return err_set(e, ERR_CORRUPT, NULL, "the model has more nodes than its file has bytes");
	if (grow(f, &f->nodes, &f->node_cap, f->node_count + nodes, sizeof *f->nodes) < 0 ||
	    grow(f, &f->leaf, &f->leaf_cap, f->node_count + nodes, sizeof *f->leaf) < 0 ||
	    grow(f, &f->ids, &f->id_cap, f->leaf_count + leaves, sizeof *f->ids) < 0 ||
	    grow(f, &f->values, &f->value_cap, f->value_count + leaves * one, sizeof *f->values) < 0 ||
	    grow(f, &f->trees, &f->tree_cap, f->tree_count + 1, sizeof *f->trees) < 0)
		return err_memory(e);
	return 0;
}

int
forest_order_begin(struct forest_order *o, struct forest *f, size_t n, struct err *e)
{
	*o = (struct forest_order){ .f = f, .n = n, .reached = 1, .level = 1 };
	return room(f, n, e);
}

/* Lays the lists of an empty forest side by side, so that they share large pages. */
static void
reserve_block(struct forest *f, size_t nodes, size_t leaves)
{
	size_t for_nodes = nodes * sizeof *f->nodes, for_values = leaves * sizeof *f->values;
	size_t bytes = for_nodes + for_values + nodes * sizeof *f->leaf + leaves * sizeof *f->ids;

	bytes = (bytes + HUGE - 1) / HUGE * HUGE;
	f->block = large(bytes);
	if (!f->block)
		return;
	f->block_bytes = bytes;
	f->nodes = (struct forest_node *)(void *)f->block;
	f->values = (double *)(void *)(f->block + for_nodes);
	f->leaf = (uint32_t *)(void *)(f->block + for_nodes + for_values);
	f->ids = f->leaf + nodes;
	f->node_cap = f->leaf_cap = nodes;
	f->value_cap = f->id_cap = leaves;
}

int
forest_reserve(struct forest *f, size_t nodes, size_t leaves, size_t trees, struct err *e)
{
	bool empty = !f->nodes && !f->leaf && !f->ids && !f->values;

	if (empty && f->width == 1 && leaves <= nodes && nodes >= HUGE / 64 && nodes <= FOREST_NODES)
		reserve_block(f, nodes, leaves);
	if (nodes > FOREST_NODES)
		return err_set(e, ERR_MEMORY, NULL, "the model has more than %u nodes", FOREST_NODES);
	if (grow(f, &f->nodes, &f->node_cap, nodes, sizeof *f->nodes) < 0 ||
	    grow(f, &f->leaf, &f->leaf_cap, nodes, sizeof *f->leaf) < 0 ||
	    grow(f, &f->ids, &f->id_cap, leaves, sizeof *f->ids) < 0 ||
	    grow(f, &f->values, &f->value_cap, leaves * f->width, sizeof *f->values) < 0 ||
	    grow(f, &f->trees, &f->tree_cap, trees, sizeof *f->trees) < 0)
		return err_memory(e);
	return 0;
}

int
forest_room_of_tree(struct forest *f, size_t n)
{
	if (n <= f->order_cap)
		return 0;
	free(f->order);
	free(f->depth);
	free(f->seen);
	f->order = mem_array(n, sizeof *f->order);
	f->depth = mem_array(n, sizeof *f->depth);
	f->seen = mem_array(n, sizeof *f->seen);
	f->order_cap = f->order && f->depth && f->seen ? n : 0;
	return f->order_cap ? 0 : -1;
}

/* Puts a child behind the nodes so far. */
static int
reach(struct layout *l, uint32_t parent, uint32_t child, uint32_t depth)
{
	if (child >= l->t->count)
		return wrong(l->where, l->f->tree_count, l->e, "node %u has the child %u, of %zu nodes",
		               parent, child, l->t->count);
	if (l->seen[child])
		return wrong(l->where, l->f->tree_count, l->e, "node %u has two parents, so the nodes are not a tree", child);
	l->seen[child] = true;
	l->order[l->count] = child;
	l->depth[l->count++] = depth;
	return 0;
}

static int
put_leaf(struct layout *l, struct forest_node *to, size_t at, const struct tree_node *x)
{
	struct forest *f = l->f;
	const double *v = (const double *)(const void *)l->t->values.p;

	if (x->values + f->width > l->t->values.n / sizeof *v) /* v may be NULL */
		return wrong(l->where, l->f->tree_count, l->e, "a leaf has fewer values than %zu", f->width);
	if (f->most && f->value_count + f->width > f->most)
		return wrong(l->where, l->f->tree_count, l->e, "the leaves have more values than the file has "
		               "bytes");
	if (f->width > 1 &&
	    grow(f, &f->values, &f->value_cap, f->value_count + f->width, sizeof *f->values) < 0)
		return err_memory(l->e);
	memcpy(f->values + f->value_count, v + x->values, f->width * sizeof *v);
	f->value_count += f->width;
	*to = (struct forest_node){ .t = HUGE_VAL, .left = (uint32_t)at };
	f->leaf[at] = (uint32_t)f->leaf_count;
	f->ids[f->leaf_count++] = x->id;
	return x->line ? lines_put(f, l->t, x, l->where, l->e) : 0;
}

/* Copies a set of categories; the place of its number of words. */
static int
put_set(struct layout *l, const struct tree_node *x, double *place)
{
	struct buf *to = &l->f->sets;

	if (x->set + x->set_words > l->t->sets.n / 4 || x->set_words > UINT32_MAX)
		return wrong(l->where, l->f->tree_count, l->e, "a set of categories is outside its list");
	if (forest_sets(to->n / 4, x->set_words + 1, l->where, l->e) < 0)
		return -1;
	*place = (double)(to->n / 4);
	buf_u32(to, (uint32_t)x->set_words);
	if (x->set_words) /* else there may be no list */
		buf_put(to, l->t->sets.p + x->set * 4, x->set_words * 4);
	return buf_ok(to) ? 0 : err_memory(l->e);
}

/* Whether a missing value goes right. */
static bool
missing_right(const struct tree_node *x)
{
	return x->missing == FOREST_NONE && !x->category ? !(0 <= x->threshold) : !x->default_left;
}

static int
put_split(struct layout *l, struct forest_node *to, uint32_t number, const struct tree_node *x)
{
	if (x->feature >= l->f->features)
		return wrong(l->where, l->f->tree_count, l->e, "node %u asks for feature %u, of %zu", number,
		               x->feature, l->f->features);
	if (isnan(x->threshold) && !x->category)
		return wrong(l->where, l->f->tree_count, l->e, "the threshold of node %u is NaN", number);
	*to = (struct forest_node){ .t = x->threshold, .word = x->feature };
	to->word |= missing_right(x) ? WALK_RIGHT : 0;
	to->word |= x->missing == FOREST_ZEROS ? WALK_ZEROS : 0;
	to->word |= x->category ? WALK_CATEGORY | (x->negative ? WALK_NEGATIVE : 0) : 0;
	l->f->refuses_nan |= x->missing == FOREST_REFUSE;
	l->plain &= !(to->word & (WALK_ZEROS | WALK_CATEGORY));
	return x->category ? put_set(l, x, &to->t) : 0;
}

/* Puts the i-th node in its place, and its children behind all nodes so far. */
static int
put(struct layout *l, size_t i)
{
	size_t first = l->f->node_count;
	uint32_t number = l->order[i];
	const struct tree_node *x = &l->t->nodes[number];
	struct forest_node *to = &l->f->nodes[first + i];

	if (x->left == 0 && x->right == 0)
		return put_leaf(l, to, first + i, x);
	if (put_split(l, to, number, x) < 0)
		return -1;
	to->left = (uint32_t)(first + l->count);
	return reach(l, number, x->left, l->depth[i] + 1) < 0 ||
	       reach(l, number, x->right, l->depth[i] + 1) < 0 ? -1 : 0;
}

/* The covers of the nodes from one on, which must be numbers. */
static int
put_covers(struct layout *l, size_t first)
{
	struct forest *f = l->f;
	size_t i;

	f->uncovered |= !l->t->covered;
	if (f->uncovered)
		return 0;
	if (mem_grow(&f->covers, &f->cover_cap, f->node_count, sizeof *f->covers) < 0)
		return err_memory(l->e);
	for (i = 0; i < l->count; i++) {
		double v = l->t->nodes[l->order[i]].cover;

		if (!(v >= 0 && v < HUGE_VAL))
			return wrong(l->where, l->f->tree_count - 1, l->e, "the cover of node %u is %g", l->order[i],
			             v);
		f->covers[first + i] = v;
	}
	return 0;
}

static int
lay(struct layout *l)
{
	struct forest *f = l->f;
	size_t i;

	l->order[0] = l->depth[0] = 0; /* forest_add_lists has other roots */
	l->seen[0] = true;
	l->count = 1;
	for (i = 0; i < l->count; i++)
		if (put(l, i) < 0)
			return -1;
	f->trees[f->tree_count++] = (struct forest_tree){ .root = (uint32_t)f->node_count,
		.depth = l->depth[l->count - 1], .group = l->t->group, .plain = l->plain };
	f->node_count += l->count;
	return put_covers(l, f->node_count - l->count);
}

int
forest_add(struct forest *f, const struct tree *t, const char *where, struct err *e)
{
	struct layout l = { .f = f, .t = t, .where = where, .e = e, .plain = true };

	if (!buf_ok(&t->values) || !buf_ok(&t->sets) || !buf_ok(&t->terms))
		return err_memory(e);
	if (t->count == 0)
		return wrong(where, f->tree_count, e, "a tree has no nodes");
	if (t->group >= f->groups)
		return wrong(where, f->tree_count, e, "a tree belongs to output %u, of %zu", t->group,
		             f->groups);
	if (room(f, t->count, e) < 0)
		return -1;
	if (forest_room_of_tree(f, t->count) < 0)
		return err_memory(e);
	l.order = f->order;
	l.depth = f->depth;
	l.seen = f->seen;
	memset(l.seen, 0, t->count * sizeof *l.seen);
	return lay(&l);
}

/* ---- forests whose outputs are known late ---- */

static size_t
end_of(const struct forest *f, size_t k)
{
	return k + 1 < f->tree_count ? f->trees[k + 1].root : f->node_count;
}

/* Proves that the splits of tree k ask for features that the model has. */
static int
prove_features(const struct forest *f, size_t k, size_t features, const char *where, struct err *e)
{
	size_t i, end = end_of(f, k);
	uint32_t feature;

	for (i = f->trees[k].root; i < end; i++) {
		feature = f->nodes[i].word & WALK_FEATURE;
		if (feature >= features && f->nodes[i].left != i)
			return wrong(where, k, e, "a node asks for feature %u, of %zu", feature, features);
	}
	return 0;
}

int
forest_settle(struct forest *f, size_t features, size_t groups, const char *where, struct err *e)
{
	size_t k;

	free(f->base);
	free(f->bias);
	f->base = mem_array(groups, sizeof *f->base);
	f->bias = mem_array(groups, sizeof *f->bias);
	if (!f->base || !f->bias)
		return err_memory(e);
	f->features = features;
	f->groups = groups;
	for (k = 0; k < f->tree_count; k++)
		if (prove_features(f, k, features, where, e) < 0)
			return -1;
	return 0;
}

int
forest_assign(struct forest *f, size_t k, double group, const char *where, struct err *e)
{
	if (!(group >= 0 && group < (double)f->groups) || group != floor(group))
		return wrong(where, k, e, "its output is %g, of %zu", group, f->groups);
	f->trees[k].group = (uint32_t)group;
	return 0;
}

void
forest_weigh(struct forest *f, size_t k, float weight)
{
	size_t i, end = end_of(f, k);

	for (i = f->trees[k].root; i < end; i++)
		if (f->nodes[i].left == i)
			f->values[f->leaf[i]] = (double)((float)f->values[f->leaf[i]] * weight);
}
