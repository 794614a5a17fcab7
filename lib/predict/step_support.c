/* Support vector machines. Source: Chang, Lin: LIBSVM, A Library for Support Vector Machines (2011);
 * section 4 has the decision of one against one. */
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/step.h"

/* x^n by squaring. */
static double
power(double x, unsigned n)
{
	double r = 1;

	for (; n > 0; n /= 2) {
		if (n % 2 == 1)
			r *= x;
		x *= x;
	}
	return r;
}

static double
kernel(const struct step *s, const double *a, const double *b)
{
	double sum = 0;
	size_t i;

	if (s->mode == STEP_RBF) {
		for (i = 0; i < s->in; i++)
			sum += (a[i] - b[i]) * (a[i] - b[i]);
		return exp(-s->x * sum);
	}
	for (i = 0; i < s->in; i++)
		sum += a[i] * b[i];
	return s->mode == STEP_LINEAR ? sum
	       : s->mode == STEP_POLY ? power(s->x * sum + s->y, s->weigh) : tanh(s->x * sum + s->y);
}

static double
sum_of(const double *coefficients, const double *k, size_t from, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = from; i < from + n; i++)
		sum += coefficients[i] * k[i];
	return sum;
}

/* The decision of each pair of classes: positive for the first. */
static void
pairs(const struct step *s, const double *k, double *to)
{
	size_t i, j, from = 0, other, pair = 0;

	for (i = 0; i < s->k; from += s->list[i++])
		for (j = i + 1, other = from + s->list[i]; j < s->k; other += s->list[j++], pair++)
			to[pair] = sum_of(s->b + (j - 1) * s->n, k, from, s->list[i]) +
			           sum_of(s->b + i * s->n, k, other, s->list[j]) + s->c[pair];
}

static int
support(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	double *k = mem_array(s->n, sizeof *k);
	size_t i, j;
	int r = k ? step_rows_begin(spare, x->n, s->out, e) : err_memory(e);

	for (i = 0; r == 0 && i < x->n; i++) {
		for (j = 0; j < s->n; j++)
			k[j] = kernel(s, step_row(x, i), s->a + j * s->in);
		if (s->k > 0)
			pairs(s, k, step_row(spare, i));
		else
			step_row(spare, i)[0] = sum_of(s->b, k, 0, s->n) + s->c[0];
	}
	free(k);
	step_rows_swap(x, spare);
	return r;
}

const struct step_kind step_support = { "support vectors", false, false, support };
