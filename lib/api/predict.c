/* Classical models. */
#include "api/compute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/text.h"
#include "predict/contrib.h"
#include "predict/file.h"
#include "predict/predict.h"
#include "predict/rows/batch.h"
#include "predict/tensors.h"

struct aprml_predictor {
	struct predictor m;
};

/* ---- open and close ---- */

void
aprml_predictor_close(struct aprml_predictor *p)
{
	if (!p)
		return;
	predictor_free(&p->m);
	free(p);
}

/* An empty one, which keeps what aprml_predictor_explain needs; or NULL. */
static struct aprml_predictor *
make(void)
{
	struct aprml_predictor *p = mem_array(1, sizeof *p);

	if (p)
		p->m.covers = true;
	return p;
}

/* The end of opening: status is 0 or -1. */
static struct aprml_predictor *
opened(struct aprml_predictor *p, int status, struct err *err, struct aprml_error *e)
{
	if (p && status == 0)
		return p;
	if (!p)
		err_memory(err);
	aprml_predictor_close(p);
	api_fail(err, e);
	return NULL;
}

struct aprml_predictor *
aprml_predictor_of(struct aprml *m, struct aprml_error *e)
{
	struct aprml_predictor *p;
	struct aprml_weights *w;
	struct err err = ERR_INIT;
	int status;

	if (api_need(m, "model", e) < 0)
		return NULL;
	p = make();
	w = p ? aprml_weights_open(m, NULL, e) : NULL;
	if (p && !w) {
		aprml_predictor_close(p);
		return NULL;
	}
	status = p ? predict_tensors(&p->m, &w->load.weights, &err) : -1;
	p = opened(p, status, &err, e);
	aprml_weights_close(w);
	return p;
}

static struct aprml_predictor *
open_container(struct aprml *m, struct aprml_error *e)
{
	struct aprml_predictor *p = m ? aprml_predictor_of(m, e) : NULL;

	aprml_close(m);
	return p;
}

struct aprml_predictor *
aprml_predictor_open(const char *path, struct aprml_error *e)
{
	struct aprml_predictor *p;
	struct err err = ERR_INIT;
	struct reader r;
	int status = -1;

	if (api_need(path, "path", e) < 0)
		return NULL;
	p = make();
	if (p && reader_open(&r, path, &err) == 0) {
		status = predict_file(&p->m, &r, path, &err);
		reader_close(&r);
	}
	if (status <= 0)
		return opened(p, status, &err, e);
	aprml_predictor_close(p);
	return open_container(aprml_open(path, e), e);
}

struct aprml_predictor *
aprml_predictor_open_memory(const void *bytes, size_t n, struct aprml_error *e)
{
	struct aprml_predictor *p;
	struct err err = ERR_INIT;
	struct reader r;
	int status = -1;

	if (n > 0 && api_need(bytes, "bytes", e) < 0)
		return NULL;
	p = make();
	if (p) {
		reader_memory(&r, bytes, n, "<memory>", &err);
		status = predict_file(&p->m, &r, "<memory>", &err);
		reader_close(&r);
	}
	if (status <= 0)
		return opened(p, status, &err, e);
	aprml_predictor_close(p);
	return open_container(aprml_open_memory(bytes, n, e), e);
}

/* ---- what the model is ---- */

int
aprml_predictor_info(const struct aprml_predictor *p, struct aprml_predictor_info *info)
{
	const struct predictor *m = &p->m;

	const struct aprml_predictor_info known = { sizeof known, m->kind, m->features, m->outputs,
		m->classes, predict_trees(m), m->texts };

	return api_fill(info, &known, sizeof known, sizeof known);
}

const char *
aprml_predictor_feature(const struct aprml_predictor *p, size_t i)
{
	return p->m.names && i < p->m.name_count ? p->m.names[i] : NULL;
}

const char *
aprml_predictor_label(const struct aprml_predictor *p, size_t i)
{
	return p->m.labels && i < p->m.label_count ? p->m.labels[i] : NULL;
}

int
aprml_predictor_word(const struct aprml_predictor *p, size_t i, const char *text, size_t n,
                     double *v)
{
	enum predict_reads how = predict_reads(&p->m, i);

	if (how == PREDICT_WORD)
		predict_word_value(&p->m, i, text, n, n == 0, v);
	return (int)how;
}

int
aprml_predictor_trees(struct aprml_predictor *p, size_t n, struct aprml_error *e)
{
	struct err err = ERR_INIT;

	if (api_need(p, "predictor", e) < 0)
		return -1;
	if (predict_trees(&p->m) == 0)
		err_set(&err, ERR_NO, NULL, "the model has no trees");
	else if (forest_limit(&p->m.forest, n, &err) == 0 &&
	         (!p->m.contrib || contrib_begin(&p->m, &err) == 0))
		return 0;
	return api_fail(&err, e);
}

int
aprml_predictor_explain(struct aprml_predictor *p, struct aprml_error *e)
{
	static const char option[] = "--contrib: ";
	struct err err = ERR_INIT;
	int r;

	if (api_need(p, "predictor", e) < 0)
		return -1;
	r = contrib_begin(&p->m, &err);
	if (strncmp(err.fact, option, strlen(option)) == 0)
		memmove(err.fact, err.fact + strlen(option), strlen(err.fact) - strlen(option) + 1);
	return r < 0 ? api_fail(&err, e) : 0;
}

void
aprml_predictor_expect(struct aprml_predictor *p, uint64_t rows)
{
	predict_expect(&p->m, rows);
}

size_t
aprml_predict_columns(const struct aprml_predictor *p, enum aprml_what what)
{
	const struct predictor *m = &p->m;

	switch (what) {
	case APRML_PREDICTION:
		return m->task == PREDICT_VALUE ? m->outputs : 1;
	case APRML_PROBABILITIES:
		return m->classes == 0 || m->task == PREDICT_CLUSTER || m->link == LINK_NONE
		       ? 0 : predict_columns(m);
	case APRML_SCORES:
		return m->outputs - m->chosen;
	case APRML_LEAVES:
		return predict_trees(m);
	case APRML_CONTRIBUTIONS:
		return m->contrib ? contrib_columns(m) : 0;
	}
	return 0;
}

/* ---- predictions ---- */

/* What is predicted, and where the answers go. */
struct ask {
	const struct predictor *m;
	enum aprml_what what;
	size_t columns;
	const double *rows;         /* NULL: rows are texts */
	const char *const *text;    /* of a row or, with rows, of a value; or NULL */
	const size_t *bytes;
	double *to;
};

/* Memory of a block. */
struct block {
	struct step_rows rows, spare;
	struct step_text *texts;
	struct buf pool; /* texts among numbers */
	double *scores, *linked;
	uint32_t *leaves;
};

static void
block_free(struct block *b)
{
	step_rows_free(&b->rows);
	step_rows_free(&b->spare);
	free(b->texts);
	buf_free(&b->pool);
	free(b->scores);
	free(b->linked);
	free(b->leaves);
}

/* Puts a text where feature i of a row has its value. */
static int
put_text(const struct ask *a, size_t row, size_t i, struct buf *pool, double *v, struct err *e)
{
	const size_t at = row * a->m->features + i, n = a->bytes[at];
	const enum predict_reads how = predict_reads(a->m, i);

	if (how == PREDICT_NUMBER)
		return err_set(e, ERR_NO, NULL, "row %zu has a text for feature %zu, which is a number", row, i);
	if (how == PREDICT_TEXT && (n > INT32_MAX || !text_utf8((const uint8_t *)a->text[at], n, true)))
		return err_set(e, ERR_NO, NULL, "row %zu has a text that is too long or not UTF-8", row);
	if (how == PREDICT_TEXT)
		*v = step_pool_put(pool, a->text[at], n);
	else if (!predict_word_value(a->m, i, a->text[at], n, n == 0, v))
		return err_set(e, ERR_NO, NULL, "row %zu has a text for feature %zu that the model does not know", row, i);
	return 0;
}

/* Puts the texts among the numbers of a block. A number that stands for any text would be taken for a
 * place in the pool, and so is a missing value. */
static int
put_texts(const struct ask *a, struct block *b, size_t from, struct err *e)
{
	const size_t width = a->m->features;
	size_t i, k;

	buf_clear(&b->pool);
	for (i = 0; i < b->rows.n; i++)
		for (k = 0; k < width; k++) {
			double *v = &step_row(&b->rows, i)[k];

			if (a->text && a->text[(from + i) * width + k]) {
				if (put_text(a, from + i, k, &b->pool, v, e) < 0)
					return -1;
			} else if (predict_reads(a->m, k) == PREDICT_TEXT) {
				*v = (double)NAN;
			}
		}
	b->rows.pool = &b->pool;
	return buf_ok(&b->pool) ? 0 : err_memory(e);
}

/* Sets *missing if a value is NaN. */
static int
take_rows(const struct ask *a, struct block *b, size_t from, bool *missing, struct err *e)
{
	const size_t n = b->rows.n * a->m->features;
	const double *v = n > 0 ? step_row(&b->rows, 0) : NULL;
	size_t i;

	if (n > 0)
		memcpy(step_row(&b->rows, 0), a->rows + from * a->m->features, n * sizeof *v);
	if ((a->text || a->m->word_count > 0) && put_texts(a, b, from, e) < 0)
		return -1;
	i = a->m->refuses_inf ? predict_infinite(a->m, v, b->rows.n) : n;
	if (i < n)
		return err_set(e, ERR_NO, NULL, "row %zu has an infinite value, which the model refuses",
		               from + i / a->m->features);
	for (i = 0; i < n; i++) {
		if (!isnan(v[i]))
			continue;
		*missing = true;
		if (a->m->refuses_nan)
			return err_set(e, ERR_NO, NULL, "row %zu has a missing value, which the model refuses",
			               from + i / a->m->features);
	}
	return 0;
}

/* The rows of a block, in memory of their own, since steps change them. */
static int
block_begin(const struct ask *a, struct block *b, size_t from, size_t n, bool *missing,
            struct err *e)
{
	size_t i;

	step_rows_free(&b->rows);
	step_rows_free(&b->spare);
	if (step_rows_begin(&b->rows, n, a->m->texts ? 0 : a->m->features, e) < 0)
		return -1;
	b->rows.n = n;
	if (!a->m->texts)
		return take_rows(a, b, from, missing, e);
	for (i = 0; i < n; i++)
		b->texts[i] = (struct step_text){ a->text[from + i], a->bytes[from + i] };
	b->rows.texts = b->texts;
	return 0;
}

/* The answer for a row. */
static void
answer(const struct ask *a, const struct block *b, size_t i, double *to)
{
	const struct predictor *m = a->m;
	const double *scores = b->scores + i * m->outputs;
	size_t k;

	if (a->what == APRML_LEAVES) {
		for (k = 0; k < a->columns; k++)
			to[k] = b->leaves[i * a->columns + k];
		return;
	}
	if (a->what == APRML_PREDICTION && m->task != PREDICT_VALUE) {
		*to = (double)predict_label(m, scores);
		return;
	}
	(a->what == APRML_SCORES ? predict_raw : predict_link)(m, scores, b->linked);
	memcpy(to, b->linked, a->columns * sizeof *to);
}

static int
predict_some(const struct ask *a, struct block *b, size_t from, size_t n, struct err *e)
{
	bool missing = false, leaves = a->what == APRML_LEAVES;
	double *to = a->to + from * a->columns;
	size_t i;

	if (block_begin(a, b, from, n, &missing, e) < 0)
		return -1;
	if (a->what == APRML_CONTRIBUTIONS)
		return contrib_block(a->m, &b->rows, &b->spare, to, e);
	if (predict_block(a->m, &b->rows, &b->spare, missing, leaves ? NULL : b->scores,
	                  leaves ? b->leaves : NULL, e) < 0)
		return -1;
	if (a->m->sparse) {
		if (step_rows_dense(&b->rows, &b->spare, e) < 0)
			return -1;
		memcpy(to, step_row(&b->rows, 0), n * a->columns * sizeof *to);
		return 0;
	}
	for (i = 0; i < n; i++)
		answer(a, b, i, to + i * a->columns);
	return 0;
}

static int
predict_all(const struct ask *a, size_t n, struct err *e)
{
	const size_t each = batch_rows(a->m, a->what == APRML_CONTRIBUTIONS ? BATCH_CONTRIB : BATCH_RAW, n, 1);
	struct block b = { 0 };
	size_t i;
	int r = 0;

	b.texts = a->m->texts ? mem_array(each, sizeof *b.texts) : NULL;
	b.scores = mem_array(a->m->sparse ? 1 : each * a->m->outputs, sizeof *b.scores);
	b.linked = mem_array(predict_room(a->m), sizeof *b.linked);
	b.leaves = a->what == APRML_LEAVES ? mem_array(each * a->columns, sizeof *b.leaves) : NULL;
	if ((a->m->texts && !b.texts) || !b.scores || !b.linked ||
	    (a->what == APRML_LEAVES && !b.leaves))
		r = err_memory(e);
	for (i = 0; i < n && r == 0; i += each)
		r = predict_some(a, &b, i, n - i < each ? n - i : each, e);
	block_free(&b);
	return r;
}

static int
predict_asked(const struct aprml_predictor *p, struct ask *a, size_t n, struct aprml_error *e)
{
	struct err err = ERR_INIT;

	if (api_need(p, "predictor", e) < 0)
		return -1;
	a->m = &p->m;
	a->columns = aprml_predict_columns(p, a->what);
	if (a->columns == 0)
		err_set(&err, ERR_NO, NULL, "the model does not give this answer");
	else if (p->m.texts != !a->rows && n > 0)
		err_set(&err, ERR_NO, NULL, p->m.texts ? "the model reads texts"
		                                       : "the model does not read texts");
	else if (predict_all(a, n, &err) == 0)
		return 0;
	return api_fail(&err, e);
}

int
aprml_predict(const struct aprml_predictor *p, enum aprml_what what, const double *rows, size_t n,
              double *to, struct aprml_error *e)
{
	struct ask a = { .what = what, .rows = rows, .to = to };

	return predict_asked(p, &a, n, e);
}

int
aprml_predict_texts(const struct aprml_predictor *p, enum aprml_what what,
                    const char *const *text, const size_t *bytes, size_t n, double *to,
                    struct aprml_error *e)
{
	struct ask a = { .what = what, .text = text, .bytes = bytes, .to = to };

	return predict_asked(p, &a, n, e);
}

int
aprml_predict_mixed(const struct aprml_predictor *p, enum aprml_what what, const double *rows,
                    const char *const *text, const size_t *bytes, size_t n, double *to,
                    struct aprml_error *e)
{
	struct ask a = { .what = what, .rows = rows, .text = text, .bytes = bytes, .to = to };

	return predict_asked(p, &a, n, e);
}
