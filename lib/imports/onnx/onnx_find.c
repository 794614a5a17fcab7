/* The tensors of all graphs: initializers, sparse ones, and the values of nodes Constant. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/onnx/onnx.h"
#include "imports/torch/torch.h"

/* Check the name and keep the tensor. */
static int
keep(struct onnx *x, struct onnx_tensor *t)
{
	if (t->name.n == 0)
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has a tensor without a name");
	if (!text_utf8(t->name.p, t->name.n, false))
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has a tensor whose name is not "
		               "UTF-8");
	x->name_bytes += t->name.n;
	if (x->tensor_count == ONNX_TENSORS || x->name_bytes > ONNX_NAMES)
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has more than %u tensors, or "
		               "names of more than %u bytes", ONNX_TENSORS, ONNX_NAMES);
	if (mem_grow(&x->tensors, &x->tensor_cap, x->tensor_count + 1, sizeof *x->tensors) < 0)
		return err_memory(x->err);
	t->graph = x->graph_number;
	if (!t->part)
		t->part = "";
	t->kept = malloc(t->name.n);
	if (!t->kept)
		return err_memory(x->err);
	memcpy(t->kept, t->name.p, t->name.n);
	t->name.p = t->kept;
	x->tensors[x->tensor_count++] = *t;
	return 0;
}

static int
take_tensor(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *f,
            struct onnx_text name)
{
	struct onnx_tensor t = { 0 };
	int r = onnx_tensor(x, outer, f, &t);

	if (r < 0)
		return -1;
	if (name.p)
		t.name = name;
	x->strings += r == 0;
	return r ? keep(x, &t) : 0;
}

/* ---- sparse tensors ---- */

/* values: [NNZ]; indices: [NNZ], or [NNZ, dimensions of the shape]. */
static int
check_sparse(const struct onnx *x, const struct onnx_tensor *values,
             const struct onnx_tensor *indices, uint64_t rank)
{
	char name[304];

	if (values->ndim == 1 && indices->view.type->number == 7 &&
	    indices->dims[0] == values->dims[0] &&
	    (indices->ndim == 1 || (indices->ndim == 2 && indices->dims[1] == rank)))
		return 0;
	return err_set(x->err, ERR_CORRUPT, values->name.n ? onnx_show(values->name, name)
	               : x->source.name, "is a sparse tensor whose values and indices do not fit");
}

static int
take_sparse(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *f,
            struct onnx_text name)
{
	struct onnx_tensor values = { .part = ".values" }, indices = { .part = ".indices" };
	struct protobuf_numbers dims;
	struct protobuf m;
	struct protobuf_field g;
	uint64_t v, rank = 0, shape[TENSOR_DIMS];
	bool has_values = false, has_indices = false;
	int r, kind = 1;

	protobuf_within(&m, outer, f);
	while (kind > 0 && (r = protobuf_known(&m, &onnx_sparse, &g)) > 0)
		if (g.number == 1) {
			has_values = true;
			kind = onnx_tensor(x, &m, &g, &values);
		} else if (g.number == 2) {
			has_indices = true;
			kind = onnx_tensor(x, &m, &g, &indices);
		}
	if (kind <= 0 || r < 0) {
		x->strings += kind == 0;
		return kind < 0 || r < 0 ? -1 : 0;
	}
	protobuf_numbers_open(&dims, f->p, (size_t)f->value, protobuf_at(outer, f), 3,
	                      PROTOBUF_VARINT, x->source.name, x->err);
	dims.m.budget = &x->budget;
	while ((r = protobuf_number(&dims, &v)) > 0)
		if (rank++ < TENSOR_DIMS)
			shape[rank - 1] = v;
	if (r < 0)
		return -1;
	if (!has_values || !has_indices)
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has a sparse tensor without %s",
		               has_values ? "indices" : "values");
	if (name.p)
		values.name = name;
	if (check_sparse(x, &values, &indices, rank) < 0)
		return -1;
	if (format_chosen(&x->options, &torch_options[TORCH_DENSE])) {
		if (rank == 0 || rank > TENSOR_DIMS)
			return err_set(x->err, ERR_CORRUPT, x->source.name, "has a sparse tensor of %" PRIu64
			               " dimensions", rank);
		return onnx_make_dense(x, &values, &indices, (unsigned)rank, shape) < 0 ? -1
		       : keep(x, &values);
	}
	indices.name = values.name;
	return keep(x, &values) < 0 ? -1 : keep(x, &indices);
}

/* ---- nodes Constant ---- */

static int
take_numbers(struct onnx *x, const struct onnx_node *node, unsigned type, uint8_t field,
             bool scalar, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct onnx_tensor t = { .name = node->output, .view.type = onnx_type_of(type) };
	struct protobuf_numbers numbers;
	uint64_t v, n = 0;
	char name[304];
	int r;

	t.view.field = field;
	t.view.in = ONNX_NUMBERS;
	t.ndim = scalar ? 0 : 1;
	protobuf_numbers_open(&numbers, f->p, (size_t)f->value, protobuf_at(outer, f), field,
	                      type == 1 ? PROTOBUF_4 : PROTOBUF_VARINT, x->source.name, x->err);
	numbers.m.budget = &x->budget;
	while ((r = protobuf_number(&numbers, &v)) > 0)
		n++;
	t.dims[0] = n;
	if (r < 0 || onnx_numbers_view(x, outer, f, n, onnx_show(t.name, name), &t.view) < 0)
		return -1;
	return keep(x, &t);
}

/* A scalar of zero may be left out of the file; it then stays in the graph. */
static int
attribute(struct onnx *x, const struct onnx_node *node, const struct onnx_attribute *a,
          const struct protobuf *outer, const struct protobuf_field *f)
{
	if (!onnx_is(node->op, "Constant") || node->output.n == 0 || a->refers ||
	    (node->domain.n > 0 && !onnx_is(node->domain, "ai.onnx")))
		return 0;
	if (onnx_is(a->name, "value") && a->tensor.p)
		return take_tensor(x, a->m, &a->tensor, node->output);
	if (onnx_is(a->name, "sparse_value") && a->sparse.p)
		return take_sparse(x, a->m, &a->sparse, node->output);
	if (onnx_is(a->name, "value_float") && a->has_f)
		return take_numbers(x, node, 1, ATTRIBUTE_F, true, outer, f);
	if (onnx_is(a->name, "value_int") && a->has_i)
		return take_numbers(x, node, 7, ATTRIBUTE_I, true, outer, f);
	if (onnx_is(a->name, "value_floats"))
		return take_numbers(x, node, 1, ATTRIBUTE_FLOATS, false, outer, f);
	if (onnx_is(a->name, "value_ints"))
		return take_numbers(x, node, 7, ATTRIBUTE_INTS, false, outer, f);
	x->strings += onnx_is(a->name, "value_string") || onnx_is(a->name, "value_strings");
	return 0;
}

static int
field(struct onnx *x, const struct protobuf *graph, const struct protobuf_field *f)
{
	const struct onnx_text own = { 0 };

	if (f->number == GRAPH_INITIALIZER)
		return take_tensor(x, graph, f, own);
	return f->number == GRAPH_SPARSE ? take_sparse(x, graph, f, own) : 0;
}

/* ---- names ---- */

static int
compare(struct onnx_text a, struct onnx_text b)
{
	int r = memcmp(a.p, b.p, (size_t)num_min(a.n, b.n));

	return r ? r : a.n < b.n ? -1 : a.n > b.n;
}

static int
by_name(const void *a, const void *b, void *list)
{
	const struct onnx_tensor *t = list;
	const size_t i = *(const size_t *)a, j = *(const size_t *)b;
	int r = compare(t[i].name, t[j].name);

	if (r == 0 && t[i].graph != t[j].graph)
		r = t[i].graph < t[j].graph ? -1 : 1;
	return r ? r : i < j ? -1 : i > j;
}

/* Tensors of one graph have different names. Those of other graphs may repeat them. */
static int
check_twice(const struct onnx *x)
{
	const struct onnx_tensor *a, *b;
	char name[304];
	size_t i;

	for (i = 1; i < x->tensor_count; i++) {
		a = &x->tensors[x->by_name[i - 1]];
		b = &x->tensors[x->by_name[i]];
		if (compare(a->name, b->name) == 0 && a->graph == b->graph &&
		    !(strcmp(a->part, ".values") == 0 && strcmp(b->part, ".indices") == 0))
			return err_set(x->err, ERR_CORRUPT, onnx_show(a->name, name),
			               "is the name of two tensors of one graph");
	}
	return 0;
}

size_t
onnx_find(const struct onnx *x, struct onnx_text name)
{
	size_t low = 0, high = x->tensor_count, middle;

	if (name.n == 0)
		return SIZE_MAX;
	while (low < high) {
		middle = (low + high) / 2;
		if (compare(x->tensors[x->by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->tensor_count && compare(x->tensors[x->by_name[low]].name, name) == 0
	           ? x->by_name[low] : SIZE_MAX;
}

int
onnx_find_tensors(struct onnx *x)
{
	static const struct onnx_pass pass = { .field = field, .attribute = attribute };
	size_t i, k;

	if (onnx_walk(x, &pass) < 0)
		return -1;
	x->by_name = mem_array(x->tensor_count, sizeof *x->by_name);
	if (!x->by_name)
		return err_memory(x->err);
	for (i = 0; i < x->tensor_count; i++) {
		x->by_name[i] = i;
		x->tensors[i].use.scale = x->tensors[i].use.zero_point = SIZE_MAX;
		for (k = 0; k < ONNX_INTS; k++)
			x->tensors[i].use.ints[k] = ONNX_MISSING;
	}
	if (x->tensor_count > 0)
		qsort_r(x->by_name, x->tensor_count, sizeof *x->by_name, by_name, x->tensors);
	return check_twice(x);
}
