/* The walk through all graphs: the main one, those inside nodes, and functions. */
#include <string.h>

#include "imports/onnx/onnx.h"

static const char *const ints[ONNX_INTS] = {
	[ONNX_TRANS_B] = "transB", [ONNX_AXIS] = "axis", [ONNX_BITS] = "bits",
	[ONNX_BLOCK] = "block_size",
};

static int walk_graph(struct onnx *x, const struct onnx_pass *pass, const struct protobuf *outer,
                      const struct protobuf_field *f, unsigned depth);

static int
walk_attribute(struct onnx *x, const struct onnx_pass *pass, struct onnx_node *node,
               const struct protobuf *outer, const struct protobuf_field *f, unsigned depth)
{
	struct onnx_attribute a = { 0 };
	struct protobuf m;
	struct protobuf_field g;
	int64_t number = 0;
	size_t i;
	int r;

	protobuf_within(&m, outer, f);
	a.m = &m;
	while ((r = protobuf_known(&m, &onnx_attribute, &g)) > 0) {
		if (g.number == ATTRIBUTE_NAME)
			a.name = onnx_text_of(&g);
		else if (g.number == ATTRIBUTE_TENSOR)
			a.tensor = g;
		else if (g.number == ATTRIBUTE_SPARSE)
			a.sparse = g;
		else if (g.number == ATTRIBUTE_REF)
			a.refers = g.value > 0;
		else if (g.number == ATTRIBUTE_F)
			a.has_f = true;
		else if (g.number == ATTRIBUTE_I) {
			a.has_i = true;
			number = (int64_t)g.value;
		} else if ((g.number == ATTRIBUTE_GRAPH || g.number == ATTRIBUTE_GRAPHS) &&
		           walk_graph(x, pass, &m, &g, depth + 1) < 0)
			return -1;
	}
	if (r < 0)
		return -1;
	x->unknown += m.unknown;
	for (i = 0; a.has_i && i < ONNX_INTS; i++)
		if (onnx_is(a.name, ints[i]))
			node->ints[i] = number;
	return pass->attribute ? pass->attribute(x, node, &a, outer, f) : 0;
}

/* The fields of a node apart from its attributes, which may come before them. */
static int
read_node(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *f,
          struct onnx_node *node)
{
	struct protobuf m;
	struct protobuf_field g;
	size_t i;
	int r;

	*node = (struct onnx_node){ .graph = x->graph_number };
	for (i = 0; i < ONNX_INTS; i++)
		node->ints[i] = ONNX_MISSING;
	protobuf_within(&m, outer, f);
	while ((r = protobuf_known(&m, &onnx_node, &g)) > 0) {
		if (g.number == NODE_INPUT && node->input_count < ONNX_INPUTS)
			node->input[node->input_count++] = onnx_text_of(&g);
		else if (g.number == NODE_OUTPUT && !node->output.p)
			node->output = onnx_text_of(&g);
		else if (g.number == NODE_NAME)
			node->name = onnx_text_of(&g);
		else if (g.number == NODE_OP)
			node->op = onnx_text_of(&g);
		else if (g.number == NODE_DOMAIN)
			node->domain = onnx_text_of(&g);
	}
	x->unknown += m.unknown;
	return r;
}

static int
walk_node(struct onnx *x, const struct onnx_pass *pass, const struct protobuf *outer,
          const struct protobuf_field *f, unsigned depth)
{
	struct protobuf m;
	struct protobuf_field g;
	struct onnx_node node;
	int r;

	x->nodes++;
	if (read_node(x, outer, f, &node) < 0)
		return -1;
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == NODE_ATTRIBUTE &&
		    walk_attribute(x, pass, &node, &m, &g, depth) < 0)
			return -1;
	x->graph_number = node.graph;
	return r < 0 ? -1 : pass->node ? pass->node(x, &node) : 0;
}

static int
walk_graph(struct onnx *x, const struct onnx_pass *pass, const struct protobuf *outer,
           const struct protobuf_field *f, unsigned depth)
{
	const uint64_t number = ++x->graphs, around = x->graph_number;
	struct protobuf m;
	struct protobuf_field g;
	int r;

	if (depth > ONNX_GRAPHS)
		return err_set(x->err, ERR_CORRUPT, x->source.name, "nests more than %u graphs",
		               ONNX_GRAPHS);
	protobuf_within(&m, outer, f);
	x->graph_number = number;
	while ((r = protobuf_known(&m, &onnx_graph, &g)) > 0)
		if ((g.number == GRAPH_NODE ? walk_node(x, pass, &m, &g, depth)
		     : pass->field ? pass->field(x, &m, &g) : 0) < 0)
			return -1;
	x->unknown += m.unknown;
	x->graph_number = around;
	return r;
}

static int
walk_function(struct onnx *x, const struct onnx_pass *pass, const struct protobuf_field *f)
{
	struct protobuf m;
	struct protobuf_field g;
	int r;

	protobuf_within(&m, &x->model, f);
	x->graph_number = ++x->graphs;
	while ((r = protobuf_known(&m, &onnx_function, &g)) > 0)
		if (g.number == FUNCTION_NODE && walk_node(x, pass, &m, &g, 1) < 0)
			return -1;
	x->unknown += m.unknown;
	return r;
}

int
onnx_walk(struct onnx *x, const struct onnx_pass *pass)
{
	const uint64_t unknown = x->unknown;
	struct protobuf m = x->model;
	struct protobuf_field f;
	bool again = x->nodes > 0;
	int r;

	x->nodes = x->graphs = 0;
	if (walk_graph(x, pass, &x->model, &x->graph, 1) < 0)
		return -1;
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == MODEL_FUNCTIONS && walk_function(x, pass, &f) < 0)
			return -1;
	if (again)
		x->unknown = unknown;
	return r;
}
