/* Tensors and attributes of ONNX as the operators of onnxops.h take them. */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "predict/onnx/onnxops.h"

enum { DIMS = 1, TYPE, FLOATS = 4, INTS, STRINGS, LONGS, RAW = 9, DOUBLES, EXTERNAL = 13, LOCATION };

/* Where values of a type stand, and their bytes if they are raw. */
static const struct kind {
	unsigned type;
	size_t bytes; /* 0: never raw */
	uint32_t field;
	enum protobuf_form form;
} kinds[] = {
	{ OPS_FLOAT, 4, FLOATS, PROTOBUF_4 }, { OPS_DOUBLE, 8, DOUBLES, PROTOBUF_8 },
	{ OPS_INT64, 8, LONGS, PROTOBUF_VARINT }, { OPS_INT32, 4, INTS, PROTOBUF_VARINT },
	{ OPS_BOOL, 1, INTS, PROTOBUF_VARINT }, { OPS_HALF, 2, INTS, PROTOBUF_VARINT },
};

static double
number(unsigned type, const uint8_t *p)
{
	switch (type) {
	case OPS_FLOAT:
		return (double)le_f32(p);
	case OPS_DOUBLE:
		return le_f64(p);
	case OPS_INT64:
		return (double)(int64_t)le64(p);
	case OPS_INT32:
		return (double)(int32_t)le32(p);
	case OPS_HALF:
		return (double)half_f16_f32(le16(p));
	default:
		return *p != 0;
	}
}

/* A copy of a text. */
static int
take_text(struct ops_reader *x, struct onnxml_part part, struct step_text *to)
{
	char *p = ops_take(&x->g->memory, part.n + 1, 1);

	if (!p)
		return err_memory(x->x->e);
	if (part.n)
		memcpy(p, part.p, part.n);
	*to = (struct step_text){ p, part.n };
	return 0;
}

/* The texts of a field, at most n of them are kept. Their number, or SIZE_MAX after an error. */
static size_t
take_texts(struct ops_reader *x, struct onnxml_part part, uint32_t field, struct step_text *to, size_t n)
{
	struct protobuf m;
	struct protobuf_field f;
	size_t i = 0;

	protobuf_open(&m, part.p, part.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == field && f.form == PROTOBUF_BYTES) {
			if (i < n && take_text(x, (struct onnxml_part){ f.p, (size_t)f.value }, &to[i]) < 0)
				return SIZE_MAX;
			i++;
		}
	return x->x->e->code == ERR_NONE ? i : SIZE_MAX;
}

/* The same for numbers. */
static size_t
take_numbers(struct ops_reader *x, struct onnxml_part part, const struct kind *k, double *to, size_t n)
{
	struct protobuf_numbers m;
	struct onnxml_part raw;
	uint8_t bytes[8];
	uint64_t v;
	size_t i = 0;

	if (k->bytes && onnxml_inside(x->x, part, RAW, &raw)) {
		for (; i < n && i < raw.n / k->bytes; i++)
			to[i] = number(k->type, raw.p + i * k->bytes);
		return raw.n % k->bytes ? SIZE_MAX : raw.n / k->bytes;
	}
	protobuf_numbers_open(&m, part.p, part.n, 0, k->field, k->form, x->x->where, x->x->e);
	for (; protobuf_number(&m, &v) == 1; i++)
		if (i < n) {
			le64_put(bytes, v);
			to[i] = number(k->type, bytes);
		}
	return x->x->e->code == ERR_NONE ? i : SIZE_MAX;
}

static int
wrong(struct ops_reader *x, const char *what)
{
	return err_set(x->x->e, ERR_CORRUPT, x->x->where, "%s", what);
}

/* Dimensions and type. */
static int
read_head(struct ops_reader *x, struct onnxml_part part, struct ops_tensor *t)
{
	struct protobuf_numbers n;
	struct protobuf m;
	struct protobuf_field f;
	uint64_t v;

	protobuf_open(&m, part.p, part.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == TYPE && f.form == PROTOBUF_VARINT)
			t->type = f.value < 64 ? (unsigned)f.value : 0;
		else if (f.number == EXTERNAL || (f.number == LOCATION && f.value))
			return err_set(x->x->e, ERR_FORMAT, x->x->where, "constants in other files are not read");
	t->n = 1;
	protobuf_numbers_open(&n, part.p, part.n, 0, DIMS, PROTOBUF_VARINT, x->x->where, x->x->e);
	while (protobuf_number(&n, &v) == 1) {
		if (t->rank == OPS_RANK || v > x->file || (t->n *= (size_t)v) > x->file)
			return wrong(x, "a constant has more values than the file, or too many dimensions");
		t->dims[t->rank++] = (size_t)v;
	}
	return x->x->e->code == ERR_NONE ? 0 : -1;
}

int
ops_read_tensor(struct ops_reader *x, struct onnxml_part part, struct ops_tensor *t)
{
	size_t k = 0, i, found;

	*t = (struct ops_tensor){ .type = 0 };
	if (read_head(x, part, t) < 0)
		return -1;
	if (t->type == OPS_STRING) {
		t->t = ops_take(&x->g->memory, t->n, sizeof *t->t);
		found = t->t ? take_texts(x, part, STRINGS, t->t, t->n) : SIZE_MAX;
	} else {
		while (k < sizeof kinds / sizeof *kinds && kinds[k].type != t->type)
			k++;
		if (k == sizeof kinds / sizeof *kinds)
			return err_set(x->x->e, ERR_FORMAT, x->x->where, "constants of type %u are not read", t->type);
		t->v = ops_take(&x->g->memory, t->n, sizeof *t->v);
		found = t->v ? take_numbers(x, part, &kinds[k], t->v, t->n) : SIZE_MAX;
	}
	if (!t->t && !t->v)
		return err_memory(x->x->e);
	if (found != t->n)
		return wrong(x, "a constant does not have the values of its shape");
	t->type = t->type == OPS_HALF ? OPS_FLOAT : t->type;
	for (i = 0; t->type == OPS_INT64 && i < t->n; i++)
		if (t->v[i] > OPS_WHOLE || t->v[i] < -OPS_WHOLE) /* as begins and ends of slices have them */
			t->v[i] = t->v[i] > 0 ? OPS_WHOLE : -OPS_WHOLE;
	return 0;
}

/* ---- attributes ---- */

/* Begins and ends of slices may be as large as they like; keys and labels must be exact. */
static int
prove_integers(struct ops_reader *x, struct ops_attribute *a)
{
	size_t i;

	for (i = 0; i < a->count; i++)
		if (!(fabs(a->list[i]) <= OPS_WHOLE)) {
			if (strstr(a->name, "int64s"))
				return err_set(x->x->e, ERR_FORMAT, x->x->where, "%s has an integer that is larger than 2^53", a->name);
			a->list[i] = a->list[i] > 0 ? OPS_WHOLE : -OPS_WHOLE;
		}
	return 0;
}

static int
read_list(struct ops_reader *x, struct onnxml_part part, struct ops_attribute *a)
{
	static const struct kind floats = { OPS_FLOAT, 0, ATTRIBUTE_FLOATS, PROTOBUF_4 },
	                         ints = { OPS_INT64, 0, ATTRIBUTE_INTS, PROTOBUF_VARINT };
	const struct kind *k = &floats;

	a->count = take_numbers(x, part, k, NULL, 0);
	if (a->count == 0)
		a->count = take_numbers(x, part, k = &ints, NULL, 0);
	a->text_count = take_texts(x, part, ATTRIBUTE_STRINGS, NULL, 0);
	if (a->text_count == SIZE_MAX || a->count == SIZE_MAX)
		return -1;
	a->list = ops_take(&x->g->memory, a->count, sizeof *a->list);
	a->texts = ops_take(&x->g->memory, a->text_count, sizeof *a->texts);
	if (!a->list || !a->texts)
		return err_memory(x->x->e);
	take_numbers(x, part, k, a->list, a->count);
	if (k == &ints && prove_integers(x, a) < 0)
		return -1;
	return take_texts(x, part, ATTRIBUTE_STRINGS, a->texts, a->text_count) == a->text_count ? 0 : -1;
}

static int
read_attribute(struct ops_reader *x, struct onnxml_part name, struct onnxml_part part, bool lists,
               struct ops_attribute *a)
{
	struct protobuf m;
	struct protobuf_field f;
	struct step_text text;
	uint8_t bytes[8];

	if (take_text(x, name, &text) < 0)
		return -1;
	*a = (struct ops_attribute){ .name = (char *)(uintptr_t)text.p };
	protobuf_open(&m, part.p, part.n, x->x->where, x->x->e);
	while (protobuf_next(&m, &f) == 1) {
		struct onnxml_part inside = { f.p, (size_t)f.value };

		le64_put(bytes, f.value);
		if (f.number == ATTRIBUTE_F && f.form == PROTOBUF_4)
			a->number = number(OPS_FLOAT, bytes);
		else if (f.number == ATTRIBUTE_I && f.form == PROTOBUF_VARINT)
			a->number = number(OPS_INT64, bytes);
		else if (f.form != PROTOBUF_BYTES || !lists)
			continue;
		else if (f.number == ATTRIBUTE_S ? take_text(x, inside, &a->text) < 0
		         : f.number == ATTRIBUTE_T ? ops_read_tensor(x, inside, &a->tensor) < 0 : false)
			return -1;
		else if (f.number == ATTRIBUTE_T + 1)
			return err_set(x->x->e, ERR_FORMAT, x->x->where, "operators with graphs of their own are not read");
	}
	return x->x->e->code != ERR_NONE ? -1 : lists ? read_list(x, part, a) : 0;
}

int
ops_read_attributes(struct ops_reader *x, struct ops_node *n)
{
	bool model = strstr(n->name, "Regressor") || strstr(n->name, "Classifier") || strstr(n->name, "Ensemble");
	size_t i;

	n->attributes = ops_take(&x->g->memory, x->x->count, sizeof *n->attributes);
	if (!n->attributes)
		return err_memory(x->x->e);
	for (i = 0; i < x->x->count; i++)
		if (read_attribute(x, x->x->names[i], x->x->attributes[i], !model || onnxml_same(x->x->names[i], "post_transform"),
		                   &n->attributes[n->attribute_count++]) < 0)
			return -1;
	return 0;
}
