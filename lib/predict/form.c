#include "predict/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "predict/form_words.h"
#include "predict/grams.h"
#include "predict/step_text.h"
#include "predict/walk.h"

/* ---- words, for both directions ---- */

const char *const form_forms[] = { "trees", "linear", "centers", "steps", NULL };
const char *const form_tasks[] = { "value", "binary", "classes", "cluster", "pairs", NULL };
const char *const form_links[] = { "none", "sigmoid", "softmax", "exp", "log1p_exp", "square", "hinge",
	"share", "each", "pairs", "sharp", "portion", "probit", "cloglog", "loglog", "cauchit", NULL };
const char *const form_flags[FORM_FLAGS] = { "single", "rounds", "refuses_nan", "refuses_inf", "ties_up", "by_score",
	"skips", "after", "single_sums", "average", "scaled", "sums" };

bool *
form_flag(struct predictor *m, size_t i)
{
	bool *const all[FORM_FLAGS] = { &m->single, &m->rounds, &m->refuses_nan, &m->refuses_inf, &m->ties_up, &m->by_score,
		&m->linear.skips, &m->linear.after, &m->forest.single, &m->forest.average, &m->forest.scaled,
		&m->forest.sums };

	return all[i];
}

/* ---- the key ---- */

static json_t *
texts(char *const *list, size_t n)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(a, json_string(list[i])); /* a text that is not UTF-8 is left out */
	return a;
}

/* What each feature is, for models that read texts (form_read.c, read_word). */
static json_t *
words(const struct predictor *m)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < m->word_count; i++) {
		const struct predict_words *w = &m->words[i];

		json_array_append_new(a, w->count ? texts(w->texts, w->count) : w->unused ? json_string("unused")
		                         : w->text ? json_string("text") : json_null());
	}
	return a;
}

/* What becomes of texts that features do not know: enum predict_unknown. */
static json_t *
unknown(const struct predictor *m)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < m->word_count; i++)
		json_array_append_new(a, json_integer(m->words[i].unknown));
	return a;
}

/* ---- lists ---- */

struct buf *
form_part(struct form *to, const char *name, const char *type, uint64_t a, uint64_t b)
{
	struct form_part *p = mem_array(1, sizeof *p);

	if (!p || mem_grow(&to->parts, &to->cap, to->count + 1, sizeof *to->parts) < 0) {
		free(p);
		to->failed = true;
		return &to->lost;
	}
	to->parts[to->count++] = p;
	p->type = type;
	snprintf(p->name, sizeof p->name, "%s%s", to->prefix, name);
	p->ndim = b ? 2 : 1;
	p->dims[0] = a;
	p->dims[1] = b;
	return &p->data;
}

void
form_put(struct buf *to, const double *v, size_t n)
{
	uint64_t bits;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&bits, &v[i], sizeof bits);
		buf_u64(to, bits);
	}
}

static unsigned
flags_of(const struct forest_node *x)
{
	return (x->word & WALK_RIGHT ? FORM_RIGHT : 0) | (x->word & WALK_ZEROS ? FORM_ZEROS : 0) |
	       (x->word & WALK_CATEGORY ? FORM_CATEGORY : 0) | (x->word & WALK_NEGATIVE ? FORM_NEGATIVE : 0);
}

/* The number of nodes of a tree: its nodes are together, from the root on. */
static uint32_t
last_of(const struct forest *f, uint32_t root)
{
	uint32_t i, end = root + 1;

	for (i = root; i < end; i++)
		if (f->nodes[i].left != i && f->nodes[i].left + 2 > end)
			end = f->nodes[i].left + 2;
	return end - root;
}

struct columns {
	struct buf *counts, *groups, *features, *thresholds, *left, *flags, *sets, *covers, *ids, *values;
};

static void
put_node(const struct forest *f, uint32_t root, uint32_t i, const struct columns *c)
{
	const struct forest_node *x = &f->nodes[i];
	bool leaf = x->left == i, category = !leaf && x->word & WALK_CATEGORY;
	double t = leaf || category ? 0 : x->t;

	buf_u32(c->features, leaf ? UINT32_MAX : x->word & WALK_FEATURE);
	form_put(c->thresholds, &t, 1);
	buf_u32(c->left, leaf ? 0 : x->left - root);
	buf_u8(c->flags, leaf ? 0 : (uint8_t)flags_of(x));
	if (c->sets)
		buf_u32(c->sets, category ? (uint32_t)x->t : 0);
	if (c->covers)
		form_put(c->covers, &f->covers[i], 1);
	if (!leaf)
		return;
	buf_u32(c->ids, f->ids[f->leaf[i]]);
	form_put(c->values, f->values + (size_t)f->leaf[i] * f->width, f->width);
}

/* Counts nodes and leaves first, for the shapes. */
static void
make_trees(const struct predictor *m, struct form *to)
{
	const struct forest *f = &m->forest;
	uint64_t nodes = 0, leaves = 0;
	struct columns c = { .sets = NULL };
	size_t k;
	uint32_t i, n;

	for (k = 0; k < f->tree_count; k++) {
		n = last_of(f, f->trees[k].root);
		nodes += n;
		leaves += n / 2 + 1;
	}
	c.counts = form_part(to, "forest.counts", "I32", f->tree_count, 0);
	c.groups = form_part(to, "forest.groups", "I32", f->tree_count, 0);
	c.features = form_part(to, "forest.features", "I32", nodes, 0);
	c.thresholds = form_part(to, "forest.thresholds", "F64", nodes, 0);
	c.left = form_part(to, "forest.left", "I32", nodes, 0);
	c.flags = form_part(to, "forest.flags", "I8", nodes, 0);
	c.ids = form_part(to, "forest.ids", "I32", leaves, 0);
	c.values = form_part(to, "forest.values", "F64", leaves, f->width);
	if (f->sets.n)
		c.sets = form_part(to, "forest.sets", "I32", nodes, 0);
	if (!f->uncovered && f->tree_count)
		c.covers = form_part(to, "forest.covers", "F64", nodes, 0);
	for (k = 0; k < f->tree_count; k++) {
		n = last_of(f, f->trees[k].root);
		buf_u32(c.counts, n);
		buf_u32(c.groups, f->trees[k].group);
		for (i = 0; i < n; i++)
			put_node(f, f->trees[k].root, f->trees[k].root + i, &c);
	}
	if (f->sets.n) {
		struct buf *words = form_part(to, "forest.words", "I32", f->sets.n / 4, 0);

		for (k = 0; k < f->sets.n / 4; k++)
			buf_u32(words, ((const uint32_t *)(const void *)f->sets.p)[k]);
	}
	form_put(form_part(to, "forest.base", "F64", m->outputs, 0), f->base, m->outputs);
	form_put(form_part(to, "forest.bias", "F64", m->outputs, 0), f->bias, m->outputs);
}

/* ---- a model ---- */

static json_t *
key_of(const struct predictor *m)
{
	return json_pack("{s:i,s:s,s:s,s:s,s:s,s:I,s:I,s:f,s:b}", "version", 1, "kind", m->kind, "form",
	                 form_forms[m->form], "task", form_tasks[m->task], "link", form_links[m->link],
	                 "features", (json_int_t)m->features, "outputs", (json_int_t)m->outputs,
	                 "sharpness", m->sharpness, "absent_is_zero", m->absent == ABSENT_ZERO);
}

/* What names its features and classes have; 1: they are not UTF-8. */
static int
put_names(const struct predictor *m, json_t *o)
{
	int r = 0;

	if (m->names)
		r = json_object_set_new(o, "names", texts(m->names, m->name_count));
	if (r == 0 && m->words)
		r = json_object_set_new(o, "words", words(m));
	if (r == 0 && m->words)
		r = json_object_set_new(o, "unknown", unknown(m));
	if (r == 0 && m->labels)
		r = json_object_set_new(o, "labels", texts(m->labels, m->label_count));
	return r < 0 ? -1 : (m->names && json_array_size(json_object_get(o, "names")) != m->name_count) ||
	                    (m->labels && json_array_size(json_object_get(o, "labels")) != m->label_count);
}

static int
put_key(const struct form_target *to, const struct predictor *m, bool inside, json_t *o)
{
	struct predictor copy = *m;
	size_t i;
	int r = o ? 0 : -1;

	for (i = 0; r == 0 && i < FORM_FLAGS; i++)
		if (*form_flag(&copy, i))
			r = json_object_set_new(o, form_flags[i], json_true());
	if (r == 0 && m->form == PREDICT_TREES)
		r = json_object_set_new(o, "width", json_integer((json_int_t)m->forest.width));
	if (r == 0 && m->form == PREDICT_TREES)
		r = json_object_set_new(o, "scale", json_real(m->forest.scale));
	if (r == 0 && m->step_count && form_put_steps(to, m, o) < 0)
		return -1;
	if (r == 0 && !inside)
		r = put_names(m, o);
	return r < 0 ? err_memory(to->e)
	       : r ? err_set(to->e, ERR_FORMAT, to->where, "a name of a feature or a class is not UTF-8") : 0;
}

json_t *
form_put_model(const struct form_target *to, const struct predictor *m, bool inside)
{
	json_t *o;

	if (m->form == PREDICT_TREES && m->forest.lines) {
		err_set(to->e, ERR_FORMAT, to->where, "trees with linear leaves have no form as tensors");
		return NULL;
	}
	o = key_of(m);
	if (put_key(to, m, inside, o) < 0) {
		json_decref(o);
		return NULL;
	}
	if (m->form == PREDICT_TREES)
		make_trees(m, to->to);
	else if (m->form != PREDICT_STEPS)
		form_put(form_part(to->to, "linear.weights", "F64", m->outputs, m->inner), m->linear.weights,
		         m->outputs * m->inner);
	if (m->form == PREDICT_LINEAR)
		form_put(form_part(to->to, "linear.bias", "F64", m->outputs, 0), m->linear.bias, m->outputs);
	return o;
}

/* Wide values first, so that containers without padding keep all at multiples of their size. */
static int
order(struct form *f)
{
	static const char *const types[] = { "F64", "I32", "I8" };
	struct form_part **parts = mem_array(f->count + 1, sizeof *parts);
	size_t i, k, n = 0;

	for (k = 0; parts && k < sizeof types / sizeof *types; k++)
		for (i = 0; i < f->count; i++)
			if (strcmp(f->parts[i]->type, types[k]) == 0)
				parts[n++] = f->parts[i];
	if (!parts)
		return -1;
	free(f->parts);
	f->parts = parts;
	f->cap = f->count + 1;
	return 0;
}

int
form_make(const struct predictor *m, const char *where, struct form *to, struct err *e)
{
	struct form_budget budget = { .models = 0 };
	struct form_target target = { to, NULL, &budget, where, e };
	bool good;
	size_t i;
	json_t *o;
	int r;

	*to = (struct form){ .count = 0 };
	o = form_put_model(&target, m, false);
	if (!o)
		return -1;
	r = json_write(o, &to->json);
	json_decref(o);
	good = r == 0 && !to->failed && order(to) == 0 && buf_ok(&to->json);
	for (i = 0; i < to->count; i++)
		good &= buf_ok(&to->parts[i]->data);
	return good ? 0 : err_memory(e);
}

void
form_free(struct form *f)
{
	size_t i;

	buf_free(&f->json);
	for (i = 0; i < f->count; i++) {
		buf_free(&f->parts[i]->data);
		free(f->parts[i]);
	}
	buf_free(&f->lost);
	free(f->parts);
	*f = (struct form){ .count = 0 };
}

const char *
form_type(const struct predictor *m)
{
	const struct step *last = m->step_count ? &m->steps[m->step_count - 1] : NULL;

	if (m->form == PREDICT_STEPS && last)
		return last->kind == &step_nearest || last->kind == &step_vote ? "KNN"
		       : last->kind == &step_support ? "SVM" : last->kind == &step_gauss ? "NAIVE_BAYES"
		       : last->kind == &step_words ? "COUNT_VECTORIZER" : last->kind == &step_tfidf ? "TFIDF"
		       : last->kind == &step_grams ? "NGRAM_LM" : last->kind == &step_project ? "PCA" : last->kind == &step_layer ? "NEURAL_SEQUENTIAL"
		                                                                         : "CUSTOM";
	if (m->form == PREDICT_CENTERS)
		return "KMEANS";
	if (m->form == PREDICT_LINEAR)
		return m->task == PREDICT_VALUE ? "LINEAR_REGRESSION" : "LOGISTIC_REGRESSION";
	if (m->forest.width == m->outputs && m->forest.tree_count == 1)
		return "DECISION_TREE";
	return m->forest.average ? "RANDOM_FOREST" : "GRADIENT_BOOSTING";
}
