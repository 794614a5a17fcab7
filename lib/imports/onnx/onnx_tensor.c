/* One TensorProto: its shape, its type, and where its values are. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "imports/onnx/onnx.h"

#define RELEASE (1u << 20) /* bytes of numbers that are checked at once */

/* A TensorProto, as far as its fields tell. */
struct found {
	uint64_t type, location;
	struct protobuf_field raw;
	uint64_t raw_at;
	bool has_raw, has_location, segment;
	unsigned typed;            /* a bit for each typed field that occurs */
	unsigned ndim;
	uint64_t fields;           /* typed ones */
	struct protobuf_field only; /* the last typed field */
	uint64_t only_at;
	struct onnx_external external;
	bool has_external;
};

static const struct { uint8_t field; const char *name; enum protobuf_form form; } typed[] = {
	{ TENSOR_FLOATS, "float_data", PROTOBUF_4 },
	{ TENSOR_INT32S, "int32_data", PROTOBUF_VARINT },
	{ TENSOR_STRINGS, "string_data", PROTOBUF_BYTES },
	{ TENSOR_INT64S, "int64_data", PROTOBUF_VARINT },
	{ TENSOR_DOUBLES, "double_data", PROTOBUF_8 },
	{ TENSOR_UINT64S, "uint64_data", PROTOBUF_VARINT },
};

static size_t
typed_row(uint8_t field)
{
	size_t i = 0;

	while (i + 1 < sizeof typed / sizeof *typed && typed[i].field != field)
		i++;
	return i;
}

enum protobuf_form
onnx_form(const struct onnx_type *t)
{
	return typed[typed_row(t->field)].form;
}

/* The name for messages: that of the tensor, or of the file. */
static const char *
name_of(const struct onnx *x, const struct onnx_tensor *t, char to[304])
{
	return t->name.n ? onnx_show(t->name, to) : x->source.name;
}

static int
bad(const struct onnx *x, const struct onnx_tensor *t, const char *what)
{
	char name[304];

	return err_set(x->err, ERR_CORRUPT, name_of(x, t, name), "%s", what);
}

static int
add_dim(const struct onnx *x, struct onnx_tensor *t, struct found *f, uint64_t v)
{
	char name[304];

	if (v > INT64_MAX)
		return bad(x, t, "has a negative dimension");
	if (t->ndim == TENSOR_DIMS)
		return err_set(x->err, ERR_FORMAT, name_of(x, t, name),
		               "has more than %u dimensions", TENSOR_DIMS);
	t->dims[t->ndim++] = v;
	f->ndim = t->ndim;
	return 0;
}

/* The dimensions are few, so their field is read alone, once the name is known. */
static int
read_dims(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *message,
          struct onnx_tensor *t, struct found *f)
{
	struct protobuf_numbers dims;
	uint64_t v;
	int r;

	protobuf_numbers_open(&dims, message->p, (size_t)message->value,
	                      protobuf_at(outer, message), TENSOR_DIM, PROTOBUF_VARINT,
	                      x->source.name, x->err);
	dims.m.budget = &x->budget;
	while ((r = protobuf_number(&dims, &v)) > 0)
		if (add_dim(x, t, f, v) < 0)
			return -1;
	return r;
}

static int
read_entry(struct onnx *x, const struct protobuf *m, const struct protobuf_field *f,
           struct onnx_tensor *t, struct onnx_external *e)
{
	struct onnx_text key = { 0 }, value = { 0 }, *to;
	struct protobuf entry;
	struct protobuf_field g;
	int r;

	protobuf_within(&entry, m, f);
	while ((r = protobuf_known(&entry, &onnx_entry, &g)) > 0)
		*(g.number == 1 ? &key : &value) = onnx_text_of(&g);
	if (r < 0)
		return -1;
	x->unknown += entry.unknown;
	to = onnx_is(key, "location") ? &e->location : onnx_is(key, "offset") ? &e->offset
	     : onnx_is(key, "length") ? &e->length : onnx_is(key, "checksum") ? &e->checksum : NULL;
	if (!to)
		return 0;
	if (to->p)
		return bad(x, t, "states the same of its external data twice");
	*to = value;
	return 0;
}

static void
note_typed(struct found *f, const struct protobuf *m, const struct protobuf_field *g)
{
	f->typed |= 1u << typed_row((uint8_t)g->number);
	f->fields++;
	f->only = *g;
	if (g->form == PROTOBUF_BYTES)
		f->only_at = protobuf_at(m, g);
}

static int
read_fields(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *message,
            struct onnx_tensor *t, struct found *f)
{
	struct protobuf m;
	struct protobuf_field g;
	int r;

	protobuf_within(&m, outer, message);
	while ((r = protobuf_known(&m, &onnx_tensor_proto, &g)) > 0) {
		switch (g.number) {
		case TENSOR_TYPE:
			f->type = g.value;
			break;
		case TENSOR_SEGMENT:
			f->segment = true;
			break;
		case TENSOR_NAMED:
			t->name = onnx_text_of(&g);
			break;
		case TENSOR_RAW:
			f->has_raw = true;
			f->raw = g;
			f->raw_at = protobuf_at(&m, &g);
			break;
		case TENSOR_LOCATION:
			f->location = g.value;
			f->has_location = true;
			break;
		case TENSOR_EXTERNAL:
			f->has_external = true;
			if (read_entry(x, &m, &g, t, &f->external) < 0)
				return -1;
			break;
		case TENSOR_FLOATS:
		case TENSOR_INT32S:
		case TENSOR_STRINGS:
		case TENSOR_INT64S:
		case TENSOR_DOUBLES:
		case TENSOR_UINT64S:
			note_typed(f, &m, &g);
			break;
		default:
			break;
		}
	}
	x->unknown += m.unknown;
	return r;
}

/* ---- numbers ---- */

/* True for one number of a typed field that the type can have. */
static bool
in_range(const struct onnx_type *t, uint64_t v)
{
	return (int64_t)v >= t->low && (int64_t)v <= t->high;
}

/* The codes in a number of a type with less than 8 bits, if each has one of its own. */
static bool
is_single(const struct onnx_type *t, uint64_t v)
{
	const int64_t half = 1 << (t->bits - 1), n = (int64_t)v;

	return n >= (t->low < 0 ? -half : 0) && n < 2 * half;
}

int
onnx_numbers_view(struct onnx *x, const struct protobuf *outer,
                  const struct protobuf_field *message, uint64_t values, const char *name,
                  struct onnx_view *v)
{
	const struct onnx_type *t = v->type;
	struct protobuf_numbers numbers;
	uint64_t number, count = 0, want, bytes;
	const uint8_t *from = message->p;
	bool single = true;
	int r;

	v->in = ONNX_NUMBERS;
	v->at = protobuf_at(outer, message);
	v->bytes = message->value;
	protobuf_numbers_open(&numbers, message->p, (size_t)message->value, v->at, v->field,
	                      onnx_form(t), x->source.name, x->err);
	numbers.m.budget = &x->budget;
	while ((r = protobuf_number(&numbers, &number)) > 0) {
		count++;
		if (!in_range(t, number))
			return err_set(x->err, ERR_CORRUPT, name, "has a number that is not a value of %s: "
			               "%" PRId64, t->name, (int64_t)number);
		if (t->bits < 8)
			single = single && is_single(t, number);
		if (numbers.p && (size_t)(numbers.p - from) > RELEASE) {
			onnx_release(x, from, RELEASE);
			from = numbers.p;
		}
	}
	if (r < 0)
		return -1;
	if (onnx_code_bytes(t, values, &bytes) < 0 || num_mul(values, t->each, &want) < 0)
		return err_set(x->err, ERR_CORRUPT, name, "has an impossible shape");
	v->single = t->bits < 8 && count == values && single;
	if (t->bits < 8 && !v->single)
		want = bytes;
	if (count == want)
		return 0;
	return err_set(x->err, ERR_CORRUPT, name, "has %" PRIu64 " number%s, its shape needs %" PRIu64,
	               count, count == 1 ? "" : "s", want);
}

/* Typed values: of the field that the type has, and of no other. */
static int
typed_view(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *message,
           struct onnx_tensor *t, const struct found *f, uint64_t values)
{
	const struct onnx_type *type = t->view.type;
	const size_t row = typed_row(type->field);
	char name[304];
	uint64_t bytes;

	if (f->typed != 1u << row)
		return err_set(x->err, ERR_CORRUPT, name_of(x, t, name), "has values of type %s in "
		               "another field than %s", type->name, typed[row].name);
	t->view.field = type->field;
	/* Packed floats are the values themselves. */
	if (f->fields == 1 && f->only.form == PROTOBUF_BYTES && typed[row].form != PROTOBUF_VARINT) {
		t->view.at = f->only_at;
		t->view.bytes = f->only.value;
		if (onnx_code_bytes(type, values, &bytes) == 0 && bytes == f->only.value)
			return 0;
		return err_set(x->err, ERR_CORRUPT, name_of(x, t, name), "has %" PRIu64
		               " bytes in %s, which do not fit its shape", f->only.value,
		               typed[row].name);
	}
	return onnx_numbers_view(x, outer, message, values, name_of(x, t, name), &t->view);
}

/* ---- where the values are ---- */

static int
raw_view(const struct onnx *x, struct onnx_tensor *t, const struct found *f, uint64_t values)
{
	char name[304];
	uint64_t bytes;

	t->view.at = f->raw_at;
	t->view.bytes = f->raw.value;
	if (onnx_code_bytes(t->view.type, values, &bytes) == 0 && bytes == f->raw.value)
		return 0;
	return err_set(x->err, ERR_CORRUPT, name_of(x, t, name), "has %" PRIu64
	               " bytes in raw_data, which do not fit its shape and type", f->raw.value);
}

static int
find_values(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *message,
            struct onnx_tensor *t, const struct found *f)
{
	const bool outside = f->has_location && f->location == 1;
	uint64_t values = 1, bytes;
	char name[304];
	unsigned i;

	for (i = 0; i < t->ndim; i++)
		if (t->dims[i] == 0)
			values = 0;
	for (i = 0; values > 0 && i < t->ndim; i++)
		if (num_mul(values, t->dims[i], &values) < 0)
			return bad(x, t, "has an impossible shape");
	if (f->has_location && f->location > 1)
		return bad(x, t, "has an unknown data_location");
	if (outside + f->has_raw + (f->typed != 0) > 1)
		return bad(x, t, "has its values in two places");
	if (f->has_external && !outside)
		return bad(x, t, "has external_data, but its data_location does not say so");
	if (outside && onnx_code_bytes(t->view.type, values, &bytes) < 0)
		return bad(x, t, "has an impossible shape");
	if (outside)
		return onnx_external_view(x, &f->external, bytes, name_of(x, t, name), &t->view);
	if (f->has_raw)
		return raw_view(x, t, f, values);
	if (f->typed)
		return typed_view(x, outer, message, t, f, values);
	t->view.at = protobuf_at(outer, message);
	return values == 0 ? 0 : bad(x, t, "has no values");
}

static int
find_type(const struct onnx *x, struct onnx_tensor *t, const struct found *f)
{
	char name[304];

	if (f->type == 0)
		return bad(x, t, "has no data_type");
	t->view.type = onnx_type_of(f->type);
	if (!t->view.type)
		return err_set(x->err, ERR_FORMAT, name_of(x, t, name), "has the data_type %" PRIu64
		               ", which is not known", f->type);
	if (!t->view.type->type && f->type != 8)
		return err_set(x->err, ERR_FORMAT, name_of(x, t, name), "has the data_type %s, which "
		               "is not read here", t->view.type->name);
	return 0;
}

int
onnx_tensor(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *message,
            struct onnx_tensor *t)
{
	struct found f = { 0 };

	if (read_fields(x, outer, message, t, &f) < 0 ||
	    read_dims(x, outer, message, t, &f) < 0 || find_type(x, t, &f) < 0)
		return -1;
	if (f.segment)
		return bad(x, t, "is a segment of a tensor, which is not read here");
	if (!t->view.type->type)
		return 0;
	return find_values(x, outer, message, t, &f) < 0 ? -1 : 1;
}
