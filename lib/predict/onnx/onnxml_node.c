/* Nodes of a graph in ONNX, and their attributes. */
#include <string.h>

#include "core/buf.h"
#include "predict/onnx/onnxml.h"

/* ---- attributes ---- */

bool
onnxml_inside(struct onnxml *x, struct onnxml_part of, uint32_t number, struct onnxml_part *to)
{
	struct protobuf m;
	struct protobuf_field f;
	bool found = false;

	protobuf_open(&m, of.p, of.n, x->where, x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == number && f.form == PROTOBUF_BYTES) {
			*to = (struct onnxml_part){ f.p, (size_t)f.value };
			found = true;
		}
	return found && x->e->code == ERR_NONE;
}

static const struct onnxml_part nothing = { (const uint8_t *)"", 0 };

bool
onnxml_equal(struct onnxml_part a, struct onnxml_part b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

bool
onnxml_same(struct onnxml_part a, const char *text)
{
	return onnxml_equal(a, (struct onnxml_part){ (const uint8_t *)text, strlen(text) });
}

bool
onnxml_find(struct onnxml *x, const char *name, struct onnxml_part *to)
{
	size_t i;

	for (i = 0; i < x->count; i++)
		if (onnxml_same(x->names[i], name)) {
			*to = x->attributes[i];
			return true;
		}
	return false;
}

bool
onnxml_is(struct onnxml *x, const char *name, const char *text)
{
	struct onnxml_part a, s;

	return onnxml_find(x, name, &a) && onnxml_inside(x, a, ATTRIBUTE_S, &s) && onnxml_same(s, text);
}

bool
onnxml_has(struct onnxml *x, const char *name)
{
	struct onnxml_part a;

	return onnxml_find(x, name, &a);
}

double
onnxml_float(struct onnxml *x, const char *name, double missing)
{
	struct onnxml_part a;
	struct protobuf m;
	struct protobuf_field f;
	union { uint32_t u; float f; } v;

	if (!onnxml_find(x, name, &a))
		return missing;
	protobuf_open(&m, a.p, a.n, x->where, x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == ATTRIBUTE_F && f.form == PROTOBUF_4) {
			v.u = (uint32_t)f.value;
			missing = (double)v.f;
		} else if (f.number == ATTRIBUTE_I && f.form == PROTOBUF_VARINT) {
			missing = (double)(int64_t)f.value;
		}
	return missing;
}

int
onnxml_numbers(struct onnxml *x, const char *name, bool floats, struct buf *to)
{
	struct protobuf_numbers n;
	struct onnxml_part a;
	union { uint32_t u; float f; } u;
	uint64_t v;
	double d;

	buf_clear(to);
	if (!onnxml_find(x, name, &a))
		return 0;
	protobuf_numbers_open(&n, a.p, a.n, 0, floats ? ATTRIBUTE_FLOATS : ATTRIBUTE_INTS,
	                      floats ? PROTOBUF_4 : PROTOBUF_VARINT, x->where, x->e);
	while (protobuf_number(&n, &v) == 1) {
		u.u = (uint32_t)v;
		d = floats ? (double)u.f : (double)(int64_t)v;
		buf_put(to, &d, sizeof d);
	}
	if (x->e->code == ERR_NONE && !buf_ok(to))
		err_memory(x->e);
	if (x->e->code == ERR_NONE)
		return 0;
	buf_free(to);
	return -1;
}

int
onnxml_texts(struct onnxml *x, const char *name, int (*take)(struct onnxml *x, struct onnxml_part text))
{
	struct onnxml_part a;
	struct protobuf m;
	struct protobuf_field f;
	int r = 0;

	if (!onnxml_find(x, name, &a))
		return 0;
	protobuf_open(&m, a.p, a.n, x->where, x->e);
	while (r == 0 && protobuf_next(&m, &f) == 1)
		if (f.number == ATTRIBUTE_STRINGS && f.form == PROTOBUF_BYTES)
			r = take(x, (struct onnxml_part){ f.p, (size_t)f.value });
	return x->e->code == ERR_NONE ? r : -1;
}

int
onnxml_wrong(struct onnxml *x, const char *what)
{
	return err_set(x->e, ERR_CORRUPT, x->where, "%s", what);
}

/* ---- nodes ---- */

static void
keep(struct onnxml_part ends[ONNXML_ENDS], size_t *count, struct onnxml_part *first, struct onnxml_part part)
{
	if (!first->n)
		*first = part;
	if ((*count)++ < ONNXML_ENDS)
		ends[*count - 1] = part;
}

int
onnxml_node(struct onnxml *x, struct onnxml_part node, struct onnxml_part *op)
{
	struct protobuf m;
	struct protobuf_field f;

	x->count = x->input_count = x->output_count = 0;
	x->input = x->output = x->domain = nothing;
	protobuf_open(&m, node.p, node.n, x->where, x->e);
	while (protobuf_next(&m, &f) == 1) {
		struct onnxml_part part = { f.p, (size_t)f.value };

		if (f.form != PROTOBUF_BYTES)
			continue;
		if (f.number == NODE_OP)
			*op = part;
		else if (f.number == NODE_DOMAIN)
			x->domain = part;
		else if (f.number == NODE_INPUT)
			keep(x->inputs, &x->input_count, &x->input, part);
		else if (f.number == NODE_OUTPUT)
			keep(x->outputs, &x->output_count, &x->output, part);
		else if (f.number == NODE_ATTRIBUTE) {
			if (x->count == ONNXML_ATTRIBUTES)
				return onnxml_wrong(x, "a node has too many attributes");
			if (!onnxml_inside(x, part, ATTRIBUTE_NAME, &x->names[x->count]))
				return onnxml_wrong(x, "an attribute has no name");
			x->attributes[x->count++] = part;
		}
	}
	return x->e->code == ERR_NONE ? 0 : -1;
}
