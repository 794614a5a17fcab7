#include "predict/boost/xgboost.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/forest_order.h"

/* The binary form of releases 0.x and 1.x, little-endian:
 *
 *     "binf"       in some files
 *     136 bytes    f32 base score, u32 features, i32 classes, i32, i32, u32 version (0: before
 *                  1.0; the base score is then a margin), u32, u32 targets (0 before 1.6), zeros
 *     u64, text    objective
 *     u64, text    booster
 *     gbtree, dart:
 *     160 bytes    i32 trees, i32, i32 features, i32, i64, i32 groups, i32 size of leaf vectors
 *     trees        148 bytes: i32, i32 nodes, i32 deleted, i32, i32 features, i32 leaf vector;
 *                  nodes of 20 bytes: i32 parent, i32 left, i32 right, u32 feature (top bit:
 *                  missing goes left), f32 threshold or leaf; 16 bytes of statistics a node:
 *                  f32 gain, cover, weight, i32
 *     i32 each     group of each tree
 *     u64, f32     dart: weights
 *     gblinear:
 *     136 bytes    u32 features, i32 groups; zeros since 1.0
 *     u64, f32     (features + 1) x groups weights */
#define HEAD 136
#define TREES 160
#define TREE 148
#define NODE 20
#define STATISTICS 16
#define LINEAR 136

struct old {
	struct predictor *m;
	const uint8_t *p;
	size_t left;
	bool failed;
	const char *where;
	struct err *e;
};

/* The next n bytes, or NULL with an error. */
static const uint8_t *
take(struct old *x, uint64_t n)
{
	const uint8_t *p = x->p;

	if (x->failed)
		return NULL;
	if (n > x->left) {
		err_set(x->e, ERR_CORRUPT, x->where, "the file ends early");
		x->failed = true;
		return NULL;
	}
	x->p += n;
	x->left -= (size_t)n;
	return p;
}

static float
single_at(const uint8_t *p)
{
	union { uint32_t u; float f; } v = { .u = le32(p) };

	return v.f;
}

static const char *
take_text(struct old *x, char text[64])
{
	const uint8_t *at = take(x, 8), *p;
	uint64_t n = at ? le64(at) : 0;

	p = at ? take(x, n) : NULL;
	if (p)
		snprintf(text, 64, "%.*s", n < 63 ? (int)n : 63, (const char *)p);
	return p ? text : NULL;
}

static bool
known(const char *text, uint64_t n)
{
	return (n > 4 && n < 64) && (memcmp(text, "binary:", 4) == 0 || memcmp(text, "multi:", 4) == 0 ||
	       memcmp(text, "reg:", 4) == 0 || memcmp(text, "rank:", 4) == 0 ||
	       memcmp(text, "count:", 4) == 0 || memcmp(text, "survival:", 4) == 0);
}

bool
xgboost_old_probe(const uint8_t *p, size_t n)
{
	size_t skip = n >= 4 && memcmp(p, "binf", 4) == 0 ? 4 : 0;

	return n > HEAD + 16 + skip && known((const char *)p + skip + HEAD + 8, le64(p + skip + HEAD));
}

/* ---- trees ---- */

static int
put_node(struct old *x, struct tree *t, const uint8_t *p, uint32_t i)
{
	uint32_t index = le32(p + 12);
	struct tree_node *node = tree_add(t);

	if (!node)
		return err_memory(x->e);
	if (le32(p + 4) == UINT32_MAX)
		return tree_leaf(t, node, (double)single_at(p + 16), i) < 0 ? err_memory(x->e) : 0;
	if (isnan(single_at(p + 16)))
		return err_set(x->e, ERR_CORRUPT, x->where, "the threshold of node %u is NaN", i);
	*node = (struct tree_node){ .left = le32(p + 4), .right = le32(p + 8),
		.feature = index & 0x7fffffffu, .default_left = index >> 31, .missing = FOREST_NAN,
		.threshold = forest_below(single_at(p + 16)) };
	return 0;
}

/* Appends the n nodes at p as they are. False if forest_add has to look at them. */
static bool
append_tree(struct old *x, const uint8_t *p, uint32_t n)
{
	struct forest_order o;
	struct err e = ERR_INIT;
	uint32_t i, index;
	bool good = true;

	if (x->m->covers || forest_order_begin(&o, &x->m->forest, n, &e) < 0)
		return false;
	for (i = 0; good && i < n; i++, p += NODE) {
		index = le32(p + 12);
		if (le32(p + 4) == UINT32_MAX)
			good = forest_order_leaf(&o, (double)single_at(p + 16), i);
		else
			good = forest_order_split(&o, index & 0x7fffffffu, forest_below(single_at(p + 16)),
			                          !(index >> 31), le32(p + 4), le32(p + 8));
	}
	good = good && forest_order_end(&o);
	if (!good)
		forest_order_drop(&o);
	return good;
}

/* Reads a tree into the forest: 1; or into t: 0; or -1. */
static int
read_tree(struct old *x, struct tree *t)
{
	const uint8_t *p = take(x, TREE);
	uint32_t i, n = p ? le32(p + 4) : 0;

	if (p && le32(p + 20) > 1)
		return err_set(x->e, ERR_FORMAT, x->where,
		               "trees whose leaves have several values are not read");
	if (p && (n == 0 || n > FOREST_NODES))
		return err_set(x->e, ERR_CORRUPT, x->where, "a tree has %u nodes", n);
	p = p ? take(x, (uint64_t)n * (NODE + STATISTICS)) : NULL;
	if (p && append_tree(x, p, n))
		return 1;
	for (i = 0; p && i < n; i++)
		if (put_node(x, t, p + (size_t)i * NODE, i) < 0)
			return -1;
	t->covered = x->m->covers;
	for (i = 0; p && t->covered && i < n; i++)
		t->nodes[i].cover = (double)single_at(p + (size_t)n * NODE + (size_t)i * STATISTICS + 4);
	return p ? 0 : -1;
}

/* Gives each tree its output, and multiplies leaves of DART. */
static int
settle(struct old *x, uint32_t n, bool dart)
{
	struct forest *f = &x->m->forest;
	const uint8_t *info = take(x, (uint64_t)n * 4), *count = dart ? take(x, 8) : NULL, *drop;
	uint32_t i;

	if (count && le64(count) != n)
		return err_set(x->e, ERR_CORRUPT, x->where, "the weights of %u trees are missing", n);
	drop = count ? take(x, (uint64_t)n * 4) : NULL;
	for (i = 0; !x->failed && i < n; i++) {
		if (forest_assign(f, i, le32(info + (size_t)i * 4), x->where, x->e) < 0)
			return -1;
		if (drop)
			forest_weigh(f, i, single_at(drop + (size_t)i * 4));
	}
	return x->failed ? -1 : 0;
}

static int
read_trees(struct old *x, bool dart)
{
	const uint8_t *p = take(x, TREES);
	uint32_t i, n = p ? le32(p) : 0;
	size_t nodes = x->left / (NODE + STATISTICS); /* at most */
	struct tree tree = { 0 };
	int r = 0;

	if (!p)
		return -1;
	if (n > x->left / (TREE + NODE))
		return err_set(x->e, ERR_CORRUPT, x->where, "the file is too short for %u trees", n);
	if (forest_reserve(&x->m->forest, nodes, nodes / 2 + n, n, x->e) < 0)
		return -1;
	for (i = 0; r == 0 && i < n; i++) {
		tree_clear(&tree);
		r = read_tree(x, &tree);
		if (r == 0)
			r = forest_add(&x->m->forest, &tree, x->where, x->e);
		r = r < 0 ? -1 : 0;
	}
	tree_free(&tree);
	return r < 0 ? -1 : settle(x, n, dart);
}

/* ---- gblinear ---- */

static float
weight(const void *weights, size_t i)
{
	return single_at((const uint8_t *)weights + i * 4);
}

static int
read_linear(struct old *x)
{
	struct predictor *m = x->m;
	const uint8_t *p = take(x, LINEAR), *count = take(x, 8), *w;

	if (!p || !count)
		return -1;
	if ((le32(p) && le32(p) != m->features) || le64(count) != (m->features + 1) * m->outputs)
		return err_set(x->e, ERR_CORRUPT, x->where, "gblinear has %" PRIu64 " weights, for %zu features and %zu "
		               "outputs", le64(count), m->features, m->outputs);
	w = take(x, le64(count) * 4);
	return w ? xgboost_linear(m, weight, w, x->e) : -1;
}

/* ---- the file ---- */

/* Sets the objective. A base score of before 1.0 is a margin already. */
static int
set_objective(struct old *x, const char *objective, float base, bool transformed)
{
	struct predictor *m = x->m;
	float *all = mem_array(m->outputs, sizeof *all);
	size_t k;
	int r;

	if (!all)
		return err_memory(x->e);
	for (k = 0; k < m->outputs; k++)
		all[k] = transformed ? 0.5f : base;
	r = xgboost_objective(m, objective, all, x->where, x->e);
	for (k = 0; r == 0 && transformed && k < m->outputs; k++)
		m->forest.base[k] = (double)base;
	free(all);
	return r;
}

int
xgboost_old_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct old x = { .m = m, .p = p, .left = n, .where = where, .e = e };
	char objective[64], booster[64];
	const uint8_t *head;
	uint32_t outputs;

	if (n >= 4 && memcmp(p, "binf", 4) == 0)
		take(&x, 4);
	head = take(&x, HEAD);
	if (!head || !take_text(&x, objective) || !take_text(&x, booster))
		return -1;
	outputs = le32(head + 8) > 1 ? le32(head + 8) : le32(head + 20) && le32(head + 28) ? le32(head + 28) : 1;
	if (le32(head + 4) > FOREST_FEATURES || outputs > PREDICT_OUTPUTS)
		return err_set(e, ERR_CORRUPT, where, "a model of %u features and %u outputs",
		               le32(head + 4), outputs);
	m->features = le32(head + 4);
	m->outputs = outputs;
	if (xgboost_begin(m, e) < 0 || forest_settle(&m->forest, m->features, m->outputs, where, e) < 0)
		return -1;
	if (set_objective(&x, objective, single_at(head), le32(head + 20) == 0) < 0)
		return -1;
	if (strcmp(booster, "gblinear") == 0)
		return read_linear(&x);
	if (strcmp(booster, "gbtree") != 0 && strcmp(booster, "dart") != 0)
		return err_set(e, ERR_FORMAT, where, "the booster %s is not known here", booster);
	return read_trees(&x, strcmp(booster, "dart") == 0);
}
