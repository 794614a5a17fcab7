#include "imports/tflite/tflite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/torch/torch.h"

#define VERSION 3

int
tflite_check(struct tflite *x)
{
	if (!x->flat.fault)
		return 0;
	return import_fail(&x->import, ERR_CORRUPT, "%s, at offset %" PRIu64, x->flat.fault,
	                   x->flat.at);
}

/* ---- types ---- */

const struct tflite_type *
tflite_type_of(uint64_t number)
{
	static const struct tflite_type types[] = {
		{ "FLOAT32", "F32", 32, true }, { "FLOAT16", "F16", 16, true },
		{ "INT32", "I32", 32, true }, { "UINT8", "U8", 8, false },
		{ "INT64", "I64", 64, true }, { "STRING", NULL, 0, false },
		{ "BOOL", "BOOL", 8, false }, { "INT16", "I16", 16, true },
		{ "COMPLEX64", NULL, 64, true }, { "INT8", "I8", 8, true },
		{ "FLOAT64", "F64", 64, true }, { "COMPLEX128", NULL, 128, true },
		{ "UINT64", "U64", 64, false }, { "RESOURCE", NULL, 0, false },
		{ "VARIANT", NULL, 0, false }, { "UINT32", "U32", 32, false },
		{ "UINT16", "U16", 16, false }, { "INT4", "I8", 4, true },
		{ "BFLOAT16", "BF16", 16, true }, { "INT2", "I8", 2, true },
		{ "UINT4", "U8", 4, false }, { "FLOAT8_E4M3FN", "F8_E4M3", 8, true },
		{ "FLOAT8_E5M2", "F8_E5M2", 8, true },
	};

	return number < sizeof types / sizeof *types ? &types[number] : NULL;
}

/* Values of `more[0]` bits, the first one in the lowest bits of a byte, become bytes; with
 * `more[1]` their highest bit is a sign. */
static void
widen(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const unsigned bits = (unsigned)x->more[0], each = 8 / bits, mask = (1u << bits) - 1;
	const unsigned sign = x->more[1] ? 1u << (bits - 1) : 0;
	uint64_t i;

	for (i = first; i < first + count; i++) {
		const unsigned v = x->p[i / each] >> (i % each * bits) & mask;

		*to++ = (uint8_t)((v ^ sign) - sign);
	}
}

/* ---- collecting tensors ---- */

int
tflite_buffer(struct tflite *x, uint64_t number, const uint8_t **p, uint64_t *n)
{
	struct flat *f = &x->flat;
	struct flat_table b;
	struct flat_vector data;
	uint64_t at, end;

	*n = 0;
	if (number >= x->buffers.count)
		return import_fail(&x->import, ERR_CORRUPT, "refers to buffer %" PRIu64 " of %" PRIu64,
		                   number, x->buffers.count);
	b = flat_member(f, &x->buffers, number);
	data = flat_list(f, &b, 0, 1);
	at = flat_number(f, &b, 1, 8, 0);
	*p = data.p;
	*n = data.count;
	if (at <= 1)
		return tflite_check(x);
	*n = flat_number(f, &b, 2, 8, 0);
	if (num_add(at, *n, &end) < 0 || end > x->import.n)
		return import_fail(&x->import, ERR_CORRUPT, "has a buffer that ends beyond its end");
	*p = x->import.p + at;
	return tflite_check(x);
}

/* The layout of the weights of an operator; NULL: not known. */
static const char *
layout_of(struct tflite *x, const struct flat_table *operator)
{
	static const struct { uint32_t code; const char *layout; } rows[] = {
		{ 3, "OHWI" },   /* CONV_2D */
		{ 4, "1HWO" },   /* DEPTHWISE_CONV_2D */
		{ 9, "OI" },     /* FULLY_CONNECTED */
		{ 67, "OHWI" },  /* TRANSPOSE_CONV */
		{ 132, "DHWIO" }, /* CONV_3D */
	};
	const uint64_t number = flat_number(&x->flat, operator, 0, 4, 0);
	struct flat_table code;
	uint64_t old, new;
	size_t i;

	if (number >= x->codes.count)
		return NULL;
	code = flat_member(&x->flat, &x->codes, number);
	old = flat_number(&x->flat, &code, 0, 1, 0);
	new = flat_number(&x->flat, &code, 3, 4, 0);
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].code == (old > new ? old : new))
			return rows[i].layout;
	return NULL;
}

/* Set layouts[i] for the tensors that are second inputs of operators. */
static void
find_layouts(struct tflite *x, const struct flat_table *graph, const char **layouts,
             uint64_t tensors)
{
	const struct flat_vector list = flat_list(&x->flat, graph, GRAPH_OPERATORS, 4);
	struct flat_vector inputs;
	struct flat_table o;
	uint64_t i;

	x->operators += list.count;
	for (i = 0; i < list.count && !x->flat.fault; i++) {
		o = flat_member(&x->flat, &list, i);
		inputs = flat_list(&x->flat, &o, 1, 4);
		if (inputs.count > 1 && le32(inputs.p + 4) < tensors)
			layouts[le32(inputs.p + 4)] = layout_of(x, &o);
	}
}

static int
collect(struct tflite *x, const struct flat_table *graph, size_t number)
{
	const struct flat_vector list = flat_list(&x->flat, graph, GRAPH_TENSORS, 4);
	const char **layouts = mem_array((size_t)list.count, sizeof *layouts);
	struct tflite_tensor t = { .graph = number };
	size_t i;
	int r = layouts ? 0 : err_memory(x->import.err);

	if (r == 0)
		find_layouts(x, graph, layouts, list.count);
	if (number > 0)
		t.within = flat_text(&x->flat, graph, GRAPH_NAME, &t.within_bytes);
	for (i = 0; r == 0 && i < list.count && !x->flat.fault; i++) {
		t.number = i;
		t.layout = layouts[i];
		t.table = flat_member(&x->flat, &list, i);
		r = tflite_buffer(x, flat_number(&x->flat, &t.table, TENSOR_BUFFER, 4, 0), &t.p,
		                  &t.bytes);
		if (r < 0 || t.bytes == 0)
			continue;
		t.name = flat_text(&x->flat, &t.table, TENSOR_LABEL, &t.name_bytes);
		if (mem_grow(&x->tensors, &x->cap, x->count + 1, sizeof t) < 0)
			r = err_memory(x->import.err);
		else if (x->count == IMPORT_TENSORS)
			r = import_fail(&x->import, ERR_CORRUPT, "has more than %u tensors",
			                IMPORT_TENSORS);
		else
			x->tensors[x->count++] = t;
	}
	free(layouts);
	return r < 0 ? -1 : tflite_check(x);
}

/* By subgraph, name, and number. */
static int
compare(const void *a, const void *b)
{
	const struct tflite_tensor *const *s = a, *const *t = b;
	const size_t m = (*s)->name_bytes, n = (*t)->name_bytes;
	int r;

	if ((*s)->graph != (*t)->graph)
		return (*s)->graph < (*t)->graph ? -1 : 1;
	r = memcmp((*s)->name, (*t)->name, m < n ? m : n);
	if (r != 0 || m != n)
		return r != 0 ? r : m < n ? -1 : 1;
	return (*s)->number < (*t)->number ? -1 : (*s)->number > (*t)->number;
}

static int
find_repeated(struct tflite *x)
{
	struct tflite_tensor **order = mem_array(x->count, sizeof *order);
	size_t i;

	if (!order)
		return err_memory(x->import.err);
	for (i = 0; i < x->count; i++)
		order[i] = &x->tensors[i];
	qsort(order, x->count, sizeof *order, compare);
	for (i = 1; i < x->count; i++)
		order[i]->again = order[i]->graph == order[i - 1]->graph &&
		                  order[i]->name_bytes == order[i - 1]->name_bytes &&
		                  memcmp(order[i]->name, order[i - 1]->name, order[i]->name_bytes) == 0;
	free(order);
	return 0;
}

/* ---- adding them to the plan ---- */

static void
put_name(struct buf *b, const struct tflite_tensor *t)
{
	buf_clear(b);
	if (t->within && t->within_bytes)
		buf_put(b, t->within, t->within_bytes);
	else if (t->within)
		buf_printf(b, "subgraph.%zu", t->graph);
	if (t->within)
		buf_text(b, "/");
	if (t->name_bytes)
		buf_put(b, t->name, t->name_bytes);
	else
		buf_printf(b, "tensor.%zu", t->number);
	if (t->again && t->name_bytes)
		buf_printf(b, "#%zu", t->number);
}

static int
read_shape(struct tflite *x, const struct tflite_tensor *t, const char *name,
           struct tflite_shape *shape)
{
	const struct flat_vector v = flat_list(&x->flat, &t->table, TENSOR_SHAPE, 4);
	unsigned i;

	if (tflite_check(x) < 0)
		return -1;
	if (v.count > TENSOR_DIMS)
		return err_set(x->import.err, ERR_CORRUPT, name, "has %" PRIu64 " dimensions; at most "
		               "%d are possible", v.count, TENSOR_DIMS);
	shape->ndim = (unsigned)v.count;
	shape->values = 1;
	for (i = 0; i < shape->ndim; i++) {
		shape->dims[i] = le32(v.p + 4 * i);
		if (shape->dims[i] > INT32_MAX ||
		    num_mul(shape->values, shape->dims[i], &shape->values) < 0)
			return err_set(x->import.err, ERR_CORRUPT, name, "has a shape that is too large "
			               "or negative");
	}
	return 0;
}

/* Refuse a tensor whose bytes are not as many as its shape needs. */
static int
check_bytes(struct tflite *x, const struct tflite_tensor *t, const char *name,
            const struct tflite_type *type, uint64_t values)
{
	uint64_t bits;

	if (num_mul(values, type->bits, &bits) < 0 || num_add(bits, 7, &bits) < 0 ||
	    bits / 8 != t->bytes)
		return err_set(x->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes in its buffer "
		               "for %" PRIu64 " values of type %s", t->bytes, values, type->name);
	return 0;
}

/* A report shows the others. */
static int
refuse_sparse(struct tflite *x, const char *name)
{
	if (x->import.options.closed) {
		x->unread++;
		return 0;
	}
	err_set(x->import.err, ERR_FORMAT, name, "is a sparse tensor, which is read only as a dense one");
	return err_hint(x->import.err, DENSE_HINT);
}

static int
add_tensor(struct tflite *x, const struct tflite_tensor *t, const struct buf *name)
{
	const uint64_t number = flat_number(&x->flat, &t->table, TENSOR_TYPE, 1, 0);
	const struct tflite_type *type = tflite_type_of(number);
	struct import_place place = { .p = t->p };
	const char *text = (const char *)name->p;
	struct tflite_shape shape = { 0 };
	bool sparse;

	if (!type)
		return err_set(x->import.err, ERR_FORMAT, text, "has values of type %" PRIu64
		               ", which is not known", number);
	if (strcmp(type->name, "STRING") == 0) {
		x->texts++;
		return 0;
	}
	if (!type->type)
		return err_set(x->import.err, ERR_FORMAT, text, "has values of type %s, which are not "
		               "read", type->name);
	sparse = flat_has(&x->flat, &t->table, TENSOR_SPARSITY);
	if (sparse && !import_chosen(&x->import, &torch_options[TORCH_DENSE]))
		return refuse_sparse(x, text);
	if (read_shape(x, t, text, &shape) < 0 ||
	    (!sparse && check_bytes(x, t, text, type, shape.values) < 0))
		return -1;
	if (type->bits < 8) {
		place.make = widen;
		place.out = 1;
		place.more[0] = type->bits;
		place.more[1] = type->sign;
	}
	if (sparse && tflite_sparse(x, t, text, &shape, type->bits, &place) < 0)
		return -1;
	if (import_tensor(&x->import, text, name->n, dtype_by_name(type->type), shape.ndim,
	                  shape.dims, &place) < 0)
		return -1;
	return tflite_relate(x, t, name, type);
}

static int
add_tensors(struct tflite *x)
{
	struct buf name = { 0 };
	size_t i;
	int r = find_repeated(x);

	for (i = 0; r == 0 && i < x->count; i++) {
		put_name(&name, &x->tensors[i]);
		r = buf_string(&name) ? add_tensor(x, &x->tensors[i], &name)
		                      : err_memory(x->import.err);
		if (r == 0)
			r = tflite_check(x);
	}
	buf_free(&name);
	return r;
}

/* ---- the file ---- */

static int
read_model(struct tflite *x)
{
	struct import *im = &x->import;
	struct flat *f = &x->flat;
	struct flat_vector graphs;
	struct flat_table graph;
	uint64_t version;
	size_t i;

	x->model = flat_root(f, im->p, im->n, "TFL3");
	version = flat_number(f, &x->model, TFLITE_VERSION, 4, 0);
	if (tflite_check(x) < 0)
		return -1;
	if (version != VERSION)
		return import_fail(im, ERR_VERSION, "has version %" PRIu64 " of the schema; %d is read",
		                   version, VERSION);
	x->codes = flat_list(f, &x->model, TFLITE_CODES, 4);
	x->buffers = flat_list(f, &x->model, TFLITE_BUFFERS, 4);
	graphs = flat_list(f, &x->model, TFLITE_GRAPHS, 4);
	for (i = 0; i < graphs.count && !f->fault; i++) {
		graph = flat_member(f, &graphs, i);
		if (collect(x, &graph, i) < 0)
			return -1;
	}
	return tflite_check(x);
}

static int
read_file(struct import *im)
{
	struct tflite *x = (struct tflite *)im;

	if (read_model(x) < 0 || tflite_add_keys(x) < 0 || add_tensors(x) < 0 ||
	    import_related(im, TFLITE_TENSORS_KEY, &x->relations) < 0)
		return -1;
	if (x->texts)
		import_note(im, "left out: %" PRIu64 " tensor%s of texts", x->texts,
		            x->texts == 1 ? "" : "s");
	if (x->unread)
		import_note(im, "left out: tensors that apr-unpack refuses: %" PRIu64, x->unread);
	if (x->operators)
		import_note(im, "left out: %" PRIu64 " operator%s", x->operators,
		            x->operators == 1 ? "" : "s");
	return 0;
}

static void
close_file(struct import *im)
{
	struct tflite *x = (struct tflite *)im;

	free(x->tensors);
	tflite_sparse_free(x);
	buf_free(&x->relations);
}

static struct source *
open_file(struct reader *r, const struct format_options *options, void (*note)(const char *),
          struct err *e)
{
	static const struct import_kind kind = { .format = &format_tflite,
		.bytes = sizeof(struct tflite), .read = read_file, .begin = tflite_begin,
		.close = close_file };

	return import_open(&kind, r, options, note, e);
}

static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 8 && memcmp(head + 4, "TFL", 3) == 0 && head[7] >= '1' && head[7] <= '9';
}

/* The indices of a sparse tensor may be spooled. */
static bool
spools(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

static const struct format_reads reads = {
	.open = open_file,
	.describe = import_describe,
	.tensor_offset = import_tensor_offset,
	.spools = spools,
};

const struct format format_tflite = {
	.name = "tflite",
	.title = "TensorFlow Lite",
	.probe = probe,
	.reads = &reads,
	.shared = &torch_options[TORCH_DENSE],
};
