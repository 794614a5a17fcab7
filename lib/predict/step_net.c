/* Layers of networks, and Gaussian naive Bayes. */
#include <math.h>
#include <string.h>

#include "predict/step.h"

static void
softmax(double *v, size_t n)
{
	double most = v[0], sum = 0;
	size_t j;

	for (j = 1; j < n; j++)
		most = v[j] > most ? v[j] : most;
	for (j = 0; j < n; j++)
		sum += v[j] = exp(v[j] - most);
	for (j = 0; j < n; j++)
		v[j] /= sum;
}

static double
activate(unsigned f, double v)
{
	switch (f) {
	case STEP_LOGISTIC:
		return 1 / (1 + exp(-v));
	case STEP_TANH:
		return tanh(v);
	case STEP_RELU:
		return v > 0 || isnan(v) ? v : 0;
	default:
		return v;
	}
}

static int
layer(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	step_product(x, s->b, s->out, step_row(spare, 0));
	for (i = 0; i < x->n; i++) {
		double *v = step_row(spare, i);

		for (j = 0; j < s->out; j++)
			v[j] = activate(s->mode, s->a ? v[j] + s->a[j] : v[j]);
		if (s->mode == STEP_SOFTMAX)
			softmax(v, s->out);
	}
	step_rows_swap(x, spare);
	return 0;
}

/* ln P(c) + ln p(x | c), with independent normal distributions; c has what does not depend on x. */
static int
gauss(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j, k;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		for (k = 0; k < s->out; k++) {
			const double *v = step_row(x, i), *mean = s->a + k * s->in, *var = s->b + k * s->in;
			double sum = 0, d;

			for (j = 0; j < s->in; j++) {
				d = v[j] - mean[j];
				sum += d * d / var[j];
			}
			step_row(spare, i)[k] = s->c[k] - 0.5 * sum;
		}
	step_rows_swap(x, spare);
	return 0;
}

const struct step_kind step_layer = { "layer", false, false, layer };
const struct step_kind step_gauss = { "naive Bayes", false, false, gauss };
