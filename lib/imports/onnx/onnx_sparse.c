/* Sparse tensors that are made dense: imports/dense.h asks for their indices and values in order.
 *
 * The specification wants indices that ascend and differ; others are refused. Indices and values lie
 * in raw_data or typed fields; both are read from the beginning on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/dense.h"
#include "imports/onnx/onnx.h"

/* A place in the codes of a view. */
struct cursor {
	const struct onnx_view *view;
	struct protobuf_numbers numbers;
	uint64_t done; /* values */
};

struct onnx_sparse {
	struct onnx_sparse *next;
	struct onnx *in;
	char *name;
	struct onnx_view values, indices;
	struct cursor value, index;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
	bool linear;     /* an index is a number; else one for each dimension */
	uint64_t last;   /* the slot of the last index, plus 1 */
	struct dense dense;
};

/* ---- codes ---- */

static void
rewind_cursor(const struct onnx *x, struct cursor *c, const struct onnx_view *v)
{
	c->view = v;
	c->done = 0;
	if (v->in == ONNX_NUMBERS)
		protobuf_numbers_open(&c->numbers, x->p + v->at, (size_t)v->bytes, v->at, v->field,
		                      onnx_form(v->type), x->source.name, x->err);
}

/* Take a code of at most 16 bytes, which onnx_tensor has proved to be there. */
static void
take(const struct onnx *x, struct cursor *c, uint8_t code[16])
{
	const struct onnx_type *t = c->view->type;
	const unsigned width = t->bits / 8;
	uint8_t wide[8];
	uint64_t v;
	unsigned i;

	if (c->view->in == ONNX_NUMBERS)
		for (i = 0; i < t->each; i++) {
			le64_put(wide, protobuf_number(&c->numbers, &v) > 0 ? v : 0);
			memcpy(code + i * (width / t->each), wide, width / t->each);
		}
	else
		memcpy(code, x->p + c->view->at + c->done * width, width);
	c->done++;
}

/* ---- the list of imports/dense.h ---- */

static void
rewind_list(void *owner)
{
	struct onnx_sparse *s = owner;

	rewind_cursor(s->in, &s->index, &s->indices);
	s->last = 0;
}

static int
next_index(void *owner, uint64_t *slot, struct err *e)
{
	struct onnx_sparse *s = owner;
	const unsigned numbers = s->linear ? 1 : s->ndim;
	uint8_t code[16];
	uint64_t v;
	unsigned i;

	for (*slot = 0, i = 0; i < numbers; i++) {
		take(s->in, &s->index, code);
		v = le64(code);
		if (v >= (s->linear ? s->dense.slots : s->dims[i]))
			return err_set(e, ERR_CORRUPT, s->name, "is a sparse tensor with the index %" PRId64
			               ", which its shape does not have", (int64_t)v);
		*slot = s->linear ? v : *slot * s->dims[i] + v;
	}
	if (*slot < s->last)
		return err_set(e, ERR_CORRUPT, s->name, "is a sparse tensor whose indices do not ascend");
	s->last = *slot + 1;
	return 0;
}

static void
copy_values(void *owner, uint64_t first, uint64_t count, uint8_t *to)
{
	struct onnx_sparse *s = owner;
	const struct onnx_type *t = s->values.type;
	uint8_t code[16];

	if (!s->value.view || first < s->value.done)
		rewind_cursor(s->in, &s->value, &s->values);
	while (s->value.done < first)
		take(s->in, &s->value, code);
	for (; count > 0; count--, to += s->dense.element) {
		take(s->in, &s->value, code);
		if (t->decode)
			le16_put(code, t->decode(*code));
		memcpy(to, code, s->dense.element);
	}
}

static void
release(void *owner)
{
	const struct onnx_sparse *s = owner;

	onnx_release(s->in, s->in->p + s->values.at, s->values.bytes);
	onnx_release(s->in, s->in->p + s->indices.at, s->indices.bytes);
}

/* ---- tensors ---- */

static int
check(struct onnx *x, const struct onnx_sparse *s)
{
	const struct onnx_type *t = s->values.type;
	uint64_t bytes;

	if (t->bits < 8 || (t->decode && strcmp(t->type, "F16") != 0))
		return err_set(x->err, ERR_FORMAT, s->name, "is a sparse tensor of %s, which is not made "
		               "dense", t->name);
	if (s->values.in == ONNX_EXTERNAL || s->indices.in == ONNX_EXTERNAL)
		return err_set(x->err, ERR_FORMAT, s->name, "is a sparse tensor with values in another "
		               "file, which is not made dense");
	if (s->dense.runs > s->dense.slots)
		return err_set(x->err, ERR_CORRUPT, s->name,
		               "is a sparse tensor with more values than its shape has");
	if (num_mul(s->dense.slots, s->dense.element, &bytes) < 0 ||
	    num_add(x->dense_bytes, bytes, &x->dense_bytes) < 0 ||
	    (x->dense_bytes > DENSE_MORE && (x->dense_bytes - DENSE_MORE) / DENSE_COPIES > x->n))
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has sparse tensors of more than %"
		               PRIu64 " bytes in a file of %" PRIu64, DENSE_MORE, x->n);
	return 0;
}

int
onnx_make_dense(struct onnx *x, struct onnx_tensor *values, const struct onnx_tensor *indices,
                unsigned ndim, const uint64_t *dims)
{
	struct onnx_sparse *s = mem_array(1, sizeof *s);
	uint64_t slots = 1;
	char text[304];
	const char *name = values->name.n ? onnx_show(values->name, text) : x->source.name;
	unsigned i;

	if (!s)
		return err_memory(x->err);
	s->next = x->sparse;
	x->sparse = s;
	s->in = x;
	s->name = mem_text(name, strlen(name));
	if (!s->name)
		return err_memory(x->err);
	for (i = 0; i < ndim; i++)
		if (dims[i] > INT64_MAX || num_mul(slots, dims[i], &slots) < 0)
			return err_set(x->err, ERR_CORRUPT, s->name, "has an impossible shape");
	s->values = values->view;
	s->indices = indices->view;
	s->linear = indices->ndim == 1;
	s->ndim = values->ndim = ndim;
	memcpy(s->dims, dims, ndim * sizeof *dims);
	memcpy(values->dims, dims, ndim * sizeof *dims);
	s->dense = (struct dense){ .owner = s, .name = s->name, .slots = slots, .run = 1,
		.runs = indices->dims[0], .element = values->view.type->decode ? 2
		: values->view.type->bits / 8, .rewind = rewind_list, .next = next_index,
		.values = copy_values, .release = release };
	values->view.in = ONNX_DENSE;
	values->view.sparse = s;
	values->part = "";
	return check(x, s);
}

int
onnx_dense_begin(struct onnx *x, struct onnx_sparse *s)
{
	if (x->sparse_now)
		dense_end(&x->sparse_now->dense);
	x->sparse_now = s;
	s->value.view = NULL;
	return dense_begin(&s->dense, x->err);
}

size_t
onnx_dense_read(struct onnx_sparse *s, uint64_t left, uint8_t *to, size_t room)
{
	const size_t n = (size_t)num_min(left, room - room % s->dense.element);

	dense_read(&s->dense, n / s->dense.element, to);
	return n;
}

void
onnx_sparse_free(struct onnx *x)
{
	struct onnx_sparse *s;

	for (; (s = x->sparse); free(s)) {
		x->sparse = s->next;
		dense_end(&s->dense);
		free(s->name);
	}
}
