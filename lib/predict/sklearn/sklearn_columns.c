/* ColumnTransformer, and the encoders of categories. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_columns.h"

#define PARTS 4096
#define VALUES SKLEARN_VALUES

/* ---- texts of categories ---- */

/* The feature of the model that column j of the estimator is. */
static size_t
feature_of(const struct sklearn *s, size_t j)
{
	return s->columns ? s->columns[j] : j;
}

/* Whether the columns are still features: only imputers came before. */
static bool
is_first(const struct sklearn *s)
{
	size_t i;

	for (i = 0; i + 1 < s->m->step_count; i++) /* the last step is the encoder's own */
		if (s->m->steps[i].kind != &step_impute)
			return false;
	return s->depth <= 1;
}

/* Makes the texts the numbers of a feature. list is the model's from then on, or freed. */
static int
set_words(struct sklearn *s, size_t j, char **list, size_t n)
{
	struct predictor *m = s->m;
	size_t i, f = feature_of(s, j);
	struct predict_words *w;
	bool same = true;

	if (!m->words) {
		m->words = mem_array(s->features, sizeof *m->words);
		m->word_count = m->words ? s->features : 0;
	}
	if (!m->words || f >= m->word_count || !is_first(s)) {
		predict_words_free(&(struct predict_words){ .texts = list, .count = n });
		return m->words ? sklearn_wrong(s, "texts are encoded behind other steps") : err_memory(s->e);
	}
	w = &m->words[f];
	if (w->count == 0) {
		*w = (struct predict_words){ .texts = list, .count = n };
		return 0;
	}
	for (i = 0; i < n && same; i++)
		same = w->count == n && strcmp(w->texts[i], list[i]) == 0;
	predict_words_free(&(struct predict_words){ .texts = list, .count = n });
	return same ? 0 : sklearn_wrong(s, "two encoders have other categories for one column");
}

/* The number of a text of the feature, -1 if training did not see it. */
static double
word_number(struct sklearn *s, size_t j, pickle_ref r)
{
	size_t f = feature_of(s, j), n;
	const uint8_t *p = sklearn_none(s, r) || pickle_node(&s->k, r)->kind != PICKLE_TEXT ? NULL : sklearn_text(s, r, &n);
	char *text = p && s->m->words && f < s->m->word_count ? mem_text((const char *)p, n) : NULL;
	double v = text ? predict_word(&s->m->words[f], text, strlen(text)) : -1;

	free(text);
	return v;
}

/* Gives the imputers in front of the encoder the numbers of their texts. */
static void
set_fills(struct sklearn *s, size_t j)
{
	if (s->fill && j < s->fill->n && s->m->step_count > 1 &&
	    s->m->steps[s->m->step_count - 2].kind == &step_impute)
		s->m->steps[s->m->step_count - 2].a[j] = word_number(s, j, s->fill->item[j]);
}

/* ---- categories ---- */

/* The texts of an array, NULL with an error; *missing: one of them is a missing value, the last one. */
static char **
read_list(struct sklearn *s, pickle_ref r, const struct sklearn_array *a, size_t *count, bool *missing)
{
	struct predictor *m = s->m;
	char **labels = m->labels, **list;
	size_t label_count = m->label_count;
	const struct pickle_cell *c = a->list == PICKLE_NOTHING ? NULL : pickle_first(&s->k, a->list);
	size_t i;
	int status = 0;

	m->labels = NULL;
	m->label_count = 0;
	for (i = 0; c && i < a->n && status == 0; i++, c = pickle_next(&s->k, c)) {
		double v;

		*missing = pickle_node(&s->k, c->node)->kind != PICKLE_TEXT && i + 1 == a->n &&
		           (sklearn_none(s, c->node) || (sklearn_number(s, c->node, &v) == 0 && isnan(v)));
		if (!*missing)
			status = sklearn_add_text(s, c->node, true);
	}
	if (a->list == PICKLE_NOTHING)
		status = sklearn_texts(s, r, true);
	list = m->labels;
	*count = m->label_count;
	m->labels = labels;
	m->label_count = label_count;
	if (status == 0 && (list || *missing))
		return list ? list : mem_array(1, sizeof *list);
	predict_words_free(&(struct predict_words){ .texts = list, .count = *count });
	if (status == 0)
		sklearn_wrong(s, "a column has no categories");
	return NULL;
}

/* Numbers that stand in an array as objects; 1 if they are not numbers. */
static int
read_objects(struct sklearn *s, const struct sklearn_array *a, struct step_categories *c)
{
	const struct pickle_cell *x = a->list == PICKLE_NOTHING ? NULL : pickle_first(&s->k, a->list);
	double v;
	size_t i;

	if (!x || sklearn_number(s, x->node, &v) < 0)
		return 1;
	c->values = mem_array(a->n, sizeof *c->values);
	if (!c->values)
		return err_memory(s->e);
	for (i = 0; i < a->n; i++, x = pickle_next(&s->k, x))
		if (!x || sklearn_number(s, x->node, &c->values[i]) < 0)
			return sklearn_wrong(s, "the categories of a column are numbers and texts");
	c->count = a->n;
	return 0;
}

/* Proves that numbers ascend, so that they can be found. */
static int
prove_order(struct sklearn *s, const struct step_categories *c)
{
	size_t i;

	for (i = 1; i < c->count; i++)
		if (!(c->values[i - 1] < c->values[i]) && !(i + 1 == c->count && isnan(c->values[i])))
			return sklearn_wrong(s, "the categories of a column are not in order");
	return c->count ? 0 : sklearn_wrong(s, "a column has no categories");
}

/* The categories of column j. */
static int
read_categories(struct sklearn *s, pickle_ref r, size_t j, struct step_categories *c)
{
	struct sklearn_array a = { .n = 0 };
	bool missing = false;
	char **list;
	size_t i, n = 0;
	int status = sklearn_array(s, r, &a);

	if (status == 0 && a.v) {
		c->values = a.v;
		c->count = a.n;
		a.v = NULL;
	} else if (status == 0) {
		status = read_objects(s, &a, c);
	}
	if (status < 1 && (status < 0 || c->values)) {
		sklearn_array_free(&a);
		return status < 0 ? -1 : prove_order(s, c);
	}
	status = 0;
	list = status == 0 ? read_list(s, r, &a, &n, &missing) : NULL;
	sklearn_array_free(&a);
	if (!list)
		return -1;
	c->values = mem_array(n + 1, sizeof *c->values);
	if (!c->values) {
		predict_words_free(&(struct predict_words){ .texts = list, .count = n });
		return err_memory(s->e);
	}
	for (i = 0; i < n; i++)
		c->values[i] = (double)i;
	c->values[n] = (double)NAN;
	c->count = n + missing;
	if (set_words(s, j, list, n) < 0)
		return -1;
	set_fills(s, j);
	return 0;
}

/* Prepares the encoder of all columns. NULL with an error. */
static struct step_encoder *
begin(struct sklearn *s, pickle_ref r, struct step *step)
{
	pickle_ref list = sklearn_field(s, r, "categories_");
	const struct pickle_cell *c = list == PICKLE_NOTHING || pickle_node(&s->k, list)->kind != PICKLE_LIST
	                              ? NULL : pickle_first(&s->k, list);
	double n = sklearn_or(s, r, "n_features_in_", 0);
	struct step_encoder *x = mem_array(1, sizeof *x);
	size_t j;

	step->more = x;
	step->free_more = step_encoder_free;
	if (!x) {
		err_memory(s->e);
		return NULL;
	}
	if (!(n >= 1 && n <= (s->columns ? (double)s->width : FOREST_FEATURES)) || !c) {
		sklearn_wrong(s, "the encoder was not trained, or for other columns");
		return NULL;
	}
	if (!s->columns && s->features == 0)
		s->features = (size_t)n;
	x->columns = mem_array((size_t)n, sizeof *x->columns);
	x->n = x->columns ? (size_t)n : 0;
	step->in = (size_t)n;
	for (j = 0; j < x->n; j++, c = c ? pickle_next(&s->k, c) : NULL)
		if (!c) {
			sklearn_wrong(s, "a column has no categories");
			return NULL;
		} else if (read_categories(s, c->node, j, &x->columns[j]) < 0) {
			return NULL;
		}
	if (!x->columns)
		err_memory(s->e);
	free(s->fill);
	s->fill = NULL;
	return x->columns ? x : NULL;
}

/* ---- rare categories, and dropped ones ---- */

/* Each category has a value of its own. */
static int
place_all(struct sklearn *s, struct step_encoder *x)
{
	size_t j, i;

	for (j = 0; j < x->n; j++) {
		struct step_categories *c = &x->columns[j];

		c->place = mem_array(c->count, sizeof *c->place);
		if (!c->place)
			return err_memory(s->e);
		for (i = 0; i < c->count; i++)
			c->place[i] = (uint32_t)i;
		c->width = c->count;
		c->other = STEP_NO_VALUE;
	}
	return 0;
}

/* The values of the categories of a column; rare ones share the last. */
static int
group(struct sklearn *s, pickle_ref r, struct step_categories *c, bool takes_unknown)
{
	size_t i, n;
	double *v = sklearn_vector(s, r, c->count, &n, "places of categories");
	uint32_t most = 0;

	if (!v)
		return -1;
	for (i = 0; i < n && v[i] >= 0 && v[i] < (double)n && v[i] == floor(v[i]); i++) {
		c->place[i] = (uint32_t)v[i];
		most = c->place[i] > most ? c->place[i] : most;
	}
	free(v);
	if (i < n)
		return sklearn_wrong(s, "the place of a category is not there");
	c->width = (size_t)most + 1;
	c->other = takes_unknown ? most : STEP_NO_VALUE;
	return 0;
}

/* Groups of rare categories: for each column a list of places, or None. */
static int
read_groups(struct sklearn *s, pickle_ref r, struct step_encoder *x)
{
	pickle_ref list = sklearn_field(s, r, "_default_to_infrequent_mappings");
	pickle_ref unknown = sklearn_field(s, r, "handle_unknown");
	const struct pickle_cell *c;
	size_t j;
	bool shared = unknown != PICKLE_NOTHING && (pickle_is(&s->k, unknown, "infrequent_if_exist") ||
	                                            pickle_is(&s->k, unknown, "warn"));

	if (place_all(s, x) < 0)
		return -1;
	if (sklearn_or(s, r, "_infrequent_enabled", 0) == 0)
		return 0;
	if (list == PICKLE_NOTHING || pickle_node(&s->k, list)->kind != PICKLE_LIST)
		return sklearn_wrong(s, "the encoder has no groups of rare categories");
	c = pickle_first(&s->k, list);
	for (j = 0; j < x->n; j++, c = pickle_next(&s->k, c)) {
		if (!c)
			return sklearn_wrong(s, "the groups of rare categories are not those of all columns");
		if (!sklearn_none(s, c->node) && group(s, c->node, &x->columns[j], shared) < 0)
			return -1;
	}
	return 0;
}

/* The value v of a column is left out. */
static int
drop(struct sklearn *s, struct step_categories *c, double v)
{
	uint32_t gone;
	size_t i;

	if (!(v >= 0 && v < (double)c->width))
		return sklearn_wrong(s, "a dropped category is not there");
	gone = (uint32_t)v;
	for (i = 0; i < c->count; i++)
		c->place[i] = c->place[i] == gone ? STEP_NO_VALUE : c->place[i] - (c->place[i] > gone);
	if (c->other != STEP_NO_VALUE)
		c->other = c->other == gone ? STEP_NO_VALUE : c->other - (c->other > gone);
	c->width--;
	return 0;
}

/* For each column the value that is dropped, behind the grouping, or None. */
static int
read_drops(struct sklearn *s, pickle_ref r, struct step_encoder *x)
{
	struct sklearn_array a = { .n = 0 };
	pickle_ref after = sklearn_field(s, r, "_drop_idx_after_grouping");
	const struct pickle_cell *c;
	size_t j;
	double v;
	int status;

	r = after != PICKLE_NOTHING ? after : sklearn_field(s, r, "drop_idx_");
	if (sklearn_none(s, r))
		return 0;
	status = sklearn_array(s, r, &a);
	c = status == 0 && a.list != PICKLE_NOTHING ? pickle_first(&s->k, a.list) : NULL;
	if (status == 0 && a.n != x->n)
		status = sklearn_wrong(s, "the dropped categories are not one for each column");
	for (j = 0; status == 0 && j < x->n; j++, c = c ? pickle_next(&s->k, c) : NULL) {
		if (!a.v && (!c || sklearn_number(s, c->node, &v) < 0))
			continue; /* None */
		status = drop(s, &x->columns[j], a.v ? a.v[j] : v);
	}
	sklearn_array_free(&a);
	return status;
}

int
sklearn_onehot(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *step = sklearn_step(s, &step_onehot, 0, 0);
	struct step_encoder *x = step ? begin(s, r, step) : NULL;
	size_t j;

	(void)classes;
	if (!x || read_groups(s, r, x) < 0 || read_drops(s, r, x) < 0)
		return -1;
	x->refuses = pickle_is(&s->k, sklearn_field(s, r, "handle_unknown"), "error");
	for (j = 0; j < x->n; j++) {
		x->columns[j].first = step->out;
		step->out += x->columns[j].width;
		if (step->out > VALUES)
			return sklearn_wrong(s, "the encoder has too many categories");
	}
	return 0;
}

int
sklearn_ordinal(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *step = sklearn_step(s, &step_ordinal, 0, 0);
	struct step_encoder *x = step ? begin(s, r, step) : NULL;

	(void)classes;
	if (!x || read_groups(s, r, x) < 0)
		return -1;
	step->out = step->in;
	x->refuses = pickle_is(&s->k, sklearn_field(s, r, "handle_unknown"), "error");
	x->unknown = sklearn_or(s, r, "unknown_value", (double)NAN);
	x->missing = sklearn_or(s, r, "encoded_missing_value", (double)NAN);
	return 0;
}

/* ---- columns ---- */

/* The features of a part, from the dictionary of names to lists of numbers. */
static int
read_columns(struct sklearn *s, pickle_ref all, pickle_ref name, struct step_part *part)
{
	const struct pickle_cell *key = pickle_node(&s->k, all)->kind == PICKLE_DICT ? pickle_first(&s->k, all) : NULL;
	const struct pickle_cell *value = NULL, *c;
	size_t n, m;
	const uint8_t *p = pickle_node(&s->k, name)->kind == PICKLE_TEXT ? pickle_bytes(&s->k, name, &n) : NULL, *q;
	double v;

	for (; key; key = pickle_next(&s->k, value)) {
		value = pickle_next(&s->k, key);
		if (!value)
			break;
		q = pickle_node(&s->k, key->node)->kind == PICKLE_TEXT ? pickle_bytes(&s->k, key->node, &m) : NULL;
		if (p && q && n == m && memcmp(p, q, n) == 0 && pickle_node(&s->k, value->node)->kind == PICKLE_LIST)
			break;
	}
	if (!key || !value)
		return sklearn_wrong(s, "the columns of a transformer are missing");
	for (c = pickle_first(&s->k, value->node); c; c = pickle_next(&s->k, c)) {
		size_t cap = part->width;

		if (sklearn_number(s, c->node, &v) < 0 || !(v >= 0 && v < (double)s->features) || part->width >= VALUES)
			return sklearn_wrong(s, "a column of a transformer is not there");
		if ((cap & (cap - 1)) == 0 && mem_grow(&part->from, &cap, cap ? 2 * cap : 1, sizeof *part->from) < 0)
			return err_memory(s->e);
		part->from[part->width++] = (uint32_t)v;
	}
	return 0;
}

/* Reads the steps of a part, with the part's list of steps in place of the model's. */
static int
read_steps(struct sklearn *s, pickle_ref r, struct step_part *part)
{
	struct sklearn_aside kept;
	int status;

	sklearn_aside(s, &kept);
	s->columns = part->from;
	s->width = part->width;
	s->depth++;
	status = sklearn_estimator(s, r);
	s->depth--;
	s->columns = NULL;
	sklearn_back(s, &kept, part);
	return status < 0 ? -1 : sklearn_join(s, part);
}

/* True if a part reads a text: its one feature. */
static bool
reads_text(const struct step_part *part)
{
	return part->step_count && part->steps[0].kind->texts;
}

/* Whether texts reach nothing but an encoder. */
static int
prove_words(struct sklearn *s, const struct step_part *part)
{
	size_t i = 0, j;
	bool encoder;

	if (reads_text(part))
		return s->m->words[part->from[0]].count
		       ? sklearn_wrong(s, "a column is both a text and a category") : 0;
	while (i < part->step_count && part->steps[i].kind == &step_impute)
		i++;
	encoder = i < part->step_count && (part->steps[i].kind == &step_onehot || part->steps[i].kind == &step_ordinal);
	for (j = 0; !encoder && s->m->words && j < part->width; j++)
		if (part->from[j] < s->m->word_count && s->m->words[part->from[j]].count)
			return sklearn_wrong(s, "a column of texts is used without an encoder");
	for (j = 0; s->m->words && j < part->width; j++)
		if (s->m->words[part->from[j]].text)
			return sklearn_wrong(s, "a column of texts is used without a vectorizer");
	return 0;
}

static int
read_part(struct sklearn *s, pickle_ref triple, pickle_ref all, struct step_columns *x)
{
	struct step_part *part = &x->parts[x->n];
	pickle_ref item[3];

	if (pickle_items(&s->k, triple, item, 3) != 3)
		return sklearn_wrong(s, "a transformer is not a name, an estimator and columns");
	if (pickle_is(&s->k, item[1], "drop"))
		return 0;
	x->n++;
	if (read_columns(s, all, item[0], part) < 0)
		return -1;
	part->out = part->width;
	if (part->width == 0) {
		x->n--;
		free(part->from);
		part->from = NULL;
		return 0;
	}
	return pickle_is(&s->k, item[1], "passthrough") ? 0 : read_steps(s, item[1], part);
}

/* Marks the features that no part reads. 0 or -1. */
static int
mark_unused(struct sklearn *s, const struct step_columns *x)
{
	struct predictor *m = s->m;
	size_t k, j;

	if (!m->words)
		m->words = mem_array(s->features, sizeof *m->words);
	if (!m->words)
		return err_memory(s->e);
	m->word_count = s->features;
	for (j = 0; j < s->features; j++)
		m->words[j].unused = true;
	for (k = 0; k < x->n; k++)
		for (j = 0; j < x->parts[k].width; j++) {
			m->words[x->parts[k].from[j]].unused = false;
			m->words[x->parts[k].from[j]].text |= reads_text(&x->parts[k]);
		}
	return 0;
}

int
sklearn_parts(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *step = sklearn_step(s, &step_parts, 0, 0);
	pickle_ref list = sklearn_field(s, r, "transformers_"), all = sklearn_field(s, r, "_transformer_to_input_indices");
	const struct pickle_cell *c = list == PICKLE_NOTHING || pickle_node(&s->k, list)->kind != PICKLE_LIST
	                              ? NULL : pickle_first(&s->k, list);
	struct step_columns *x = mem_array(1, sizeof *x);
	double n = sklearn_or(s, r, "n_features_in_", 0);
	size_t k, count = 0;

	(void)classes;
	if (!step || !x) {
		free(x);
		return step ? err_memory(s->e) : -1;
	}
	step->more = x;
	step->free_more = step_columns_free;
	if (!c || all == PICKLE_NOTHING || s->depth || s->m->step_count != 1 || !(n >= 1 && n <= FOREST_FEATURES))
		return sklearn_wrong(s, "the transformer of columns was not trained, or is not the first step");
	for (; c; c = pickle_next(&s->k, c))
		count++;
	s->features = step->in = (size_t)n;
	x->parts = count <= PARTS ? mem_array(count, sizeof *x->parts) : NULL;
	if (!x->parts)
		return err_memory(s->e);
	for (c = pickle_first(&s->k, list); c; c = pickle_next(&s->k, c))
		if (read_part(s, c->node, all, x) < 0)
			return -1;
	step = &s->m->steps[0];
	if (mark_unused(s, x) < 0)
		return -1;
	for (k = 0; k < x->n; k++) {
		if (prove_words(s, &x->parts[k]) < 0)
			return -1;
		step->out += x->parts[k].out;
		if (step->out > VALUES)
			return sklearn_wrong(s, "the transformer of columns has too many values");
	}
	return 0;
}
