#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/walk.h"
#include "predict/writers.h"

/* Numbers of fields, by message. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1,
	OPSET_VERSION = 2, GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12,
	NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7,
	ATTRIBUTE_NAME = 1, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_FLOATS = 7, ATTRIBUTE_INTS = 8,
	ATTRIBUTE_STRINGS = 9, ATTRIBUTE_TYPE = 20, VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1,
	TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIMENSION = 1, DIMENSION_VALUE = 1, DIMENSION_NAME = 2 };
enum { OF_INT = 2, OF_STRING = 3, OF_FLOATS = 6, OF_INTS = 7, OF_STRINGS = 8 }; /* of attributes */
enum { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7, ELEMENT_STRING = 8 };
#define IR 8
#define OPSET 15
#define OPSET_ML 3

/* ---- protocol buffers ---- */

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static void
put_number(struct buf *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void
put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	buf_put(b, p, n);
}

static void
put_text(struct buf *b, unsigned field, const char *text)
{
	put_bytes(b, field, text, strlen(text));
}

/* A message, which is freed. */
static void
put_message(struct buf *b, unsigned field, struct buf *inner)
{
	put_bytes(b, field, inner->p ? inner->p : (const uint8_t *)"", inner->n);
	b->failed |= inner->failed;
	buf_free(inner);
}

/* ---- attributes ---- */

/* values is the value in the form of the field, with its tags; it is freed. */
static void
put_attribute(struct buf *node, const char *name, unsigned type, struct buf *values)
{
	struct buf a = { 0 };

	put_text(&a, ATTRIBUTE_NAME, name);
	buf_put(&a, values->p, values->n);
	put_number(&a, ATTRIBUTE_TYPE, type);
	a.failed |= values->failed;
	buf_free(values);
	put_message(node, NODE_ATTRIBUTE, &a);
}

static void
put_word(struct buf *node, const char *name, const char *text)
{
	struct buf v = { 0 };

	put_text(&v, ATTRIBUTE_S, text);
	put_attribute(node, name, OF_STRING, &v);
}

static void
add_int(struct buf *list, uint64_t v)
{
	put_number(list, ATTRIBUTE_INTS, v);
}

static void
add_float(struct buf *list, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	put_varint(list, ATTRIBUTE_FLOATS << 3 | 5);
	buf_u32(list, bits);
}

/* ---- trees ---- */

enum { TREES, NODES, FEATURES, VALUES, TRUE_NODES, FALSE_NODES, MISSING, MODES, LEAF_TREES, LEAF_NODES,
	LEAF_IDS, LEAF_WEIGHTS, LISTS };

static void
put_leaf(const struct writer *w, size_t tree, uint32_t i, struct buf list[LISTS])
{
	const struct forest *f = &w->m->forest;
	uint32_t root = f->trees[tree].root;
	size_t k;

	for (k = 0; k < f->width; k++) {
		add_int(&list[LEAF_TREES], tree);
		add_int(&list[LEAF_NODES], i);
		add_int(&list[LEAF_IDS], f->width == 1 ? f->trees[tree].group : k);
		add_float(&list[LEAF_WEIGHTS], writer_leaf(w, tree, root + i, k));
	}
}

static void
put_node(const struct writer *w, size_t tree, uint32_t i, struct buf list[LISTS])
{
	const struct forest *f = &w->m->forest;
	uint32_t root = f->trees[tree].root;
	const struct forest_node *x = &f->nodes[root + i];
	bool leaf = x->left == root + i;

	add_int(&list[TREES], tree);
	add_int(&list[NODES], i);
	add_int(&list[FEATURES], leaf ? 0 : x->word & WALK_FEATURE);
	add_float(&list[VALUES], leaf ? 0 : writer_threshold(x->t));
	add_int(&list[TRUE_NODES], leaf ? 0 : x->left - root);
	add_int(&list[FALSE_NODES], leaf ? 0 : x->left - root + 1);
	add_int(&list[MISSING], !leaf && !(x->word & WALK_RIGHT));
	put_text(&list[MODES], ATTRIBUTE_STRINGS, leaf ? "LEAF" : "BRANCH_LEQ");
	if (leaf)
		put_leaf(w, tree, i, list);
}

static int
put_trees(const struct writer *w, struct buf *node, bool classes)
{
	static const char *const names[LISTS] = { "nodes_treeids", "nodes_nodeids", "nodes_featureids",
		"nodes_values", "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true",
		"nodes_modes" };
	static const char *const leaves[2][4] = {
		{ "target_treeids", "target_nodeids", "target_ids", "target_weights" },
		{ "class_treeids", "class_nodeids", "class_ids", "class_weights" },
	};
	const struct forest *f = &w->m->forest;
	struct buf list[LISTS] = { { 0 } };
	struct buf n = { 0 };
	uint32_t i, count;
	size_t k;

	for (i = 0; i < f->node_count; i++)
		if (f->nodes[i].left != i && f->nodes[i].word & WALK_CATEGORY)
			return writer_refuse(w, "splits by categories");
	for (k = 0; k < f->tree_count; k++)
		for (i = 0, count = writer_nodes(f, k); i < count; i++)
			put_node(w, k, i, list);
	for (k = 0; k < LISTS; k++)
		put_attribute(node, k < LEAF_TREES ? names[k] : leaves[classes][k - LEAF_TREES],
		              k == MODES ? OF_STRINGS : k == VALUES || k == LEAF_WEIGHTS ? OF_FLOATS : OF_INTS,
		              &list[k]);
	if (!classes) {
		put_number(&n, ATTRIBUTE_I, w->m->outputs);
		put_attribute(node, "n_targets", OF_INT, &n);
	}
	return 0;
}

static void
put_linear(const struct writer *w, struct buf *node, bool classes)
{
	const struct predictor *m = w->m;
	struct buf v = { 0 }, bias = { 0 }, n = { 0 };
	size_t i;

	for (i = 0; i < m->outputs * m->features; i++)
		add_float(&v, (float)m->linear.weights[i]);
	for (i = 0; i < m->outputs; i++)
		add_float(&bias, (float)m->linear.bias[i]);
	put_attribute(node, "coefficients", OF_FLOATS, &v);
	put_attribute(node, "intercepts", OF_FLOATS, &bias);
	if (!classes) {
		put_number(&n, ATTRIBUTE_I, m->outputs);
		put_attribute(node, "targets", OF_INT, &n);
	}
}

/* ---- the graph ---- */

/* Names of classes, or their numbers. True if they are texts. */
static bool
put_labels(const struct predictor *m, struct buf *node)
{
	struct buf v = { 0 };
	bool texts = m->labels != NULL, numbers = true;
	size_t i;
	char *end;

	for (i = 0; texts && i < m->label_count; i++) {
		long x = strtol(m->labels[i], &end, 10);
		char text[32];

		snprintf(text, sizeof text, "%ld", x);
		numbers &= strcmp(text, m->labels[i]) == 0;
	}
	texts = texts && !numbers;
	for (i = 0; i < m->classes; i++)
		if (texts)
			put_text(&v, ATTRIBUTE_STRINGS, m->labels[i]);
		else
			add_int(&v, m->labels ? (uint64_t)strtol(m->labels[i], &end, 10) : i);
	put_attribute(node, texts ? "classlabels_strings"
	                    : m->form == PREDICT_LINEAR ? "classlabels_ints" : "classlabels_int64s",
	              texts ? OF_STRINGS : OF_INTS, &v);
	return texts;
}

/* A value of the graph: rows of some columns, 0 for none. */
static void
put_value(struct buf *graph, unsigned field, const char *name, unsigned element, size_t columns)
{
	struct buf dimension = { 0 }, shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };

	put_text(&dimension, DIMENSION_NAME, "rows");
	put_message(&shape, SHAPE_DIMENSION, &dimension);
	if (columns) {
		put_number(&dimension, DIMENSION_VALUE, columns);
		put_message(&shape, SHAPE_DIMENSION, &dimension);
	}
	put_number(&tensor, TENSOR_ELEMENT, element);
	put_message(&tensor, TENSOR_SHAPE, &shape);
	put_message(&type, TYPE_TENSOR, &tensor);
	put_text(&value, VALUE_NAME, name);
	put_message(&value, VALUE_TYPE, &type);
	put_message(graph, field, &value);
}

static int
put_graph(struct writer *w, struct buf *graph)
{
	const struct predictor *m = w->m;
	bool classes = m->task != PREDICT_VALUE, trees = m->form == PREDICT_TREES, texts = false;
	struct buf node = { 0 };
	int r = 0;

	put_text(&node, NODE_INPUT, "input");
	put_text(&node, NODE_OUTPUT, classes ? "label" : "variable");
	if (classes)
		put_text(&node, NODE_OUTPUT, "probabilities");
	put_text(&node, NODE_NAME, "model");
	put_text(&node, NODE_OP, trees ? classes ? "TreeEnsembleClassifier" : "TreeEnsembleRegressor"
	                               : classes ? "LinearClassifier" : "LinearRegressor");
	if (trees)
		r = put_trees(w, &node, classes);
	else
		put_linear(w, &node, classes);
	put_word(&node, "post_transform", m->link == LINK_SIGMOID ? "LOGISTIC"
	                                  : m->link == LINK_SOFTMAX ? "SOFTMAX" : "NONE");
	if (classes)
		texts = put_labels(m, &node);
	put_text(&node, NODE_DOMAIN, "ai.onnx.ml");
	put_message(graph, GRAPH_NODE, &node);
	put_text(graph, GRAPH_NAME, "classical");
	put_value(graph, GRAPH_INPUT, "input", ELEMENT_FLOAT, m->features);
	put_value(graph, GRAPH_OUTPUT, classes ? "label" : "variable",
	          !classes ? ELEMENT_FLOAT : texts ? ELEMENT_STRING : ELEMENT_INT64, classes ? 0 : m->outputs);
	if (classes)
		put_value(graph, GRAPH_OUTPUT, "probabilities", ELEMENT_FLOAT, m->classes);
	return r;
}

/* A version of operators. */
static void
put_opset(struct buf *model, const char *domain, unsigned version)
{
	struct buf b = { 0 };

	put_text(&b, OPSET_DOMAIN, domain);
	put_number(&b, OPSET_VERSION, version);
	put_message(model, MODEL_OPSET, &b);
}

static int
check(const struct writer *w)
{
	const struct predictor *m = w->m;
	bool trees = m->form == PREDICT_TREES;

	if (m->link != LINK_NONE && m->link != LINK_SIGMOID && m->link != LINK_SOFTMAX &&
	    !(m->link == LINK_SHARE && trees))
		return writer_refuse(w, "this link between scores and predictions");
	if (m->task == PREDICT_VALUE && m->link == LINK_SIGMOID && m->outputs > 1)
		return writer_refuse(w, "this link between scores and predictions");
	if (trees && m->task == PREDICT_BINARY && m->link == LINK_NONE)
		return writer_refuse(w, "two classes by the sign of a sum of leaves");
	return 0;
}

int
onnxml_write(const struct predictor *m, const char *where, void (*note)(const char *), struct buf *to,
             struct err *e)
{
	struct writer w = { .m = m, .where = where, .title = "ONNX", .note = note, .to = to, .e = e };
	struct buf graph = { 0 };
	int r = check(&w) < 0 || writer_begin(&w) < 0 || put_graph(&w, &graph) < 0 ? -1 : 0;

	put_number(to, MODEL_IR, IR);
	put_text(to, MODEL_PRODUCER, "apr tools");
	put_message(to, MODEL_GRAPH, &graph);
	put_opset(to, "", OPSET);
	put_opset(to, "ai.onnx.ml", OPSET_ML);
	writer_end(&w);
	return r < 0 ? -1 : buf_ok(to) ? 0 : err_memory(e);
}
