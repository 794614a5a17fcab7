/* Models of models: each part is read as a model of its own (step_models.h), and steps join what they say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_features.h"
#include "predict/step_models.h"

#define MODELS 65536

const struct pickle_cell *
sklearn_list(struct sklearn *s, pickle_ref r, size_t *n)
{
	struct sklearn_array a = { .n = 0 };

	*n = 0;
	if (sklearn_none(s, r))
		return NULL;
	if (pickle_node(&s->k, r)->kind == PICKLE_CALL) {
		if (sklearn_array(s, r, &a) < 0 || a.list == PICKLE_NOTHING)
			a.list = PICKLE_NOTHING;
		sklearn_array_free(&a);
		r = a.list;
	}
	if (r == PICKLE_NOTHING || pickle_node(&s->k, r)->kind != PICKLE_LIST)
		return NULL;
	*n = pickle_node(&s->k, r)->count;
	return pickle_first(&s->k, r);
}

/* ---- texts of features ---- */

static bool
same_words(const struct predict_words *a, const struct predict_words *b)
{
	size_t i;

	for (i = 0; i < a->count && a->count == b->count; i++)
		if (strcmp(a->texts[i], b->texts[i]) != 0)
			return false;
	return a->count == b->count && a->text == b->text;
}

/* The names and texts of the features of a part belong to the whole model, which reads the rows. */
static int
lift_words(struct sklearn *s, struct predictor *part)
{
	struct predictor *m = s->m;
	size_t i, n = part->features;

	if (!m->names && m->step_count == 1) {
		m->names = part->names;
		m->name_count = part->name_count;
		part->names = NULL;
		part->name_count = 0;
	}
	if (!m->words && !part->words)
		return 0;
	if ((part->words && m->step_count != 1) || (m->words && m->word_count != n))
		return sklearn_wrong(s, "a model that reads texts stands behind other steps");
	if (!m->words) {
		m->words = part->words;
		m->word_count = part->word_count;
		part->words = NULL;
		part->word_count = 0;
		for (i = 0; i < n; i++) {
			free(m->words[i].sorted);
			m->words[i].sorted = NULL;
		}
		return 0;
	}
	return 0;
}

/* Every part must see the features as the first one does. */
static int
agree(struct sklearn *s, struct predictor *part, bool first)
{
	struct predictor *m = s->m;
	struct predict_words none = { .count = 0 };
	size_t i;

	if (!first && part->words && m->words && part->word_count != m->word_count)
		return sklearn_wrong(s, "the models inside of the model take other features");
	for (i = 0; !first && m->words && i < m->word_count; i++) {
		struct predict_words *w = part->words ? &part->words[i] : &none;

		if (m->words[i].unused && !w->unused) { /* the first one that uses it */
			m->words[i] = (struct predict_words){ .texts = w->texts, .count = w->count, .text = w->text };
			w->texts = NULL;
			w->count = 0;
		} else if (!w->unused && !same_words(w, &m->words[i]))
			return sklearn_wrong(s, "the models inside of the model know other texts of one feature");
	}
	return !first && !m->words && part->words
	       ? sklearn_wrong(s, "only some of the models inside of the model read texts") : 0;
}

/* ---- a part ---- */

struct step_models *
sklearn_models(struct sklearn *s, size_t n)
{
	struct step *step = sklearn_step(s, &step_models, 0, 0);
	struct step_models *x = step && n && n <= MODELS ? mem_array(1, sizeof *x) : NULL;

	if (!x) {
		if (step)
			sklearn_wrong(s, "the model has no models inside, or too many");
		return NULL;
	}
	step->more = x;
	step->free_more = step_models_free;
	x->models = mem_array(n, sizeof *x->models);
	if (!x->models)
		err_memory(s->e);
	return x->models ? x : NULL;
}

struct step_model *
sklearn_model_of(struct sklearn *s, struct step_models *x, int (*read)(struct sklearn *s, pickle_ref r),
                 pickle_ref r)
{
	struct sklearn kept = *s;
	struct step_model *to = &x->models[x->n];
	bool first = x->n == 0;
	int status;

	if (s->nest >= SKLEARN_NEST) {
		sklearn_wrong(s, "models are inside of too many others");
		return NULL;
	}
	to->m = mem_array(1, sizeof *to->m);
	if (!to->m) {
		err_memory(s->e);
		return NULL;
	}
	x->n++;
	to->m->forest.most = s->m->forest.most;
	s->m = to->m;
	s->columns = NULL;
	s->fill = NULL;
	s->width = s->features = s->depth = 0;
	s->nest++;
	status = read(s, r);
	if (status == 0)
		status = predictor_finish(to->m, s->where, s->e);
	free(s->fill);
	kept.left = s->left;
	kept.visits = s->visits;
	kept.decides = s->decides;
	*s = kept;
	if (status == 0)
		status = agree(s, to->m, first);
	if (status == 0 && first)
		status = lift_words(s, to->m);
	s->m->refuses_nan |= to->m->refuses_nan;
	return status == 0 ? to : NULL;
}

struct step_model *
sklearn_model(struct sklearn *s, struct step_models *x, pickle_ref r)
{
	return sklearn_model_of(s, x, sklearn_last, r);
}

int
sklearn_model_gives(struct sklearn *s, struct step_model *m, int give, double weight, size_t to)
{
	size_t k;

	m->give = (enum models_give)give;
	m->weight = weight;
	m->gives = step_model_gives(m->m, m->give);
	m->to = mem_array(m->gives + 1, sizeof *m->to);
	for (k = 0; m->to && k < m->gives; k++)
		m->to[k] = (uint32_t)(to + k);
	if (!isfinite(weight))
		return sklearn_wrong(s, "the weight of a model is not a number");
	return !m->to ? err_memory(s->e) : m->gives ? 0 : sklearn_wrong(s, "a model inside gives no values");
}

int
sklearn_models_end(struct sklearn *s, size_t out)
{
	struct step *step = &s->m->steps[s->m->step_count - 1];
	struct step_models *x = step->more;
	size_t i, k, n = step->in;
	bool texts = x->n && x->models[0].m->texts;
	bool words = s->m->words != NULL;

	for (i = 0; i < x->n; i++) {
		const struct step_model *m = &x->models[i];

		if (!m->from)
			n = n ? n : m->m->features;
		if (m->m->texts != texts || (m->from ? m->width : n) != m->m->features || ((texts || words) && m->from))
			return sklearn_wrong(s, "the models inside of the model take other features");
		for (k = 0; k < m->gives; k++)
			if (m->to[k] != UINT32_MAX && m->to[k] >= out)
				return sklearn_wrong(s, "the models inside of the model have too many outputs");
	}
	if (n == 0 || out == 0 || out > FOREST_FEATURES || (texts && s->m->step_count > 1))
		return sklearn_wrong(s, "the models inside of the model do not fit it");
	step->kind = texts ? &step_models_texts : &step_models;
	step->in = n;
	step->out = out + (x->passes ? n : 0);
	return texts && x->passes ? sklearn_wrong(s, "texts cannot be values") : 0;
}

/* x / by, of n values. */
static int
divide(struct sklearn *s, size_t n, double by)
{
	struct step *x = sklearn_step(s, &step_shift, n, n);
	size_t j;

	if (!x || !(x->b = mem_array(n, sizeof *x->b)))
		return x ? err_memory(s->e) : -1;
	for (j = 0; j < n; j++)
		x->b[j] = by;
	return by != 0 ? 0 : sklearn_wrong(s, "the weights of the models are 0");
}

/* The second of two values minus the first one, or the second alone. */
static int
second(struct sklearn *s, bool minus)
{
	struct step *x = sklearn_step(s, &step_project, 2, 1);

	if (!x || !(x->b = mem_array(2, sizeof *x->b)))
		return x ? err_memory(s->e) : -1;
	x->b[0] = minus ? -1 : 0;
	x->b[1] = 1;
	return 0;
}

/* The number of classes of an estimator; 0 with an error. */
static size_t
class_count(struct sklearn *s, pickle_ref r)
{
	struct sklearn_array a = { .n = 0 };
	pickle_ref field = sklearn_field(s, r, "classes_");
	size_t n = field != PICKLE_NOTHING && sklearn_array(s, field, &a) == 0 && a.ndim == 1 ? a.n : 0;

	sklearn_array_free(&a);
	if (n >= 2 && n <= PREDICT_OUTPUTS)
		return n;
	sklearn_wrong(s, "the classes are missing, or there are several outputs");
	return 0;
}

/* Columns n of a part all fit the classes. */
static int
fits(struct sklearn *s, const struct step_model *m, size_t n)
{
	return m->gives == n ? 0 : sklearn_wrong(s, "a model inside has other outputs than the whole model");
}

/* ---- votes and averages ---- */

/* The next estimator of the list that is not dropped. */
static bool
is_dropped(struct sklearn *s, const struct pickle_cell *c)
{
	pickle_ref pair[2];

	return c && pickle_items(&s->k, c->node, pair, 2) == 2 &&
	       (pickle_is(&s->k, pair[1], "drop") || sklearn_none(s, pair[1]));
}

/* The weights of the estimators that are not dropped, in the order of the list. */
static int
read_weights(struct sklearn *s, pickle_ref r, double *to, size_t n)
{
	pickle_ref field = sklearn_field(s, r, "weights");
	size_t count, all, i = 0, k;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators"), &all), *w = NULL;
	double *v = NULL;

	for (k = 0; k < n; k++)
		to[k] = 1;
	if (sklearn_none(s, field))
		return 0;
	if (pickle_node(&s->k, field)->kind == PICKLE_CALL)
		v = sklearn_vector(s, field, all, &count, "weights of the models");
	else
		w = sklearn_list(s, field, &count);
	for (k = 0; (v || w) && c && k < n && i < count; i++, c = pickle_next(&s->k, c)) {
		if (!is_dropped(s, c) && (v ? (to[k] = v[i], 0) : sklearn_number(s, w->node, &to[k])) == 0)
			k++;
		w = w ? pickle_next(&s->k, w) : NULL;
	}
	free(v);
	return k == n ? 0 : sklearn_wrong(s, "the weights are not those of the models");
}

static int
vote(struct sklearn *s, pickle_ref r, size_t outputs, int give, const double *weights)
{
	size_t n, i;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	struct step_models *x = sklearn_models(s, n);
	double sum = 0;

	for (i = 0; x && c && i < n; i++, c = pickle_next(&s->k, c)) {
		struct step_model *m = sklearn_model(s, x, c->node);

		if (!m || sklearn_model_gives(s, m, give, weights[i], 0) < 0 || fits(s, m, outputs) < 0)
			return -1;
		sum += weights[i];
	}
	if (!x || sklearn_models_end(s, outputs) < 0)
		return -1;
	return give == MODELS_LABEL ? 0 : divide(s, outputs, sum);
}

int
sklearn_voting(struct sklearn *s, pickle_ref r, bool classes)
{
	bool hard = classes && !pickle_is(&s->k, sklearn_field(s, r, "voting"), "soft");
	size_t n, outputs = classes ? class_count(s, r) : 1;
	double *weights;
	int status;

	sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	weights = outputs && n <= MODELS ? mem_array(n + 1, sizeof *weights) : NULL;
	if (!weights)
		return outputs ? err_memory(s->e) : -1;
	status = read_weights(s, r, weights, n);
	if (status == 0)
		status = vote(s, r, outputs, hard ? MODELS_LABEL : MODELS_LINKED, weights);
	free(weights);
	sklearn_scores(s, "vote of models of scikit-learn", classes ? PREDICT_CLASSES : PREDICT_VALUE,
	               classes && !hard ? LINK_SHARE : LINK_NONE);
	return status;
}

/* ---- Bagging ---- */

/* The features of a part; NULL for all in order. */
static int
read_features(struct sklearn *s, pickle_ref r, struct step_model *m, size_t all)
{
	size_t i, n;
	double *v = sklearn_vector(s, r, 0, &n, "features of a model");

	if (!v)
		return -1;
	m->from = mem_array(n, sizeof *m->from);
	m->width = n;
	for (i = 0; m->from && i < n && v[i] >= 0 && v[i] < (double)all; i++)
		m->from[i] = (uint32_t)v[i];
	free(v);
	if (!m->from)
		return err_memory(s->e);
	if (i < n)
		return sklearn_wrong(s, "a feature of a model inside is not there");
	for (i = 0; i < n && n == all && m->from[i] == i; i++)
		;
	if (i == all) {
		free(m->from);
		m->from = NULL;
	}
	return 0;
}

/* A part may not know all classes: its labels are their numbers. */
static int
place_classes(struct sklearn *s, struct step_model *m, size_t outputs)
{
	size_t k;
	char *end;

	for (k = 0; k < m->gives && m->m->labels; k++) {
		unsigned long v = strtoul(m->m->labels[k], &end, 10);

		if (*end || end == m->m->labels[k] || v >= outputs)
			return sklearn_wrong(s, "a model inside knows other classes");
		m->to[k] = (uint32_t)v;
	}
	return m->m->labels || outputs == 1 ? 0 : fits(s, m, outputs);
}

int
sklearn_bagging(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n, many, i, all = sklearn_features(s, r), outputs = classes ? class_count(s, r) : 1;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	const struct pickle_cell *f = sklearn_list(s, sklearn_field(s, r, "estimators_features_"), &many);
	struct step_models *x = all && outputs ? sklearn_models(s, n) : NULL;
	struct step_model *m;

	if (x && many != n)
		return sklearn_wrong(s, "the features of the models inside are not those of all");
	for (i = 0; x && i < n; i++, c = pickle_next(&s->k, c), f = pickle_next(&s->k, f)) {
		m = sklearn_model(s, x, c->node);
		if (!m || sklearn_model_gives(s, m, classes && m->m->link == LINK_NONE ? MODELS_LABEL : MODELS_LINKED, 1, 0) < 0 ||
		    read_features(s, f->node, m, all) < 0 || place_classes(s, m, outputs) < 0)
			return -1;
	}
	if (x)
		s->m->steps[s->m->step_count - 1].in = all;
	if (!x || sklearn_models_end(s, outputs) < 0 || divide(s, outputs, (double)n) < 0)
		return -1;
	sklearn_scores(s, "bagging of scikit-learn", classes ? PREDICT_CLASSES : PREDICT_VALUE,
	               classes ? LINK_SHARE : LINK_NONE);
	return 0;
}

/* ---- AdaBoost ---- */

static int
boost_models(struct sklearn *s, pickle_ref r, size_t outputs, bool classes, double *sum)
{
	bool real = pickle_is(&s->k, sklearn_field(s, r, "algorithm"), "SAMME.R");
	size_t n, count, i;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	double *v = sklearn_vector(s, sklearn_field(s, r, "estimator_weights_"), 0, &count, "weights of the models");
	struct step_models *x = v ? sklearn_models(s, n) : NULL;
	struct step_model *m;
	int status = x ? 0 : -1;

	if (x && count < n)
		status = sklearn_wrong(s, "the weights are not those of the models");
	for (i = 0; status == 0 && i < n; i++, c = pickle_next(&s->k, c)) {
		m = sklearn_model(s, x, c->node);
		status = !m ? -1
		         : !classes ? sklearn_model_gives(s, m, MODELS_LINKED, v[i], 0)
		         : real ? sklearn_model_gives(s, m, MODELS_SAMME, 1, 0)
		                : sklearn_model_gives(s, m, MODELS_LABEL, v[i], 0);
		if (status == 0)
			status = fits(s, m, outputs);
	}
	for (i = 0; v && i < count; i++)
		*sum += v[i];
	if (x)
		x->median = !classes;
	free(v);
	return status < 0 ? -1 : sklearn_models_end(s, outputs);
}

int
sklearn_adaboost(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t outputs = classes ? class_count(s, r) : 1;
	double sum = 0;

	if (!outputs || boost_models(s, r, outputs, classes, &sum) < 0)
		return -1;
	if (classes && (divide(s, outputs, sum) < 0 || (outputs == 2 && second(s, true) < 0)))
		return -1;
	sklearn_scores(s, "AdaBoost of scikit-learn", !classes ? PREDICT_VALUE : outputs == 2 ? PREDICT_BINARY
	               : PREDICT_CLASSES, !classes ? LINK_NONE : outputs == 2 ? LINK_SIGMOID : LINK_SHARP);
	s->m->by_score = classes;
	if (outputs > 2)
		s->m->sharpness = 1 / (double)(outputs - 1);
	return 0;
}

/* ---- stacks ---- */

/* What a model of a stack gives to the last one; *to counts the columns. */
static int
stack(struct sklearn *s, pickle_ref method, struct step_model *m, bool classes, size_t *to)
{
	bool proba = classes && pickle_is(&s->k, method, "predict_proba");

	if (classes && !proba && !pickle_is(&s->k, method, "decision_function"))
		return err_set(s->e, ERR_FORMAT, s->where, "a stack of labels is not read");
	if (sklearn_model_gives(s, m, classes && !proba ? MODELS_SCORES : MODELS_LINKED, 1, *to) < 0)
		return -1;
	if (proba && m->gives == 2) {
		m->to[0] = UINT32_MAX;
		m->to[1] = (uint32_t)*to;
		*to += 1;
	} else {
		*to += m->gives;
	}
	return m->m->task == PREDICT_PAIRS && m->gives > 1 && !proba
	       ? err_set(s->e, ERR_FORMAT, s->where, "a stack of decisions between pairs of classes is not read") : 0;
}

int
sklearn_stacking(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n, many, i, to = 0;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	const struct pickle_cell *way = sklearn_list(s, sklearn_field(s, r, "stack_method_"), &many);
	pickle_ref last = sklearn_field(s, r, "final_estimator_");
	struct step_models *x = sklearn_models(s, n);
	struct step_model *m;

	if (!x || many != n || last == PICKLE_NOTHING)
		return x ? sklearn_wrong(s, "the stack has no last model, or not the methods of all") : -1;
	for (i = 0; i < n; i++, c = pickle_next(&s->k, c), way = pickle_next(&s->k, way)) {
		m = sklearn_model(s, x, c->node);
		if (!m || stack(s, way->node, m, classes, &to) < 0)
			return -1;
	}
	x->passes = sklearn_or(s, r, "passthrough", 0) != 0;
	if (sklearn_models_end(s, to) < 0 || sklearn_last(s, last) < 0)
		return -1;
	for (i = 0; i < s->m->label_count; i++) /* those of the last model are only numbers */
		free(s->m->labels[i]);
	free(s->m->labels);
	s->m->labels = NULL;
	s->m->label_count = 0;
	s->m->kind = "stack of models of scikit-learn";
	return 0;
}

/* ---- one model for each class, or for each output ---- */

/* The score or probability of a class, from a model of two. *link: of all models. */
static int
add_rest(struct sklearn *s, struct step_models *x, pickle_ref r, size_t to, enum predict_link *link)
{
	struct step_model *m = sklearn_model(s, x, r);

	if (!m)
		return -1;
	if (m->m->classes != 2)
		return err_set(s->e, ERR_FORMAT, s->where, "a model of one class against the rest has not two classes");
	if (sklearn_model_gives(s, m, s->decides ? MODELS_SCORES : MODELS_LINKED, 1, to) < 0)
		return -1;
	*link = !s->decides ? LINK_SHARE : m->m->link == LINK_SIGMOID && m->m->sharpness == 1 ? LINK_SIGMOID : LINK_NONE;
	if (m->gives == 2) {
		m->to[0] = UINT32_MAX;
		m->to[1] = (uint32_t)to;
	}
	return 0;
}

int
sklearn_onevsrest(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n, i, outputs = class_count(s, r);
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	struct step_models *x = outputs ? sklearn_models(s, n) : NULL;
	enum predict_link link = LINK_NONE, first = LINK_NONE;

	(void)classes;
	if (x && n != (outputs == 2 ? 1 : outputs))
		return sklearn_wrong(s, "the models are not one for each class, or rows have several labels");
	for (i = 0; x && i < n; i++, c = pickle_next(&s->k, c)) {
		if (add_rest(s, x, c->node, i, &link) < 0)
			return -1;
		first = i ? first : link;
		if (link != first)
			return sklearn_wrong(s, "the models of the classes are of different kinds");
	}
	if (!x || sklearn_models_end(s, n) < 0)
		return -1;
	if (link == LINK_SHARE && n > 1) {
		struct step *norm = sklearn_step(s, &step_norm, n, n);

		if (!norm)
			return -1;
		norm->mode = STEP_L1;
	}
	sklearn_scores(s, "one model for each class of scikit-learn", n == 1 ? PREDICT_BINARY : PREDICT_CLASSES,
	               link == LINK_SIGMOID && n > 1 ? LINK_EACH : link);
	s->m->by_score = n == 1 && link != LINK_SHARE;
	return 0;
}

int
sklearn_multioutput(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n, i;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	struct step_models *x = sklearn_models(s, n);

	(void)classes;
	for (i = 0; x && i < n; i++, c = pickle_next(&s->k, c)) {
		struct step_model *m = sklearn_model(s, x, c->node);

		if (!m || sklearn_model_gives(s, m, MODELS_LINKED, 1, i) < 0 || fits(s, m, 1) < 0)
			return -1;
	}
	if (!x || sklearn_models_end(s, n) < 0)
		return -1;
	sklearn_scores(s, "one model for each output of scikit-learn", PREDICT_VALUE, LINK_NONE);
	return 0;
}
