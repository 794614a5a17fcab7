/* Classes with a center or a matrix each, and models of one class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_features.h"

/* ---- one class ---- */

int
sklearn_affine(struct sklearn *s, const struct step_kind *kind, double b, double a)
{
	struct step *x = sklearn_step(s, kind, 1, 1);

	if (!x || !(x->b = mem_array(1, sizeof *x->b)) || (a != 0 && !(x->a = mem_array(1, sizeof *x->a))))
		return x ? err_memory(s->e) : -1;
	x->b[0] = b;
	if (a != 0)
		x->a[0] = a;
	return 0;
}

int
sklearn_outliers(struct sklearn *s, const char *kind)
{
	sklearn_scores(s, kind, PREDICT_BINARY, LINK_NONE);
	s->m->by_score = s->m->ties_up = true;
	return predictor_add_label(s->m, "-1", 2, s->e) < 0 || predictor_add_label(s->m, "1", 1, s->e) < 0 ? -1 : 0;
}

int
sklearn_oneclass(struct sklearn *s, pickle_ref r, bool classes)
{
	if (sklearn_svm(s, r, classes) < 0 || sklearn_outliers(s, "support vector machine of scikit-learn") < 0)
		return -1;
	s->m->ties_up = false; /* LIBSVM's sum must be greater than 0 */
	return 0;
}

int
sklearn_oneclass_linear(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t rows, width;
	double *v = sklearn_matrix(s, sklearn_field(s, r, "coef_"), 0, &rows, &width, "coefficients"), offset = 0;
	pickle_ref field = sklearn_field(s, r, "offset_");
	double *o = v ? sklearn_vector(s, field, 1, NULL, "offsets") : NULL;

	(void)classes;
	if (o)
		offset = o[0];
	free(o);
	if (!o || rows != 1) {
		free(v);
		return o ? sklearn_wrong(s, "a model of one class has several rows of coefficients") : -1;
	}
	if (sklearn_weights(s, v, 1, width, "linear model of one class of scikit-learn") < 0)
		return -1;
	s->m->linear.bias[0] = -offset;
	s->m->task = PREDICT_BINARY;
	s->m->link = LINK_NONE;
	s->m->by_score = s->m->ties_up = true;
	return predictor_add_label(s->m, "-1", 2, s->e) < 0 || predictor_add_label(s->m, "1", 1, s->e) < 0 ? -1 : 0;
}

/* ---- the nearest center ---- */

int
sklearn_centroids(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref metric = sklearn_field(s, r, "metric");
	size_t k;
	struct step *x;

	(void)classes;
	if (!pickle_is(&s->k, metric, "euclidean") && !pickle_is(&s->k, metric, "manhattan"))
		return err_set(s->e, ERR_FORMAT, s->where, "centers with another metric than euclidean or manhattan are "
		               "not read");
	x = sklearn_step(s, &step_vote, 0, 0);
	if (!x)
		return -1;
	x->a = sklearn_matrix(s, sklearn_field(s, r, "centroids_"), 0, &x->n, &x->in, "centers of classes");
	x->out = x->n;
	x->k = 1;
	x->mode = pickle_is(&s->k, metric, "manhattan") ? STEP_MANHATTAN : STEP_EUCLID;
	x->list = x->a ? mem_array(x->n, sizeof *x->list) : NULL;
	for (k = 0; x->list && k < x->n; k++)
		x->list[k] = (uint32_t)k;
	if (!x->list)
		return x->a ? err_memory(s->e) : -1;
	sklearn_scores(s, "nearest center of scikit-learn", PREDICT_CLASSES, LINK_NONE);
	return 0;
}

/* ---- a matrix for each class ---- */

/* A step of n classes with their means. */
static struct step *
begin(struct sklearn *s, pickle_ref r)
{
	struct step *x = sklearn_step(s, &step_quadratic, 0, 0);

	if (!x)
		return NULL;
	x->a = sklearn_matrix(s, sklearn_field(s, r, "means_"), 0, &x->out, &x->in, "means of classes");
	if (!x->a || x->in > 65536 || x->out > PREDICT_OUTPUTS) {
		if (x->a)
			sklearn_wrong(s, "the means of classes are too many");
		return NULL;
	}
	x->b = mem_array(x->out * x->in, x->in * sizeof *x->b);
	x->c = mem_array(x->out, sizeof *x->c);
	if (!x->b || !x->c)
		err_memory(s->e);
	return x->b && x->c ? x : NULL;
}

/* The rotation of a class, divided by the roots of its scalings, which are fewer if features depend on each
 * other. */
static int
rotate(struct sklearn *s, pickle_ref rotation, pickle_ref scaling, struct step *x, size_t k)
{
	size_t n, rows, width, i, j;
	double *d = sklearn_vector(s, scaling, 0, &n, "scalings of a class");
	double *v = d ? sklearn_matrix(s, rotation, n, &rows, &width, "rotation of a class") : NULL;
	double sum = 0;
	int status = !v ? -1 : rows != x->in || n > x->in ? sklearn_wrong(s, "a rotation does not fit the features") : 0;

	for (j = 0; status == 0 && j < n; j++) {
		sum += log(d[j]);
		for (i = 0; i < x->in; i++)
			x->b[(k * x->in + i) * x->in + j] = v[i * n + j] / sqrt(d[j]);
	}
	x->c[k] = -0.5 * sum;
	free(d);
	free(v);
	return status;
}

int
sklearn_quadratic(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = begin(s, r);
	size_t n, many, k;
	const struct pickle_cell *d = sklearn_list(s, sklearn_field(s, r, "scalings_"), &n);
	const struct pickle_cell *v = sklearn_list(s, sklearn_field(s, r, "rotations_"), &many);
	double *priors = x ? sklearn_vector(s, sklearn_field(s, r, "priors_"), x->out, NULL, "shares of classes") : NULL;
	int status = priors ? 0 : -1;

	(void)classes;
	if (priors && (n != x->out || many != n))
		status = sklearn_wrong(s, "the classes have other numbers of matrices");
	for (k = 0; status == 0 && k < n; k++, d = pickle_next(&s->k, d), v = pickle_next(&s->k, v)) {
		status = rotate(s, v->node, d->node, x, k);
		x->c[k] += log(priors[k]);
	}
	free(priors);
	if (status < 0)
		return -1;
	if (n == 2) {
		x = sklearn_step(s, &step_project, 2, 1);
		if (!x || !(x->b = mem_array(2, sizeof *x->b)))
			return x ? err_memory(s->e) : -1;
		x->b[0] = -1;
		x->b[1] = 1;
	}
	sklearn_scores(s, "quadratic discriminant of scikit-learn", n == 2 ? PREDICT_BINARY : PREDICT_CLASSES,
	               n == 2 ? LINK_SIGMOID : LINK_SOFTMAX);
	s->m->by_score = n == 2;
	return 0;
}

/* Spreads the values of a mixture: a matrix for each class, one for all, or only diagonals. */
static void
spread(const double *v, size_t type, struct step *x, size_t k)
{
	size_t n = x->in, i;
	double *b = x->b + k * n * n;

	x->c[k] = 0;
	if (type < 2)
		memcpy(b, type == 1 ? v : v + k * n * n, n * n * sizeof *b);
	for (i = 0; type >= 2 && i < n; i++)
		b[i * n + i] = type == 2 ? v[k * n + i] : v[k];
	for (i = 0; i < n; i++)
		x->c[k] += log(b[i * n + i]);
}

int
sklearn_mixture(struct sklearn *s, pickle_ref r, bool classes)
{
	static const char *const types[] = { "full", "tied", "diag", "spherical" };
	pickle_ref type = sklearn_field(s, r, "covariance_type");
	struct step *x = begin(s, r);
	struct sklearn_array a = { .n = 0 };
	double *w = x ? sklearn_vector(s, sklearn_field(s, r, "weights_"), x->out, NULL, "weights of classes") : NULL;
	size_t k, t, sizes[4];
	int status = w ? sklearn_array(s, sklearn_field(s, r, "precisions_cholesky_"), &a) : -1;

	(void)classes;
	for (t = 0; t < 4 && !pickle_is(&s->k, type, types[t]); t++)
		;
	if (status == 0) {
		sizes[0] = x->out * x->in * x->in;
		sizes[1] = x->in * x->in;
		sizes[2] = x->out * x->in;
		sizes[3] = x->out;
		if (t == 4 || !a.v || a.n != sizes[t])
			status = sklearn_wrong(s, "the matrices of the mixture do not fit its classes");
	}
	for (k = 0; status == 0 && k < x->out; k++) {
		spread(a.v, t, x, k);
		x->c[k] += log(w[k]) - 0.5 * (double)x->in * log(2 * M_PI);
	}
	free(w);
	sklearn_array_free(&a);
	sklearn_scores(s, "mixture of scikit-learn", PREDICT_CLASSES, LINK_SOFTMAX);
	return status;
}
