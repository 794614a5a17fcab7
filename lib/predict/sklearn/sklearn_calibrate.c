/* Models whose outputs are turned into others: CalibratedClassifierCV and TransformedTargetRegressor. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_features.h"
#include "predict/step_models.h"

/* ---- calibration ---- */

/* 1 / (1 + exp(a x + b)) of each column. */
static int
sigmoids(struct sklearn *s, const struct pickle_cell *c, size_t n)
{
	struct step *x = sklearn_step(s, &step_stretch, n, n);
	size_t j;

	if (!x || !(x->a = mem_array(n, sizeof *x->a)) || !(x->b = mem_array(n, sizeof *x->b)))
		return x ? err_memory(s->e) : -1;
	for (j = 0; j < n; j++, c = pickle_next(&s->k, c)) {
		x->b[j] = -sklearn_or(s, c->node, "a_", 0);
		x->a[j] = -sklearn_or(s, c->node, "b_", 0);
	}
	x = sklearn_step(s, &step_function, n, n);
	if (x)
		x->mode = FUNCTION_LOGISTIC;
	return x ? 0 : -1;
}

/* Appends the points of a monotonous line. */
static int
add_line(struct sklearn *s, pickle_ref r, struct step *x, uint32_t *count)
{
	size_t n = 0, i, cap[2] = { x->n, x->n };
	double *a = sklearn_vector(s, sklearn_field(s, r, "X_thresholds_"), 0, &n, "points of a line");
	double *b = a ? sklearn_vector(s, sklearn_field(s, r, "y_thresholds_"), n, NULL, "values of a line") : NULL;
	int status = b ? 0 : -1;

	if (b && (mem_grow(&x->a, &cap[0], x->n + n, sizeof *a) < 0 || mem_grow(&x->b, &cap[1], x->n + n, sizeof *b) < 0))
		status = err_memory(s->e);
	for (i = 0; status == 0 && i < n; i++, x->n++) {
		x->a[x->n] = a[i];
		x->b[x->n] = b[i];
	}
	*count = (uint32_t)n;
	free(a);
	free(b);
	return status;
}

static int
lines(struct sklearn *s, const struct pickle_cell *c, size_t n)
{
	struct step *x = sklearn_listed(s, &step_interpolate, n, n);
	size_t j;

	for (j = 0; x && j < n; j++, c = pickle_next(&s->k, c))
		if (add_line(s, c->node, x, &x->list[j]) < 0)
			return -1;
	return !x ? -1 : step_features_fit(x) ? 0 : sklearn_wrong(s, "the points of a line are not in order");
}

/* The model of a fold, its scores or probabilities, and a line or curve for each. */
static int
read_fold(struct sklearn *s, pickle_ref r)
{
	pickle_ref model = sklearn_field(s, r, "estimator");
	size_t n, k;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "calibrators"), &n);
	struct step_models *x = n && n <= PREDICT_OUTPUTS ? sklearn_models(s, 1) : NULL;
	struct step_model *m;
	char class[64];

	if (sklearn_none(s, model))
		model = sklearn_field(s, r, "base_estimator");
	if (!x)
		return sklearn_wrong(s, "a calibrated model has no calibrators");
	s->m->form = PREDICT_STEPS;
	m = sklearn_model(s, x, model);
	if (!m || sklearn_model_gives(s, m, s->decides ? MODELS_SCORES : MODELS_LINKED, 1, 0) < 0)
		return -1;
	if (m->m->task == PREDICT_PAIRS && m->m->classes > 2)
		return err_set(s->e, ERR_FORMAT, s->where, "calibrated decisions between pairs of classes are not read");
	for (k = 0; n == 1 && m->gives == 2 && k < 2; k++)
		m->to[k] = k ? 0 : UINT32_MAX;
	if (m->gives != n && !(n == 1 && m->gives == 2))
		return sklearn_wrong(s, "the calibrators are not those of all classes");
	if (sklearn_models_end(s, n) < 0)
		return -1;
	sklearn_class(s, c->node, class);
	if ((strcmp(class, "IsotonicRegression") == 0 ? lines : sigmoids)(s, c, n) < 0)
		return -1;
	if (n > 1) {
		struct step *norm = sklearn_step(s, &step_norm, n, n);

		if (!norm)
			return -1;
		norm->mode = STEP_L1;
	}
	sklearn_scores(s, "calibrated model of scikit-learn", PREDICT_VALUE, LINK_NONE);
	return 0;
}

int
sklearn_calibrated(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n, i, j, outputs = 0;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "calibrated_classifiers_"), &n);
	struct step_models *x = sklearn_models(s, n);
	struct step *mean;

	(void)classes;
	for (i = 0; x && i < n; i++, c = pickle_next(&s->k, c)) {
		struct step_model *m = sklearn_model_of(s, x, read_fold, c->node);

		if (!m || sklearn_model_gives(s, m, MODELS_LINKED, 1, 0) < 0)
			return -1;
		outputs = i ? outputs : m->gives;
		if (m->gives != outputs)
			return sklearn_wrong(s, "the folds of a calibrated model have different classes");
	}
	if (!x || sklearn_models_end(s, outputs) < 0)
		return -1;
	mean = sklearn_step(s, &step_shift, outputs, outputs);
	if (!mean || !(mean->b = mem_array(outputs, sizeof *mean->b)))
		return mean ? err_memory(s->e) : -1;
	for (j = 0; j < outputs; j++)
		mean->b[j] = (double)n;
	sklearn_scores(s, "calibrated model of scikit-learn", outputs == 1 ? PREDICT_BINARY : PREDICT_CLASSES,
	               LINK_SHARE);
	return 0;
}

/* ---- targets ---- */

/* The inverse of the steps from `at` on. */
static int
turn(struct sklearn *s, size_t at)
{
	struct step *x = s->m->steps;
	size_t i, n = s->m->step_count;
	struct step t;

	for (i = at; i < n; i++)
		if (step_invert(&x[i], s->e) < 0)
			return sklearn_wrong(s, "the transformer of the target has no inverse here");
	for (i = 0; i < (n - at) / 2; i++) {
		t = x[at + i];
		x[at + i] = x[n - 1 - i];
		x[n - 1 - i] = t;
	}
	return 0;
}

int
sklearn_target(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref scaler = sklearn_field(s, r, "transformer_"), inverse = sklearn_field(s, scaler, "inverse_func");
	struct step_models *x = sklearn_models(s, 1);
	struct step_model *m = x ? sklearn_model(s, x, sklearn_field(s, r, "regressor_")) : NULL;
	size_t n, at;
	char class[64];

	(void)classes;
	if (!m || sklearn_model_gives(s, m, MODELS_LINKED, 1, 0) < 0 || sklearn_models_end(s, m->gives) < 0)
		return -1;
	n = m->gives;
	at = s->m->step_count;
	sklearn_class(s, scaler, class);
	if (strcmp(class, "FunctionTransformer") == 0) {
		if (sklearn_function(s, inverse, n) < 0)
			return -1;
	} else {
		s->depth++;
		if (sklearn_estimator(s, scaler) < 0 || turn(s, at) < 0)
			return -1;
		s->depth--;
	}
	sklearn_scores(s, "model of a transformed target of scikit-learn", PREDICT_VALUE, LINK_NONE);
	return 0;
}
