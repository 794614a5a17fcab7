#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/pmml/derive.h"

void
derived_free(void *of)
{
	struct derived *d = of;

	if (!d)
		return;
	free(d->treats);
	free(d->where);
	buf_free(&d->ops);
	buf_free(&d->list);
	buf_free(&d->dropped);
	free(d);
}

/* ---- values of rows ---- */

/* Whether a value is between two others: closure bit 0: the left one belongs to it, bit 1: the right one. */
static bool
between(double x, const double *r)
{
	unsigned closure = (unsigned)r[2];

	return (x > r[0] || (closure & 1 && x == r[0])) && (x < r[1] || (closure & 2 && x == r[1]));
}

static int
treat(const struct derived *d, size_t i, double *v, struct err *e)
{
	const struct derive_treat *t = &d->treats[i];
	const double *r = (const double *)(const void *)d->list.p + t->ranges;
	size_t k;

	*v = t->single ? (double)(float)*v : *v;
	for (k = 0; k < t->range_count && !between(*v, r + 4 * k); k++)
		;
	if (!isnan(*v) && t->range_count && k == t->range_count) {
		if (t->refuses)
			return err_set(e, ERR_CORRUPT, d->where, "the value %g of column %zu is not one that the model "
			               "calls valid", *v, i + 1);
		*v = t->replaces ? t->invalid : *v;
	}
	if (t->outliers == OUTLIERS_MISSING && (*v < t->low || *v > t->high))
		*v = (double)NAN;
	else if (t->outliers == OUTLIERS_EXTREME)
		*v = *v < t->low ? t->low : *v > t->high ? t->high : *v;
	*v = isnan(*v) ? t->replacement : *v;
	return 0;
}

/* ---- operations ---- */

static double
lines(const double *at, size_t n, double x, double outliers)
{
	size_t k = 0;

	if (isnan(x) || (outliers == OUTLIERS_MISSING && (x < at[0] || x > at[2 * n - 2])))
		return (double)NAN;
	if (outliers == OUTLIERS_EXTREME && x < at[0])
		return at[1];
	if (outliers == OUTLIERS_EXTREME && x > at[2 * n - 2])
		return at[2 * n - 1];
	while (k + 2 < n && x > at[2 * k + 2])
		k++;
	at += 2 * k;
	return at[1] + (x - at[0]) / (at[2] - at[0]) * (at[3] - at[1]);
}

static double
bins(const double *at, size_t n, double x, double otherwise)
{
	size_t k;

	for (k = 0; k < n; k++)
		if (between(x, at + 4 * k))
			return at[4 * k + 3];
	return isnan(x) ? x : otherwise;
}

/* Rows of keys and a result. */
static double
table(const double *at, size_t n, const double *keys, double otherwise)
{
	size_t rows = (size_t)*at++, i, k;

	for (k = 0; k < n; k++)
		if (isnan(keys[k]))
			return (double)NAN;
	for (i = 0; i < rows; i++, at += n + 1) {
		for (k = 0; k < n && at[k] == keys[k]; k++)
			;
		if (k == n)
			return at[n];
	}
	return otherwise;
}

/* Of n values that are all there. */
static double
several(uint32_t code, const double *v, size_t n)
{
	double x = v[0];
	size_t i;

	for (i = 1; i < n; i++)
		switch (code) {
		case DO_MIN:
			x = v[i] < x ? v[i] : x;
			break;
		case DO_MAX:
			x = v[i] > x ? v[i] : x;
			break;
		case DO_PRODUCT:
			x *= v[i];
			break;
		default:
			x += v[i];
		}
	return code == DO_AVG ? x / (double)n : x;
}

/* And, or: a value decides alone; else a missing one makes the result missing. */
static double
logic(bool any, const double *v, size_t n)
{
	double x = any ? 0 : 1;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!isnan(v[i]) && (v[i] != 0) == any)
			return any;
		x = isnan(v[i]) ? v[i] : x;
	}
	return x;
}

static double
is_in(const double *v, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (v[i] == v[0])
			return 1;
	return 0;
}

static double
two(uint32_t code, double a, double b)
{
	switch (code) {
	case DO_ADD: return a + b;
	case DO_SUBTRACT: return a - b;
	case DO_MULTIPLY: return a * b;
	case DO_DIVIDE: return a / b;
	case DO_POW: return pow(a, b);
	case DO_THRESHOLD: return a > b;
	case DO_EQUAL: return a == b;
	case DO_NOT_EQUAL: return a != b;
	case DO_LESS: return a < b;
	case DO_LESS_EQUAL: return a <= b;
	case DO_GREATER: return a > b;
	default: return a >= b;
	}
}

static double
one(uint32_t code, double x)
{
	switch (code) {
	case DO_EXP: return exp(x);
	case DO_LN: return log(x);
	case DO_LOG10: return log10(x);
	case DO_SQRT: return sqrt(x);
	case DO_ABS: return fabs(x);
	case DO_FLOOR: return floor(x);
	case DO_CEIL: return ceil(x);
	case DO_NOT: return x == 0;
	default: return floor(x + 0.5); /* round */
	}
}

/* The result of an operation on the n values at v. */
static double
operate(const struct derived *d, const struct derive_op *o, const double *v)
{
	const double *list = (const double *)(const void *)d->list.p + o->a;
	size_t i, n = o->n;

	switch (o->code) {
	case DO_IS_MISSING: return isnan(v[0]);
	case DO_IS_NOT_MISSING: return !isnan(v[0]);
	case DO_AND: return logic(false, v, n);
	case DO_OR: return logic(true, v, n);
	case DO_IF: return isnan(v[0]) ? v[0] : v[0] != 0 ? v[1] : n == 3 ? v[2] : (double)NAN;
	case DO_DEFAULT: return isnan(v[0]) ? o->v : v[0];
	case DO_SINGLE: return (double)(float)v[0];
	case DO_LINES: return lines(list, o->a ? (size_t)list[-1] : 0, v[0], o->v);
	case DO_BINS: return bins(list, o->a ? (size_t)list[-1] : 0, v[0], o->v);
	case DO_TABLE: return table(list, n, v, o->v);
	case DO_WORDS: return isnan(v[0]) ? v[0] : v[0] >= 0 && v[0] < list[-1] ? list[(size_t)v[0]] : o->v;
	default: break;
	}
	for (i = 0; i < n; i++)
		if (isnan(v[i]))
			return v[i];
	if (o->code == DO_IS_IN || o->code == DO_IS_NOT_IN)
		return o->code == DO_IS_IN ? is_in(v, n) : 1 - is_in(v, n);
	if (o->code >= DO_MIN && o->code <= DO_PRODUCT)
		return several(o->code, v, n);
	return n == 2 ? two(o->code, v[0], v[1]) : one(o->code, v[0]);
}

/* Computes the slots of a row behind its inputs. The compiler of the operations has proved the stack. */
static void
compute(const struct derived *d, double *row)
{
	const struct derive_op *o = (const struct derive_op *)(const void *)d->ops.p;
	size_t n = d->ops.n / sizeof *o, to = d->inputs, top = 0;
	double stack[DERIVE_STACK + 1];

	for (; n > 0; n--, o++) {
		if (o->code == DO_END) {
			row[to++] = stack[--top];
		} else if (o->code == DO_CONST || o->code == DO_SLOT) {
			stack[top++] = o->code == DO_CONST ? o->v : row[o->a];
		} else {
			top -= o->n;
			stack[top] = operate(d, o, stack + top);
			top++;
		}
	}
	for (n = 0; n < d->dropped.n; n++)
		row[n] = d->dropped.p[n] ? 0 : row[n];
}

static int
apply(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct derived *d = s->more;
	size_t i, j;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++) {
		double *to = step_row(spare, i);

		memcpy(to, step_row(x, i), s->in * sizeof *to);
		for (j = 0; j < s->in; j++)
			if (treat(d, j, &to[j], e) < 0)
				return -1;
		compute(d, to);
	}
	step_rows_swap(x, spare);
	return 0;
}

const struct step_kind step_fields = { "fields of PMML", false, false, apply };
