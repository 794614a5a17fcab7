/* Naive Bayes. With counts the scores are sums of products, as of a linear model. Source: McCallum,
 * Nigam: A Comparison of Event Models for Naive Bayes Text Classification (1998); for complements
 * Rennie et al.: Tackling the Poor Assumptions of Naive Bayes Text Classifiers (2003). */
#include <math.h>
#include <stdlib.h>

#include "predict/sklearn/sklearn.h"

int
sklearn_gauss(struct sklearn *s, pickle_ref r, bool classes)
{
	const double pi = 3.14159265358979323846;
	struct step *x = sklearn_step(s, &step_gauss, 0, 0);
	pickle_ref var = sklearn_field(s, r, "var_");
	size_t i, k, rows;

	(void)classes;
	if (!x)
		return -1;
	x->a = sklearn_matrix(s, sklearn_field(s, r, "theta_"), 0, &x->out, &x->in, "means");
	/* Before version 1.0, variances were called sigma_. */
	x->b = x->a ? sklearn_matrix(s, var != PICKLE_NOTHING ? var : sklearn_field(s, r, "sigma_"), x->in,
	                             &rows, &x->in, "variances") : NULL;
	if (x->b && rows != x->out)
		return sklearn_wrong(s, "the variances do not fit the means");
	x->c = x->b ? sklearn_vector(s, sklearn_field(s, r, "class_prior_"), x->out, NULL, "priors") : NULL;
	if (!x->c)
		return -1;
	for (k = 0; k < x->out; k++) {
		double sum = 0;

		for (i = 0; i < x->in; i++)
			sum += log(2 * pi * x->b[k * x->in + i]);
		x->c[k] = log(x->c[k]) - 0.5 * sum;
	}
	sklearn_scores(s, "naive Bayes of scikit-learn", PREDICT_CLASSES, LINK_SOFTMAX);
	return 0;
}

/* Weights and bias of the model, from the logarithms of the shares of features. */
static int
begin(struct sklearn *s, pickle_ref r)
{
	size_t rows, width;
	double *v = sklearn_matrix(s, sklearn_field(s, r, "feature_log_prob_"), 0, &rows, &width,
	                           "shares of features");

	if (!v || sklearn_weights(s, v, rows, width, "naive Bayes of scikit-learn") < 0)
		return -1;
	s->m->task = PREDICT_CLASSES;
	s->m->link = LINK_SOFTMAX;
	return 0;
}

static int
add_priors(struct sklearn *s, pickle_ref r)
{
	size_t k;
	double *v = sklearn_vector(s, sklearn_field(s, r, "class_log_prior_"), s->m->outputs, NULL,
	                           "priors");

	for (k = 0; v && k < s->m->outputs; k++)
		s->m->linear.bias[k] += v[k];
	free(v);
	return v ? 0 : -1;
}

int
sklearn_multinomial(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return begin(s, r) < 0 ? -1 : add_priors(s, r);
}

/* The priors count only if there is a single class. */
int
sklearn_complement(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return begin(s, r) < 0 ? -1 : s->m->outputs == 1 ? add_priors(s, r) : 0;
}

/* A feature that is absent counts too: ln p for 1, ln (1 - p) for 0. */
int
sklearn_bernoulli(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref threshold = sklearn_field(s, r, "binarize");
	struct step *x;
	size_t i, k, n;

	(void)classes;
	if (begin(s, r) < 0 || add_priors(s, r) < 0)
		return -1;
	n = s->m->features;
	for (k = 0; k < s->m->outputs; k++) {
		double *w = s->m->linear.weights + k * n, sum = 0;

		for (i = 0; i < n; i++) {
			double absent = log(1 - exp(w[i]));

			w[i] -= absent;
			sum += absent;
		}
		s->m->linear.bias[k] += sum;
	}
	if (sklearn_none(s, threshold))
		return 0;
	x = sklearn_step(s, &step_binarize, n, n);
	if (!x)
		return -1;
	s->m->kind = "naive Bayes of scikit-learn";
	return sklearn_number(s, threshold, &x->x) < 0 ? sklearn_wrong(s, "the threshold is not a number")
	                                               : 0;
}
