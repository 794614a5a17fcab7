#include "predict/step_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

void
step_models_free(void *more)
{
	struct step_models *x = more;
	size_t i;

	for (i = 0; x && i < x->n; i++) {
		if (x->models[i].m)
			predictor_free(x->models[i].m);
		free(x->models[i].m);
		free(x->models[i].from);
		free(x->models[i].to);
	}
	if (x)
		free(x->models);
	free(x);
}

size_t
step_model_gives(const struct predictor *m, enum models_give give)
{
	return give == MODELS_SCORES ? m->outputs : give == MODELS_LABEL ? m->classes : predict_columns(m);
}

/* ---- rows ---- */

static int
copy_buf(struct buf *to, const struct buf *from, struct err *e)
{
	buf_clear(to);
	buf_put(to, from->p, from->n);
	return buf_ok(to) ? 0 : err_memory(e);
}

/* The rows that a model gets: all features, or some of them. */
static int
copy_rows(const struct step_model *m, const struct step_rows *x, struct step_rows *to, struct err *e)
{
	size_t i, j;

	if (x->sparse) {
		step_rows_sparse(to, x->width);
		to->n = x->n;
		return copy_buf(&to->start, &x->start, e) < 0 || copy_buf(&to->at, &x->at, e) < 0 ||
		       copy_buf(&to->of, &x->of, e) < 0 ? -1 : 0;
	}
	if (step_rows_begin(to, x->n, m->from ? m->width : x->width, e) < 0)
		return -1;
	to->texts = x->texts;
	to->pool = x->pool;
	for (i = 0; i < x->n; i++)
		for (j = 0; m->from && j < m->width; j++)
			step_row(to, i)[j] = step_row(x, i)[m->from[j]];
	if (!m->from && x->width)
		memcpy(step_row(to, 0), step_row(x, 0), x->n * x->width * sizeof(double));
	return 0;
}

/* ---- one model ---- */

static void
samme(double *v, size_t n)
{
	double mean = 0;
	size_t k;

	for (k = 0; k < n; k++) {
		v[k] = log(v[k] > 2.220446049250313e-16 ? v[k] : 2.220446049250313e-16);
		mean += v[k];
	}
	for (k = 0; k < n; k++)
		v[k] = (double)(n - 1) * (v[k] - 1 / (double)n * mean);
}

/* What a model says of a row. */
static void
say(const struct step_model *m, const double *scores, double *v)
{
	if (m->give == MODELS_SCORES) {
		memcpy(v, scores, m->gives * sizeof *v);
	} else if (m->give == MODELS_LABEL) {
		memset(v, 0, m->gives * sizeof *v);
		v[predict_label(m->m, scores)] = 1;
	} else {
		predict_link(m->m, scores, v);
		if (m->give == MODELS_SAMME)
			samme(v, m->gives);
	}
}

/* Adds what a model says to the rows `to`; or for the median puts the value of model i into v. */
static int
run(const struct step_model *m, const struct step_rows *x, struct step_rows *rows, struct step_rows *spare,
    struct step_rows *to, double *median, size_t step, struct err *e)
{
	const struct predictor *p = m->m;
	double *scores = mem_array(x->n * p->outputs + 1, sizeof *scores);
	double *v = mem_array(m->gives + predict_room(p) + 1, sizeof *v);
	size_t i, k;
	int r = scores && v ? copy_rows(m, x, rows, e) : err_memory(e);

	if (r == 0)
		r = predict_block(p, rows, spare, true, scores, NULL, e);
	if (r == 0 && p->sparse)
		r = step_rows_dense(rows, spare, e);
	for (i = 0; r == 0 && i < x->n; i++) {
		say(m, p->sparse ? step_row(rows, i) : scores + i * p->outputs, v);
		if (median)
			median[i * step] = v[0];
		for (k = 0; !median && k < m->gives; k++)
			if (m->to[k] != UINT32_MAX)
				step_row(to, i)[m->to[k]] += m->weight * v[k];
	}
	free(scores);
	free(v);
	return r;
}

/* ---- all of them ---- */

struct vote {
	double v, weight;
	size_t i;
};

static int
by_value(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	return x->v < y->v ? -1 : x->v > y->v ? 1 : x->i < y->i ? -1 : 1;
}

/* The first value in order at which at least half of the weights have come. */
static double
median(const struct step_models *x, const double *v, struct vote *votes)
{
	double all = 0, sum = 0;
	size_t i;

	for (i = 0; i < x->n; i++)
		votes[i] = (struct vote){ v[i], x->models[i].weight, i };
	qsort(votes, x->n, sizeof *votes, by_value);
	for (i = 0; i < x->n; i++)
		all += votes[i].weight;
	for (i = 0; i + 1 < x->n; i++) {
		sum += votes[i].weight;
		if (sum >= 0.5 * all)
			break;
	}
	return votes[i].v;
}

static int
medians(const struct step_models *m, size_t n, const double *v, struct step_rows *to, struct err *e)
{
	struct vote *votes = mem_array(m->n, sizeof *votes);
	size_t i;

	if (!votes)
		return err_memory(e);
	for (i = 0; i < n; i++)
		step_row(to, i)[0] = median(m, v + i * m->n, votes);
	free(votes);
	return 0;
}

static int
models(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct step_models *m = s->more;
	struct step_rows rows = { .n = 0 }, more = { .n = 0 }, to = { .n = 0 };
	double *v = m->median ? mem_array(x->n * m->n + 1, sizeof *v) : NULL;
	size_t i, own = s->out - (m->passes ? s->in : 0);
	bool dense = m->passes;
	int r = m->median && !v ? err_memory(e) : step_rows_begin(&to, x->n, s->out, e);

	for (i = 0; i < m->n; i++)
		dense |= m->models[i].from != NULL;
	if (r == 0 && dense && !x->texts)
		r = step_rows_dense(x, spare, e);
	for (i = 0; r == 0 && i < m->n; i++)
		r = run(&m->models[i], x, &rows, &more, &to, v ? v + i : NULL, m->n, e);
	if (r == 0 && v)
		r = medians(m, x->n, v, &to, e);
	for (i = 0; r == 0 && m->passes && i < x->n; i++)
		memcpy(step_row(&to, i) + own, step_row(x, i), s->in * sizeof(double));
	step_rows_free(&rows);
	step_rows_free(&more);
	free(v);
	if (r == 0)
		step_rows_swap(x, &to);
	step_rows_free(&to);
	return r;
}

const struct step_kind step_models = { "models", false, false, models };
const struct step_kind step_models_texts = { "models", true, false, models };
