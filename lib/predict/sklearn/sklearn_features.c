/* Estimators that select features, or make others of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_features.h"

/* ---- selection ---- */

/* Whether feature j stays; b is a number beside a. */
typedef bool stays(double a, double b);

static bool
is_above(double a, double b)
{
	return a > b;
}

static bool
is_below(double a, double b)
{
	return a < b;
}

static bool
is_least(double a, double b)
{
	return a >= b;
}

/* Features by a number of each, which can be NaN for none. */
static int
select_by(struct sklearn *s, const double *v, size_t n, stays *good, double b)
{
	size_t j, k = 0, count = 0;
	struct step *x;

	for (j = 0; j < n; j++)
		count += good(v[j], b);
	x = sklearn_listed(s, &step_select, n, count);
	for (j = 0; x && j < n; j++)
		if (good(v[j], b))
			x->list[k++] = (uint32_t)j;
	return x ? 0 : -1;
}

/* An attribute with a number for each feature: a->v, or an error. */
static int
read_scores(struct sklearn *s, pickle_ref r, const char *name, struct sklearn_array *a)
{
	pickle_ref field = sklearn_field(s, r, name);

	*a = (struct sklearn_array){ .n = 0 };
	if (sklearn_none(s, field))
		return err_set(s->e, ERR_FORMAT, s->where, "a selection of features without %s is not read", name);
	if (sklearn_array(s, field, a) < 0)
		return -1;
	return a->v && a->n && a->ndim == 1 ? 0 : sklearn_wrong(s, "the scores of features are not numbers");
}

static int
select_attribute(struct sklearn *s, pickle_ref r, const char *name, stays *good, double b)
{
	struct sklearn_array a;
	int status = read_scores(s, r, name, &a);

	if (status == 0)
		status = select_by(s, a.v, a.n, good, b);
	sklearn_array_free(&a);
	return status;
}

int
sklearn_variance(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return select_attribute(s, r, "variances_", is_above, sklearn_or(s, r, "threshold", 0));
}

int
sklearn_support(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return select_attribute(s, r, "support_", is_above, 0);
}

int
sklearn_fpr(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	return select_attribute(s, r, "pvalues_", is_below, sklearn_or(s, r, "alpha", 0.05));
}

struct ranked {
	double v;
	size_t i;
};

static int
by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->v < y->v ? -1 : x->v > y->v ? 1 : x->i < y->i ? -1 : 1;
}

/* Scores in order, NaN as the least number; each with its feature. */
static struct ranked *
rank(const double *v, size_t n)
{
	struct ranked *x = mem_array(n, sizeof *x);
	size_t i;

	for (i = 0; x && i < n; i++)
		x[i] = (struct ranked){ isnan(v[i]) ? -1.7976931348623157e308 : v[i], i };
	if (x)
		qsort(x, n, sizeof *x, by_rank);
	return x;
}

/* The k best: of equal ones, the later features. */
static int
select_best(struct sklearn *s, double *v, size_t n, size_t k)
{
	struct ranked *x = rank(v, n);
	size_t i;

	if (!x)
		return err_memory(s->e);
	for (i = 0; i < n; i++)
		v[x[i].i] = i >= n - k;
	free(x);
	return select_by(s, v, n, is_above, 0);
}

int
sklearn_best(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref field = sklearn_field(s, r, "k");
	struct sklearn_array a;
	double k = 0;
	int status = read_scores(s, r, "scores_", &a);

	(void)classes;
	if (status == 0 && field != PICKLE_NOTHING && pickle_is(&s->k, field, "all"))
		k = (double)a.n;
	else if (status == 0 && (sklearn_number(s, field, &k) < 0 || !(k >= 1)))
		status = sklearn_wrong(s, "the number of features that stay is wrong");
	if (status == 0)
		status = select_best(s, a.v, a.n, k < (double)a.n ? (size_t)k : a.n);
	sklearn_array_free(&a);
	return status;
}

/* Those above a percentile, and of those equal to it the first ones, up to the share of features. */
static int
select_share(struct sklearn *s, double *v, size_t n, double percent)
{
	struct ranked *x = rank(v, n);
	double at = (double)(n - 1) * (1 - percent / 100), low = floor(at), limit;
	size_t i, kept = 0, most = (size_t)((double)n * percent / 100);

	if (!x)
		return err_memory(s->e);
	i = (size_t)low;
	limit = i + 1 < n ? x[i].v + (x[i + 1].v - x[i].v) * (at - low) : x[i].v;
	free(x);
	for (i = 0; i < n; i++)
		kept += v[i] > limit;
	for (i = 0; i < n; i++)
		if (v[i] == limit && kept < most) {
			kept++;
			v[i] = HUGE_VAL;
		}
	return select_by(s, v, n, is_above, limit);
}

int
sklearn_percentile(struct sklearn *s, pickle_ref r, bool classes)
{
	double percent = sklearn_or(s, r, "percentile", 10);
	struct sklearn_array a;
	int status = read_scores(s, r, "scores_", &a);

	(void)classes;
	if (status == 0 && !(percent > 0 && percent <= 100))
		status = sklearn_wrong(s, "the percentile is not from 0 to 100");
	if (status == 0 && percent < 100)
		status = select_share(s, a.v, a.n, percent);
	else if (status == 0)
		status = select_best(s, a.v, a.n, a.n);
	sklearn_array_free(&a);
	return status;
}

/* SelectFromModel: the coefficients of a linear model. scikit-learn takes their norm over the classes. */
static double *
importances(struct sklearn *s, pickle_ref r, size_t *n)
{
	pickle_ref field = sklearn_field(s, r, "coef_");
	size_t rows, i, j;
	double *v;

	if (sklearn_none(s, field)) {
		err_set(s->e, ERR_FORMAT, s->where, "a selection by a model that is not linear is not read");
		return NULL;
	}
	v = sklearn_matrix(s, field, 0, &rows, n, "coefficients");
	for (j = 0; v && j < *n; j++) {
		double sum = fabs(v[j]);

		for (i = 1; i < rows; i++)
			sum += fabs(v[i * *n + j]);
		v[j] = sum;
	}
	return v;
}

static double
mean_of(const double *v, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

int
sklearn_from_model(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref threshold = sklearn_field(s, r, "threshold"), model = sklearn_field(s, r, "estimator_");
	double *v, limit = 1e-5;
	size_t n;
	int status = 0;
	char class[64];

	(void)classes;
	sklearn_class(s, model, class);
	v = importances(s, model, &n);
	if (!v)
		return -1;
	if (!sklearn_none(s, sklearn_field(s, r, "max_features")))
		status = err_set(s->e, ERR_FORMAT, s->where, "a selection of at most some features is not read");
	else if (sklearn_none(s, threshold))
		limit = strstr(class, "Lasso") || pickle_is(&s->k, sklearn_field(s, model, "penalty"), "l1")
		        ? 1e-5 : mean_of(v, n);
	else if (pickle_is(&s->k, threshold, "mean"))
		limit = mean_of(v, n);
	else if (sklearn_number(s, threshold, &limit) < 0)
		status = err_set(s->e, ERR_FORMAT, s->where, "a selection by a threshold that is a text is not read");
	if (status == 0)
		status = select_by(s, v, n, is_least, limit);
	free(v);
	return status;
}

/* ---- other features ---- */

int
sklearn_polynomial(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n = sklearn_features(s, r);
	struct step *x = n ? sklearn_step(s, &step_poly, n, 1) : NULL;
	double low = sklearn_or(s, r, "_min_degree", 0), high = sklearn_or(s, r, "_max_degree", sklearn_or(s, r, "degree", 2));

	(void)classes;
	if (!x)
		return -1;
	if (!(low >= 0 && high >= low && high <= 65536))
		return sklearn_wrong(s, "the degrees of the products are wrong");
	x->k = (size_t)low;
	x->n = (size_t)high;
	x->mode = (sklearn_or(s, r, "interaction_only", 0) != 0 ? POLY_ALONE : 0) |
	          (sklearn_or(s, r, "include_bias", 1) != 0 ? POLY_ONE : 0);
	return step_poly_begin(x, s->e);
}

/* The inner edges of a feature, behind those so far. */
static int
add_edges(struct sklearn *s, pickle_ref r, struct step *x, uint32_t *count)
{
	size_t i, n, cap = x->n;
	double *v = sklearn_vector(s, r, 0, &n, "edges of bins");

	if (!v)
		return -1;
	*count = n > 2 ? (uint32_t)(n - 2) : 0;
	if (*count && mem_grow(&x->a, &cap, x->n + *count, sizeof *x->a) < 0) {
		free(v);
		return err_memory(s->e);
	}
	for (i = 0; i < *count; i++)
		x->a[x->n++] = v[i + 1];
	free(v);
	return 0;
}

int
sklearn_bins(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n = sklearn_features(s, r), j, all = 0;
	struct step *x = n ? sklearn_listed(s, &step_bins, n, n) : NULL;
	struct sklearn_array a = { .n = 0 };
	const struct pickle_cell *c;
	int status = x ? sklearn_array(s, sklearn_field(s, r, "bin_edges_"), &a) : -1;

	(void)classes;
	if (status == 0 && (a.list == PICKLE_NOTHING || a.n != n || a.ndim != 1))
		status = sklearn_wrong(s, "the bins are not those of all features");
	c = status == 0 ? pickle_first(&s->k, a.list) : NULL;
	for (j = 0; status == 0 && c && j < n; j++, c = pickle_next(&s->k, c)) {
		status = add_edges(s, c->node, x, &x->list[j]);
		all += x->list[j] + 1;
	}
	sklearn_array_free(&a);
	if (status < 0)
		return -1;
	if (!pickle_is(&s->k, sklearn_field(s, r, "encode"), "ordinal")) {
		x->mode = BINS_ONEHOT;
		x->out = all;
	}
	return step_features_fit(x) ? 0 : sklearn_wrong(s, "the edges of bins are not in order");
}

int
sklearn_power(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, &step_power, 0, 0);
	pickle_ref scaler = sklearn_field(s, r, "_scaler");
	size_t n;

	(void)classes;
	if (!x)
		return -1;
	x->a = sklearn_vector(s, sklearn_field(s, r, "lambdas_"), 0, &n, "exponents");
	x->in = x->out = x->a ? n : 0;
	x->mode = pickle_is(&s->k, sklearn_field(s, r, "method"), "box-cox") ? POWER_BOX_COX : POWER_YEO_JOHNSON;
	if (!x->a)
		return -1;
	return sklearn_or(s, r, "standardize", 1) == 0 ? 0
	       : sklearn_none(s, scaler) ? sklearn_wrong(s, "the scaler behind the powers is missing")
	                                 : sklearn_standard(s, scaler, false);
}

int
sklearn_quantiles(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t rows, width, i, j, count;
	double *q = sklearn_matrix(s, sklearn_field(s, r, "quantiles_"), 0, &rows, &width, "quantiles");
	double *y = q ? sklearn_vector(s, sklearn_field(s, r, "references_"), rows, &count, "shares of quantiles") : NULL;
	struct step *x = y ? sklearn_listed(s, &step_interpolate, width, width) : NULL;

	(void)classes;
	if (x) {
		x->n = rows * width;
		x->mode = pickle_is(&s->k, sklearn_field(s, r, "output_distribution"), "normal")
		          ? INTERPOLATE_NORMAL : INTERPOLATE_UNIFORM;
		x->a = mem_array(x->n, sizeof *x->a);
		x->b = mem_array(x->n, sizeof *x->b);
	}
	for (j = 0; x && x->a && x->b && j < width; j++) {
		x->list[j] = (uint32_t)rows;
		for (i = 0; i < rows; i++) {
			x->a[j * rows + i] = q[i * width + j];
			x->b[j * rows + i] = y[i];
		}
	}
	free(q);
	free(y);
	if (!x)
		return -1;
	if (!x->a || !x->b)
		return err_memory(s->e);
	return step_features_fit(x) ? 0 : sklearn_wrong(s, "the quantiles are not in order");
}

/* ---- functions of NumPy by their names ---- */

int
sklearn_function(struct sklearn *s, pickle_ref r, size_t n)
{
	static const char *const names[FUNCTIONS] = { "expit", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10",
		"sqrt", "square", "absolute", "reciprocal" };
	pickle_ref name = r == PICKLE_NOTHING || pickle_node(&s->k, r)->kind != PICKLE_GLOBAL
	                  ? PICKLE_NOTHING : pickle_name_of(&s->k, r);
	struct step *x;
	unsigned i;

	if (sklearn_none(s, r))
		return 0;
	for (i = 0; i < FUNCTIONS && (name == PICKLE_NOTHING || !pickle_is(&s->k, name, names[i])); i++)
		;
	if (i == FUNCTIONS)
		return err_set(s->e, ERR_FORMAT, s->where, "a function that is not one of NumPy's for numbers is not read: "
		               "it is code");
	x = sklearn_step(s, &step_function, n, n);
	if (x)
		x->mode = i;
	return x ? 0 : -1;
}

int
sklearn_functions(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	if (sklearn_none(s, sklearn_field(s, r, "func")))
		return 0;
	return sklearn_function(s, sklearn_field(s, r, "func"), sklearn_features(s, r));
}
