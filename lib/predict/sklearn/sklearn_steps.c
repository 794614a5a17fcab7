#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_columns.h"
#include "predict/step_features.h"
#include "predict/step_models.h"

/* ---- attributes ---- */

bool
sklearn_none(const struct sklearn *s, pickle_ref r)
{
	return r == PICKLE_NOTHING || pickle_node(&s->k, r)->kind == PICKLE_NONE;
}

double
sklearn_or(const struct sklearn *s, pickle_ref object, const char *name, double missing)
{
	double v;

	return sklearn_number(s, sklearn_field(s, object, name), &v) == 0 ? v : missing;
}

double *
sklearn_matrix(struct sklearn *s, pickle_ref r, size_t columns, size_t *rows, size_t *width,
               const char *what)
{
	struct sklearn_array a = { .n = 0 };
	double *v = NULL;
	size_t i;

	if (sklearn_array(s, r, &a) < 0)
		goto end;
	if (!a.v || a.n == 0 || a.ndim < 1 || a.ndim > 2) {
		err_set(s->e, ERR_CORRUPT, s->where, "the %s are not a matrix", what);
		goto end;
	}
	*width = a.ndim == 2 ? a.dims[1] : a.dims[0];
	*rows = a.ndim == 2 ? a.dims[0] : 1;
	for (i = 0; i < a.n && isfinite(a.v[i]); i++)
		;
	if (i < a.n)
		err_set(s->e, ERR_CORRUPT, s->where, "the %s: value %zu is not finite", what, i);
	else if (columns && *width != columns)
		err_set(s->e, ERR_CORRUPT, s->where, "the %s have %zu columns in place of %zu", what, *width,
		        columns);
	else
		v = a.v;
	a.v = v ? NULL : a.v;
end:
	sklearn_array_free(&a);
	return v;
}

double *
sklearn_vector(struct sklearn *s, pickle_ref r, size_t n, size_t *count, const char *what)
{
	size_t rows = 0, width = 0;
	double *v = sklearn_matrix(s, r, 0, &rows, &width, what);

	if (v && n && rows * width != n) {
		err_set(s->e, ERR_CORRUPT, s->where, "the %s are %zu in place of %zu", what, rows * width, n);
		free(v);
		return NULL;
	}
	if (count)
		*count = rows * width;
	return v;
}

/* Whether missing values may go through a step. */
static bool
passes_nan(const struct step_kind *kind)
{
	static const struct step_kind *const kinds[] = { &step_shift, &step_stretch, &step_impute, &step_onehot,
		&step_ordinal, &step_parts, &step_select, &step_marks, &step_power, &step_interpolate, &step_models };
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds && kinds[i] != kind; i++)
		;
	return i < sizeof kinds / sizeof *kinds;
}

struct step *
sklearn_step(struct sklearn *s, const struct step_kind *kind, size_t in, size_t out)
{
	struct step *x = predictor_add_step(s->m);

	if (!x) {
		err_memory(s->e);
		return NULL;
	}
	x->kind = kind;
	x->in = in;
	x->out = out;
	s->m->kind = "transformer of scikit-learn";
	s->m->refuses_nan |= !passes_nan(kind) && !s->depth;
	return x;
}

void
sklearn_scores(struct sklearn *s, const char *kind, enum predict_task task, enum predict_link link)
{
	s->m->kind = kind;
	s->m->form = PREDICT_STEPS;
	s->m->task = task;
	s->m->link = link;
	s->m->sharpness = 1;
	s->m->refuses_nan = true;
}

size_t
sklearn_features(struct sklearn *s, pickle_ref r)
{
	double n = sklearn_or(s, r, "n_features_in_", 0);

	if (n >= 1 && n <= FOREST_FEATURES)
		return (size_t)n;
	sklearn_wrong(s, "the number of features is missing");
	return 0;
}

/* ---- scalers ---- */

/* A vector of an attribute, which may be None. 0 or -1. */
static int
optional(struct sklearn *s, pickle_ref r, const char *name, size_t *n, double **to)
{
	pickle_ref field = sklearn_field(s, r, name);
	size_t count;

	if (sklearn_none(s, field))
		return 0;
	*to = sklearn_vector(s, field, *n, &count, name);
	*n = count;
	return *to ? 0 : -1;
}

/* (x - a) / b by the attributes of these names. */
static int
shift(struct sklearn *s, pickle_ref r, const char *a, const char *b)
{
	struct step *x = sklearn_step(s, &step_shift, 0, 0);
	size_t n = (size_t)fmax(0, fmin(sklearn_or(s, r, "n_features_in_", 0), FOREST_FEATURES));

	if (!x || (a && optional(s, r, a, &n, &x->a) < 0) || optional(s, r, b, &n, &x->b) < 0)
		return -1;
	if (n == 0)
		return sklearn_wrong(s, "the number of features is missing");
	x->in = x->out = n;
	return 0;
}

int
sklearn_standard(struct sklearn *s, pickle_ref r, bool classes)
{
	bool mean = sklearn_or(s, r, "with_mean", 1) != 0;

	(void)classes;
	return shift(s, r, mean ? "mean_" : NULL, "scale_");
}

int
sklearn_robust(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return shift(s, r, "center_", "scale_");
}

int
sklearn_largest(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return shift(s, r, NULL, "scale_");
}

int
sklearn_range(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, &step_stretch, 0, 0);
	pickle_ref range = sklearn_field(s, r, "feature_range"), ends[2];
	size_t n = 0;

	(void)classes;
	if (!x || optional(s, r, "scale_", &n, &x->b) < 0 || optional(s, r, "min_", &n, &x->a) < 0)
		return -1;
	if (n == 0)
		return sklearn_wrong(s, "the scaler was not trained");
	x->in = x->out = n;
	if (sklearn_or(s, r, "clip", 0) == 0)
		return 0;
	x->mode = STEP_CLIP;
	if (range == PICKLE_NOTHING || pickle_items(&s->k, range, ends, 2) != 2 ||
	    sklearn_number(s, ends[0], &x->x) < 0 || sklearn_number(s, ends[1], &x->y) < 0)
		return sklearn_wrong(s, "the range of the scaler is missing");
	return 0;
}

/* The number of a norm; -1 with an error. */
static int
norm_of(struct sklearn *s, pickle_ref r)
{
	if (sklearn_none(s, r))
		return STEP_NONE;
	if (pickle_is(&s->k, r, "l1"))
		return STEP_L1;
	if (pickle_is(&s->k, r, "l2"))
		return STEP_L2;
	return pickle_is(&s->k, r, "max") ? STEP_MAX : sklearn_wrong(s, "the norm is not l1, l2 or max");
}

int
sklearn_normalizer(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n = sklearn_features(s, r);
	struct step *x = n ? sklearn_step(s, &step_norm, n, n) : NULL;
	int norm = x ? norm_of(s, sklearn_field(s, r, "norm")) : -1;

	(void)classes;
	if (norm >= 0)
		x->mode = (unsigned)norm;
	return norm < 0 ? -1 : 0;
}

int
sklearn_binarizer(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n = sklearn_features(s, r);
	struct step *x = n ? sklearn_step(s, &step_binarize, n, n) : NULL;

	(void)classes;
	if (x)
		x->x = sklearn_or(s, r, "threshold", 0);
	return x ? 0 : -1;
}

/* ---- projections ---- */

/* B of step_project: rows become columns. */
static int
project(struct sklearn *s, pickle_ref r, struct step *x)
{
	size_t i, j, rows, width;
	double *v = sklearn_matrix(s, sklearn_field(s, r, "components_"), 0, &rows, &width,
	                           "components");

	if (!v)
		return -1;
	x->in = width;
	x->out = rows;
	x->b = mem_array(rows * width, sizeof *x->b);
	for (i = 0; x->b && i < rows; i++)
		for (j = 0; j < width; j++)
			x->b[j * rows + i] = v[i * width + j];
	free(v);
	return x->b ? 0 : err_memory(s->e);
}

int
sklearn_svd(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, &step_project, 0, 0);

	(void)classes;
	return x ? project(s, r, x) : -1;
}

int
sklearn_pca(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, &step_project, 0, 0);
	size_t j;

	(void)classes;
	if (!x || project(s, r, x) < 0)
		return -1;
	x->a = sklearn_vector(s, sklearn_field(s, r, "mean_"), x->in, NULL, "means");
	if (!x->a)
		return -1;
	if (sklearn_or(s, r, "whiten", 0) == 0)
		return 0;
	x->c = sklearn_vector(s, sklearn_field(s, r, "explained_variance_"), x->out, NULL, "variances");
	for (j = 0; x->c && j < x->out; j++)
		x->c[j] = sqrt(x->c[j]);
	return x->c ? 0 : -1;
}

/* ---- weights of terms ---- */

/* The weights are an attribute of its own since version 1.5; before, the diagonal of a sparse
 * matrix. */
static int
read_idf(struct sklearn *s, pickle_ref r, struct step *x, size_t *n)
{
	pickle_ref field = sklearn_field(s, r, "idf_"), diagonal = sklearn_field(s, r, "_idf_diag");

	if (sklearn_none(s, field) && !sklearn_none(s, diagonal))
		field = sklearn_field(s, diagonal, "data");
	if (sklearn_none(s, field))
		return sklearn_wrong(s, "the weights of terms are missing");
	x->a = sklearn_vector(s, field, *n, n, "weights of terms");
	return x->a ? 0 : -1;
}

int
sklearn_tfidf(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, &step_tfidf, 0, 0);
	struct predictor *m = s->m;
	size_t n = m->step_count > 1 ? m->steps[m->step_count - 2].out : 0;
	int norm = x ? norm_of(s, sklearn_field(s, r, "norm")) : -1;

	(void)classes;
	if (norm < 0)
		return -1;
	x->k = (size_t)norm;
	x->mode = sklearn_or(s, r, "sublinear_tf", 0) != 0 ? STEP_SUBLINEAR : 0;
	if (sklearn_or(s, r, "use_idf", 1) != 0 && read_idf(s, r, x, &n) < 0)
		return -1;
	if (n == 0)
		n = sklearn_features(s, r);
	x->in = x->out = n;
	return n ? 0 : -1;
}
