/* TreeEnsemble of ai.onnx.ml 5: nodes and leaves are lists of their own; a branch names a node or a leaf, and a list
 * has the root of each tree. A leaf has one value for one target.
 *
 * Source: the operator in the documentation of ONNX. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/onnx/onnxml.h"

enum { ROOTS, FEATURES, YES, NO, YES_LEAF, NO_LEAF, MISSING, TARGETS, SPLITS, WEIGHTS, MODES, LISTS };

/* Modes of nodes, the first four are computed; fields and types of tensors. */
enum { LESS_OR_EQUAL, LESS, GREATER_OR_EQUAL, GREATER };
enum { TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INTS, TENSOR_RAW = 9, TENSOR_DOUBLES, TYPE_FLOAT = 1, TYPE_BYTE,
	TYPE_DOUBLE = 11 };

struct ensemble {
	struct onnxml *x;
	struct buf lists[LISTS];
	bool *seen;             /* nodes that have a parent, or are a root */
	struct buf stack;       /* struct branch */
};

/* What a branch of a tree leads to, and where it is noted. */
struct branch {
	size_t to, parent;
	bool leaf, yes;
};

#define ROOT SIZE_MAX

static double
at(const struct ensemble *t, int list, size_t i)
{
	return ((const double *)(const void *)t->lists[list].p)[i];
}

static size_t
length(const struct ensemble *t, int list)
{
	return t->lists[list].n / sizeof(double);
}

/* ---- reading ---- */

static double
value(uint64_t type, uint64_t v)
{
	uint8_t bytes[8];

	le64_put(bytes, v);
	return type == TYPE_FLOAT ? (double)le_f32(bytes) : type == TYPE_DOUBLE ? le_f64(bytes) : (double)(v & 255);
}

/* The values of a tensor of floats, doubles or bytes. */
static int
read_tensor(struct onnxml *x, const char *name, struct buf *to)
{
	struct onnxml_part a, t, raw;
	struct protobuf m;
	struct protobuf_field f;
	struct protobuf_numbers n;
	uint64_t type = 0, v;
	size_t i, bytes;
	double d;

	if (!onnxml_find(x, name, &a) || !onnxml_inside(x, a, ATTRIBUTE_T, &t))
		return onnxml_wrong(x, "a list of the trees is missing");
	protobuf_open(&m, t.p, t.n, x->where, x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == TENSOR_TYPE && f.form == PROTOBUF_VARINT)
			type = f.value;
	if (type != TYPE_FLOAT && type != TYPE_DOUBLE && type != TYPE_BYTE)
		return onnxml_wrong(x, "a list of the trees has values of another type");
	bytes = type == TYPE_FLOAT ? 4 : type == TYPE_DOUBLE ? 8 : 1;
	if (onnxml_inside(x, t, TENSOR_RAW, &raw)) {
		for (i = 0; raw.n - i >= bytes; i += bytes) {
			d = value(type, bytes == 8 ? le64(raw.p + i) : bytes == 4 ? le32(raw.p + i) : raw.p[i]);
			buf_put(to, &d, sizeof d);
		}
	} else {
		protobuf_numbers_open(&n, t.p, t.n, 0, bytes == 4 ? TENSOR_FLOATS : bytes == 8 ? TENSOR_DOUBLES : TENSOR_INTS,
		                      bytes == 4 ? PROTOBUF_4 : bytes == 8 ? PROTOBUF_8 : PROTOBUF_VARINT, x->where, x->e);
		while (protobuf_number(&n, &v) == 1) {
			d = value(type, v);
			buf_put(to, &d, sizeof d);
		}
	}
	return x->e->code != ERR_NONE ? -1 : buf_ok(to) ? 0 : err_memory(x->e);
}

static int
read_lists(struct ensemble *t)
{
	static const char *const names[LISTS] = { "tree_roots", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids",
		"nodes_trueleafs", "nodes_falseleafs", "nodes_missing_value_tracks_true", "leaf_targetids", "nodes_splits",
		"leaf_weights", "nodes_modes" };
	size_t nodes, leaves;
	int i;

	for (i = 0; i < LISTS; i++)
		if ((i < SPLITS ? onnxml_numbers(t->x, names[i], false, &t->lists[i])
		                : read_tensor(t->x, names[i], &t->lists[i])) < 0)
			return -1;
	nodes = length(t, FEATURES);
	leaves = length(t, TARGETS);
	for (i = YES; i < LISTS; i++)
		if (length(t, i) != (i == TARGETS || i == WEIGHTS ? leaves : nodes) && !(i == MISSING && length(t, i) == 0))
			return onnxml_wrong(t->x, "the lists of the trees differ in length");
	return nodes && leaves && length(t, ROOTS) ? 0 : onnxml_wrong(t->x, "the trees have no nodes, no leaves, or no roots");
}

/* ---- building ---- */

/* An item of a list as a place among n. ROOT: it is not one. */
static size_t
place(const struct ensemble *t, int list, size_t i, size_t n)
{
	double v = at(t, list, i);

	return v >= 0 && v < (double)n ? (size_t)v : ROOT;
}

static int
put_leaf(struct ensemble *t, struct tree *to, struct tree_node *x, size_t leaf)
{
	size_t outputs = t->x->m->outputs, target = place(t, TARGETS, leaf, outputs);

	if (target == ROOT)
		return onnxml_wrong(t->x, "a leaf has a wrong target");
	x->left = x->right = 0;
	x->id = (uint32_t)leaf;
	x->values = to->values.n / sizeof(double);
	buf_zeros(&to->values, outputs * sizeof(double));
	if (!buf_ok(&to->values))
		return err_memory(t->x->e);
	((double *)(void *)to->values.p)[x->values + target] = (double)(float)at(t, WEIGHTS, leaf);
	return 0;
}

/* Makes a node, and puts its branches onto the stack. */
static int
put_node(struct ensemble *t, struct tree_node *x, size_t node, size_t number)
{
	double mode = at(t, MODES, node), split = (double)(float)at(t, SPLITS, node);
	bool turned = mode == GREATER || mode == GREATER_OR_EQUAL, missing = length(t, MISSING) && at(t, MISSING, node) != 0;
	size_t feature = place(t, FEATURES, node, t->x->m->features);
	int yes;

	if (mode > GREATER)
		return err_set(t->x->e, ERR_FORMAT, t->x->where, "a node compares by mode %g, which is not read", mode);
	if (t->seen[node] || feature == ROOT || isnan(split))
		return onnxml_wrong(t->x, "a node has two parents, a wrong feature or a wrong value");
	t->seen[node] = true;
	x->id = (uint32_t)node;
	x->feature = (uint32_t)feature;
	x->threshold = mode == LESS || mode == GREATER_OR_EQUAL ? forest_below((float)split) : split;
	x->missing = FOREST_NAN;
	x->default_left = missing != turned;
	for (yes = 0; yes < 2; yes++) {
		bool leaf = at(t, yes ? YES_LEAF : NO_LEAF, node) != 0;
		struct branch b = { place(t, yes ? YES : NO, node, leaf ? length(t, TARGETS) : length(t, FEATURES)), number, leaf,
		                    (yes != 0) != turned };

		if (b.to == ROOT)
			return onnxml_wrong(t->x, "a branch leads to nothing");
		buf_put(&t->stack, &b, sizeof b);
	}
	return buf_ok(&t->stack) ? 0 : err_memory(t->x->e);
}

static int
put_tree(struct ensemble *t, size_t root)
{
	struct branch b = { root, ROOT, false, false };
	struct tree to = { .group = 0 };
	size_t count = 0;
	int r = 0;

	buf_clear(&t->stack);
	buf_put(&t->stack, &b, sizeof b);
	while (r == 0 && t->stack.n) {
		struct tree_node *x = tree_add(&to);

		t->stack.n -= sizeof b;
		memcpy(&b, t->stack.p + t->stack.n, sizeof b);
		if (!x || count == UINT32_MAX) {
			r = err_memory(t->x->e);
			break;
		}
		r = b.leaf ? put_leaf(t, &to, x, b.to) : put_node(t, x, b.to, count);
		if (b.parent != ROOT && b.yes)
			to.nodes[b.parent].left = (uint32_t)count;
		else if (b.parent != ROOT)
			to.nodes[b.parent].right = (uint32_t)count;
		count++;
	}
	if (r == 0)
		r = forest_add(&t->x->m->forest, &to, t->x->where, t->x->e);
	tree_free(&to);
	return r;
}

/* ---- a model ---- */

static int
measure(struct ensemble *t)
{
	struct predictor *m = t->x->m;
	double post = onnxml_float(t->x, "post_transform", 0), sum = onnxml_float(t->x, "aggregate_function", 1);
	double targets = onnxml_float(t->x, "n_targets", 1), feature = 0;
	size_t i;

	for (i = 0; i < length(t, FEATURES); i++)
		feature = fmax(feature, at(t, FEATURES, i));
	if (!(targets >= 1 && targets <= PREDICT_OUTPUTS && feature < FOREST_FEATURES))
		return onnxml_wrong(t->x, "an output or a feature has a wrong number");
	if (sum < 0 || sum > 1 || post < 0 || post > 2)
		return err_set(t->x->e, ERR_FORMAT, t->x->where, "trees that are not added, or this post_transform, are not read");
	m->outputs = (size_t)targets;
	m->features = t->x->width ? t->x->width : (size_t)feature + 1;
	if (length(t, TARGETS) > FOREST_VALUES / m->outputs || length(t, FEATURES) > FOREST_VALUES / m->outputs / 2)
		return err_set(t->x->e, ERR_FORMAT, t->x->where, "the leaves have too many outputs");
	m->sharpness = 1;
	m->rounds = m->single = true;
	m->task = PREDICT_VALUE;
	m->link = post == 1 && m->outputs > 1 ? LINK_SOFTMAX : post == 2 ? LINK_SIGMOID : LINK_NONE;
	m->kind = "trees of ONNX";
	m->forest.most = 0;
	if (forest_begin(&m->forest, m->features, m->outputs, m->outputs, t->x->e) < 0)
		return -1;
	m->forest.single = true;
	m->forest.average = sum == 0;
	return 0;
}

int
onnxml_tree_ensemble(struct onnxml *x)
{
	struct ensemble t = { .x = x };
	size_t i, root;
	int r = read_lists(&t) < 0 || measure(&t) < 0 ? -1 : 0;

	if (r == 0 && !(t.seen = mem_array(length(&t, FEATURES), sizeof *t.seen)))
		r = err_memory(x->e);
	for (i = 0; r == 0 && i < length(&t, ROOTS); i++) {
		root = place(&t, ROOTS, i, length(&t, FEATURES));
		r = root == ROOT ? onnxml_wrong(x, "a root is not a node") : put_tree(&t, root);
	}
	for (i = 0; i < LISTS; i++)
		buf_free(&t.lists[i]);
	buf_free(&t.stack);
	free(t.seen);
	return r;
}
