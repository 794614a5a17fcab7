#include "predict/nets/tflite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/mem.h"
#include "predict/readers.h"

#define OPERATORS 65536
/* Fields of schema.fbs, by number. */
enum { MODEL_CODES = 1, MODEL_GRAPHS, MODEL_BUFFERS = 4 };
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS };
enum { TENSOR_SHAPE, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_LABEL, TENSOR_QUANTIZATION, TENSOR_SPARSITY = 6 };
enum { QUANT_SCALE = 2, QUANT_ZERO, QUANT_AXIS = 6 };
enum { OPERATOR_CODE, OPERATOR_INPUTS, OPERATOR_OUTPUTS, OPERATOR_OPTIONS = 4 };

/* ---- tensors ---- */

/* A fault of the structure, as an error. */
static int
proved(struct tflite_net *x)
{
	if (!x->f.fault)
		return 0;
	return err_set(x->k.e, ERR_CORRUPT, x->w.name, "%s, at byte %" PRIu64, x->f.fault, x->f.at);
}

/* A tensor by its number; an empty table if it does not exist. */
static struct flat_table
tensor(struct tflite_net *x, uint32_t number)
{
	return number < x->tensors.count ? flat_member(&x->f, &x->tensors, number) : (struct flat_table){ 0 };
}

/* The bytes of a constant; none for what operators make. */
static struct flat_vector
bytes_of(struct tflite_net *x, uint32_t number)
{
	struct flat_table t = tensor(x, number);
	uint64_t buffer = flat_number(&x->f, &t, TENSOR_BUFFER, 4, 0);

	if (buffer >= x->buffers.count)
		return (struct flat_vector){ 0 };
	t = flat_member(&x->f, &x->buffers, buffer);
	return flat_list(&x->f, &t, 0, 1);
}

int
tflite_shape(struct tflite_net *x, uint32_t number, size_t *ndim, size_t dims[KERAS_SHAPE + 1])
{
	struct flat_table t = tensor(x, number);
	struct flat_vector v = flat_list(&x->f, &t, TENSOR_SHAPE, 4);
	uint64_t i;

	if (v.count > KERAS_SHAPE + 1)
		return keras_wrong(&x->k, "a tensor has %" PRIu64 " dimensions", v.count);
	for (i = 0; i < v.count; i++) {
		dims[i] = le32(v.p + 4 * i);
		if (dims[i] == 0 || dims[i] > FOREST_FEATURES)
			return keras_wrong(&x->k, "the shape of a tensor is not fixed");
	}
	*ndim = (size_t)v.count;
	return proved(x);
}

/* The shape of a row: without the number of rows in front. */
static int
row_of(struct tflite_net *x, uint32_t number, size_t *ndim, size_t dims[KERAS_SHAPE])
{
	size_t all[KERAS_SHAPE + 1];

	if (tflite_shape(x, number, ndim, all) < 0)
		return -1;
	if (*ndim < 2 || all[0] != 1)
		return keras_wrong(&x->k, "the first dimension is not that of one row");
	memcpy(dims, all + 1, --*ndim * sizeof *dims);
	return 0;
}

struct scales {
	struct flat_vector scale, zero;
	uint64_t inner; /* values that one scale is for, before the next one's */
};

/* Value i of a tensor, of the types that weights have; *bytes: of one value, 0 for other types. */
static double
value_at(uint64_t type, const uint8_t *p, uint64_t i, size_t *bytes)
{
	static const uint8_t sizes[] = { 4, 2, 4, 1, 0, 0, 0, 2, 0, 1 };

	*bytes = type < sizeof sizes ? sizes[type] : 0;
	switch (p ? type : UINT64_MAX) {
	case 0:
		return (double)le_f32(p + 4 * i);
	case 1:
		return (double)half_f16_f32(le16(p + 2 * i));
	case 2:
		return (double)(int32_t)le32(p + 4 * i);
	case 3:
		return p[i];
	case 7:
		return (double)(int16_t)le16(p + 2 * i);
	case 9:
		return (double)(int8_t)p[i];
	default:
		return 0;
	}
}

/* Scales of a tensor: none, one, or one for each place of a dimension. */
static int
scales_of(struct tflite_net *x, uint32_t number, struct scales *s)
{
	struct flat_table t = tensor(x, number), q = flat_inner(&x->f, &t, TENSOR_QUANTIZATION);
	uint64_t axis = flat_number(&x->f, &q, QUANT_AXIS, 4, 0);
	size_t ndim, dims[KERAS_SHAPE + 1], i;

	*s = (struct scales){ flat_list(&x->f, &q, QUANT_SCALE, 4), flat_list(&x->f, &q, QUANT_ZERO, 8), 1 };
	if (tflite_shape(x, number, &ndim, dims) < 0)
		return -1;
	if (ndim == 1) /* a bias: some files repeat the axis of the weights */
		axis = 0;
	if (s->scale.count > 1 && (axis >= ndim || dims[axis] != s->scale.count))
		return keras_wrong(&x->k, "its scales do not fit the shape of a tensor");
	for (i = (size_t)axis + 1; i < ndim; i++)
		s->inner *= dims[i];
	if (s->zero.count && s->zero.count != s->scale.count && s->zero.count != 1)
		return keras_wrong(&x->k, "its zero points do not fit the scales of a tensor");
	return 0;
}

double *
tflite_constant(struct tflite_net *x, uint32_t number, uint64_t items)
{
	struct flat_table t = tensor(x, number);
	struct flat_vector p = bytes_of(x, number);
	uint64_t type = flat_number(&x->f, &t, TENSOR_TYPE, 1, 0), i;
	struct scales s;
	size_t bytes;
	double *v;

	value_at(type, NULL, 0, &bytes);
	if (scales_of(x, number, &s) < 0)
		return NULL;
	if (bytes == 0 || flat_has(&x->f, &t, TENSOR_SPARSITY) || p.count / bytes != items || p.count % bytes) {
		keras_wrong(&x->k, "a constant is sparse, of another type, or not of %" PRIu64 " values", items);
		return NULL;
	}
	v = mem_array((size_t)items, sizeof *v);
	if (!v)
		err_memory(x->k.e);
	for (i = 0; v && i < items; i++) {
		uint64_t k = s.scale.count > 1 ? i / s.inner % s.scale.count : 0;
		uint64_t z = s.zero.count > 1 ? k : 0;

		v[i] = value_at(type, p.p, i, &bytes);
		if (s.scale.count)
			v[i] = (v[i] - (s.zero.count ? (double)(int64_t)le64(s.zero.p + 8 * z) : 0)) * (double)le_f32(s.scale.p + 4 * k);
	}
	return v;
}

uint32_t
tflite_input(const struct tflite_net *x, uint64_t i)
{
	return i < x->inputs.count ? le32(x->inputs.p + 4 * i) : NONE;
}

/* ---- the graph ---- */

/* A tensor of integers holds multiples of its scale between its limits: each value becomes the nearest. */
static int
quantize(struct tflite_net *x, uint32_t number)
{
	struct flat_table t = tensor(x, number);
	uint64_t type = flat_number(&x->f, &t, TENSOR_TYPE, 1, 0);
	double low = type == 9 ? -128 : type == 7 ? -32768 : 0, high = type == 7 ? 32767 : low + 255, zero;
	struct net_activation a = { NET_GRID, 0, 0, 0 };
	struct scales s;

	if (type == 0)
		return 0;
	if (scales_of(x, number, &s) < 0)
		return -1;
	if ((type != 3 && type != 7 && type != 9) || s.scale.count != 1)
		return keras_wrong(&x->k, "makes a tensor of a type that is not read");
	zero = s.zero.count ? (double)(int64_t)le64(s.zero.p) : 0;
	a.slope = (double)le_f32(s.scale.p);
	a.offset = (low - zero) * a.slope;
	a.high = (high - zero) * a.slope;
	if (!(a.slope > 0 && isfinite(a.high) && isfinite(a.offset)))
		return keras_wrong(&x->k, "its scale is not a positive number");
	return keras_activate(&x->k, &a);
}

/* The row gets the shape that the tensor has. */
static int
take_shape(struct tflite_net *x)
{
	size_t ndim, dims[KERAS_SHAPE], i, have = 1, want = 1;

	if (row_of(x, x->to, &ndim, dims) < 0)
		return -1;
	for (i = 0; i < x->k.ndim; i++)
		have *= x->k.dims[i];
	for (i = 0; i < ndim && want <= FOREST_FEATURES; i++)
		want *= dims[i];
	if (have != want)
		return keras_wrong(&x->k, "a row has %zu values, and its tensor another number", have);
	x->k.ndim = ndim;
	memcpy(x->k.dims, dims, ndim * sizeof *dims);
	return 0;
}

/* The kind of an operator: the greater of its old and its new number. NULL with an error. */
static const struct tflite_operator *
kind_of(struct tflite_net *x, const struct flat_table *o)
{
	uint64_t number = flat_number(&x->f, o, OPERATOR_CODE, 4, 0), old, new;
	struct flat_table code;
	size_t i;

	if (number >= x->codes.count) {
		err_set(x->k.e, ERR_CORRUPT, x->w.name, "an operator has a code that does not exist");
		return NULL;
	}
	code = flat_member(&x->f, &x->codes, number);
	old = flat_number(&x->f, &code, 0, 1, 0);
	new = flat_number(&x->f, &code, 3, 4, 0);
	old = old > new ? old : new;
	for (i = 0; tflite_operators[i].name; i++)
		if (tflite_operators[i].code == old) {
			x->k.kind = tflite_operators[i].name;
			return &tflite_operators[i];
		}
	snprintf(x->kind, sizeof x->kind, "operator %" PRIu64, old);
	x->k.kind = x->kind;
	keras_wrong(&x->k, "operators of this kind are not read");
	return NULL;
}

/* The operator takes the row so far and constants. 0 or -1. */
static int
prove_inputs(struct tflite_net *x)
{
	uint64_t i;

	for (i = 1; i < x->inputs.count; i++)
		if (tflite_input(x, i) != NONE && bytes_of(x, tflite_input(x, i)).count == 0)
			return keras_wrong(&x->k, "has several inputs: only sequences of operators are read");
	if (tflite_input(x, 0) != x->now)
		return keras_wrong(&x->k, "does not follow the operator before it: only sequences are read");
	return 0;
}

static int
read_operator(struct tflite_net *x, const struct flat_table *o)
{
	struct flat_vector outputs = flat_list(&x->f, o, OPERATOR_OUTPUTS, 4);
	const struct tflite_operator *kind;
	struct flat_table t;
	const char *name;
	size_t n;

	x->inputs = flat_list(&x->f, o, OPERATOR_INPUTS, 4);
	x->options = flat_inner(&x->f, o, OPERATOR_OPTIONS);
	x->to = outputs.count ? le32(outputs.p) : NONE;
	t = tensor(x, x->to);
	name = flat_text(&x->f, &t, TENSOR_LABEL, &n);
	snprintf(x->name, sizeof x->name, "%.*s", n < 79 ? (int)n : 79, name ? name : "");
	kind = kind_of(x, o);
	if (!kind || prove_inputs(x) < 0)
		return -1;
	if (outputs.count != 1 || x->to >= x->tensors.count)
		return keras_wrong(&x->k, "does not make one tensor");
	if (kind->read(x) < 0 || take_shape(x) < 0 || (!kind->smooth && quantize(x, x->to) < 0))
		return -1;
	x->now = x->to;
	return proved(x);
}

static int
read_graph(struct tflite_net *x, const struct flat_table *graph)
{
	struct flat_vector inputs = flat_list(&x->f, graph, GRAPH_INPUTS, 4);
	struct flat_vector outputs = flat_list(&x->f, graph, GRAPH_OUTPUTS, 4);
	struct flat_vector list = flat_list(&x->f, graph, GRAPH_OPERATORS, 4);
	uint64_t i;

	x->tensors = flat_list(&x->f, graph, GRAPH_TENSORS, 4);
	if (inputs.count != 1 || outputs.count != 1 || list.count > OPERATORS)
		return keras_wrong(&x->k, "has %" PRIu64 " inputs, %" PRIu64 " outputs and %" PRIu64 " operators", inputs.count,
		                   outputs.count, list.count);
	x->now = le32(inputs.p);
	if (row_of(x, x->now, &x->k.ndim, x->k.dims) < 0 || quantize(x, x->now) < 0)
		return -1;
	for (i = 0; i < list.count; i++) {
		struct flat_table o = flat_member(&x->f, &list, i);

		if (read_operator(x, &o) < 0)
			return -1;
	}
	if (proved(x) < 0)
		return -1;
	return x->now == le32(outputs.p) && x->k.m->step_count ? 0 : keras_wrong(&x->k, "its last operator is not its output");
}

bool
tflite_probe(const uint8_t *p, size_t n)
{
	return n > 8 && memcmp(p + 4, "TFL3", 4) == 0;
}

int
tflite_net_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct tflite_net x = { .w = { .name = where } };
	struct flat_table model = flat_root(&x.f, p, n, "TFL3"), graph;
	struct flat_vector graphs = flat_list(&x.f, &model, MODEL_GRAPHS, 4);

	x.k = (struct keras_net){ .m = m, .w = &x.w, .e = e, .layer = x.name, .kind = "graph" };
	x.codes = flat_list(&x.f, &model, MODEL_CODES, 4);
	x.buffers = flat_list(&x.f, &model, MODEL_BUFFERS, 4);
	if (proved(&x) < 0)
		return -1;
	if (graphs.count != 1)
		return keras_wrong(&x.k, "has %" PRIu64 " parts", graphs.count);
	graph = flat_member(&x.f, &graphs, 0);
	if (read_graph(&x, &graph) < 0)
		return -1;
	keras_finish(m, "network of TensorFlow Lite");
	return predictor_finish(m, where, e);
}
