#include "predict/nets/onnxnet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/mem.h"
#include "predict/onnx/onnxops.h"
#include "predict/readers.h"

/* Fields of a constant, and types of its values. */
enum { CONSTANT_DIMS = 1, CONSTANT_TYPE, CONSTANT_FLOATS = 4, CONSTANT_INTS, CONSTANT_LONGS = 7, CONSTANT_NAME,
	CONSTANT_RAW, CONSTANT_DOUBLES, CONSTANT_EXTERNAL = 13 };
enum { TYPE_FLOAT = 1, TYPE_INT32 = 6, TYPE_INT64, TYPE_HALF = 10, TYPE_DOUBLE };

/* ---- constants ---- */

static const struct onnxnet_constant *
find(const struct onnxnet *x, struct onnxml_part name)
{
	const struct onnxnet_constant *c = (const struct onnxnet_constant *)(const void *)x->constants.p;
	size_t i, n = x->constants.n / sizeof *c;

	for (i = 0; i < n && !onnxml_equal(c[i].name, name); i++)
		;
	return i < n ? &c[i] : NULL;
}

bool
onnxnet_given(const struct onnxnet *x, size_t i)
{
	return i < x->x.input_count && i < ONNXML_ENDS && x->x.inputs[i].n;
}

const struct onnxnet_constant *
onnxnet_constant(const struct onnxnet *x, size_t i)
{
	return onnxnet_given(x, i) ? find(x, x->x.inputs[i]) : NULL;
}

/* Reads the dimensions of a constant. */
static int
read_dims(struct onnxnet *x, struct onnxnet_constant *c)
{
	struct protobuf_numbers n;
	uint64_t v;
	int r;

	c->items = 1;
	protobuf_numbers_open(&n, c->tensor.p, c->tensor.n, 0, CONSTANT_DIMS, PROTOBUF_VARINT, x->x.where, x->x.e);
	while ((r = protobuf_number(&n, &v)) == 1) {
		if (c->ndim == ONNXNET_SHAPE || v > FOREST_FEATURES || __builtin_mul_overflow(c->items, v, &c->items))
			return keras_wrong(&x->k, "the shape of a constant is not read");
		c->dims[c->ndim++] = (size_t)v;
	}
	return r;
}

static int
add_constant(struct onnxnet *x, struct onnxnet_constant c)
{
	if (x->constants.n / sizeof c >= ONNXNET_CONSTANTS)
		return keras_wrong(&x->k, "the model has too many constants");
	buf_put(&x->constants, &c, sizeof c);
	return buf_ok(&x->constants) ? 0 : err_memory(x->x.e);
}

/* A tensor under the name of a node's output, or under its own. */
static int
take_tensor(struct onnxnet *x, struct onnxml_part tensor, const struct onnxml_part *name)
{
	struct onnxnet_constant c = { .tensor = tensor };
	struct protobuf m;
	struct protobuf_field f;

	protobuf_open(&m, tensor.p, tensor.n, x->x.where, x->x.e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == CONSTANT_TYPE && f.form == PROTOBUF_VARINT)
			c.type = f.value;
		else if (f.number == CONSTANT_NAME && f.form == PROTOBUF_BYTES)
			c.name = (struct onnxml_part){ f.p, (size_t)f.value };
		else if (f.number == CONSTANT_EXTERNAL)
			c.type = 0;
	if (name)
		c.name = *name;
	if (x->x.e->code != ERR_NONE || read_dims(x, &c) < 0)
		return -1;
	return c.name.n ? add_constant(x, c) : 0;
}

static int
take_initializer(struct onnxnet *x, struct onnxml_part tensor)
{
	return take_tensor(x, tensor, NULL);
}

/* A value of a type, from its bytes. */
static double
raw_value(uint64_t type, const uint8_t *p)
{
	switch (type) {
	case TYPE_FLOAT:
		return (double)le_f32(p);
	case TYPE_HALF:
		return (double)half_f16_f32(le16(p));
	case TYPE_INT32:
		return (double)(int32_t)le32(p);
	case TYPE_INT64:
		return (double)(int64_t)le64(p);
	default:
		return le_f64(p);
	}
}

/* Where values of a type stand that are not raw. */
static const struct {
	uint64_t type;
	size_t bytes;
	uint32_t field;
	enum protobuf_form form;
} types[] = {
	{ TYPE_FLOAT, 4, CONSTANT_FLOATS, PROTOBUF_4 }, { TYPE_INT32, 4, CONSTANT_INTS, PROTOBUF_VARINT },
	{ TYPE_INT64, 8, CONSTANT_LONGS, PROTOBUF_VARINT }, { TYPE_HALF, 2, CONSTANT_INTS, PROTOBUF_VARINT },
	{ TYPE_DOUBLE, 8, CONSTANT_DOUBLES, PROTOBUF_8 },
};

/* Fills v with the values, raw or not. Returns their number, at most one more than items. */
static uint64_t
fill(struct onnxnet *x, const struct onnxnet_constant *c, size_t t, double *v, uint64_t items)
{
	struct protobuf_numbers n;
	struct onnxml_part raw;
	uint64_t i, one;
	uint8_t bytes[8];

	if (onnxml_inside(&x->x, c->tensor, CONSTANT_RAW, &raw)) {
		if (raw.n % types[t].bytes || raw.n / types[t].bytes != items)
			return items + 1;
		for (i = 0; i < items; i++)
			v[i] = raw_value(c->type, raw.p + i * types[t].bytes);
		return items;
	}
	protobuf_numbers_open(&n, c->tensor.p, c->tensor.n, 0, types[t].field, types[t].form, x->x.where, x->x.e);
	for (i = 0; i <= items && protobuf_number(&n, &one) == 1; i++) {
		le64_put(bytes, one);
		if (i < items)
			v[i] = raw_value(c->type, bytes);
	}
	return i;
}

double *
onnxnet_values(struct onnxnet *x, const struct onnxnet_constant *c, uint64_t items)
{
	double *v;
	size_t t = 0, n = sizeof types / sizeof *types;

	while (t < n && c && types[t].type != c->type)
		t++;
	if (!c || t == n || c->items != items || items == 0) {
		keras_wrong(&x->k, "an input is not a constant of %" PRIu64 " numbers in this file", items);
		return NULL;
	}
	if (items > x->left) {
		keras_wrong(&x->k, "constants have more values than the file, or are used too often");
		return NULL;
	}
	x->left -= items;
	v = mem_array((size_t)items, sizeof *v);
	if (!v) {
		err_memory(x->x.e);
		return NULL;
	}
	if (fill(x, c, t, v, items) == items && x->x.e->code == ERR_NONE)
		return v;
	keras_wrong(&x->k, "a constant does not have the values of its shape");
	free(v);
	return NULL;
}

/* ---- the graph ---- */

/* Not a sequence of layers, whatever else it is. */
static int
another(struct onnxnet *x, const char *what)
{
	x->other = true;
	return keras_wrong(&x->k, "%s", what);
}

/* Calls take for each field of a number. */
static int
each_part(struct onnxnet *x, struct onnxml_part of, uint32_t number,
          int (*take)(struct onnxnet *x, struct onnxml_part part))
{
	struct protobuf m;
	struct protobuf_field f;

	protobuf_open(&m, of.p, of.n, x->x.where, x->x.e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == number && f.form == PROTOBUF_BYTES &&
		    take(x, (struct onnxml_part){ f.p, (size_t)f.value }) < 0)
			return -1;
	return x->x.e->code == ERR_NONE ? 0 : -1;
}

/* A number of a message, 0 without it. */
static uint64_t
number_of(struct onnxnet *x, struct onnxml_part of, uint32_t number)
{
	struct protobuf m;
	struct protobuf_field f;
	uint64_t v = 0;

	protobuf_open(&m, of.p, of.n, x->x.where, x->x.e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == number && f.form == PROTOBUF_VARINT)
			v = f.value;
	return v;
}

static int
take_opset(struct onnxnet *x, struct onnxml_part opset)
{
	struct onnxml_part domain;

	if (!onnxml_inside(&x->x, opset, 1, &domain) || domain.n == 0 || onnxml_same(domain, "ai.onnx"))
		x->version = number_of(x, opset, 2);
	return 0;
}

/* A dimension of the input: the first one is that of rows. */
static int
take_dimension(struct onnxnet *x, struct onnxml_part dimension)
{
	uint64_t v = number_of(x, dimension, DIMENSION_VALUE);
	size_t i, all = 1;

	if (!x->rows) {
		x->rows = true;
		return v <= 1 || v == UINT64_MAX ? 0 : keras_wrong(&x->k, "the first dimension is not that of one row");
	}
	for (i = 0; i < x->k.ndim; i++)
		all *= x->k.dims[i];
	if (x->k.ndim == KERAS_SHAPE || v == 0 || v > FOREST_FEATURES / all)
		return keras_wrong(&x->k, "the shape of the input is not fixed");
	x->k.dims[x->k.ndim++] = (size_t)v;
	return 0;
}

static int
take_input(struct onnxnet *x, struct onnxml_part input)
{
	struct onnxml_part name, type, shape;

	if (!onnxml_inside(&x->x, input, INPUT_NAME, &name) || find(x, name))
		return x->x.e->code == ERR_NONE ? 0 : -1;
	if (x->inputs++)
		return another(x, "has several inputs: only sequences of operators are read");
	x->now = name;
	if (!onnxml_inside(&x->x, input, INPUT_TYPE, &type) || !onnxml_inside(&x->x, type, TYPE_TENSOR, &type) ||
	    !onnxml_inside(&x->x, type, TENSOR_SHAPE, &shape) || each_part(x, shape, SHAPE_DIMENSION, take_dimension) < 0)
		return x->x.e->code ? -1 : keras_wrong(&x->k, "the input has no shape");
	return x->k.ndim ? 0 : keras_wrong(&x->k, "the input has no shape");
}

static int
take_output(struct onnxnet *x, struct onnxml_part output)
{
	if (x->outputs++)
		return another(x, "has several outputs: only sequences of operators are read");
	return onnxml_inside(&x->x, output, INPUT_NAME, &x->end) ? 0 : keras_wrong(&x->k, "its output has no name");
}

static int
take_uses(struct onnxnet *x, struct onnxml_part node)
{
	struct onnxml_part op = { NULL, 0 };

	if (++x->nodes > ONNXNET_NODES)
		return keras_wrong(&x->k, "the model has more than %d operators", ONNXNET_NODES);
	if (onnxml_node(&x->x, node, &op) < 0)
		return -1;
	buf_put(&x->uses, x->x.inputs, (x->x.input_count < ONNXML_ENDS ? x->x.input_count : ONNXML_ENDS) * sizeof op);
	return buf_ok(&x->uses) ? 0 : err_memory(x->x.e);
}

bool
onnxnet_used(const struct onnxnet *x, struct onnxml_part name)
{
	const struct onnxml_part *p = (const struct onnxml_part *)(const void *)x->uses.p;
	size_t i, n = x->uses.n / sizeof *p;

	for (i = 0; i < n && !onnxml_equal(p[i], name); i++)
		;
	return name.n && (i < n || onnxml_equal(x->end, name));
}

/* A constant that a node gives another shape stays one: its values are those of the first. */
static int
reshape_constant(struct onnxnet *x)
{
	struct onnxnet_constant c = *onnxnet_constant(x, 0);
	struct buf b = { 0 };
	double *v = NULL;
	const double *d;
	size_t i, n;
	int r = 0;

	if (onnxml_has(&x->x, "shape")) {
		r = onnxml_numbers(&x->x, "shape", false, &b);
		n = b.n / sizeof *d;
	} else {
		n = onnxnet_constant(x, 1) ? (size_t)onnxnet_constant(x, 1)->items : 0;
		v = n ? onnxnet_values(x, onnxnet_constant(x, 1), n) : NULL;
	}
	d = v ? v : (const double *)(const void *)b.p;
	for (i = 0, c.items = 1; d && i < n && i < ONNXNET_SHAPE; i++) {
		c.dims[i] = d[i] >= 1 && d[i] <= FOREST_FEATURES ? (size_t)d[i] : 0;
		if (__builtin_mul_overflow(c.items, (uint64_t)c.dims[i], &c.items))
			c.items = 0;
	}
	c.ndim = i;
	if (r == 0 && (!d || i < n || c.items != onnxnet_constant(x, 0)->items))
		r = keras_wrong(&x->k, "the shape of a constant is not read");
	free(v);
	buf_free(&b);
	c.name = x->x.output;
	return r < 0 ? -1 : add_constant(x, c);
}

/* Nodes that make constants. 1, 0 if the node is not one, or -1. */
static int
take_constant(struct onnxnet *x, struct onnxml_part op)
{
	struct onnxml_part a, tensor;
	struct onnxnet_constant c;

	if (onnxml_same(op, "Constant")) {
		if (!onnxml_find(&x->x, "value", &a) || !onnxml_inside(&x->x, a, ATTRIBUTE_T, &tensor))
			return keras_wrong(&x->k, "a constant that is not a tensor is not read");
		return take_tensor(x, tensor, &x->x.output) < 0 ? -1 : 1;
	}
	if (!onnxnet_constant(x, 0))
		return 0;
	if (onnxml_same(op, "Reshape"))
		return reshape_constant(x) < 0 ? -1 : 1;
	if (!onnxml_same(op, "Identity"))
		return 0;
	c = *onnxnet_constant(x, 0);
	c.name = x->x.output;
	return add_constant(x, c) < 0 ? -1 : 1;
}

/* The tensor so far is one input of the node, the others are constants. 0 or -1. */
static int
prove_inputs(struct onnxnet *x)
{
	size_t i, made = 0, before = 0;

	for (i = 0; i < x->x.input_count && i < ONNXML_ENDS; i++)
		if (onnxnet_given(x, i) && !onnxnet_constant(x, i)) {
			made++;
			before += onnxml_equal(x->x.inputs[i], x->now);
		}
	if (made > 1 || x->x.input_count > ONNXML_ENDS)
		return another(x, "has several inputs: only sequences of operators are read");
	return before ? 0 : another(x, "does not follow the operator before it: only sequences are read");
}

static int
take_node(struct onnxnet *x, struct onnxml_part node)
{
	const struct onnxnet_operator *o = onnxnet_operators;
	struct onnxml_part op = { (const uint8_t *)"", 0 };
	int made;

	if (onnxml_node(&x->x, node, &op) < 0)
		return -1;
	snprintf(x->name, sizeof x->name, "%.*s", x->x.output.n < 79 ? (int)x->x.output.n : 79, (const char *)x->x.output.p);
	snprintf(x->kind, sizeof x->kind, "%.*s", op.n < 59 ? (int)op.n : 59, (const char *)op.p);
	if (x->x.domain.n && !onnxml_same(x->x.domain, "ai.onnx"))
		return another(x, "operators of another domain are not read");
	if (!x->x.output.n)
		return keras_wrong(&x->k, "makes nothing");
	made = take_constant(x, op);
	if (made)
		return made < 0 ? -1 : 0;
	while (o->name && !onnxml_same(op, o->name))
		o++;
	if (!o->name)
		return another(x, "operators of this kind are not read");
	if (prove_inputs(x) < 0 || o->read(x) < 0)
		return -1;
	x->now = x->x.output;
	return x->x.e->code == ERR_NONE ? 0 : -1;
}

static int
read_graph(struct onnxnet *x, struct onnxml_part graph)
{
	if (each_part(x, graph, GRAPH_INITIALIZER, take_initializer) < 0 || each_part(x, graph, GRAPH_OUTPUT, take_output) < 0 ||
	    each_part(x, graph, GRAPH_INPUT, take_input) < 0)
		return -1;
	if (x->inputs == 0 || x->outputs == 0)
		return keras_wrong(&x->k, "has no input or no output");
	if (each_part(x, graph, GRAPH_NODE, take_uses) < 0 || each_part(x, graph, GRAPH_NODE, take_node) < 0 ||
	    onnxnet_as_stored(x) < 0)
		return -1;
	return onnxml_equal(x->now, x->end) && x->k.m->step_count
	       ? 0 : keras_wrong(&x->k, "its last operator is not its output");
}

/* ---- files ---- */

/* The version of the form in front, then texts and numbers, then the graph. */
bool
onnxnet_probe(const uint8_t *p, size_t n)
{
	size_t i = 2;

	if (n < 4 || p[0] != 8 || p[1] == 0 || p[1] > 32)
		return false;
	while (i + 1 < n && (p[i] == 0x12 || p[i] == 0x1a || p[i] == 0x22 || p[i] == 0x32 || p[i] == 0x42) && p[i + 1] < 128)
		i += 2 + p[i + 1];
	if (i + 1 < n && p[i] == 0x28 && p[i + 1] < 128) /* the version of the model */
		i += 2;
	while (i + 1 < n && (p[i] == 0x32 || p[i] == 0x42) && p[i + 1] < 128)
		i += 2 + p[i + 1];
	return i + 1 < n && p[i] == 0x3a;
}

static int
read_net(struct predictor *m, const uint8_t *p, size_t n, const char *where, bool *other, struct err *e)
{
	struct onnxnet *x = mem_array(1, sizeof *x);
	struct onnxml_part model = { p, n }, graph;
	int r = -1;

	if (!x)
		return err_memory(e);
	*x = (struct onnxnet){ .x = { .m = m, .where = where, .e = e }, .w = { .name = where }, .left = n };
	x->k = (struct keras_net){ .m = m, .w = &x->w, .e = e, .layer = x->name, .kind = x->kind };
	snprintf(x->kind, sizeof x->kind, "graph");
	if (!onnxml_inside(&x->x, model, MODEL_GRAPH, &graph))
		keras_wrong(&x->k, "the model has no graph");
	else if (each_part(x, model, MODEL_OPSET, take_opset) == 0)
		r = read_graph(x, graph);
	*other = x->other;
	buf_free(&x->constants);
	buf_free(&x->uses);
	free(x);
	if (r < 0)
		return -1;
	keras_finish(m, "network of ONNX");
	return predictor_finish(m, where, e);
}

/* What is not a sequence of layers may be a pipeline of the few operators that are computed one by one (neighbours,
 * clusters). If it is neither, the layers say why. */
int
onnxnet_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct err layers = ERR_INIT, graph = ERR_INIT;

	bool other = false;

	if (read_net(m, p, n, where, &other, &layers) == 0)
		return 0;
	if (other) {
		onnxml_again(m);
		if (onnxops_read(m, p, n, where, &graph) == 0)
			return 0;
	}
	*e = layers;
	return -1;
}
