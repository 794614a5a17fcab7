#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/sklearn/sklearn.h"
#include "predict/step_text.h"

static int
not_read(const struct sklearn *s, const char *what)
{
	return err_set(s->e, ERR_FORMAT, s->where, "a vectorizer with %s is not read", what);
}

static int
read_unit(struct sklearn *s, pickle_ref r, struct bag *w)
{
	pickle_ref unit = sklearn_field(s, r, "analyzer"), accents = sklearn_field(s, r, "strip_accents");

	if (unit == PICKLE_NOTHING || pickle_is(&s->k, unit, "word"))
		w->unit = BAG_WORDS;
	else if (pickle_is(&s->k, unit, "char"))
		w->unit = BAG_LETTERS;
	else if (pickle_is(&s->k, unit, "char_wb"))
		w->unit = BAG_INSIDE;
	else
		return not_read(s, "an analyzer that is a function");
	if (sklearn_none(s, accents))
		w->accents = ACCENTS_STAY;
	else if (pickle_is(&s->k, accents, "unicode"))
		w->accents = ACCENTS_MARKS;
	else if (pickle_is(&s->k, accents, "ascii"))
		w->accents = ACCENTS_ASCII;
	else
		return not_read(s, "a function for accents");
	if (!sklearn_none(s, sklearn_field(s, r, "preprocessor")) ||
	    !sklearn_none(s, sklearn_field(s, r, "tokenizer")))
		return not_read(s, "a preprocessor or a tokenizer of its own, which is code,");
	return 0;
}

/* None, "english", or a list of words. */
static int
read_stop_words(struct sklearn *s, pickle_ref r, struct bag *w)
{
	const struct pickle_cell *c;
	const uint8_t *p;
	size_t n;

	if (sklearn_none(s, r) || w->unit != BAG_WORDS)
		return 0;
	if (pickle_is(&s->k, r, "english"))
		return bag_stop_english(w, s->e);
	if (pickle_node(&s->k, r)->kind != PICKLE_LIST)
		return not_read(s, "stop words that are not a list");
	for (c = pickle_first(&s->k, r); c; c = pickle_next(&s->k, c)) {
		if (pickle_node(&s->k, c->node)->kind != PICKLE_TEXT)
			return sklearn_wrong(s, "a stop word is not a text");
		p = sklearn_text(s, c->node, &n);
		if (!p || bag_stop(w, p, n, s->e) < 0)
			return -1;
	}
	return 0;
}

static int
read_words(struct sklearn *s, pickle_ref r, struct bag *w)
{
	pickle_ref range[2], field = sklearn_field(s, r, "ngram_range");
	double low = 1, high = 1;
	const uint8_t *p;
	size_t n;

	if (field != PICKLE_NOTHING &&
	    (pickle_items(&s->k, field, range, 2) != 2 || sklearn_number(s, range[0], &low) < 0 ||
	     sklearn_number(s, range[1], &high) < 0 || !(low >= 1 && high >= low && high <= BAG_RANGE)))
		return sklearn_wrong(s, "the lengths of terms are wrong");
	w->shortest = (size_t)low;
	w->longest = (size_t)high;
	w->lower = sklearn_or(s, r, "lowercase", 1) != 0;
	w->binary = sklearn_or(s, r, "binary", 0) != 0;
	if (read_unit(s, r, w) < 0 || read_stop_words(s, sklearn_field(s, r, "stop_words"), w) < 0)
		return -1;
	field = sklearn_field(s, r, "token_pattern");
	if (w->unit != BAG_WORDS || sklearn_none(s, field))
		return 0;
	if (pickle_node(&s->k, field)->kind != PICKLE_TEXT)
		return sklearn_wrong(s, "the pattern of a word is not a text");
	p = pickle_bytes(&s->k, field, &n);
	return bag_pattern(w, (const char *)p, n, s->where, s->e);
}

/* A dictionary of terms and columns. *columns: one more than the largest. */
static int
read_vocabulary(struct sklearn *s, pickle_ref r, struct bag *w, size_t *columns)
{
	const struct pickle_cell *c, *value;
	const uint8_t *p;
	double v;
	size_t n;

	*columns = 0;
	if (r == PICKLE_NOTHING || pickle_node(&s->k, r)->kind != PICKLE_DICT)
		return sklearn_wrong(s, "the vectorizer has no vocabulary");
	for (c = pickle_first(&s->k, r); c; c = pickle_next(&s->k, value)) {
		value = pickle_next(&s->k, c);
		if (!value || pickle_node(&s->k, c->node)->kind != PICKLE_TEXT ||
		    sklearn_number(s, value->node, &v) < 0 || !(v >= 0 && v < FOREST_FEATURES) || v != floor(v))
			return sklearn_wrong(s, "the vocabulary is not of texts and columns");
		p = sklearn_text(s, c->node, &n);
		if (!p || bag_term(w, p, n, (uint32_t)v, s->e) < 0)
			return -1;
		*columns = (size_t)v >= *columns ? (size_t)v + 1 : *columns;
	}
	/* A column without a term would be a count that nothing in the file stands for. */
	return *columns <= w->terms.count ? 0
	       : sklearn_wrong(s, "the vocabulary has columns without a term");
}

/* A vectorizer comes first, so that a vocabulary is read once. */
static struct bag *
begin(struct sklearn *s)
{
	struct bag *w = s->m->step_count == 0 ? bag_new() : NULL;

	if (s->m->step_count > 0)
		sklearn_wrong(s, "a vectorizer is not the first step");
	else if (!w)
		err_memory(s->e);
	return w;
}

/* Makes a step of the words. status: so far. */
static int
finish(struct sklearn *s, struct bag *w, size_t columns, int status)
{
	struct step *x = status == 0 ? sklearn_step(s, &step_words, 1, columns) : NULL;

	if (!x) {
		bag_free(w);
		return -1;
	}
	return bag_step(w, columns, s->where, x, s->e);
}

int
sklearn_counts(struct sklearn *s, pickle_ref r, bool classes)
{
	struct bag *w = begin(s);
	size_t columns = 0;
	int status = w ? read_words(s, r, w) : -1;

	(void)classes;
	if (status == 0)
		status = read_vocabulary(s, sklearn_field(s, r, "vocabulary_"), w, &columns);
	return finish(s, w, columns, status);
}

int
sklearn_tfidf_counts(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref tfidf = sklearn_field(s, r, "_tfidf");

	if (tfidf == PICKLE_NOTHING)
		return sklearn_wrong(s, "the vectorizer has no weights");
	return sklearn_counts(s, r, classes) < 0 ? -1 : sklearn_tfidf(s, tfidf, classes);
}

int
sklearn_hashes(struct sklearn *s, pickle_ref r, bool classes)
{
	double n = sklearn_or(s, r, "n_features", 0);
	struct bag *w = begin(s);
	pickle_ref norm = sklearn_field(s, r, "norm");
	int status = w ? read_words(s, r, w) : -1;

	(void)classes;
	if (status == 0 && !(n >= 1 && n <= FOREST_FEATURES))
		status = sklearn_wrong(s, "the number of hashes is missing or too large");
	if (status == 0) {
		w->hashes = (size_t)n;
		w->signs = sklearn_or(s, r, "alternate_sign", 1) != 0;
	}
	status = finish(s, w, status == 0 ? (size_t)n : 0, status);
	if (status == 0 && !sklearn_none(s, norm)) {
		struct step *x = sklearn_step(s, &step_norm, (size_t)n, (size_t)n);

		if (!x)
			return -1;
		x->mode = pickle_is(&s->k, norm, "l1") ? STEP_L1 : STEP_L2;
	}
	return status;
}
