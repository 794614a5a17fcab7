#include <math.h>
#include <string.h>

#include "report/diff_text.h"
#include "report/lines.h"

/* A number; null if it is not finite, which json_real refuses. */
static json_t *
real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static void
set(struct buf *b, json_t *o, const char *name, json_t *v)
{
	if (!o || json_object_set_new(o, name, v) < 0)
		b->failed = true;
}

static void
set_count(struct buf *b, json_t *o, const char *name, uint64_t n)
{
	set(b, o, name, json_from_u64(n));
}

/* ---- the summary ---- */

static void
set_tensors(struct buf *b, json_t *o, const struct diff *d)
{
	const struct diff_counts *c = &d->counts;

	set_count(b, o, "tensors", d->tensor_count);
	set_count(b, o, "same", c->same);
	set_count(b, o, "changed", c->changed);
	set_count(b, o, "added", c->added);
	set_count(b, o, "removed", c->removed);
	set_count(b, o, "renamed", c->renamed);
	set_count(b, o, "retyped", c->retyped);
	set_count(b, o, "reshaped", c->reshaped);
	set_count(b, o, "drifting", c->drifting);
	if (d->o.metadata)
		return;
	set(b, o, "similarity", real(diff_similarity(d)));
	set(b, o, "word", json_string(diff_word(d)));
	set(b, o, "identical", json_boolean(d->identical));
	set_count(b, o, "values", d->values);
	set_count(b, o, "equal", d->equal);
	set(b, o, "max_delta", real(d->most));
	set(b, o, "l2", real(d->l2));
}

void
diff_json_summary(struct buf *b, const struct diff *d)
{
	const struct diff_counts *c = &d->counts;
	const struct diff_fact *v = diff_vocabulary(d);
	json_t *o = json_pack("{s:s,s:b}", "kind", "summary", "different", d->different);

	set_tensors(b, o, d);
	if (!d->o.tensors) {
		set_count(b, o, "keys_changed", c->keys_changed);
		set_count(b, o, "keys_added", c->keys_added);
		set_count(b, o, "keys_removed", c->keys_removed);
		set_count(b, o, "files", c->files);
	}
	if (v) {
		set_count(b, o, "tokens_added", v->list->added);
		set_count(b, o, "tokens_removed", v->list->removed);
	}
	if (diff_is_limited(&d->o.limits))
		set_count(b, o, "over", c->over);
	lines_json(b, o);
}

/* ---- tensors ---- */

static json_t *
shape(const struct tensor *t)
{
	json_t *dims = json_array();
	unsigned i;

	for (i = 0; i < tensor_ndim(t); i++)
		json_array_append_new(dims, json_from_u64(tensor_dims(t)[i]));
	return dims;
}

static json_t *
half(const struct diff *d, size_t side, size_t i)
{
	const struct tensor *t;

	if (i == DIFF_NONE)
		return json_null();
	t = d->side[side].plan->tensors[i];
	return json_pack("{s:s,s:s,s:o}", "name", diff_name_of(d, side, i), "dtype",
	                 tensor_type(t)->name, "shape", shape(t));
}

static json_t *
kinds(unsigned what)
{
	static const char *const names[] = { "added", "removed", "renamed", "retyped", "reshaped",
		"changed", "unknown", "over" };
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (what & 1u << i)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

static void
set_figures(struct buf *b, json_t *o, const struct drift *x)
{
	set_count(b, o, "count", x->count);
	set_count(b, o, "equal", x->equal);
	set_count(b, o, "within", x->within);
	set_count(b, o, "not_finite", x->odd);
	set(b, o, "max_delta", real(x->most));
	set_count(b, o, "max_at", x->most_at);
	set(b, o, "mean_delta", real(x->mean));
	set(b, o, "l2", real(x->l2));
	set(b, o, "relative_rmse", real(x->rmse));
	set(b, o, "cosine", real(x->cosine));
	set(b, o, "kl", real(x->kl));
	set_count(b, o, "worst_row", x->worst_row);
	set(b, o, "worst_row_l2", real(x->worst));
}

void
diff_json_tensor(struct buf *b, const struct diff *d, size_t i, bool all)
{
	const struct diff_tensor *t = &d->tensors[i];
	json_t *o;

	if (t->what == 0 && !all)
		return;
	o = json_pack("{s:s,s:s,s:o,s:o,s:o}", "kind", "tensor", "name",
	              t->a == DIFF_NONE ? diff_name_of(d, 1, t->b) : diff_name_of(d, 0, t->a),
	              "what", kinds(t->what), "a", half(d, 0, t->a), "b", half(d, 1, t->b));
	if (!d->o.metadata && t->a != DIFF_NONE && t->b != DIFF_NONE)
		set(b, o, "verdict", json_string(t->match ? "MATCH" : "DRIFT"));
	if (t->drift)
		set_figures(b, o, t->drift);
	lines_json(b, o);
}

/* ---- keys and files ---- */

static json_t *
texts(const struct diff_text *t, uint64_t count)
{
	json_t *list = json_array(), *v;
	uint64_t i;

	for (i = 0; i < count && i < DIFF_TEXTS; i++) {
		v = t[i].cut ? NULL : json_stringn(t[i].text, t[i].n);
		json_array_append_new(list, v ? v : json_null());
	}
	return list;
}

static json_t *
value(const struct model *m, const struct meta *k)
{
	json_t *v = k->wire ? value_to_json(k->type, k->wire, k->wire_bytes) : NULL;
	char type[VALUE_TYPE_TEXT];

	return json_pack("{s:s,s:o,s:o}", "type", value_type_text(k->type, type), "bytes",
	                 json_from_u64(k->wire ? k->wire_bytes : m->blobs[k->blob].bytes), "value",
	                 v ? v : json_null());
}

static json_t *
file(const struct diff *d, const struct diff_fact *f, size_t side)
{
	const struct model *m = d->side[side].plan;
	size_t i = side ? f->b : f->a;

	if (i == DIFF_NONE)
		return json_null();
	if (f->where == DIFF_KEY)
		return value(m, &m->meta[i]);
	return json_pack("{s:o}", "bytes", json_from_u64(f->where == DIFF_LICENCE
	                                                     ? m->licence : m->blobs[i].bytes));
}

void
diff_json_fact(struct buf *b, const struct diff *d, size_t i)
{
	static const char *const names[] = { "key", "file", "licence" };
	const struct diff_fact *f = &d->facts[i];
	json_t *o = json_pack("{s:s,s:s,s:o,s:o,s:o}", "kind", names[f->where], "name",
	                      diff_fact_name(d, f), "what", kinds(f->what), "a", file(d, f, 0),
	                      "b", file(d, f, 1));

	if (f->list && f->list->known) {
		set_count(b, o, "removed", f->list->removed);
		set_count(b, o, "added", f->list->added);
		set(b, o, "removed_first", texts(f->list->first[0], f->list->removed));
		set(b, o, "added_first", texts(f->list->first[1], f->list->added));
	}
	lines_json(b, o);
}
