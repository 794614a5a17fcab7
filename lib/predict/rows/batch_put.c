#include "predict/rows/batch_put.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "predict/contrib.h"
#include "predict/decimal.h"

static void
put_quoted(struct buf *o, const char *text)
{
	buf_text(o, "\"");
	for (; *text; text++)
		buf_printf(o, "%s%c", *text == '"' ? "\"" : "", *text);
	buf_text(o, "\"");
}

/* A name as a field of a table or in JSON. */
static void
put_text(const struct batch *b, struct buf *o, const char *text)
{
	if (b->rows.form == ROWS_JSON)
		json_quote(o, text, strlen(text));
	else if (!strpbrk(text, ",\t \"\n\r"))
		buf_text(o, text);
	else
		put_quoted(o, text);
}

static const char *
digits(const char *p)
{
	return p + strspn(p, "0123456789");
}

/* Whether a text is a number as JSON writes numbers: 007, .5 and 1. are not. */
static bool
is_json_number(const char *p)
{
	const char *from = p += *p == '-';

	p = *p == '0' ? p + 1 : digits(p);
	if (p == from)
		return false;
	if (*p == '.') {
		from = p + 1;
		p = digits(from);
		if (p == from)
			return false;
	}
	if (*p == 'e' || *p == 'E') {
		from = p + 1 + (p[1] == '-' || p[1] == '+');
		p = digits(from);
		if (p == from)
			return false;
	}
	return !*p;
}

static void
put_label(const struct batch *b, struct buf *o, size_t k)
{
	const char *text = b->m->labels ? b->m->labels[k] : NULL;

	if (!text)
		buf_printf(o, "%zu", k);
	else if (b->rows.form == ROWS_JSON && is_json_number(text))
		buf_text(o, text);
	else
		put_text(b, o, text);
}

static const char *
between(const struct batch *b)
{
	return b->rows.form == ROWS_TSV ? "\t" : b->rows.form == ROWS_SPACE || b->rows.form == ROWS_LIBSVM
	       ? " " : ",";
}

static void
put_number(const struct batch *b, struct buf *o, double v)
{
	if (b->rows.form == ROWS_JSON && !isfinite(v))
		buf_text(o, "null");
	else
		decimal_write(o, v, b->m->single);
}

size_t
batch_columns(const struct batch *b)
{
	switch (b->what) {
	case BATCH_RAW:
		return b->m->outputs - b->m->chosen;
	case BATCH_PROBA:
		return predict_columns(b->m);
	case BATCH_LEAF:
		return predict_trees(b->m);
	case BATCH_CONTRIB:
		return contrib_columns(b->m);
	default:
		return b->m->task == PREDICT_VALUE ? b->m->outputs : 1;
	}
}

static const char *const words[] = { "prediction", "proba", "raw", "contrib", "leaf" };

/* The k-th column: contrib_FEATURE or contrib_CLASS_FEATURE, by name or number. */
static void
name_contribution(const struct predictor *m, size_t k, struct buf *name)
{
	size_t output = k / (m->inner + 1), feature = k % (m->inner + 1);
	bool same = m->names && m->name_count == m->inner;

	buf_text(name, "contrib");
	if (m->outputs > 1 && m->labels)
		buf_printf(name, "_%s", m->labels[output]);
	else if (m->outputs > 1)
		buf_printf(name, "_%zu", output);
	if (feature == m->inner)
		buf_text(name, "_bias");
	else if (same)
		buf_printf(name, "_%s", m->names[feature]);
	else
		buf_printf(name, "_%zu", feature);
}

void
batch_put_header(const struct batch *b, struct buf *o)
{
	size_t k, n = batch_columns(b);
	struct buf name = { 0 };

	for (k = 0; k < n; k++) {
		buf_clear(&name);
		if (b->what == BATCH_CONTRIB)
			name_contribution(b->m, k, &name);
		else
			buf_text(&name, words[b->what]);
		if (b->what == BATCH_PROBA && b->m->labels)
			buf_printf(&name, "_%s", b->m->labels[k]);
		else if (n > 1 && b->what != BATCH_CONTRIB)
			buf_printf(&name, "_%zu", k);
		buf_text(o, k ? between(b) : "");
		put_text(b, o, buf_string(&name));
	}
	buf_text(o, "\n");
	buf_free(&name);
}

static void
put_values(const struct batch *b, struct buf *o, const double *scores, const uint32_t *leaves,
           double *linked)
{
	size_t k, n = batch_columns(b);
	const double *v = b->what == BATCH_CONTRIB ? scores : linked;

	if (b->what == BATCH_RAW)
		predict_raw(b->m, scores, linked);
	else if (b->what == BATCH_PROBA || b->what == BATCH_PREDICTION)
		predict_link(b->m, scores, linked);
	for (k = 0; k < n; k++) {
		buf_text(o, k ? between(b) : "");
		if (b->what == BATCH_LEAF)
			buf_printf(o, "%" PRIu32, leaves[k]);
		else
			put_number(b, o, v[k]);
	}
}

size_t
batch_numbers(const struct batch *b)
{
	return b->what == BATCH_CONTRIB ? contrib_columns(b->m) : b->m->outputs;
}

void
batch_put_row(const struct batch *b, struct buf *o, const double *scores, const uint32_t *leaves,
        double *linked)
{
	bool json = b->rows.form == ROWS_JSON, list = batch_columns(b) > 1;

	if (json)
		buf_printf(o, "{\"%s\":%s", words[b->what], list ? "[" : "");
	if (b->what == BATCH_PREDICTION && b->m->task == PREDICT_CLASSES && isnan(scores[0]))
		buf_text(o, json ? "null" : "nan"); /* no class was predicted */
	else if (b->what == BATCH_PREDICTION && b->m->task != PREDICT_VALUE)
		put_label(b, o, predict_label(b->m, scores));
	else
		put_values(b, o, scores, leaves, linked);
	buf_text(o, json ? list ? "]}\n" : "}\n" : "\n");
}

void
batch_put_sparse(const struct batch *b, struct buf *o, const struct step_rows *x, size_t i)
{
	bool json = b->rows.form == ROWS_JSON;
	size_t k, from = step_from(x, i);

	if (json)
		buf_printf(o, "{\"%s\":{", words[b->what]);
	for (k = from; k < step_from(x, i + 1); k++) {
		buf_printf(o, json ? "%s\"%" PRIu32 "\":" : "%s%" PRIu32 ":",
		           k == from ? "" : json ? "," : " ", step_column(x, k));
		put_number(b, o, *step_value(x, k));
	}
	buf_text(o, json ? "}}\n" : "\n");
}
