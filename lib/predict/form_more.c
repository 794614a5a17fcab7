/* Encoders, vectorizers and parts of columns as tensors and members of the key, and back (form.h).
 *
 *     onehot, ordinal   step.N.a F64: the categories of all columns, 0 for NaN; step.N.list I32: for each
 *                       column the number of categories, of values, the value of unknown ones, 1 if the last
 *                       category is NaN, and the value of each; -1: none
 *     words             step.N.terms I8: the texts of all terms; step.N.list I32: for each its bytes and column
 *     parts, texts      step.N.list I32: for each part the number of its features, and these; -1: all. The member
 *                       "parts" has a list of steps for each, which are numbered on
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/form_words.h"
#include "predict/step_text.h"

/* The list of a step, of any length. NULL with an error. */
static uint32_t *
read_list(const struct form_source *x, size_t i, size_t *n)
{
	char name[32];

	*n = (size_t)form_items(x, form_name_of(name, i, "list"));
	if (*n == 0)
		form_wrong(x, i, "its list is missing");
	return *n ? form_words(x, name, *n) : NULL;
}

/* ---- encoders ---- */

static int
put_number(json_t *o, const char *name, double v)
{
	return json_object_set_new(o, name, isfinite(v) ? json_real(v) : json_null());
}

static double
get_number(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

int
form_put_encoder(const struct form_target *to, const struct step *s, size_t i, json_t *o)
{
	const struct step_encoder *x = s->more;
	struct buf *list, *values;
	size_t j, k, all = 0;
	char name[32];

	for (j = 0; j < x->n; j++)
		all += x->columns[j].count;
	list = form_part(to->to, form_name_of(name, i, "list"), "I32", 4 * x->n + all, 0);
	values = form_part(to->to, form_name_of(name, i, "a"), "F64", all, 0);
	for (j = 0; j < x->n; j++) {
		const struct step_categories *c = &x->columns[j];
		bool nan = c->count && isnan(c->values[c->count - 1]);

		buf_u32(list, (uint32_t)c->count);
		buf_u32(list, (uint32_t)c->width);
		buf_u32(list, c->other);
		buf_u32(list, nan);
		for (k = 0; k < c->count; k++) {
			double v = isnan(c->values[k]) ? 0 : c->values[k];

			buf_u32(list, c->place[k]);
			form_put(values, &v, 1);
		}
	}
	return json_object_set_new(o, "refuses", json_boolean(x->refuses)) < 0 || put_number(o, "unknown", x->unknown) < 0 ||
	       put_number(o, "missing", x->missing) < 0 ? err_memory(to->e) : 0;
}

/* A column from its numbers: those used, 0 if they are wrong. v: its categories. */
static size_t
read_column(const uint32_t *l, size_t n, const double *v, size_t values, struct step_categories *c)
{
	size_t k;

	if (n < 4 || l[0] == 0 || l[0] > n - 4 || l[0] > values || l[3] > 1 || l[1] > l[0] ||
	    (l[2] >= l[1] && l[2] != STEP_NO_VALUE))
		return 0;
	c->count = l[0];
	c->width = l[1];
	c->other = l[2];
	c->values = mem_array(c->count, sizeof *c->values);
	c->place = mem_array(c->count, sizeof *c->place);
	for (k = 0; c->values && c->place && k < c->count; k++) {
		c->values[k] = l[3] && k + 1 == c->count ? (double)NAN : v[k];
		c->place[k] = l[4 + k];
		if ((c->place[k] >= c->width && c->place[k] != STEP_NO_VALUE) || (k > 0 && c->values[k - 1] >= c->values[k]))
			return 0;
	}
	return c->values && c->place ? 4 + c->count : 0;
}

static int
read_encoder(const struct form_source *x, size_t i, struct step *s, const uint32_t *l, size_t n, const double *v,
             size_t values)
{
	struct step_encoder *to = s->more;
	size_t j, at = 0, from = 0, used, out = 0;

	for (j = 0; j < s->in; j++) {
		struct step_categories *c = &to->columns[j];

		used = read_column(l + at, n - at, v + from, values - from, c);
		if (!used)
			return form_wrong(x, i, "its categories are wrong");
		at += used;
		from += c->count;
		c->first = out;
		out += c->width;
	}
	return at == n && from == values && s->out == (s->kind == &step_onehot ? out : s->in)
	       ? 0 : form_wrong(x, i, "its categories are not all of them");
}

int
form_read_encoder(struct form_source *x, const json_t *o, size_t i, struct step *s)
{
	struct step_encoder *to = mem_array(1, sizeof *to);
	size_t n = 0, values;
	char name[32];
	uint32_t *l;
	double *v;
	int r = -1;

	s->more = to;
	s->free_more = step_encoder_free;
	l = to ? read_list(x, i, &n) : NULL;
	values = (size_t)form_items(x, form_name_of(name, i, "a"));
	if (l && s->in > n / 4)
		r = form_wrong(x, i, "its columns are not all in its list");
	v = l && s->in <= n / 4 ? form_doubles(x, name, values) : NULL;
	if (v && values) {
		to->columns = mem_array(s->in, sizeof *to->columns);
		to->n = to->columns ? s->in : 0;
		to->refuses = json_is_true(json_object_get(o, "refuses"));
		to->unknown = get_number(o, "unknown");
		to->missing = get_number(o, "missing");
		r = to->columns ? read_encoder(x, i, s, l, n, v, values) : err_memory(x->e);
	} else if (v) {
		r = form_wrong(x, i, "it has no categories");
	}
	free(l);
	free(v);
	return to ? r : err_memory(x->e);
}

/* ---- vectorizers ---- */

static json_t *
stop_words(const struct bag *w)
{
	json_t *a = json_array();
	uint32_t i;

	for (i = 0; i < w->stop.count; i++)
		json_array_append_new(a, json_stringn((const char *)vocab_text(&w->stop, i),
		                                         w->stop.token[i].text_bytes));
	return a;
}

int
form_put_bag(const struct form_target *to, const struct step *s, size_t i, json_t *o)
{
	const struct bag *w = s->more;
	struct buf *list, *terms;
	uint64_t bytes = 0;
	char name[32];
	uint32_t k;
	json_t *more = json_pack("{s:i,s:i,s:b,s:b,s:b,s:b,s:I,s:I,s:I,s:I}", "unit", (int)w->unit, "accents",
	                         (int)w->accents, "lower", w->lower, "binary", w->binary, "signs", w->signs, "black",
	                         w->black, "shortest", (json_int_t)w->shortest, "longest", (json_int_t)w->longest,
	                         "letters", (json_int_t)w->letters, "hashes", (json_int_t)w->hashes);

	if (!more || json_object_update(o, more) < 0 || json_object_set_new(o, "stop", stop_words(w)) < 0 ||
	    (w->pattern && json_object_set_new(o, "pattern", json_string(w->pattern)) < 0)) {
		json_decref(more);
		return err_set(to->e, ERR_FORMAT, to->where, "a word or a pattern of the vectorizer is not UTF-8");
	}
	json_decref(more);
	for (k = 0; k < w->terms.count; k++)
		bytes += w->terms.token[k].text_bytes;
	if (w->terms.count == 0)
		return 0;
	list = form_part(to->to, form_name_of(name, i, "list"), "I32", 2 * (uint64_t)w->terms.count, 0);
	terms = form_part(to->to, form_name_of(name, i, "terms"), "I8", bytes, 0);
	for (k = 0; k < w->terms.count; k++) {
		buf_u32(list, (uint32_t)w->terms.token[k].text_bytes);
		buf_u32(list, w->column[k]);
		buf_put(terms, vocab_text(&w->terms, k), w->terms.token[k].text_bytes);
	}
	return 0;
}

static int
read_terms(const struct form_source *x, size_t i, const struct step *s, struct bag *w)
{
	size_t n = 0, bytes = 0, k, at = 0;
	char name[32];
	const uint8_t *p = form_bytes(x, form_name_of(name, i, "terms"), &bytes);
	uint32_t *l = p ? read_list(x, i, &n) : NULL;
	int r = l ? 0 : -1;

	if (l && (n % 2 != 0 || s->out > n / 2)) /* a column without a term would be a count of nothing */
		r = form_wrong(x, i, "its columns are not those of its terms");
	for (k = 0; r == 0 && k < n; k += 2) {
		if (l[k] > bytes - at)
			r = form_wrong(x, i, "its terms are longer than their texts");
		else
			r = bag_term(w, p + at, l[k], l[k + 1], x->e);
		at += r == 0 ? l[k] : 0;
	}
	if (r == 0 && at != bytes)
		r = form_wrong(x, i, "its texts are longer than its terms");
	free(l);
	return r;
}

/* Numbers that choose something, in their bounds. */
static int
read_choices(const struct form_source *x, const json_t *o, size_t i, const struct step *s, struct bag *w)
{
	uint64_t unit, accents, shortest, longest, letters, hashes;
	const char *pattern = json_string_value(json_object_get(o, "pattern"));

	if (json_member_u64(o, "unit", &unit) < 0 || json_member_u64(o, "accents", &accents) < 0 ||
	    json_member_u64(o, "shortest", &shortest) < 0 || json_member_u64(o, "longest", &longest) < 0 ||
	    json_member_u64(o, "letters", &letters) < 0 || json_member_u64(o, "hashes", &hashes) < 0 ||
	    unit > BAG_INSIDE || accents > ACCENTS_ASCII || shortest < 1 || longest < shortest || longest > BAG_RANGE ||
	    letters > 1024 || (hashes && hashes != s->out) || s->in != 1)
		return form_wrong(x, i, "a number of the vectorizer is missing, or out of its bounds");
	w->unit = (enum bag_unit)unit;
	w->accents = (enum bag_accents)accents;
	w->shortest = (size_t)shortest;
	w->longest = (size_t)longest;
	w->hashes = (size_t)hashes;
	w->lower = json_is_true(json_object_get(o, "lower"));
	w->binary = json_is_true(json_object_get(o, "binary"));
	w->signs = json_is_true(json_object_get(o, "signs"));
	if (pattern)
		return bag_pattern(w, pattern, strlen(pattern), x->w->name, x->e);
	w->letters = letters ? (size_t)letters : 1;
	w->black = json_is_true(json_object_get(o, "black"));
	return 0;
}

int
form_read_bag(struct form_source *x, const json_t *o, size_t i, struct step *s)
{
	const json_t *stop = json_object_get(o, "stop"), *v;
	struct bag *w = bag_new();
	size_t k;
	int r = w ? read_choices(x, o, i, s, w) : err_memory(x->e);

	for (k = 0; r == 0 && k < json_array_size(stop); k++) {
		v = json_array_get(stop, k);
		r = !json_is_string(v) ? form_wrong(x, i, "a word is not a text")
		    : bag_stop(w, json_string_value(v), json_string_length(v), x->e);
	}
	if (r == 0 && w->hashes == 0)
		r = read_terms(x, i, s, w);
	if (r == 0)
		return bag_step(w, s->out, x->w->name, s, x->e);
	bag_free(w);
	return -1;
}

/* ---- parts ---- */

int
form_put_parts(const struct form_target *to, const struct step *s, size_t i, json_t *o)
{
	const struct step_columns *x = s->more;
	json_t *parts = json_array(), *list;
	struct buf *b;
	size_t k, j, all = 0;
	char name[32];

	for (k = 0; k < x->n; k++)
		all += 1 + (x->parts[k].from ? x->parts[k].width : 0);
	b = form_part(to->to, form_name_of(name, i, "list"), "I32", all, 0);
	for (k = 0; k < x->n; k++) {
		const struct step_part *part = &x->parts[k];

		buf_u32(b, part->from ? (uint32_t)part->width : UINT32_MAX);
		for (j = 0; part->from && j < part->width; j++)
			buf_u32(b, part->from[j]);
	}
	if (json_object_set_new(o, "parts", parts) < 0 ||
	    json_object_set_new(o, "refuses", json_boolean(x->refuses)) < 0)
		return err_memory(to->e);
	if (to->budget->depth >= FORM_DEPTH)
		return err_set(to->e, ERR_FORMAT, to->where, "parts in more than %d levels do not become tensors",
		               FORM_DEPTH);
	to->budget->depth++;
	for (k = 0; k < x->n; k++) {
		list = json_array();
		if (json_array_append_new(parts, list) < 0)
			return err_memory(to->e);
		if (form_put_list(to, x->parts[k].steps, x->parts[k].step_count, list) < 0)
			return -1;
	}
	to->budget->depth--;
	return 0;
}

/* The features of a part from its numbers: those used, 0 if they are wrong. */
static size_t
read_features(const struct step *s, const uint32_t *l, size_t n, struct step_part *part)
{
	size_t j;

	part->width = s->in;
	if (n == 0)
		return 0;
	if (l[0] == UINT32_MAX)
		return 1;
	if (l[0] == 0 || l[0] > n - 1)
		return 0;
	part->width = l[0];
	part->from = mem_array(part->width, sizeof *part->from);
	for (j = 0; part->from && j < part->width; j++) {
		part->from[j] = l[1 + j];
		if (part->from[j] >= s->in)
			return 0;
	}
	return part->from ? 1 + part->width : 0;
}

/* Each step must take what the one before it gives. */
static int
join(const struct form_source *x, size_t i, const struct step *s, struct step_part *part)
{
	size_t k, width = part->width;

	if (s->kind == &step_parts_texts && (part->step_count == 0 || !part->steps[0].kind->texts || part->from))
		return form_wrong(x, i, "a part does not read texts");
	for (k = 0; k < part->step_count; k++) {
		if ((part->steps[k].kind->texts && k > 0) || part->steps[k].in != width)
			return form_wrong(x, i, "the steps of a part do not follow each other");
		width = part->steps[k].out;
	}
	part->out = width;
	return 0;
}

/* Reads steps into a part, in place of the model's. */
static int
read_part(struct form_source *x, const json_t *list, struct step_part *part)
{
	struct predictor *m = x->m;
	struct step *steps = m->steps;
	size_t count = m->step_count, cap = m->step_cap;
	int r;

	m->steps = NULL;
	m->step_count = m->step_cap = 0;
	r = form_read_list(x, list);
	part->steps = m->steps;
	part->step_count = m->step_count;
	m->steps = steps;
	m->step_count = count;
	m->step_cap = cap;
	return r;
}

static int
read_all(struct form_source *x, const json_t *parts, size_t i, const struct step *s, struct step_columns *to)
{
	size_t n = 0, at = 0, k, used, out = 0, count = json_array_size(parts);
	uint32_t *l = read_list(x, i, &n);
	int r = l ? 0 : -1;

	if (l && (count == 0 || count > n))
		r = form_wrong(x, i, "its parts are not all in its list");
	to->parts = r == 0 ? mem_array(count, sizeof *to->parts) : NULL;
	if (r == 0 && !to->parts)
		r = err_memory(x->e);
	for (k = 0; r == 0 && k < count; k++) {
		struct step_part *part = &to->parts[to->n++];

		used = read_features(s, l + at, n - at, part);
		at += used;
		r = !used ? form_wrong(x, i, "the features of a part are wrong")
		    : read_part(x, json_array_get(parts, k), part) < 0 ? -1 : join(x, i, s, part);
		out += part->out;
		if (r == 0 && out > FOREST_FEATURES)
			r = form_wrong(x, i, "its parts give too many values");
	}
	free(l);
	if (r == 0 && (at != n || out != s->out))
		r = form_wrong(x, i, "its parts do not give what it gives");
	return r;
}

int
form_read_parts(struct form_source *x, const json_t *o, size_t i, struct step *s)
{
	struct step_columns *to = mem_array(1, sizeof *to);
	int r;

	s->more = to;
	s->free_more = step_columns_free;
	if (!to)
		return err_memory(x->e);
	if (x->budget->depth >= FORM_DEPTH)
		return form_wrong(x, i, "parts are inside of too many others");
	to->refuses = json_is_true(json_object_get(o, "refuses"));
	x->budget->depth++;
	r = read_all(x, json_object_get(o, "parts"), i, s, to);
	x->budget->depth--;
	return r;
}
