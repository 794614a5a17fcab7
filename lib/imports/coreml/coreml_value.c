/* Values of a program that are stored: their types, and their places in messages. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/coreml/coreml_program.h"

static const struct coreml_type types[] = {
	{ 1, 0, 8, COREML_UNSIGNED, "BOOL" }, { 10, 1, 16, COREML_FLOAT, "F16" },
	{ 11, 2, 32, COREML_FLOAT, "F32" }, { 12, 0, 64, COREML_FLOAT, "F64" },
	{ 13, 5, 16, COREML_FLOAT, "BF16" }, { 21, 4, 8, COREML_SIGNED, "I8" },
	{ 22, 6, 16, COREML_SIGNED, "I16" }, { 23, 14, 32, COREML_SIGNED, "I32" },
	{ 24, 0, 64, COREML_SIGNED, "I64" }, { 25, 8, 4, COREML_SIGNED, NULL },
	{ 31, 3, 8, COREML_UNSIGNED, "U8" }, { 32, 7, 16, COREML_UNSIGNED, "U16" },
	{ 33, 15, 32, COREML_UNSIGNED, "U32" }, { 34, 0, 64, COREML_UNSIGNED, "U64" },
	{ 35, 11, 4, COREML_UNSIGNED, NULL }, { 36, 10, 2, COREML_UNSIGNED, NULL },
	{ 37, 9, 1, COREML_UNSIGNED, NULL }, { 38, 13, 6, COREML_UNSIGNED, NULL },
	{ 39, 12, 3, COREML_UNSIGNED, NULL }, { 40, 16, 8, COREML_FLOAT, "F8_E4M3" },
	{ 41, 17, 8, COREML_FLOAT, "F8_E5M2" },
};
#define TYPES (sizeof types / sizeof *types)
#define TEXT 2 /* the number of the type of texts */

const struct coreml_type *
coreml_type(uint32_t number)
{
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

const struct coreml_type *
coreml_type_of_bits(unsigned bits)
{
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (types[i].kind == COREML_UNSIGNED && types[i].bits == bits && types[i].number != 1)
			return &types[i];
	return NULL;
}

/* ---- one value ---- */

/* An integer of 1 to 64 bits; the first one of a byte has the lowest bits. */
static uint64_t
bits_at(const struct coreml_value *v, uint64_t i)
{
	const unsigned bits = v->type->bits, shift = (unsigned)(i * bits % 8);
	const uint8_t *p = v->p + i * bits / 8;
	unsigned two;

	if (bits == 64)
		return le64(p);
	if (bits == 32)
		return le32(p);
	if (bits == 16)
		return le16(p);
	two = p[0];
	if (shift + bits > 8)
		two |= (unsigned)p[1] << 8;
	return two >> shift & ((1u << bits) - 1);
}

int64_t
coreml_integer(const struct coreml_value *v, uint64_t i)
{
	uint64_t u = bits_at(v, i), sign = (uint64_t)1 << (v->type->bits - 1);

	return v->type->kind == COREML_SIGNED ? (int64_t)((u ^ sign) - sign) : (int64_t)u;
}

float
coreml_stored(const struct coreml_value *v, uint64_t i)
{
	uint64_t u;
	uint32_t narrow;
	double d;
	float f;

	if (v->type->kind == COREML_SIGNED)
		return (float)coreml_integer(v, i);
	u = bits_at(v, i);
	if (v->type->kind == COREML_UNSIGNED)
		return (float)u;
	if (v->type->bits == 16)
		return v->type->number == 10 ? half_f16_f32((uint16_t)u) : half_bf16_f32((uint16_t)u);
	if (v->type->bits == 64) {
		memcpy(&d, &u, sizeof d);
		return (float)d;
	}
	narrow = (uint32_t)u;
	memcpy(&f, &narrow, sizeof f);
	return f;
}

int
coreml_prove_size(struct coreml *s, const char *name, const struct coreml_value *v,
                  uint64_t bytes)
{
	uint64_t bits;

	if (num_mul(v->items, v->type->bits, &bits) < 0 || bytes != bits / 8 + (bits % 8 != 0))
		return err_set(s->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes, but its shape "
		               "needs %" PRIu64 " values of %u bits", bytes, v->items, v->type->bits);
	return 0;
}

/* ---- types ---- */

/* A Dimension: only one that is constant. */
static int
read_dimension(struct coreml *s, const char *name, const struct protobuf *outer,
               const struct protobuf_field *from, uint64_t *size)
{
	struct protobuf m, inner;
	struct protobuf_field f;
	bool constant = false;
	int r;

	*size = 0;
	protobuf_within(&m, outer, from);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number != 1 || f.form != PROTOBUF_BYTES)
			continue;
		constant = true;
		protobuf_within(&inner, &m, &f);
		while ((r = protobuf_next(&inner, &f)) > 0)
			if (f.number == 1 && f.form == PROTOBUF_VARINT)
				*size = f.value;
		if (r < 0)
			return -1;
	}
	if (r == 0 && !constant)
		return err_set(s->import.err, ERR_CORRUPT, name, "is a constant of unknown shape");
	return r;
}

/* A TensorType. 1; 0: of texts; -1. */
static int
read_tensor_type(struct coreml *s, const char *name, const struct protobuf *outer,
                 const struct protobuf_field *from, struct coreml_value *v)
{
	uint64_t number = 0, rank = 0;
	struct protobuf_field f;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, from);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == 1 && f.form == PROTOBUF_VARINT)
			number = f.value;
		if (f.number == 2 && f.form == PROTOBUF_VARINT)
			rank = f.value;
		if (f.number != 3 || f.form != PROTOBUF_BYTES)
			continue;
		if (v->ndim == COREML_DIMS)
			return err_set(s->import.err, ERR_FORMAT, name, "has more than %d dimensions",
			               COREML_DIMS);
		if (read_dimension(s, name, &m, &f, &v->dims[v->ndim]) < 0)
			return -1;
		if (num_mul(v->items, v->dims[v->ndim++], &v->items) < 0)
			return err_set(s->import.err, ERR_CORRUPT, name, "has a shape of too many values");
	}
	if (r < 0 || number == TEXT)
		return r;
	v->type = number <= UINT32_MAX ? coreml_type((uint32_t)number) : NULL;
	if (!v->type)
		return err_set(s->import.err, ERR_FORMAT, name, "has values of type %" PRIu64
		               ", which is not known", number);
	if (rank != v->ndim)
		return err_set(s->import.err, ERR_CORRUPT, name, "has rank %" PRIu64 " and %u dimensions",
		               rank, v->ndim);
	return 1;
}

/* A ValueType. 1; 0: not of a tensor; -1. */
static int
read_type(struct coreml *s, const char *name, const struct protobuf *outer,
          const struct protobuf_field *from, struct coreml_value *v)
{
	struct protobuf_field f, tensor = { .p = NULL };
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, from);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES)
			tensor = f;
	return r < 0 || !tensor.p ? r : read_tensor_type(s, name, &m, &tensor, v);
}

/* ---- values in the message ---- */

/* Packed varints become integers of 64 bits. */
static int
expand(struct coreml *s, const char *name, const struct protobuf_field *from,
       struct coreml_value *v)
{
	struct protobuf_numbers x;
	uint64_t i, n = 0;
	int r;

	if (v->items > from->value) /* a value takes a byte at least */
		return coreml_prove_size(s, name, v, from->value);
	v->owned = mem_array((size_t)v->items, 8);
	if (!v->owned)
		return err_memory(s->import.err);
	protobuf_numbers_open(&x, from->p, (size_t)from->value, 0, 1, PROTOBUF_VARINT,
	                      s->import.source.name, s->import.err);
	while ((r = protobuf_number(&x, &i)) > 0 && n < v->items)
		le64_put(v->owned + 8 * n++, i);
	if (r < 0)
		return -1;
	if (r > 0 || n != v->items)
		return err_set(s->import.err, ERR_CORRUPT, name, "has not as many values as its shape");
	v->type = coreml_type(24);
	v->p = v->owned;
	return 1;
}

/* The bytes of the only field of a Repeated…. */
static int
take_packed(const struct protobuf *outer, const struct protobuf_field *from,
            struct protobuf_field *to)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	*to = (struct protobuf_field){ .p = NULL };
	protobuf_within(&m, outer, from);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES)
			*to = f;
	return r;
}

/* A TensorValue. 1; 0: of texts; -1. */
static int
read_tensor(struct coreml *s, const char *name, const struct protobuf *outer,
            const struct protobuf_field *from, struct coreml_value *v)
{
	enum { FLOATS = 1, INTS, BOOLS, TEXTS, LONGS, DOUBLES, BYTES };
	struct protobuf_field f, values = { .p = NULL }, packed;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, from);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number <= BYTES && f.form == PROTOBUF_BYTES)
			values = f;
	if (r < 0 || values.number == TEXTS)
		return r;
	if ((values.number == FLOATS && v->type->number != 11) ||
	    (values.number == DOUBLES && v->type->number != 12) ||
	    ((values.number == INTS || values.number == LONGS || values.number == BOOLS) &&
	     v->type->kind == COREML_FLOAT) || !values.p)
		return err_set(s->import.err, ERR_CORRUPT, name, "has values of another type than its "
		               "own");
	if (values.number == INTS || values.number == LONGS || values.number == BOOLS)
		return expand(s, name, &values, v);
	if (take_packed(&m, &values, &packed) < 0)
		return -1;
	v->p = packed.p;
	return coreml_prove_size(s, name, v, packed.value) < 0 ? -1 : 1;
}

/* An ImmediateValue: only a tensor. */
static int
read_immediate(struct coreml *s, const char *name, const struct protobuf *outer,
               const struct protobuf_field *from, struct coreml_value *v)
{
	struct protobuf_field f, tensor = { .p = NULL };
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, from);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES)
			tensor = f;
	return r < 0 || !tensor.p ? r : read_tensor(s, name, &m, &tensor, v);
}

int
coreml_value_read(struct coreml *s, const char *name, const struct protobuf_field *from,
                  struct coreml_value *v)
{
	struct protobuf_field f, type = { .p = NULL }, immediate = type, blob = type;
	struct protobuf m;
	int r;

	*v = (struct coreml_value){ .items = 1, .at = coreml_stored };
	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES)
			continue;
		if (f.number == 2)
			type = f;
		if (f.number == 3)
			immediate = f;
		if (f.number == 5)
			blob = f;
	}
	if (r < 0 || !type.p)
		return r;
	if (!!immediate.p + !!blob.p != 1)
		return err_set(s->import.err, ERR_CORRUPT, name, "has its values in none or two places");
	r = read_type(s, name, &m, &type, v);
	if (r <= 0)
		return r;
	v->in_file = blob.p != NULL;
	return blob.p ? coreml_blob(s, name, &blob, v) : read_immediate(s, name, &m, &immediate, v);
}

/* ---- tensors ---- */

static void
make_values(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct coreml_value *v = x->data;
	uint64_t i;
	float f;

	for (i = first; i < first + count; i++, to += x->out) {
		f = v->at(v, i);
		if (x->out == 4)
			le_f32_put(to, f);
		else
			le16_put(to, v->type->number == 10 ? half_f32_f16(f) : half_f32_bf16(f));
	}
}

int
coreml_value_add(struct coreml *s, const char *name, const struct coreml_value *v)
{
	struct import_place x = { .p = v->p, .map = v->map };
	const char *dtype = v->type->dtype;

	if (v->dense)
		return err_set(s->import.err, ERR_FORMAT, name, "is sparse, and no operation makes it dense");
	if (v->ndim > TENSOR_DIMS)
		return err_set(s->import.err, ERR_FORMAT, name, "has more than %d dimensions", TENSOR_DIMS);
	if (v->at != coreml_stored || !dtype) {
		if (v->type->number != 10 && v->type->number != 13)
			dtype = "F32";
		x.make = make_values;
		x.out = strcmp(dtype, "F32") == 0 ? 4 : 2;
		x.data = v;
		if (v->data) {
			x.p = v->data->p;
			x.map = v->data->map;
		}
		s->decoded++;
	}
	return import_tensor(&s->import, name, strlen(name), dtype_by_name(dtype), v->ndim, v->dims,
	                     &x);
}
