/* Keys: what the file says about itself, its inputs and outputs, and the scales of tensors. */
#include "imports/tflite/tflite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/json.h"
#include "core/le.h"
#include "core/text.h"

#define KEY 256 /* bytes of a key that is made of a name in the file */

/* ---- numbers ---- */

/* Nine digits give back any F32. JSON has no number for infinity and NaN. */
static void
put_float(struct buf *b, const uint8_t *p)
{
	const float v = le_f32(p);

	if (isfinite(v))
		buf_printf(b, "%.9g", (double)v);
	else
		buf_printf(b, "\"%s\"", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
}

static void
put_integer(struct buf *b, const uint8_t *p)
{
	buf_printf(b, "%" PRId64, (int64_t)le64(p));
}

/* One number, or a list of them. */
static void
put_numbers(struct buf *b, const struct flat_vector *v, size_t bytes,
            void (*put)(struct buf *b, const uint8_t *p))
{
	uint64_t i;

	if (v->count != 1)
		buf_text(b, "[");
	for (i = 0; i < v->count; i++) {
		buf_text(b, i ? "," : "");
		put(b, v->p + i * bytes);
	}
	if (v->count != 1)
		buf_text(b, "]");
}

/* ---- quantization ---- */

static void
put_member(struct buf *b, const char *name)
{
	buf_printf(b, "%s\"%s\":", b->n ? "," : "", name);
}

/* Blocks of values with scales in another tensor of the subgraph. */
static void
put_blocks(struct tflite *x, const struct flat_table *q, struct buf *b)
{
	const struct flat_table d = flat_inner(&x->flat, q, QUANT_DETAILS + 1);

	put_member(b, "block_size");
	buf_printf(b, "%" PRId32, (int32_t)flat_number(&x->flat, &d, 2, 4, 0));
	put_member(b, "scale_tensor");
	buf_printf(b, "%" PRId32, (int32_t)flat_number(&x->flat, &d, 0, 4, 0));
}

static void
put_quantization(struct tflite *x, const struct flat_table *tensor, struct buf *b)
{
	struct flat *f = &x->flat;
	const struct flat_table q = flat_inner(f, tensor, TENSOR_QUANTIZATION);
	const struct flat_vector scale = flat_list(f, &q, QUANT_SCALE, 4);
	const struct flat_vector zero = flat_list(f, &q, QUANT_ZERO_POINT, 8);

	if (flat_number(f, &q, QUANT_DETAILS, 1, 0) == 2)
		put_blocks(x, &q, b);
	if (scale.count == 0)
		return;
	put_member(b, "scale");
	put_numbers(b, &scale, 4, put_float);
	put_member(b, "zero_point");
	put_numbers(b, &zero, 8, put_integer);
	if (scale.count > 1) {
		put_member(b, "axis");
		buf_printf(b, "%" PRId32, (int32_t)flat_number(f, &q, QUANT_AXIS, 4, 0));
	}
}

int
tflite_relate(struct tflite *x, const struct tflite_tensor *t, const struct buf *name,
              const struct tflite_type *type)
{
	struct buf one = { 0 };

	put_quantization(x, &t->table, &one);
	if (t->layout) {
		put_member(&one, "layout");
		buf_printf(&one, "\"%s\"", t->layout);
	}
	if (type->bits < 8) {
		put_member(&one, "type");
		buf_printf(&one, "\"%s\"", type->name);
	}
	return import_relate(&x->import, &x->relations, (const char *)name->p, name->n, &one);
}

/* ---- inputs and outputs ---- */

/* "NAME: INT8 [1, 40], scale 0.1, zero point -128". */
static void
describe(struct tflite *x, const struct flat_table *tensor, struct buf *b)
{
	struct flat *f = &x->flat;
	const uint64_t number = flat_number(f, tensor, TENSOR_TYPE, 1, 0);
	const struct tflite_type *type = tflite_type_of(number);
	const struct flat_table q = flat_inner(f, tensor, TENSOR_QUANTIZATION);
	const struct flat_vector scale = flat_list(f, &q, QUANT_SCALE, 4);
	const struct flat_vector zero = flat_list(f, &q, QUANT_ZERO_POINT, 8);
	struct flat_vector shape = flat_list(f, tensor, TENSOR_SHAPE, 4);
	uint64_t i;
	size_t n;
	const char *name = flat_text(f, tensor, TENSOR_LABEL, &n);

	buf_put(b, name, n);
	buf_printf(b, ": %s [", type ? type->name : "?");
	for (i = 0; i < shape.count && i < TENSOR_DIMS; i++)
		buf_printf(b, "%s%" PRId32, i ? ", " : "", (int32_t)le32(shape.p + 4 * i));
	buf_text(b, "]");
	if (scale.count != 1)
		return;
	buf_text(b, ", scale ");
	put_float(b, scale.p);
	buf_text(b, ", zero point ");
	if (zero.count == 1)
		put_integer(b, zero.p);
	else
		buf_text(b, "0");
}

static int
add_list(struct tflite *x, const struct flat_table *graph, unsigned field, const char *key)
{
	const struct flat_vector tensors = flat_list(&x->flat, graph, GRAPH_TENSORS, 4);
	const struct flat_vector list = flat_list(&x->flat, graph, field, 4);
	struct buf wire = { 0 }, one = { 0 };
	struct flat_table t;
	uint64_t i;
	int r = 0;

	import_array(&wire, VALUE_STRING, list.count);
	for (i = 0; r == 0 && i < list.count; i++) {
		if (le32(list.p + 4 * i) >= tensors.count)
			r = import_fail(&x->import, ERR_CORRUPT, "has inputs or outputs that do not "
			                "exist");
		t = r == 0 ? flat_member(&x->flat, &tensors, le32(list.p + 4 * i))
		           : (struct flat_table){ 0 };
		buf_clear(&one);
		describe(x, &t, &one);
		import_string(&wire, one.p, one.n);
		if (r == 0)
			r = tflite_check(x);
	}
	if (r == 0 && list.count > 0)
		r = buf_ok(&one) ? import_value(&x->import, key,
		                                (struct value_type){ 1, VALUE_STRING }, &wire)
		                 : err_memory(x->import.err);
	buf_free(&wire);
	buf_free(&one);
	return r;
}

/* ---- metadata ---- */

/* A text that a key can hold, without the zeros that fill its buffer. */
static bool
is_text(const uint8_t *p, uint64_t *n)
{
	uint64_t i;

	while (*n > 0 && p[*n - 1] == 0)
		--*n;
	for (i = 0; i < *n; i++)
		if (p[i] < 0x20)
			return false;
	return *n > 0 && text_utf8((const char *)p, (size_t)*n, false);
}

static int
add_metadata(struct tflite *x)
{
	const struct flat_vector list = flat_list(&x->flat, &x->model, TFLITE_METADATA, 4);
	struct flat_table m;
	uint64_t i, n, left = 0;
	const uint8_t *p;
	const char *name;
	char key[KEY];
	size_t bytes;

	for (i = 0; i < list.count && !x->flat.fault; i++) {
		m = flat_member(&x->flat, &list, i);
		name = flat_text(&x->flat, &m, 0, &bytes);
		if (tflite_buffer(x, flat_number(&x->flat, &m, 1, 4, 0), &p, &n) < 0)
			return -1;
		if (bytes == 0 || bytes > KEY / 2 || !text_utf8(name, bytes, false) || !is_text(p, &n)) {
			left++;
			continue;
		}
		snprintf(key, sizeof key, "tflite.metadata.%.*s", (int)bytes, name);
		if (import_text(&x->import, key, p, (size_t)n) < 0)
			return -1;
	}
	if (left)
		import_note(&x->import, "left out: %" PRIu64 " part%s of metadata that %s not text",
		            left, left == 1 ? "" : "s", left == 1 ? "is" : "are");
	return tflite_check(x);
}

int
tflite_add_keys(struct tflite *x)
{
	const struct flat_vector graphs = flat_list(&x->flat, &x->model, TFLITE_GRAPHS, 4);
	struct flat_table graph = { 0 };
	const char *text;
	size_t n;

	if (graphs.count > 0)
		graph = flat_member(&x->flat, &graphs, 0);
	text = flat_text(&x->flat, &x->model, TFLITE_DESCRIPTION, &n);
	if (tflite_check(x) < 0 ||
	    (n > 0 && import_text(&x->import, "tflite.description", text, n) < 0) ||
	    add_list(x, &graph, GRAPH_INPUTS, "tflite.graph.inputs") < 0 ||
	    add_list(x, &graph, GRAPH_OUTPUTS, "tflite.graph.outputs") < 0)
		return -1;
	return add_metadata(x);
}
