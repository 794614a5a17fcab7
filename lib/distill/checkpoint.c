#include "distill/checkpoint.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/json.h"
#include "core/le.h"

static const char *const names[] = { "value", "first", "second" };
#define ARRAYS (sizeof names / sizeof *names)

/* ---- written ---- */

static int
add_keys(struct model *plan, const char *recipe, uint64_t step, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING }, u64 = { 0, VALUE_U64 };
	struct buf b = { 0 };
	uint8_t wire[8];
	int r;

	buf_u64(&b, strlen(recipe));
	buf_text(&b, recipe);
	r = buf_ok(&b) ? model_set_meta(plan, CHECKPOINT_RECIPE, string, b.p, b.n, e) : err_memory(e);
	buf_free(&b);
	le64_put(wire, step);
	return r < 0 ? -1 : model_set_meta(plan, CHECKPOINT_STEP, u64, wire, sizeof wire, e);
}

static int
make_plan(struct model *plan, const struct train_model *m, const char *recipe, uint64_t step,
          struct err *e)
{
	const uint64_t dims[] = { m->total };
	struct tensor *t;
	size_t i;

	if (model_init(plan, e) < 0 || add_keys(plan, recipe, step, e) < 0)
		return -1;
	for (i = 0; i < ARRAYS; i++) {
		t = tensor_new(names[i], strlen(names[i]), dtype_by_name("F32"), 1, dims, TENSOR_OWN_SIZE,
		               "checkpoint", e);
		if (!t || model_add_tensor(plan, t, e) < 0)
			return -1;
	}
	return model_check(plan, "checkpoint", e);
}

int
checkpoint_write(const struct train_model *m, const char *recipe, uint64_t step, struct sink *sink,
                 struct err *e)
{
	const float *const arrays[] = { m->value, m->first, m->second };
	struct model plan = { 0 };
	int r = make_plan(&plan, m, recipe, step, e);
	size_t i;

	if (r == 0)
		r = sink_begin(sink, &plan, e);
	for (i = 0; r == 0 && i < ARRAYS; i++) {
		const struct item item = { .kind = ITEM_TENSOR, .index = i,
			.bytes = m->total * sizeof(float) };

		if (sink_put(sink, &item, e) < 0 ||
		    sink_write(sink, (const uint8_t *)arrays[i], (size_t)item.bytes, e) < 0 ||
		    sink_put_end(sink, e) < 0)
			r = -1;
	}
	if (r == 0)
		r = sink_end(sink, e);
	model_free(&plan);
	return r;
}

/* ---- read ---- */

static int
not_ours(const struct source *s, struct err *e)
{
	return err_set(e, ERR_FORMAT, s->name, "is not a checkpoint of apr-distill");
}

/* Names the first member that differs. */
static int
compare(const struct source *s, const char *was, const char *now, struct err *e)
{
	json_t *a = json_parse(was, strlen(was), ERR_CORRUPT, s->name, e), *b;
	const char *key;
	json_t *v;

	if (!a)
		return -1;
	b = json_parse(now, strlen(now), ERR_CORRUPT, s->name, e);
	json_object_foreach(b, key, v) {
		struct buf x = { 0 }, y = { 0 };
		const json_t *old = json_object_get(a, key);

		if (old && json_equal(old, v))
			continue;
		if (json_write(v, &y) == 0 && (!old || json_show(old, &x) == 0))
			err_set(e, ERR_INVALID, s->name, "is a checkpoint of another training: its \"%s\" is %.80s, "
			        "not %.80s", key, old ? buf_string(&x) : "missing", buf_string(&y));
		buf_free(&x);
		buf_free(&y);
		break;
	}
	json_decref(a);
	json_decref(b);
	return err_set(e, ERR_INVALID, s->name, "is a checkpoint of another training");
}

static int
check_plan(const struct train_model *m, const struct source *s, const char *recipe, uint64_t *step,
           struct err *e)
{
	struct model *plan = s->plan;
	const char *was = model_text(plan, CHECKPOINT_RECIPE);
	size_t i;

	if (!was || model_u64(plan, CHECKPOINT_STEP, step) < 0 || plan->tensor_count != ARRAYS)
		return not_ours(s, e);
	if (strcmp(was, recipe) != 0)
		return compare(s, was, recipe, e);
	for (i = 0; i < ARRAYS; i++) {
		const struct tensor *t = plan->tensors[i];

		if (strcmp(tensor_name(t), names[i]) != 0 || tensor_type(t) != dtype_by_name("F32"))
			return not_ours(s, e);
		if (tensor_items(t) != m->total)
			return err_set(e, ERR_CORRUPT, s->name, "has %llu values, not %zu",
			               (unsigned long long)tensor_items(t), m->total);
	}
	return 0;
}

static int
read_array(struct source *s, float *to, size_t bytes, struct err *e)
{
	const uint8_t *p;
	size_t n, at;

	for (at = 0;; at += n) {
		if (source_read(s, &p, &n, e) < 0)
			return -1;
		if (n == 0)
			return at == bytes ? 0 : err_set(e, ERR_CORRUPT, s->name, "ends early");
		if (n > bytes - at)
			return err_set(e, ERR_CORRUPT, s->name, "has too many bytes");
		memcpy((uint8_t *)to + at, p, n);
	}
}

/* CRCs do not say that a training has written it. The second average is one of squares. */
static int
check_values(const float *x, size_t n, bool squares, const char *name, struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isfinite(x[i]) || (squares && x[i] < 0))
			return err_set(e, ERR_CORRUPT, name, "has a value that cannot be");
	return 0;
}

int
checkpoint_read(struct train_model *m, const char *recipe, uint64_t *step, struct source *source,
                struct err *e)
{
	float *const arrays[] = { m->value, m->first, m->second };
	struct item item;
	size_t tensors = 0;
	int more;

	if (source_check_open(source, e) < 0 || check_plan(m, source, recipe, step, e) < 0)
		return -1;
	while ((more = source_next(source, &item, e)) > 0) {
		if (item.kind != ITEM_TENSOR)
			return not_ours(source, e);
		if (read_array(source, arrays[item.index], m->total * sizeof(float), e) < 0 ||
		    check_values(arrays[item.index], m->total, arrays[item.index] == m->second,
		                 names[item.index], e) < 0)
			return -1;
		tensors++;
	}
	if (more < 0)
		return -1;
	return tensors == ARRAYS ? 0 : not_ours(source, e);
}
