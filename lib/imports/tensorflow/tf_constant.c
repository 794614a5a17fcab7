/* Constants of a graph: TensorProto, whose values are bytes, or numbers of a field for their type.
 * If there are fewer numbers than values, the last one is repeated; if there are none, values are
 * zero. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/tensorflow/tensorflow.h"

#define CONTENT 4 /* number of the field tensor_content */

/* The fields of a TensorProto. */
struct proto {
	uint64_t type;
	struct protobuf_field content;
	struct protobuf_field eights; /* float8_val */
	uint32_t fields;              /* numbers of the fields with values: bits */
};

static int
wrong(struct tensorflow *x, const struct tf_constant *c, const char *what)
{
	return err_set(x->import.err, ERR_CORRUPT, c->name, "%s", what);
}

/* One field. */
static int
read_field(struct tensorflow *x, struct protobuf *m, const struct protobuf_field *f,
           struct tf_constant *c, struct proto *t)
{
	uint64_t items;

	if (f->number == 1 && f->form == PROTOBUF_VARINT)
		t->type = f->value;
	if (f->number == 2 && f->form == PROTOBUF_BYTES)
		return tf_shape(x, m, f, c->name, &c->ndim, c->dims, &items);
	if (f->number < CONTENT || f->number > 18 || (f->form == PROTOBUF_BYTES && f->value == 0))
		return 0;
	if ((f->number == CONTENT || f->number == 18) &&
	    (f->form != PROTOBUF_BYTES || t->fields >> f->number & 1))
		return wrong(x, c, "has values that are not bytes, or has them twice");
	t->fields |= 1u << f->number;
	if (f->number == CONTENT)
		t->content = *f;
	if (f->number == 18)
		t->eights = *f;
	return 0;
}

/* Numbers of the values' field, each within its limits. */
static int
count_numbers(struct tensorflow *x, struct tf_numbers *v, const struct tf_constant *c,
              uint64_t *count)
{
	const struct tf_type *t = c->type;
	uint64_t number;
	int r;

	*count = 0;
	if (tf_numbers_begin(x, v) < 0)
		return -1;
	while ((r = protobuf_number(&v->in, &number)) > 0) {
		if (t->form == PROTOBUF_VARINT && ((int64_t)number < t->low || (int64_t)number > t->high))
			return err_set(x->import.err, ERR_CORRUPT, c->name, "has a value %" PRId64 " of type "
			               "%s", (int64_t)number, t->name);
		++*count;
	}
	if (r == 0 && *count % t->each)
		return wrong(x, c, "has half of a complex number");
	*count /= t->each;
	return r;
}

/* Values that come from numbers. */
static int
take_numbers(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
             const struct proto *t, struct tf_constant *c, uint64_t items)
{
	struct tf_numbers *v = mem_array(1, sizeof *v);
	uint64_t count;

	if (!v)
		return err_memory(x->import.err);
	v->next = x->numbers;
	x->numbers = c->numbers = v;
	v->type = c->type;
	v->p = f->p;
	v->n = (size_t)f->value;
	v->at = protobuf_at(outer, f);
	count = t->eights.value;
	if (c->type->form == PROTOBUF_BYTES) {
		v->p = t->eights.p;
		v->n = (size_t)count;
	} else if (count_numbers(x, v, c, &count) < 0) {
		return -1;
	}
	if (count > items)
		return err_set(x->import.err, ERR_CORRUPT, c->name, "has %" PRIu64 " values, its shape is "
		               "that of %" PRIu64, count, items);
	if (num_add(x->filled, count < items ? c->bytes : 0, &x->filled) < 0 || x->filled > TF_FILLED)
		return err_set(x->import.err, ERR_CORRUPT, c->name, "repeats a value: such constants may "
		               "take at most %u bytes together", TF_FILLED);
	return 1;
}

/* Values in bytes. */
static int
take_content(struct tensorflow *x, const struct proto *t, struct tf_constant *c, uint64_t items)
{
	if (t->content.value != c->bytes)
		return err_set(x->import.err, ERR_CORRUPT, c->name, "has %" PRIu64 " bytes, but its shape "
		               "is that of %" PRIu64 " values of type %s", t->content.value, items,
		               c->type->name);
	c->p = t->content.p;
	return 1;
}

int
tf_constant(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
            struct tf_constant *c)
{
	struct proto t = { .type = 0 };
	struct protobuf_field g;
	struct protobuf m;
	uint64_t items = 1;
	unsigned d;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (read_field(x, &m, &g, c, &t) < 0)
			return -1;
	if (r < 0)
		return -1;
	c->type = tf_type_of(t.type);
	if (!c->type)
		return err_set(x->import.err, ERR_FORMAT, c->name, "has values of type %" PRIu64
		               ", which is not known", t.type);
	if (!c->type->type)
		return 0;
	for (d = 0; d < c->ndim; d++)
		if (num_mul(items, c->dims[d], &items) < 0)
			return wrong(x, c, "has a shape of too many values");
	if (num_mul(items, c->type->bytes, &c->bytes) < 0)
		return wrong(x, c, "has a shape of too many values");
	if (t.fields & ~(1u << CONTENT | 1u << c->type->field))
		return wrong(x, c, "has values in the field of another type");
	if (t.fields == (1u << CONTENT | 1u << c->type->field))
		return wrong(x, c, "has values in two fields");
	return t.content.p ? take_content(x, &t, c, items) : take_numbers(x, outer, f, &t, c, items);
}

/* ---- sending ---- */

int
tf_numbers_begin(struct tensorflow *x, struct tf_numbers *v)
{
	memset(v->last, 0, sizeof v->last);
	protobuf_numbers_open(&v->in, v->p, v->n, v->at, v->type->field, v->type->form,
	                      x->import.source.name, x->import.err);
	return 0;
}

/* Read the next value, if there is one more. */
static void
next_value(struct tf_numbers *v, unsigned width)
{
	const unsigned each = v->type->each, bytes = width / each;
	uint8_t wide[8];
	uint64_t number;
	unsigned i;

	for (i = 0; i < each && protobuf_number(&v->in, &number) > 0; i++) {
		le64_put(wide, number);
		memcpy(v->last + i * bytes, wide, bytes);
	}
}

void
tf_numbers_make(const struct import_place *place, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct tf_constant *c = place->data;
	struct tf_numbers *v = c->numbers;
	const unsigned width = v->type->bytes;
	uint64_t i;

	for (i = 0; i < count; i++, to += width) {
		if (v->type->form != PROTOBUF_BYTES)
			next_value(v, width);
		else if (v->n > 0)
			v->last[0] = v->p[num_min(first + i, v->n - 1)];
		memcpy(to, v->last, width);
	}
}
