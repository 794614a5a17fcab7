/* Trees, linear models and support vectors among other operators: read and computed as those of files that hold
 * nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxops.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

struct model {
	struct predictor m;
	bool texts;          /* labels are texts */
	double *numbers;     /* of the labels that are not */
	enum { AFTER_NONE, AFTER_SOFTMAX_ZERO, AFTER_PROBIT } after;
};

const struct predictor *
ops_model(const struct ops_node *n)
{
	return strstr(n->name, "Classifier") ? &((const struct model *)n->more)->m : NULL;
}

static void
model_free(void *more)
{
	struct model *m = more;

	predictor_free(&m->m);
	free(m->numbers);
	free(m);
}

/* Hides an attribute from the reader of the model. */
static void
hide(struct onnxml *x, const char *name)
{
	size_t i;

	for (i = 0; i < x->count; i++)
		if (onnxml_same(x->names[i], name))
			x->names[i] = (struct onnxml_part){ (const uint8_t *)"", 0 };
}

static int
open_model(struct ops_reader *x, struct ops_node *n)
{
	struct model *m = mem_array(1, sizeof *m);
	struct onnxml own = *x->x;
	size_t i;

	if (!m)
		return err_memory(x->x->e);
	n->more = m;
	n->free_more = model_free;
	own.m = &m->m;
	own.width = 0;
	own.done = false;
	m->m.forest.most = x->file;
	m->texts = onnxml_has(&own, "classlabels_strings");
	if (ops_says(n, "post_transform", "SOFTMAX_ZERO"))
		m->after = AFTER_SOFTMAX_ZERO;
	else if (ops_says(n, "post_transform", "PROBIT"))
		m->after = AFTER_PROBIT;
	if (m->after)
		hide(&own, "post_transform");
	if (onnxml_model(&own, n->name) < 0 || predictor_finish(&m->m, x->x->where, x->x->e) < 0)
		return -1;
	m->numbers = mem_array(m->m.label_count, sizeof *m->numbers);
	for (i = 0; m->numbers && i < m->m.label_count; i++)
		m->numbers[i] = m->texts ? 0 : strtod(m->m.labels[i], NULL);
	return m->numbers ? 0 : err_memory(x->x->e);
}

/* The inverse of the normal distribution's function, as ONNX Runtime approximates it. */
static double
probit(double p)
{
	double x = 2 * p - 1, l = log((1 - x) * (1 + x)), v = 2 / (M_PI * 0.147) + 0.5 * l;
	double y = sqrt(-v + sqrt(v * v - l / 0.147));

	return sqrt(2) * (x < 0 ? -y : y);
}

static void
after(const struct model *m, double *v, size_t n)
{
	double most = -HUGE_VAL, sum = 0;
	size_t k;

	for (k = 0; m->after == AFTER_PROBIT && k < n; k++)
		v[k] = probit(v[k]);
	if (m->after != AFTER_SOFTMAX_ZERO)
		return;
	for (k = 0; k < n; k++)
		most = v[k] > most ? v[k] : most;
	for (k = 0; k < n; k++) {
		v[k] = fabs(v[k]) > 1e-7 ? exp(v[k] - most) : v[k] * exp(-most);
		sum += v[k];
	}
	for (k = 0; k < n; k++)
		v[k] /= sum;
}

/* The probabilities of a row, and with `labels` its label. */
static int
put_answer(struct ops_run *r, const struct ops_node *n, const double *scores, size_t i, double *room,
           struct ops_tensor *out, bool classes)
{
	const struct model *own = n->more;
	const struct predictor *m = &own->m;
	struct ops_tensor *values = classes ? &out[1] : &out[0];
	size_t columns = predict_columns(m), k;

	predict_link(m, scores, room);
	if (m->task == PREDICT_BINARY && m->link == LINK_NONE)
		room[0] = -scores[0];
	if (m->task == PREDICT_PAIRS && m->link == LINK_NONE)
		for (k = 0; k < columns; k++)
			room[k] = m->classes == 2 ? k ? -scores[0] : scores[0] : scores[k];
	after(own, room, columns);
	for (k = 0; k < columns; k++)
		values->v[i * columns + k] = (double)(float)room[k];
	if (!classes)
		return 0;
	k = predict_label(m, scores);
	if (m->labels && k >= m->label_count)
		return ops_wrong(r, n, "a label has no name");
	if (own->texts)
		out[0].t[i] = (struct step_text){ m->labels[k], strlen(m->labels[k]) };
	else
		out[0].v[i] = m->labels ? own->numbers[k] : (double)k;
	return 0;
}

static int
run_model(RUN)
{
	const struct model *own = n->more;
	const struct predictor *m = &own->m;
	const struct ops_tensor *x = in[0];
	bool classes = m->task != PREDICT_VALUE;
	size_t width = x->rank ? x->dims[x->rank - 1] : 1, rows, i, j, dims[2];

	if (x->type == OPS_STRING || x->rank > 2 || width < m->features || m->texts || width == 0)
		return ops_wrong(r, n, "the model takes %zu numbers, and the row has %zu", m->features, width);
	if (m->task == PREDICT_PAIRS && m->link == LINK_NONE && m->classes > 3)
		return ops_wrong(r, n, "scores of more than 3 classes are not computed");
	rows = x->n / width;
	if (rows > FOREST_BLOCK)
		return ops_wrong(r, n, "a row became %zu", rows);
	dims[0] = rows;
	dims[1] = predict_columns(m);
	if (ops_make(r, n, &out[classes], OPS_FLOAT, 2, dims) < 0 ||
	    (classes && ops_make(r, n, &out[0], own->texts ? OPS_STRING : OPS_INT64, 1, dims) < 0) ||
	    ops_work(r, n, rows * (m->features * (m->outputs + 1) + predict_trees(m))) < 0 ||
	    step_rows_begin(&r->rows, rows, m->features, r->e) < 0 ||
	    mem_grow(&r->scores, &r->score_cap, rows * m->outputs + predict_room(m) + 2, sizeof *r->scores) < 0)
		return r->e->code == ERR_NONE ? err_memory(r->e) : -1;
	for (i = 0; i < rows; i++)
		for (j = 0; j < m->features; j++)
			step_row(&r->rows, i)[j] = x->v[i * width + j];
	if (rows && predict_block(m, &r->rows, &r->spare, true, r->scores, NULL, r->e) < 0)
		return -1;
	for (i = 0; i < rows; i++)
		if (put_answer(r, n, r->scores + i * m->outputs, i, r->scores + rows * m->outputs, out, classes) < 0)
			return -1;
	return 0;
}

#define OPENED(NAME) { "ml", NAME, 1, run_model, open_model, NULL, NULL }

const struct ops_operator ops_models[] = {
	OPENED("LinearRegressor"), OPENED("LinearClassifier"), OPENED("SVMRegressor"), OPENED("SVMClassifier"),
	OPENED("TreeEnsembleRegressor"), OPENED("TreeEnsembleClassifier"), OPENED("TreeEnsemble"),
	{ NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
