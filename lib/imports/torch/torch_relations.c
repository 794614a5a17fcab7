/* What the values of tensors mean beyond their type: the key pytorch.tensors. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/le.h"
#include "imports/torch/torch.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define RELATIONS (16u << 20) /* bytes of all */
#else
#define RELATIONS (1u << 14)
#endif

/* ---- numbers ---- */

/* JSON has no number for infinity and NaN, which no scale can be. */
static int
put_float(struct buf *b, double v, int digits)
{
	if (!isfinite(v))
		return -1;
	buf_printf(b, "%.*g", digits, v);
	return 0;
}

static int
put_f32(struct buf *b, const uint8_t *p)
{
	return put_float(b, (double)le_f32(p), 9);
}

static int
put_f64(struct buf *b, const uint8_t *p)
{
	return put_float(b, le_f64(p), 17);
}

static int
put_i32(struct buf *b, const uint8_t *p)
{
	buf_printf(b, "%" PRId32, (int32_t)le32(p));
	return 0;
}

static int
put_i64(struct buf *b, const uint8_t *p)
{
	buf_printf(b, "%" PRId64, (int64_t)le64(p));
	return 0;
}

/* Types of scales and zero points. */
static const struct {
	const char *type;
	unsigned bytes;
	int (*put)(struct buf *b, const uint8_t *p);
} numbers[] = {
	{ "F32", 4, put_f32 }, { "F64", 8, put_f64 }, { "I32", 4, put_i32 }, { "I64", 8, put_i64 },
};

static int
wrong(const struct torch *t, const char *name)
{
	return err_set(t->err, ERR_CORRUPT, name, "has scales or zero points that cannot be");
}

/* Put the values of a tensor of one dimension, which may be a view like any other. */
static int
put_values(struct torch *t, const struct tensor *x, const struct torch_view *v, const char *name)
{
	struct buf *b = &t->relations;
	const uint8_t *p;
	size_t k, i, n, count = 0;

	for (k = 0; k < sizeof numbers / sizeof *numbers; k++)
		if (strcmp(tensor_type(x)->name, numbers[k].type) == 0)
			break;
	if (k == sizeof numbers / sizeof *numbers)
		return wrong(t, name);
	if (torch_values_begin(t, x, v) < 0)
		return -1;
	for (;;) {
		if (torch_values_read(t, &p, &n) < 0)
			return -1;
		if (n == 0)
			return 0;
		for (i = 0; i < n; i += numbers[k].bytes) {
			buf_text(b, count++ ? "," : "");
			if (numbers[k].put(b, p + i) < 0)
				return wrong(t, name);
			if (b->n > RELATIONS)
				return err_set(t->err, ERR_CORRUPT, t->source.name, "has scales of more than "
				               "%u bytes", RELATIONS);
		}
	}
}

static int
put_tensor(struct torch *t, pickle_ref r, uint64_t count, const char *name)
{
	struct torch_view v;
	struct tensor *x;
	int status;

	t->scaling = true;
	x = torch_tensor(t, r, name, strlen(name), &v);
	t->scaling = false;
	if (!x)
		return -1;
	if (tensor_ndim(x) != 1 || tensor_dims(x)[0] != count)
		status = wrong(t, name);
	else
		status = put_values(t, x, &v, name);
	tensor_free(x);
	return status;
}

static int
put_scalar(struct torch *t, pickle_ref r, const char *name)
{
	const struct pickle_node *x = pickle_node(&t->pickle, r);

	if (x->kind == PICKLE_INT)
		buf_printf(&t->relations, "%" PRId64, x->u.i);
	else if (x->kind != PICKLE_FLOAT || put_float(&t->relations, x->u.d, 17) < 0)
		return wrong(t, name);
	return 0;
}

/* Put scales or zero points: a tensor, or a list of numbers. */
static int
put_list(struct torch *t, pickle_ref r, uint64_t count, const char *name)
{
	const struct pickle *k = &t->pickle;
	const struct pickle_cell *c;
	int status = 0;
	uint64_t i = 0;

	buf_text(&t->relations, "[");
	if (torch_is_tensor(t, r)) {
		status = put_tensor(t, r, count, name);
	} else if (pickle_node(k, r)->kind != PICKLE_LIST || pickle_node(k, r)->count != count) {
		status = wrong(t, name);
	} else {
		for (c = pickle_first(k, r); c && status == 0; c = pickle_next(k, c)) {
			buf_text(&t->relations, i++ ? "," : "");
			status = t->relations.n > RELATIONS ? wrong(t, name)
			                                    : put_scalar(t, c->node, name);
		}
	}
	buf_text(&t->relations, "]");
	return status;
}

/* ---- relations ---- */

void
torch_relate_type(struct torch *t, const struct torch_type *type, struct torch_view *v)
{
	v->relation = t->relations.n;
	buf_printf(&t->relations, "{\"type\":\"%s\"}", type->dtype);
	v->relation_bytes = t->relations.n - v->relation;
}

int
torch_relate(struct torch *t, const struct torch_type *type, const pickle_ref *q, size_t count,
             const uint64_t *dims, size_t n, const char *name, struct torch_view *v)
{
	const struct pickle_node *axis = count == 4 ? pickle_node(&t->pickle, q[3]) : NULL;
	struct buf *b = &t->relations;
	int r;

	v->relation = b->n;
	buf_printf(b, "{\"type\":\"%s\",\"scale\":", type->dtype);
	if (!axis) {
		r = put_scalar(t, q[1], name);
		buf_text(b, ",\"zero_point\":");
		r = r < 0 ? r : put_scalar(t, q[2], name);
	} else {
		if (axis->kind != PICKLE_INT || axis->u.i < 0 || (uint64_t)axis->u.i >= n)
			return err_set(t->err, ERR_CORRUPT, name, "is quantized along an axis that it lacks");
		r = put_list(t, q[1], dims[axis->u.i], name);
		buf_text(b, ",\"zero_point\":");
		r = r < 0 ? r : put_list(t, q[2], dims[axis->u.i], name);
		buf_printf(b, ",\"axis\":%" PRId64, axis->u.i);
	}
	buf_text(b, "}");
	v->relation_bytes = b->n - v->relation;
	return r < 0 ? r : buf_ok(b) ? 0 : err_memory(t->err);
}

/* {"NAME":{…},…} of all tensors that have one. */
static void
join(const struct torch *t, struct buf *b)
{
	size_t i;

	for (i = 0; i < t->view_count; i++) {
		const struct torch_view *v = &t->views[i];
		const struct torch *in = v->in ? v->in : t;
		const char *name = tensor_name(t->plan.tensors[i]);

		if (v->relation_bytes == 0)
			continue;
		buf_text(b, b->n ? "," : "{");
		json_quote(b, name, strlen(name));
		buf_text(b, ":");
		buf_put(b, in->relations.p + v->relation, v->relation_bytes);
	}
	if (b->n)
		buf_text(b, "}");
}

int
torch_add_relations(struct torch *t)
{
	static const struct value_type json = { 0, VALUE_JSON };
	static const char key[] = TORCH_TENSORS_KEY;
	struct buf *b = &t->joined;

	if (t->inside)
		return 0;
	join(t, b);
	if (!buf_ok(b))
		return err_memory(t->err);
	if (b->n == 0 || t->part)
		return 0;
	if (b->n <= VALUE_INLINE_BYTES)
		return model_add_meta(&t->plan, key, strlen(key), json, b->p, b->n, t->err);
	t->joined_is_blob = true;
	return model_add_meta_blob(&t->plan, key, strlen(key), json, b->n, t->err);
}
