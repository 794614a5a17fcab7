/* Imputers, and indicators of missing values. */
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_columns.h"
#include "predict/step_features.h"

struct step *
sklearn_listed(struct sklearn *s, const struct step_kind *kind, size_t in, size_t out)
{
	struct step *x = in && out ? sklearn_step(s, kind, in, out) : NULL;

	if (!x) {
		if (!in || !out)
			sklearn_wrong(s, "a selection of features has none");
		return NULL;
	}
	x->list = mem_array(out, sizeof *x->list);
	if (!x->list)
		err_memory(s->e);
	return x->list ? x : NULL;
}

/* ---- missing values ---- */

/* Keeps the texts that an imputer puts in, for the encoder that follows. 1: they are numbers. */
static int
read_fills(struct sklearn *s, pickle_ref r, struct step *x)
{
	struct sklearn_array a = { .n = 0 };
	const struct pickle_cell *c;
	size_t i;
	int status = sklearn_array(s, r, &a);

	c = status == 0 && a.list != PICKLE_NOTHING ? pickle_first(&s->k, a.list) : NULL;
	sklearn_array_free(&a);
	if (status < 0 || !c)
		return status < 0 ? -1 : 1;
	free(s->fill);
	s->fill = mem_array(1, sizeof *s->fill + a.n * sizeof s->fill->item[0]);
	x->a = mem_array(a.n, sizeof *x->a);
	if (!s->fill || !x->a)
		return err_memory(s->e);
	s->fill->n = x->in = x->out = a.n;
	for (i = 0; i < a.n; i++, c = c ? pickle_next(&s->k, c) : NULL) {
		s->fill->item[i] = c ? c->node : PICKLE_NOTHING;
		x->a[i] = -1;
	}
	return 0;
}

/* Leaves out the features that have no value in training. v: their NaN becomes 0. */
static int
leave_empty(struct sklearn *s, double *v, size_t n)
{
	size_t j, k = 0, count = 0;
	struct step *x;

	for (j = 0; j < n; j++)
		count += !isnan(v[j]);
	if (count == n)
		return 0;
	x = sklearn_listed(s, &step_select, n, count);
	for (j = 0; x && j < n; j++)
		if (isnan(v[j]))
			v[j] = 0;
		else
			x->list[k++] = (uint32_t)j;
	return x ? 0 : -1;
}

/* The numbers that an imputer puts in. */
static int
read_statistics(struct sklearn *s, pickle_ref r, struct step *x)
{
	struct sklearn_array a = { .n = 0 };
	double *v;
	int status = read_fills(s, r, x);

	if (status < 1)
		return status;
	status = sklearn_array(s, r, &a);
	if (status == 0 && (!a.v || a.n == 0))
		status = sklearn_wrong(s, "the statistics of the imputer are not numbers");
	if (status == 0) {
		v = x->a = a.v;
		x->in = x->out = a.n;
		a.v = NULL;
		status = leave_empty(s, v, a.n);
	}
	sklearn_array_free(&a);
	return status;
}

/* What counts as missing: NaN, or a number. 0 or -1. */
static int
read_missing(struct sklearn *s, pickle_ref r, unsigned flag, struct step *x)
{
	pickle_ref field = sklearn_field(s, r, "missing_values");
	double v = (double)NAN;

	if (!sklearn_none(s, field) && sklearn_number(s, field, &v) < 0)
		return err_set(s->e, ERR_FORMAT, s->where, "an imputer of a text is not read");
	if (isnan(v))
		return 0;
	x->mode |= flag;
	x->x = v;
	return 0;
}

static int
impute(struct sklearn *s, pickle_ref r)
{
	struct step *x = sklearn_step(s, &step_impute, 0, 0);

	return x && read_missing(s, r, STEP_VALUE, x) == 0 ? read_statistics(s, sklearn_field(s, r, "statistics_"), x) : -1;
}

/* Numbers of features, as indices below n: the list of a new step. */
static int
mark(struct sklearn *s, pickle_ref r, size_t n)
{
	size_t i, count;
	double *v = sklearn_vector(s, sklearn_field(s, r, "features_"), 0, &count, "features of the indicator");
	struct step *x = v ? sklearn_listed(s, &step_marks, n, count) : NULL;

	for (i = 0; x && i < count; i++) {
		if (!(v[i] >= 0 && v[i] < (double)n)) {
			sklearn_wrong(s, "a feature of the indicator is not there");
			x = NULL;
			break;
		}
		x->list[i] = (uint32_t)v[i];
	}
	free(v);
	return x ? read_missing(s, r, MARKS_VALUE, x) : -1;
}

int
sklearn_indicator(struct sklearn *s, pickle_ref r, bool classes)
{
	double n = sklearn_or(s, r, "n_features_in_", sklearn_or(s, r, "_n_features", 0));

	(void)classes;
	if (!(n >= 1 && n <= FOREST_FEATURES))
		return sklearn_wrong(s, "the number of features is missing");
	return mark(s, r, (size_t)n);
}

/* The values, and behind them marks of those that were missing: two parts of the same features. */
static int
impute_and_mark(struct sklearn *s, pickle_ref r, pickle_ref indicator)
{
	struct step_columns *x = sklearn_union(s, 2);
	struct sklearn_aside kept;
	size_t n;
	int status;

	if (!x)
		return -1;
	sklearn_aside(s, &kept);
	status = impute(s, r);
	n = status == 0 ? s->m->steps[0].in : 0;
	sklearn_back(s, &kept, &x->parts[0]);
	x->n = 1;
	sklearn_aside(s, &kept);
	if (status == 0)
		status = mark(s, indicator, n);
	sklearn_back(s, &kept, &x->parts[1]);
	x->n = 2;
	return status < 0 ? -1 : sklearn_union_end(s);
}

int
sklearn_imputer(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref indicator = sklearn_field(s, r, "indicator_"), features;
	struct sklearn_array a = { .n = 0 };
	int status;
	bool marks = sklearn_or(s, r, "add_indicator", 0) != 0 && !sklearn_none(s, indicator);

	(void)classes;
	if (marks) {
		features = sklearn_field(s, indicator, "features_");
		if (features == PICKLE_NOTHING)
			return sklearn_wrong(s, "the indicator has no features");
		status = sklearn_array(s, features, &a);
		marks = a.n > 0;
		sklearn_array_free(&a);
		if (status < 0)
			return -1;
	}
	return marks ? impute_and_mark(s, r, indicator) : impute(s, r);
}
