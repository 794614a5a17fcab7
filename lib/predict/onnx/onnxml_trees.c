/* TreeEnsembleClassifier and TreeEnsembleRegressor: lists with an item for each node, and lists with an
 * item for each weight of a leaf. Nodes stand in any order; the first of a tree is its root. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxml.h"

enum { TREE, NODE, FEATURE, VALUE, YES, NO, MISSING, LEAF_TREE, LEAF_NODE, LEAF_ID, LEAF_WEIGHT, LISTS };

enum mode { LEAF, LESS_OR_EQUAL, LESS, GREATER_OR_EQUAL, GREATER, MODES };

/* A node or a weight, to be sorted. */
struct place {
	double tree, node;
	size_t i;
};

struct trees {
	struct onnxml *x;
	struct buf lists[LISTS], modes;
	struct place *nodes, *weights;
	size_t node_count, weight_count;
};

static double
at(const struct trees *t, int list, size_t i)
{
	return ((const double *)(const void *)t->lists[list].p)[i];
}

static size_t
length(const struct trees *t, int list)
{
	return t->lists[list].n / sizeof(double);
}

/* ---- reading ---- */

static int
take_mode(struct onnxml *x, struct onnxml_part text)
{
	static const char *const modes[MODES] = { "LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
		"BRANCH_GT" };
	struct trees *t = x->more;
	uint8_t i;

	for (i = 0; i < MODES; i++)
		if (text.n == strlen(modes[i]) && memcmp(text.p, modes[i], text.n) == 0) {
			buf_u8(&t->modes, i);
			return buf_ok(&t->modes) ? 0 : err_memory(x->e);
		}
	return err_set(x->e, ERR_FORMAT, x->where, "a node compares by %.*s, which is not read",
	               text.n < 40 ? (int)text.n : 40, (const char *)text.p);
}

static int
read_lists(struct trees *t, bool classes)
{
	static const struct { const char *name; bool floats; } nodes[] = {
		{ "nodes_treeids", false }, { "nodes_nodeids", false }, { "nodes_featureids", false },
		{ "nodes_values", true }, { "nodes_truenodeids", false }, { "nodes_falsenodeids", false },
		{ "nodes_missing_value_tracks_true", false },
	};
	static const char *const leaves[2][4] = {
		{ "target_treeids", "target_nodeids", "target_ids", "target_weights" },
		{ "class_treeids", "class_nodeids", "class_ids", "class_weights" },
	};
	int i;

	for (i = 0; i < LEAF_TREE; i++)
		if (onnxml_numbers(t->x, nodes[i].name, nodes[i].floats, &t->lists[i]) < 0)
			return -1;
	for (i = LEAF_TREE; i < LISTS; i++)
		if (onnxml_numbers(t->x, leaves[classes][i - LEAF_TREE], i == LEAF_WEIGHT, &t->lists[i]) < 0)
			return -1;
	t->x->more = t;
	if (onnxml_texts(t->x, "nodes_modes", take_mode) < 0)
		return -1;
	t->node_count = length(t, TREE);
	t->weight_count = length(t, LEAF_TREE);
	for (i = NODE; i < LISTS; i++)
		if (length(t, i) != (i < LEAF_TREE ? t->node_count : t->weight_count) &&
		    !(i == MISSING && length(t, i) == 0))
			return onnxml_wrong(t->x, "the lists of the trees differ in length");
	if (t->modes.n != t->node_count || t->node_count == 0 || t->weight_count == 0)
		return onnxml_wrong(t->x, "the trees have no nodes, no leaves, or no modes");
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->tree != y->tree)
		return x->tree < y->tree ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static struct place *
sorted(const struct trees *t, int tree, int node, size_t n)
{
	struct place *p = mem_array(n, sizeof *p);
	size_t i;

	for (i = 0; p && i < n; i++)
		p[i] = (struct place){ at(t, tree, i), at(t, node, i), i };
	if (p)
		qsort(p, n, sizeof *p, by_place);
	return p;
}

/* The first of n places that is not before a node; n if there is none. */
static size_t
search(const struct place *p, size_t n, double tree, double node)
{
	struct place x = { tree, node, 0 };
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_place(&p[middle], &x) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- building ---- */

/* The number of a node in its tree, which begins at place `from` with `root`: those before the root
 * move up by one. UINT32_MAX if it is not there. */
static uint32_t
number(const struct place *p, size_t n, size_t root, double node)
{
	size_t i = search(p, n, p[0].tree, node);

	if (i == n || p[i].node != node || n >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(i == root ? 0 : i < root ? i + 1 : i);
}

/* All outputs of a leaf. */
static int
put_leaf(const struct trees *t, struct tree *to, struct tree_node *x, double tree, double node)
{
	size_t i = search(t->weights, t->weight_count, tree, node), outputs = t->x->m->outputs;
	double *v;

	x->left = x->right = 0;
	x->values = to->values.n / sizeof *v;
	buf_zeros(&to->values, outputs * sizeof *v);
	if (!buf_ok(&to->values))
		return err_memory(t->x->e);
	v = (double *)(void *)to->values.p + x->values;
	for (; i < t->weight_count && t->weights[i].tree == tree && t->weights[i].node == node; i++) {
		size_t id = outputs == 1 ? 0 : (size_t)at(t, LEAF_ID, t->weights[i].i);

		v[id] = (double)((float)v[id] + (float)at(t, LEAF_WEIGHT, t->weights[i].i));
	}
	return 0;
}

static int
put_node(const struct trees *t, struct tree *to, const struct place *p, size_t n, size_t root, size_t k)
{
	size_t i = p[k].i;
	enum mode mode = t->modes.p[i];
	uint32_t yes = number(p, n, root, at(t, YES, i)), no = number(p, n, root, at(t, NO, i));
	double feature = at(t, FEATURE, i), value = at(t, VALUE, i);
	bool turned = mode == GREATER || mode == GREATER_OR_EQUAL;
	bool missing = length(t, MISSING) && at(t, MISSING, i) != 0;
	struct tree_node *x = tree_add(to);

	if (!x)
		return err_memory(t->x->e);
	x->id = p[k].node >= 0 && p[k].node < UINT32_MAX ? (uint32_t)p[k].node : 0;
	if (mode == LEAF)
		return put_leaf(t, to, x, p[k].tree, p[k].node);
	if (yes == UINT32_MAX || no == UINT32_MAX || yes == 0 || no == 0 || isnan(value) ||
	    !(feature >= 0 && feature < (double)t->x->m->features))
		return err_set(t->x->e, ERR_CORRUPT, t->x->where, "a node of tree %g has wrong links or a wrong "
		               "feature", p[k].tree);
	x->feature = (uint32_t)feature;
	x->threshold = mode == LESS || mode == GREATER_OR_EQUAL ? forest_below((float)value) : value;
	x->left = turned ? no : yes;
	x->right = turned ? yes : no;
	x->missing = FOREST_NAN;
	x->default_left = missing != turned;
	return 0;
}

/* The node that comes first in the file. */
static size_t
find_root(const struct place *p, size_t n)
{
	size_t k, root = 0;

	for (k = 1; k < n; k++)
		if (p[k].i < p[root].i)
			root = k;
	return root;
}

static int
put_tree(const struct trees *t, const struct place *p, size_t n)
{
	size_t k, root = find_root(p, n);
	struct tree to = { .group = 0 };
	int r = 0;

	for (k = 1; k < n; k++)
		if (p[k].node == p[k - 1].node)
			r = onnxml_wrong(t->x, "two nodes of a tree have the same number");
	if (r == 0)
		r = put_node(t, &to, p, n, root, root);
	for (k = 0; k < n && r == 0; k++)
		if (k != root)
			r = put_node(t, &to, p, n, root, k);
	if (r == 0)
		r = forest_add(&t->x->m->forest, &to, t->x->where, t->x->e);
	tree_free(&to);
	return r;
}

/* ---- a model ---- */

/* Outputs and features, from the lists and the width of the rows. */
static int
measure(struct trees *t, bool classes)
{
	struct predictor *m = t->x->m;
	double most = 0, least = HUGE_VAL, feature = -1;
	size_t i;

	for (i = 0; i < t->weight_count; i++) {
		most = fmax(most, at(t, LEAF_ID, i));
		least = fmin(least, at(t, LEAF_ID, i));
	}
	for (i = 0; i < t->node_count; i++)
		if (t->modes.p[i] != LEAF)
			feature = fmax(feature, at(t, FEATURE, i));
	if (!(least >= 0 && most < PREDICT_OUTPUTS && feature < FOREST_FEATURES))
		return onnxml_wrong(t->x, "an output or a feature has a wrong number");
	m->outputs = (size_t)most + 1;
	if (classes && m->label_count == 2 && least == most)
		m->outputs = 1;
	else if (classes)
		m->outputs = m->label_count > m->outputs ? m->label_count : m->outputs;
	m->features = t->x->width ? t->x->width : (size_t)(feature + 1);
	if (t->weight_count > FOREST_VALUES / m->outputs || t->node_count > FOREST_VALUES / m->outputs)
		return err_set(t->x->e, ERR_MEMORY, t->x->where, "%zu leaves with %zu outputs are too many",
		               t->node_count, m->outputs);
	return 0;
}

/* Without a link, one score of a binary model is a probability if all weights are positive, else the
 * sign decides. */
static void
decide(struct trees *t)
{
	struct predictor *m = t->x->m;
	size_t i;

	for (i = 0; m->task == PREDICT_BINARY && m->link == LINK_SHARE && i < t->weight_count; i++)
		if (at(t, LEAF_WEIGHT, i) < 0) {
			m->link = LINK_NONE;
			m->by_score = true;
		}
}

static int
set_base(struct trees *t)
{
	struct predictor *m = t->x->m;
	struct buf b = { 0 };
	size_t k, n;
	int r = onnxml_numbers(t->x, "base_values", true, &b);

	n = b.n / sizeof(double);
	if (r == 0 && n != 0 && n != m->outputs)
		r = onnxml_wrong(t->x, "the base values do not fit the outputs");
	for (k = 0; r == 0 && k < n; k++)
		m->forest.bias[k] = ((double *)(void *)b.p)[k];
	m->forest.scaled = n > 0;
	m->forest.single = true;
	m->forest.average = onnxml_is(t->x, "aggregate_function", "AVERAGE");
	if (r == 0 && !m->forest.average && onnxml_has(t->x, "aggregate_function") &&
	    !onnxml_is(t->x, "aggregate_function", "SUM"))
		r = err_set(t->x->e, ERR_FORMAT, t->x->where, "trees that are not added are not read");
	buf_free(&b);
	return r;
}

static int
build(struct trees *t, bool classes)
{
	struct predictor *m = t->x->m;
	size_t from, to;

	m->kind = "trees of ONNX";
	m->forest.most = 0; /* a leaf has more outputs than the file has weights for it; measure bounds them */
	if ((classes && onnxml_labels(t->x) < 0) || read_lists(t, classes) < 0 || measure(t, classes) < 0 ||
	    onnxml_link(t->x, classes) < 0 ||
	    forest_begin(&m->forest, m->features, m->outputs, m->outputs, t->x->e) < 0 || set_base(t) < 0)
		return -1;
	decide(t);
	t->nodes = sorted(t, TREE, NODE, t->node_count);
	t->weights = sorted(t, LEAF_TREE, LEAF_NODE, t->weight_count);
	if (!t->nodes || !t->weights)
		return err_memory(t->x->e);
	for (from = 0; from < t->node_count; from = to) {
		for (to = from; to < t->node_count && t->nodes[to].tree == t->nodes[from].tree; to++)
			;
		if (put_tree(t, t->nodes + from, to - from) < 0)
			return -1;
	}
	return 0;
}

static int
read_trees(struct onnxml *x, bool classes)
{
	struct trees t = { .x = x };
	int i, r = build(&t, classes);

	for (i = 0; i < LISTS; i++)
		buf_free(&t.lists[i]);
	buf_free(&t.modes);
	free(t.nodes);
	free(t.weights);
	x->more = NULL;
	return r;
}

int
onnxml_tree_values(struct onnxml *x)
{
	return read_trees(x, false);
}

int
onnxml_tree_classes(struct onnxml *x)
{
	return read_trees(x, true);
}
