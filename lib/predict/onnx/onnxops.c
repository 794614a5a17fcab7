/* Graphs of ONNX that are computed operator by operator: reading (onnxops.h). */
#include "predict/onnx/onnxops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

enum { VALUE_MAP = 5, MAP_VALUE = 2, OPSET_DOMAIN = 1, OPSET_VERSION };

int
ops_reader_wrong(struct ops_reader *x, const struct ops_node *n, const char *what)
{
	return err_set(x->x->e, ERR_CORRUPT, x->x->where, "node %zu (%s): %s", n->number, n->name, what);
}

static int
wrong(struct ops_reader *x, const char *what)
{
	return err_set(x->x->e, ERR_FORMAT, x->x->where, "%s", what);
}

static int
each_part(struct ops_reader *x, struct onnxml_part of, uint32_t number,
          int (*take)(struct ops_reader *x, struct onnxml_part part))
{
	struct protobuf m;
	struct protobuf_field f;

	protobuf_open(&m, of.p, of.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == number && f.form == PROTOBUF_BYTES &&
		    take(x, (struct onnxml_part){ f.p, (size_t)f.value }) < 0)
			return -1;
	return x->x->e->code == ERR_NONE ? 0 : -1;
}

/* ---- names ---- */

static int
add_name(struct ops_reader *x, struct onnxml_part name)
{
	struct step_text t = { (const char *)name.p, name.n };

	buf_put(&x->names, &t, sizeof t);
	return buf_ok(&x->names) ? 0 : err_memory(x->x->e);
}

static int
name_initializer(struct ops_reader *x, struct onnxml_part part)
{
	struct onnxml_part name;

	if (!onnxml_inside(x->x, part, 8, &name) || !name.n)
		return wrong(x, "a constant has no name");
	x->given++;
	return add_name(x, name);
}

static int
name_input(struct ops_reader *x, struct onnxml_part part)
{
	struct onnxml_part name;

	if (!onnxml_inside(x->x, part, INPUT_NAME, &name) || !name.n)
		return wrong(x, "an input has no name");
	return add_name(x, name);
}

static int
name_output(struct ops_reader *x, struct onnxml_part name)
{
	return name.n ? add_name(x, name) : 0;
}

static int
name_node(struct ops_reader *x, struct onnxml_part node)
{
	if (++x->node_total > OPS_NODES)
		return wrong(x, "the model has too many operators");
	return each_part(x, node, NODE_OUTPUT, name_output);
}

static size_t
find(const struct ops_reader *x, struct onnxml_part name)
{
	return name.n ? ops_search(&x->places, 0, (struct step_text){ (const char *)name.p, name.n }) : SIZE_MAX;
}

/* ---- constants and inputs ---- */

static int
take_initializer(struct ops_reader *x, struct onnxml_part part)
{
	struct onnxml_part name;

	if (!onnxml_inside(x->x, part, 8, &name) || find(x, name) != x->next)
		return wrong(x, "two constants have the same name");
	return ops_read_tensor(x, part, &x->g->constants[x->next++]);
}

/* The shape of an input: rank, and the width of a row. */
static int
read_shape(struct ops_reader *x, struct onnxml_part tensor, struct ops_input *in)
{
	struct onnxml_part shape;
	struct protobuf m, d;
	struct protobuf_field f, g;
	uint64_t last = 0;

	in->rank = 0;
	if (!onnxml_inside(x->x, tensor, TENSOR_SHAPE, &shape))
		return wrong(x, "the width of the rows is not known");
	protobuf_open(&m, shape.p, shape.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1) {
		if (f.number != SHAPE_DIMENSION || f.form != PROTOBUF_BYTES)
			continue;
		in->rank++;
		last = 0;
		protobuf_within(&d, &m, &f);
		while (protobuf_next(&d, &g) == 1)
			if (g.number == DIMENSION_VALUE && g.form == PROTOBUF_VARINT)
				last = g.value;
	}
	in->width = in->rank == 1 ? 1 : (size_t)last;
	if (x->x->e->code != ERR_NONE)
		return -1;
	if (in->rank == 0 || in->rank > 2 || last > FOREST_FEATURES)
		return wrong(x, "an input is not rows of values");
	if (in->width == 0 && in->type == OPS_STRING)
		in->width = 1;
	return in->width ? 0 : wrong(x, "the width of the rows is not known");
}

/* The type of an input. */
static int
read_type(struct ops_reader *x, struct onnxml_part part, struct ops_input *in)
{
	struct onnxml_part type, tensor, value;
	struct protobuf m;
	struct protobuf_field f;

	if (!onnxml_inside(x->x, part, INPUT_TYPE, &type))
		return wrong(x, "an input has no type");
	if (onnxml_inside(x->x, type, VALUE_MAP, &value)) { /* of numbers, whatever their type */
		in->type = OPS_FLOAT;
		in->rank = 2;
		in->map = true;
		return 0;
	}
	if (!onnxml_inside(x->x, type, TYPE_TENSOR, &tensor))
		return wrong(x, "an input is not a tensor");
	protobuf_open(&m, tensor.p, tensor.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == TENSOR_ELEMENT && f.form == PROTOBUF_VARINT)
			in->type = f.value < 64 ? (unsigned)f.value : 0;
	if (in->type != OPS_FLOAT && in->type != OPS_DOUBLE && in->type != OPS_INT64 && in->type != OPS_INT32 &&
	    in->type != OPS_BOOL && in->type != OPS_STRING)
		return wrong(x, "an input is of a type that is not read");
	return read_shape(x, tensor, in);
}

static int
take_input(struct ops_reader *x, struct onnxml_part part)
{
	struct ops_input in = { .place = x->next++ };
	struct onnxml_part name;
	size_t first;

	if (!onnxml_inside(x->x, part, INPUT_NAME, &name))
		return wrong(x, "an input has no name");
	first = find(x, name);
	if (first < x->given)
		return 0; /* its value is a constant */
	if (first != in.place)
		return wrong(x, "two inputs have the same name");
	if (read_type(x, part, &in) < 0)
		return -1;
	buf_put(&x->inputs, &in, sizeof in);
	return buf_ok(&x->inputs) ? 0 : err_memory(x->x->e);
}

/* ---- nodes ---- */

const struct ops_operator *
ops_find(const char *domain, struct onnxml_part name)
{
	static const struct ops_operator *const tables[] = { ops_math, ops_products, ops_shapes, ops_ml, ops_models,
		ops_text, ops_grams };
	const struct ops_operator *op;
	size_t i;

	for (i = 0; i < sizeof tables / sizeof *tables; i++)
		for (op = tables[i]; op->name; op++)
			if (strcmp(op->domain, domain) == 0 && onnxml_same(name, op->name))
				return op;
	return NULL;
}

/* The domains that are known, and their number in versions; -1: another one. */
static int
domain_of(struct onnxml_part domain, const char **name)
{
	static const struct { const char *text, *name; int number; } domains[] = {
		{ "", "", 0 }, { "ai.onnx", "", 0 }, { "ai.onnx.ml", "ml", 1 }, { "com.microsoft", "ms", 2 },
	};
	size_t i;

	for (i = 0; i < sizeof domains / sizeof *domains; i++)
		if (onnxml_same(domain, domains[i].text)) {
			*name = domains[i].name;
			return domains[i].number;
		}
	return -1;
}

static int
take_opset(struct ops_reader *x, struct onnxml_part part)
{
	struct onnxml_part domain = { (const uint8_t *)"", 0 };
	struct protobuf m;
	struct protobuf_field f;
	const char *name;
	double version = 1;
	int at;

	protobuf_open(&m, part.p, part.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == OPSET_DOMAIN && f.form == PROTOBUF_BYTES)
			domain = (struct onnxml_part){ f.p, (size_t)f.value };
		else if (f.number == OPSET_VERSION && f.form == PROTOBUF_VARINT)
			version = f.value < 1000 ? (double)f.value : 1000;
	at = domain_of(domain, &name);
	if (at >= 0)
		x->versions[at] = version;
	return x->x->e->code == ERR_NONE ? 0 : -1;
}

/* Places of the inputs or outputs of a node. */
static int
take_ends(struct ops_reader *x, struct onnxml_part node, uint32_t field, struct ops_node *n)
{
	bool output = field == NODE_OUTPUT;
	struct protobuf m;
	struct protobuf_field f;
	size_t count = output ? x->x->output_count : x->x->input_count, i = 0;
	size_t *to = ops_take(&x->g->memory, count, sizeof *to);

	if (!to)
		return err_memory(x->x->e);
	if (count > OPS_ENDS)
		return ops_reader_wrong(x, n, "a node has too many inputs or outputs");
	protobuf_open(&m, node.p, node.n, x->x->where, x->x->e);
	while (i < count && protobuf_next(&m, &f) == 1) {
		struct onnxml_part name = { f.p, (size_t)f.value };

		if (f.number != field || f.form != PROTOBUF_BYTES)
			continue;
		to[i] = find(x, name);
		if (name.n && (output ? to[i] != x->next : to[i] >= x->next))
			return wrong(x, output ? "two nodes make values of the same name"
			                       : "a node uses a value that is not there yet");
		if (output && name.n)
			((struct ops_node **)(void *)x->producers.p)[x->next++] = n;
		i++;
	}
	*(output ? &n->out : &n->in) = to;
	*(output ? &n->out_count : &n->in_count) = count;
	return x->x->e->code == ERR_NONE ? 0 : -1;
}

/* Computes a node whose inputs are constants, once. */
static int
fold(struct ops_reader *x, struct ops_node *n)
{
	size_t i;
	int r;

	for (i = 0; i < n->in_count; i++)
		if (n->in[i] != SIZE_MAX && !x->g->constants[n->in[i]].type)
			return 0;
	x->run->memory = x->g->memory;
	r = ops_run_node(x->run, n);
	x->g->memory = x->run->memory;
	x->run->memory = (struct ops_arena){ NULL, 0 };
	for (i = 0; r == 0 && i < n->out_count; i++)
		if (n->out[i] != SIZE_MAX)
			x->g->constants[n->out[i]] = x->run->values[n->out[i]];
	return r;
}

/* A map is as wide as the vocabulary of what reads it. */
static int
take_vocabulary(struct ops_reader *x, struct ops_node *n)
{
	struct ops_input *in = (struct ops_input *)(void *)x->inputs.p;
	const struct ops_attribute *a = ops_attribute(n, "string_vocabulary");
	size_t i;

	if (!a || !a->text_count || a->text_count > FOREST_FEATURES)
		return ops_reader_wrong(x, n, "the operator needs a vocabulary of texts");
	for (i = 0; n->in_count && i < x->inputs.n / sizeof *in; i++)
		if (in[i].place == n->in[0] && in[i].map && !in[i].width) {
			in[i].width = a->text_count;
			in[i].names = a;
			return 0;
		}
	return ops_reader_wrong(x, n, "the input is not a dictionary of the rows, or is used twice");
}

static int
take_node(struct ops_reader *x, struct onnxml_part node)
{
	struct ops_node *n = &x->g->nodes[x->node_total];
	struct onnxml_part op = { (const uint8_t *)"", 0 };
	const char *domain = "";
	int version;

	n->number = x->node_total;
	if (onnxml_node(x->x, node, &op) < 0)
		return -1;
	version = domain_of(x->x->domain, &domain);
	n->op = version < 0 ? NULL : ops_find(domain, op);
	if (!n->op)
		return err_set(x->x->e, ERR_FORMAT, x->x->where, "the operator %.*s is not read here",
		               op.n < 60 ? (int)op.n : 60, (const char *)op.p);
	x->node_total++;
	n->name = n->op->name;
	n->version = x->versions[version];
	if (take_ends(x, node, NODE_INPUT, n) < 0 || take_ends(x, node, NODE_OUTPUT, n) < 0 ||
	    ops_read_attributes(x, n) < 0)
		return -1;
	if (n->in_count < n->op->inputs)
		return ops_reader_wrong(x, n, "an input is missing");
	if (n->op->open && n->op->open(x, n) < 0)
		return -1;
	if (strcmp(n->name, "DictVectorizer") == 0 && take_vocabulary(x, n) < 0)
		return -1;
	return fold(x, n);
}

/* ---- the file ---- */

static int
take_output(struct ops_reader *x, struct onnxml_part part)
{
	struct onnxml_part name;
	size_t place = onnxml_inside(x->x, part, INPUT_NAME, &name) ? find(x, name) : SIZE_MAX;

	if (place == SIZE_MAX)
		return wrong(x, "an output is not made");
	buf_put(&x->outputs, &place, sizeof place);
	return buf_ok(&x->outputs) ? 0 : err_memory(x->x->e);
}


static int
find_names(struct ops_reader *x, struct onnxml_part graph)
{
	struct ops_graph *g = x->g;

	if (each_part(x, graph, GRAPH_INITIALIZER, name_initializer) < 0 || each_part(x, graph, GRAPH_INPUT, name_input) < 0 ||
	    each_part(x, graph, GRAPH_NODE, name_node) < 0)
		return -1;
	g->values = x->names.n / sizeof(struct step_text);
	if (g->values == 0 || x->node_total == 0)
		return wrong(x, "the graph computes nothing");
	g->node_count = x->node_total;
	g->nodes = mem_array(g->node_count, sizeof *g->nodes);
	g->constants = mem_array(g->values, sizeof *g->constants);
	buf_zeros(&x->producers, g->values * sizeof(struct ops_node *));
	if (!g->nodes || !g->constants || !buf_ok(&x->producers) ||
	    ops_table(&x->places, NULL, (const struct step_text *)(const void *)x->names.p, g->values) < 0)
		return err_memory(x->x->e);
	x->node_total = 0;
	x->run = ops_run_new(g, x->x->e);
	if (!x->run)
		return -1;
	x->run->work = OPS_WORK;
	return 0;
}

/* A row that shows which shapes there are. */
static int
try_row(struct ops_reader *x)
{
	static const struct step_text text = { "a", 1 };
	double *row = mem_array(x->x->m->features, sizeof *row);
	int r;

	if (!row)
		return err_memory(x->x->e);
	x->run->trial = true;
	x->run->texts = false;
	r = ops_run_row(x->run, row, x->g->reads_texts ? &text : NULL);
	free(row);
	return r;
}

static int
read_graph(struct ops_reader *x, struct onnxml_part graph)
{
	struct ops_graph *g = x->g;

	if (find_names(x, graph) < 0 || each_part(x, graph, GRAPH_INITIALIZER, take_initializer) < 0 ||
	    each_part(x, graph, GRAPH_INPUT, take_input) < 0 || each_part(x, graph, GRAPH_NODE, take_node) < 0 ||
	    each_part(x, graph, GRAPH_OUTPUT, take_output) < 0)
		return -1;
	g->input_count = x->inputs.n / sizeof *g->inputs;
	if (g->input_count == 0 || x->outputs.n == 0)
		return wrong(x, "the graph has no input or no output");
	g->inputs = (struct ops_input *)(void *)x->inputs.p;
	x->inputs = (struct buf){ 0 };
	return ops_set_inputs(x) < 0 || try_row(x) < 0 || ops_set_words(x) < 0 ? -1 : ops_set_outputs(x);
}

void
ops_graph_free(void *more)
{
	struct ops_graph *g = more;
	size_t i;

	for (i = 0; g->nodes && i < g->node_count; i++)
		if (g->nodes[i].more)
			g->nodes[i].free_more(g->nodes[i].more);
	ops_arena_free(&g->memory);
	free(g->nodes);
	free(g->constants);
	free(g->inputs);
	free(g->outputs);
	free((char *)(uintptr_t)g->where);
	free(g);
}

/* The graph as the only step of the predictor. */
static int
add_step(struct ops_reader *x)
{
	struct predictor *m = x->x->m;
	struct step *s = predictor_add_step(m);

	if (!s)
		return err_memory(x->x->e);
	*s = (struct step){ .kind = x->g->reads_texts ? &step_graph_texts : &step_graph, .in = m->features,
	                    .out = m->outputs, .more = x->g, .free_more = ops_graph_free };
	m->form = PREDICT_STEPS;
	m->kind = "pipeline of ONNX";
	m->sharpness = 1;
	return 0;
}

int
onnxops_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct onnxml *own = mem_array(1, sizeof *own);
	struct ops_graph *g = mem_array(1, sizeof *g);
	struct ops_reader x = { .x = own, .g = g, .file = n, .versions = { 1, 1, 1 } };
	struct onnxml_part model = { p, n }, graph, part;
	int r = -1;

	if (!own || !g || !(g->where = mem_text(where, strlen(where)))) {
		free(own);
		free(g);
		return err_memory(e);
	}
	*own = (struct onnxml){ .m = m, .where = where, .e = e };
	g->memory.left = (n < SIZE_MAX / 512 ? n * 192 : SIZE_MAX / 2) + (1 << 20);
	if (!onnxml_inside(own, model, MODEL_GRAPH, &graph) || !onnxml_inside(own, graph, GRAPH_OUTPUT, &part))
		err_set(e, ERR_NO, where, "the model has no graph, or no output");
	else if (each_part(&x, model, MODEL_OPSET, take_opset) == 0 && read_graph(&x, graph) == 0)
		r = add_step(&x);
	ops_run_free(x.run);
	if (r < 0)
		ops_graph_free(g);
	buf_free(&x.names);
	buf_free(&x.producers);
	buf_free(&x.inputs);
	buf_free(&x.outputs);
	free(x.places.keys);
	free(own);
	return r;
}
