#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/onnx/onnxml_put.h"
#include "predict/walk.h"

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

void
onnx_put_number(struct buf *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

void
onnx_put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	buf_put(b, p, n);
}

void
onnx_put_text(struct buf *b, unsigned field, const char *text)
{
	onnx_put_bytes(b, field, text, strlen(text));
}

/* A message, which is freed. */
void
onnx_put_message(struct buf *b, unsigned field, struct buf *inner)
{
	onnx_put_bytes(b, field, inner->p ? inner->p : (const uint8_t *)"", inner->n);
	b->failed |= inner->failed;
	buf_free(inner);
}

/* ---- attributes ---- */

/* values is the value in the form of the field, with its tags; it is freed. */
void
onnx_put_attribute(struct buf *node, const char *name, unsigned type, struct buf *values)
{
	struct buf a = { 0 };

	onnx_put_text(&a, ATTRIBUTE_NAME, name);
	buf_put(&a, values->p, values->n);
	onnx_put_number(&a, ATTRIBUTE_TYPE, type);
	a.failed |= values->failed;
	buf_free(values);
	onnx_put_message(node, NODE_ATTRIBUTE, &a);
}

void
onnx_put_word(struct buf *node, const char *name, const char *text)
{
	struct buf v = { 0 };

	onnx_put_text(&v, ATTRIBUTE_S, text);
	onnx_put_attribute(node, name, OF_STRING, &v);
}

void
onnx_add_int(struct buf *list, uint64_t v)
{
	onnx_put_number(list, ATTRIBUTE_INTS, v);
}

void
onnx_add_float(struct buf *list, float v)
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
		onnx_add_int(&list[LEAF_TREES], tree);
		onnx_add_int(&list[LEAF_NODES], i);
		onnx_add_int(&list[LEAF_IDS], f->width == 1 ? f->trees[tree].group : k);
		onnx_add_float(&list[LEAF_WEIGHTS], writer_leaf(w, tree, root + i, k));
	}
}

static void
put_node(const struct writer *w, size_t tree, uint32_t i, struct buf list[LISTS])
{
	const struct forest *f = &w->m->forest;
	uint32_t root = f->trees[tree].root;
	const struct forest_node *x = &f->nodes[root + i];
	bool leaf = x->left == root + i;

	onnx_add_int(&list[TREES], tree);
	onnx_add_int(&list[NODES], i);
	onnx_add_int(&list[FEATURES], leaf ? 0 : x->word & WALK_FEATURE);
	onnx_add_float(&list[VALUES], leaf ? 0 : writer_threshold(x->t));
	onnx_add_int(&list[TRUE_NODES], leaf ? 0 : x->left - root);
	onnx_add_int(&list[FALSE_NODES], leaf ? 0 : x->left - root + 1);
	onnx_add_int(&list[MISSING], !leaf && !(x->word & WALK_RIGHT));
	onnx_put_text(&list[MODES], ATTRIBUTE_STRINGS, leaf ? "LEAF" : "BRANCH_LEQ");
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
		onnx_put_attribute(node, k < LEAF_TREES ? names[k] : leaves[classes][k - LEAF_TREES],
		              k == MODES ? OF_STRINGS : k == VALUES || k == LEAF_WEIGHTS ? OF_FLOATS : OF_INTS,
		              &list[k]);
	if (!classes) {
		onnx_put_number(&n, ATTRIBUTE_I, w->m->outputs);
		onnx_put_attribute(node, "n_targets", OF_INT, &n);
	}
	return 0;
}

/* Sums of products: the model's own, or those of its last layer. */
static void
put_linear(const struct writer *w, struct buf *node, bool classes)
{
	const struct predictor *m = w->m;

	if (m->form == PREDICT_LINEAR)
		onnx_put_products(node, m->linear.weights, m->linear.bias, m->outputs, m->inner, false, !classes);
	else
		onnx_put_layer(node, &m->steps[m->step_count - 1], !classes);
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
			onnx_put_text(&v, ATTRIBUTE_STRINGS, m->labels[i]);
		else
			onnx_add_int(&v, m->labels ? (uint64_t)strtol(m->labels[i], &end, 10) : i);
	onnx_put_attribute(node, texts ? "classlabels_strings"
	                    : m->form != PREDICT_TREES ? "classlabels_ints" : "classlabels_int64s",
	              texts ? OF_STRINGS : OF_INTS, &v);
	return texts;
}

void
onnx_put_value(struct buf *graph, unsigned field, const char *name, unsigned element, size_t columns)
{
	struct buf dimension = { 0 }, shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };

	onnx_put_text(&dimension, DIMENSION_NAME, "rows");
	onnx_put_message(&shape, SHAPE_DIMENSION, &dimension);
	if (columns) {
		onnx_put_number(&dimension, DIMENSION_VALUE, columns);
		onnx_put_message(&shape, SHAPE_DIMENSION, &dimension);
	}
	onnx_put_number(&tensor, TENSOR_ELEMENT, element);
	onnx_put_message(&tensor, TENSOR_SHAPE, &shape);
	onnx_put_message(&type, TYPE_TENSOR, &tensor);
	onnx_put_text(&value, VALUE_NAME, name);
	onnx_put_message(&value, VALUE_TYPE, &type);
	onnx_put_message(graph, field, &value);
}

/* What the last node computes. */
static const char *
op_of(const struct predictor *m, bool classes)
{
	if (m->form == PREDICT_TREES)
		return classes ? "TreeEnsembleClassifier" : "TreeEnsembleRegressor";
	if (m->form == PREDICT_STEPS && m->steps[m->step_count - 1].kind == &step_support)
		return classes ? "SVMClassifier" : "SVMRegressor";
	return classes ? "LinearClassifier" : "LinearRegressor";
}

/* The model behind the steps. */
static int
put_model(struct onnx_chain *c, bool classes, bool *texts)
{
	const struct writer *w = c->w;
	const struct predictor *m = w->m;
	const char *op = op_of(m, classes);
	struct buf node = { 0 };
	int r = 0;

	onnx_put_text(&node, NODE_INPUT, c->in);
	onnx_put_text(&node, NODE_OUTPUT, classes ? "label" : "variable");
	if (classes)
		onnx_put_text(&node, NODE_OUTPUT, "probabilities");
	onnx_put_text(&node, NODE_NAME, "model");
	onnx_put_text(&node, NODE_OP, op);
	if (m->form == PREDICT_TREES)
		r = put_trees(w, &node, classes);
	else if (*op == 'S')
		onnx_put_support(&node, &m->steps[m->step_count - 1], m->platt, classes);
	else
		put_linear(w, &node, classes);
	onnx_put_word(&node, "post_transform", m->link == LINK_SIGMOID ? "LOGISTIC"
	                                       : m->link == LINK_SOFTMAX ? "SOFTMAX" : "NONE");
	if (classes)
		*texts = put_labels(m, &node);
	onnx_put_text(&node, NODE_DOMAIN, "ai.onnx.ml");
	onnx_put_message(c->graph, GRAPH_NODE, &node);
	return r;
}

static int
put_graph(struct writer *w, struct buf *graph)
{
	const struct predictor *m = w->m;
	bool classes = m->task != PREDICT_VALUE, texts = false, pairs = m->task == PREDICT_PAIRS;
	struct onnx_chain c = { .w = w, .graph = graph, .in = "input" };
	size_t n = onnx_steps(m);
	int r = onnx_put_steps(&c, n);

	c.model = m->form != PREDICT_STEPS || n < m->step_count;
	if (r == 0 && c.model)
		r = put_model(&c, classes, &texts);
	onnx_put_text(graph, GRAPH_NAME, "classical");
	onnx_put_value(graph, GRAPH_INPUT, "input", ELEMENT_FLOAT, m->features);
	onnx_put_value(graph, GRAPH_OUTPUT, classes ? "label" : c.model ? "variable" : c.in,
	               !classes ? ELEMENT_FLOAT : texts ? ELEMENT_STRING : ELEMENT_INT64, classes ? 0 : m->outputs);
	if (classes)
		onnx_put_value(graph, GRAPH_OUTPUT, "probabilities", ELEMENT_FLOAT,
		               pairs && m->link == LINK_NONE && m->classes > 2 ? m->outputs : m->classes);
	return r;
}

/* A version of operators. */
static void
put_opset(struct buf *model, const char *domain, unsigned version)
{
	struct buf b = { 0 };

	onnx_put_text(&b, OPSET_DOMAIN, domain);
	onnx_put_number(&b, OPSET_VERSION, version);
	onnx_put_message(model, MODEL_OPSET, &b);
}

static int
check(const struct writer *w)
{
	const struct predictor *m = w->m;
	bool trees = m->form == PREDICT_TREES;

	if (m->task == PREDICT_PAIRS)
		return 0;
	if (m->form == PREDICT_STEPS && m->task != PREDICT_VALUE && onnx_steps(m) == m->step_count)
		return writer_refuse(w, "neighbours, naive Bayes and other steps that choose a class");
	if (m->link != LINK_NONE && m->link != LINK_SIGMOID && m->link != LINK_SOFTMAX &&
	    !(m->link == LINK_SHARE && trees))
		return writer_refuse_link(w);
	if (m->task == PREDICT_VALUE && m->link == LINK_SIGMOID && m->outputs > 1)
		return writer_refuse(w, "the logistic function of several values");
	if (trees && m->task == PREDICT_BINARY && m->link == LINK_NONE)
		return writer_refuse(w, "two classes by the sign of a sum of leaves");
	return 0;
}

int
onnxml_write(const struct predictor *m, const char *where, void (*note)(const char *), struct buf *to,
             struct err *e)
{
	struct writer w = { .m = m, .where = where, .title = "ONNX", .note = note, .to = to, .e = e,
		.steps = true };
	struct buf graph = { 0 };
	int r = check(&w) < 0 || writer_begin(&w) < 0 || put_graph(&w, &graph) < 0 ? -1 : 0;

	onnx_put_number(to, MODEL_IR, IR);
	onnx_put_text(to, MODEL_PRODUCER, "apr tools");
	onnx_put_message(to, MODEL_GRAPH, &graph);
	put_opset(to, "", OPSET);
	put_opset(to, "ai.onnx.ml", OPSET_ML);
	writer_end(&w);
	return r < 0 ? -1 : buf_ok(to) ? 0 : err_memory(e);
}
