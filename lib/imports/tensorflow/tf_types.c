/* The types of TensorFlow, and what the plan cannot say of them. */
#include "imports/tensorflow/tensorflow.h"

#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/num.h"
#include "core/text.h"

#define INT PROTOBUF_VARINT, 1
#define ANY INT64_MIN, INT64_MAX
#define NOT_READ 0, 0, INT, ANY

/* Values of 4 and 2 bits take a byte each. */
static const struct tf_type types[] = {
	{ 1, "FLOAT", "F32", 4, 5, PROTOBUF_4, 1, ANY },
	{ 2, "DOUBLE", "F64", 8, 6, PROTOBUF_8, 1, ANY },
	{ 3, "INT32", "I32", 4, 7, INT, INT32_MIN, INT32_MAX },
	{ 4, "UINT8", "U8", 1, 7, INT, 0, UINT8_MAX },
	{ 5, "INT16", "I16", 2, 7, INT, INT16_MIN, INT16_MAX },
	{ 6, "INT8", "I8", 1, 7, INT, INT8_MIN, INT8_MAX },
	{ TF_STRING, "STRING", NULL, NOT_READ },
	{ 8, "COMPLEX64", "C64", 8, 9, PROTOBUF_4, 2, ANY },
	{ 9, "INT64", "I64", 8, 10, INT, ANY },
	{ 10, "BOOL", "BOOL", 1, 11, INT, 0, 1 },
	{ 11, "QINT8", "I8", 1, 7, INT, INT8_MIN, INT8_MAX },
	{ 12, "QUINT8", "U8", 1, 7, INT, 0, UINT8_MAX },
	{ 13, "QINT32", "I32", 4, 7, INT, INT32_MIN, INT32_MAX },
	{ 14, "BFLOAT16", "BF16", 2, 13, INT, 0, UINT16_MAX },
	{ 15, "QINT16", "I16", 2, 7, INT, INT16_MIN, INT16_MAX },
	{ 16, "QUINT16", "U16", 2, 7, INT, 0, UINT16_MAX },
	{ 17, "UINT16", "U16", 2, 7, INT, 0, UINT16_MAX },
	{ 18, "COMPLEX128", NULL, NOT_READ },
	{ 19, "HALF", "F16", 2, 13, INT, 0, UINT16_MAX },
	{ TF_RESOURCE, "RESOURCE", NULL, NOT_READ },
	{ TF_VARIANT, "VARIANT", NULL, NOT_READ },
	{ 22, "UINT32", "U32", 4, 16, INT, 0, UINT32_MAX },
	{ 23, "UINT64", "U64", 8, 17, INT, ANY },
	{ 24, "FLOAT8_E5M2", "F8_E5M2", 1, 18, PROTOBUF_BYTES, 1, ANY },
	{ 25, "FLOAT8_E4M3FN", "F8_E4M3", 1, 18, PROTOBUF_BYTES, 1, ANY },
	{ 26, "FLOAT8_E4M3FNUZ", NULL, NOT_READ },
	{ 27, "FLOAT8_E4M3B11FNUZ", NULL, NOT_READ },
	{ 28, "FLOAT8_E5M2FNUZ", NULL, NOT_READ },
	{ 29, "INT4", "I8", 1, 7, INT, -8, 7 },
	{ 30, "UINT4", "U8", 1, 7, INT, 0, 15 },
	{ 31, "INT2", "I8", 1, 7, INT, -2, 1 },
	{ 32, "UINT2", "U8", 1, 7, INT, 0, 3 },
};

const struct tf_type *
tf_type_of(uint64_t number)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

/* Whether the plan's type leaves out what the type says. */
static bool
is_told(const struct tf_type *t)
{
	return t->name[0] == 'Q' || (t->name[0] == 'I' && t->low >= -8) ||
	       (t->name[0] == 'U' && t->high <= 15 && t->high >= 0);
}

/* The value is in the low bits of its byte. */
static void
make_narrow(const struct import_place *place, uint64_t first, uint64_t count, uint8_t *to)
{
	const unsigned bits = (unsigned)place->more[0];
	const bool sign = place->more[1] != 0;
	uint64_t i;
	unsigned v;

	for (i = 0; i < count; i++) {
		v = place->p[first + i] & ((1u << bits) - 1);
		to[i] = (uint8_t)(sign && v >> (bits - 1) ? v | ~0u << bits : v);
	}
}

void
tf_narrow(const struct tf_type *t, struct import_place *place)
{
	if (t->number < 29)
		return;
	place->make = make_narrow;
	place->in = place->out = 1;
	place->more[0] = t->number < 31 ? 4 : 2;
	place->more[1] = t->low < 0;
}

/* ---- texts ---- */

struct tf_text
tf_text_of(const struct protobuf_field *f)
{
	return (struct tf_text){ (const char *)f->p, (size_t)f->value };
}

bool
tf_is(struct tf_text t, const char *text)
{
	return t.n == strlen(text) && memcmp(t.p, text, t.n) == 0;
}

int
tf_text_in(const struct protobuf *outer, const struct protobuf_field *f, uint32_t number,
           struct tf_text *t)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	*t = (struct tf_text){ NULL, 0 };
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == number && g.form == PROTOBUF_BYTES)
			*t = tf_text_of(&g);
	return r;
}

const char *
tf_show(struct tf_text t, char to[208])
{
	return text_quote(to, 208, t.p ? t.p : "", t.n < 200 ? t.n : 200);
}

/* ---- the key of tensors ---- */

static void
put_member(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "%s\"%s\":", b->n ? "," : "", name);
	json_quote(b, value, strlen(value));
}

int
tf_relate(struct tensorflow *x, const char *name, const char *path, const char *layout,
          const struct tf_type *type)
{
	struct buf one = { 0 };

	if (path)
		put_member(&one, "path", path);
	if (layout)
		put_member(&one, "layout", layout);
	if (is_told(type))
		put_member(&one, "type", type->name);
	return import_relate(&x->import, &x->relations, name, strlen(name), &one);
}

/* ---- messages ---- */

void
tf_message(struct tensorflow *x, struct protobuf *m, const uint8_t *p, uint64_t n, uint64_t offset)
{
	struct protobuf whole = { .budget = &x->budget, .at = offset, .base = p,
		.map = &x->import.whole.map };
	const struct protobuf_field all = { .p = p, .value = n };

	whole.reader.name = x->import.source.name;
	whole.reader.err = x->import.err;
	protobuf_within(m, &whole, &all);
}

/* TensorShapeProto.Dim */
static int
read_dim(const struct protobuf *outer, const struct protobuf_field *f, uint64_t *size)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	*size = 0;
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == 1 && g.form == PROTOBUF_VARINT)
			*size = g.value;
	return r;
}

int
tf_shape(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
         const char *name, unsigned *ndim, uint64_t *dims, uint64_t *items)
{
	struct protobuf_field g;
	struct protobuf m;
	uint64_t all = 1;
	unsigned i;
	int r;

	*ndim = 0;
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.number == 3 && g.value)
			return err_set(x->import.err, ERR_CORRUPT, name, "has values, but its shape is not "
			               "known");
		if (g.number != 2 || g.form != PROTOBUF_BYTES)
			continue;
		if (*ndim == TENSOR_DIMS)
			return err_set(x->import.err, ERR_FORMAT, name, "has more than %d dimensions",
			               TENSOR_DIMS);
		if (read_dim(&m, &g, &dims[*ndim]) < 0)
			return -1;
		if (dims[(*ndim)++] > INT64_MAX)
			return err_set(x->import.err, ERR_CORRUPT, name, "has a dimension that is not known");
	}
	for (i = 0; i < *ndim; i++)
		if (dims[i] && num_mul(all, dims[i], &all) < 0)
			return err_set(x->import.err, ERR_CORRUPT, name, "has a shape of too many values");
	for (i = 0; i < *ndim; i++)
		all = dims[i] ? all : 0;
	*items = all;
	return r;
}
