/* Models inside of a model as tensors and members of the key, and back (form.h). They have numbers in the
 * order in which they are written, whatever their depth, so that names stay short.
 *
 *     step.N.a      F64 [models]: the weight of each
 *     step.N.list   I32: for each model what it gives (enum models_give), the number of its features, and these,
 *                   or -1: all; the number of its values, and where each is added; -1: nowhere
 *     part.M.…      the tensors of model M
 *
 * Members of the step: median, passes, first (the number of its first model), models (their keys, without
 * names of features and classes, which belong to the whole).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/form_words.h"
#include "predict/step_models.h"

/* ---- writing ---- */

static int
refuse(const struct form_target *to, const char *what)
{
	return err_set(to->e, ERR_FORMAT, to->where, "%s do not become tensors", what);
}

static void
put_tables(struct form *to, const struct step_models *x, size_t i)
{
	struct buf *list, *weights;
	uint64_t all = 0;
	size_t k, j;
	char name[32];

	for (k = 0; k < x->n; k++)
		all += 3 + (x->models[k].from ? x->models[k].width : 0) + x->models[k].gives;
	weights = form_part(to, form_name_of(name, i, "a"), "F64", x->n, 0);
	list = form_part(to, form_name_of(name, i, "list"), "I32", all, 0);
	for (k = 0; k < x->n; k++) {
		const struct step_model *m = &x->models[k];

		form_put(weights, &m->weight, 1);
		buf_u32(list, (uint32_t)m->give);
		buf_u32(list, m->from ? (uint32_t)m->width : UINT32_MAX);
		for (j = 0; m->from && j < m->width; j++)
			buf_u32(list, m->from[j]);
		buf_u32(list, (uint32_t)m->gives);
		for (j = 0; j < m->gives; j++)
			buf_u32(list, m->to[j]);
	}
}

/* Writes the models, each with its own prefix. */
static int
put_each(const struct form_target *to, const struct step_models *x, json_t *list)
{
	char kept[FORM_PREFIX];
	json_t *key;
	size_t k, first = to->budget->models;

	to->budget->models += x->n;
	memcpy(kept, to->to->prefix, sizeof kept);
	for (k = 0; k < x->n; k++) {
		snprintf(to->to->prefix, FORM_PREFIX, "part.%zu.", first + k);
		key = form_put_model(to, x->models[k].m, true);
		if (!key)
			return -1;
		if (json_array_append_new(list, key) < 0)
			return err_memory(to->e);
	}
	memcpy(to->to->prefix, kept, sizeof kept);
	return 0;
}

int
form_put_models(const struct form_target *to, const struct step *s, size_t i, json_t *o)
{
	const struct step_models *x = s->more;
	json_t *list = json_array();
	int r;

	if (json_object_set_new(o, "median", json_boolean(x->median)) < 0 ||
	    json_object_set_new(o, "passes", json_boolean(x->passes)) < 0 ||
	    json_object_set_new(o, "first", json_integer((json_int_t)to->budget->models)) < 0 ||
	    json_object_set_new(o, "models", list) < 0)
		return err_memory(to->e);
	if (to->budget->depth >= FORM_DEPTH)
		return refuse(to, "models in more than 12 levels");
	if (x->n > FORM_MODELS - to->budget->models)
		return refuse(to, "more than 16384 models inside of a model");
	put_tables(to->to, x, i);
	to->budget->depth++;
	r = put_each(to, x, list);
	to->budget->depth--;
	return r;
}

/* ---- reading ---- */

/* A list that is used up from its beginning. */
struct words {
	const uint32_t *p;
	size_t n;
};

/* Takes the n words that follow; NULL without them. */
static uint32_t *
take(struct words *l, size_t n)
{
	uint32_t *v = n <= l->n ? mem_array(n + 1, sizeof *v) : NULL;

	if (v) {
		memcpy(v, l->p, n * sizeof *v);
		l->p += n;
		l->n -= n;
	}
	return v;
}

static bool
below(const uint32_t *v, size_t n, uint64_t most, bool nowhere)
{
	size_t k;

	for (k = 0; k < n && (v[k] < most || (nowhere && v[k] == UINT32_MAX)); k++)
		;
	return k == n;
}

/* What a model takes and gives, and where it goes. own: the values of the step that models give. */
static bool
read_places(struct words *l, const struct step *s, size_t own, struct step_model *m)
{
	if (l->n < 2 || l->p[0] > MODELS_SAMME)
		return false;
	m->give = (enum models_give)l->p[0];
	m->width = l->p[1];
	l->p += 2;
	l->n -= 2;
	if (m->width != UINT32_MAX) {
		m->from = take(l, m->width);
		if (!m->from || !below(m->from, m->width, s->in, false))
			return false;
	}
	if (l->n < 1)
		return false;
	m->gives = l->p[0];
	l->p++;
	l->n--;
	m->to = take(l, m->gives);
	return m->to && m->gives && below(m->to, m->gives, own, true);
}

/* Reads a model into m, whose prefix has the number at. */
static int
read_inside(struct form_source *x, const json_t *key, size_t at, struct step_model *m)
{
	struct form_source y = *x;

	m->m = mem_array(1, sizeof *m->m);
	if (!m->m)
		return err_memory(x->e);
	y.m = m->m;
	y.o = key;
	y.number = 0;
	snprintf(y.prefix, sizeof y.prefix, "part.%zu.", at);
	return form_read_model(&y);
}

/* Proves that the model fits the step. */
static const char *
fits(const struct step *s, const struct step_model *m)
{
	bool texts = s->kind == &step_models_texts;

	if (m->m->texts != texts || (texts && m->from))
		return "a model inside does not read what the step does";
	if ((m->from ? m->width : s->in) != m->m->features)
		return "a model inside takes other features";
	if (m->m->outputs > PREDICT_OUTPUTS || step_model_gives(m->m, m->give) != m->gives)
		return "a model inside gives another number of values";
	return NULL;
}

static int
read_each(struct form_source *x, const json_t *o, size_t i, const struct step *s, struct words *l, const double *w,
          struct step_models *to)
{
	const json_t *keys = json_object_get(o, "models");
	size_t k, n = json_array_size(keys), first = x->budget->models, own = s->out - (to->passes ? s->in : 0);
	const char *why;

	x->budget->models += n;
	for (k = 0; k < n; k++) {
		struct step_model *m = &to->models[to->n++];

		m->weight = w[k];
		if (!read_places(l, s, own, m))
			return form_wrong(x, i, "the features or values of a model inside are wrong");
		if (read_inside(x, json_array_get(keys, k), first + k, m) < 0)
			return -1;
		why = fits(s, m);
		if (why)
			return form_wrong(x, i, why);
	}
	return l->n ? form_wrong(x, i, "its list is longer than its models") : 0;
}

/* The counts, before memory is used for them. */
static int
check(const struct form_source *x, const json_t *o, size_t i, const struct step *s, const struct step_models *to)
{
	uint64_t first, n = json_array_size(json_object_get(o, "models"));

	if (x->budget->depth >= FORM_DEPTH)
		return form_wrong(x, i, "models are inside of too many others");
	if (n == 0 || n > FORM_MODELS - x->budget->models)
		return form_wrong(x, i, "it has no models, or too many");
	if (json_member_u64(o, "first", &first) < 0 || first != x->budget->models)
		return form_wrong(x, i, "the number of its first model is wrong");
	if (to->passes && (s->out <= s->in || s->kind == &step_models_texts))
		return form_wrong(x, i, "its own values do not fit");
	return 0;
}

int
form_read_models(struct form_source *x, const json_t *o, size_t i, struct step *s)
{
	struct step_models *to = mem_array(1, sizeof *to);
	size_t n = json_array_size(json_object_get(o, "models"));
	struct words l;
	char name[32];
	uint32_t *list = NULL;
	double *w = NULL;
	int r = -1;

	s->more = to;
	s->free_more = step_models_free;
	if (!to)
		return err_memory(x->e);
	to->median = json_is_true(json_object_get(o, "median"));
	to->passes = json_is_true(json_object_get(o, "passes"));
	if (check(x, o, i, s, to) < 0)
		return -1;
	w = form_doubles(x, form_name_of(name, i, "a"), n);
	l.n = w ? (size_t)form_items(x, form_name_of(name, i, "list")) : 0;
	l.p = list = w ? form_words(x, name, l.n) : NULL;
	to->models = list ? mem_array(n, sizeof *to->models) : NULL;
	if (list && !to->models)
		err_memory(x->e);
	x->budget->depth++;
	if (to->models)
		r = read_each(x, o, i, s, &l, w, to);
	x->budget->depth--;
	free(list);
	free(w);
	return r;
}
