#include "predict/step_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* Makes rows of s->out values by a function that reads one row and fills another. */
static int
each_row(const struct step *s, struct step_rows *x, struct step_rows *spare,
         void (*row)(const struct step *s, const double *v, double *to), struct err *e)
{
	size_t i;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		row(s, step_row(x, i), step_row(spare, i));
	step_rows_swap(x, spare);
	return 0;
}

/* ---- a part of the features ---- */

static void
select_row(const struct step *s, const double *v, double *to)
{
	size_t j;

	for (j = 0; j < s->out; j++)
		to[j] = v[s->list[j]];
}

static int
select_features(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, select_row, e);
}

static void
mark_row(const struct step *s, const double *v, double *to)
{
	size_t j;

	for (j = 0; j < s->out; j++)
		to[j] = s->mode & MARKS_VALUE ? v[s->list[j]] == s->x : isnan(v[s->list[j]]);
}

static int
mark(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, mark_row, e);
}

/* ---- products ---- */

/* The terms of one degree: for each feature, the products of it and those of the degree before that
 * begin with it or a later one, in this order. */
static size_t
add_degree(const struct step *s, uint32_t *list, size_t from, size_t end, size_t *first, size_t room)
{
	size_t i, k, at = end, next;

	for (i = 0; i < s->in; i++) {
		next = at;
		k = s->mode & POLY_ALONE ? i + 1 < s->in ? first[i + 1] : end : first[i];
		for (k = k < from ? from : k; k < end; k++, at++) {
			if (at == room)
				return SIZE_MAX;
			list[2 * at] = (uint32_t)k;
			list[2 * at + 1] = (uint32_t)i;
		}
		first[i] = next;
	}
	return at;
}

/* All terms of degrees 1 to n: the number of another term, UINT32_MAX for none, and a feature. *left: those
 * of degrees below k. Returns their number, SIZE_MAX if there are too many. */
static size_t
add_terms(const struct step *s, uint32_t *list, size_t *first, size_t *left)
{
	size_t d, i, from = 0, end = 0, at;

	for (i = 0; s->n > 0 && i < s->in && end < POLY_TERMS; i++, end++) {
		list[2 * end] = UINT32_MAX;
		list[2 * end + 1] = (uint32_t)i;
		first[i] = end;
	}
	*left = s->k > 1 ? end : 0;
	for (d = 2; d <= s->n && end != SIZE_MAX && end > from; d++) {
		at = end;
		end = add_degree(s, list, from, end, first, POLY_TERMS);
		from = at;
		*left = d < s->k ? end : *left;
	}
	return end;
}

int
step_poly_begin(struct step *s, struct err *e)
{
	size_t *first = mem_array(s->in + 1, sizeof *first), left = 0, n = SIZE_MAX;
	uint32_t *list = s->in < POLY_TERMS ? mem_array(2 * POLY_TERMS, sizeof *list) : NULL;

	if (!first || (!list && s->in < POLY_TERMS)) {
		free(first);
		free(list);
		return err_memory(e);
	}
	n = list ? add_terms(s, list, first, &left) : SIZE_MAX;
	free(first);
	free(s->list);
	s->list = n < POLY_TERMS ? mem_array(2 * n + 1, sizeof *s->list) : NULL;
	if (s->list)
		memcpy(s->list, list, 2 * n * sizeof *list);
	free(list);
	if (n >= POLY_TERMS)
		return err_set(e, ERR_CORRUPT, NULL, "the degrees allow more than %zu products of features", POLY_TERMS);
	if (!s->list)
		return err_memory(e);
	s->weigh = (unsigned)left;
	s->out = n - left + (s->mode & POLY_ONE ? 1 : 0);
	return s->out ? 0 : err_set(e, ERR_CORRUPT, NULL, "the degrees allow no product of features");
}

/* Products are made from the last feature to the first one, as the library does. */
static int
poly(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t one = s->mode & POLY_ONE ? 1 : 0, n = s->out - one + s->weigh, i, t;
	double *v = mem_array(n + 1, sizeof *v);

	if (!v)
		return err_memory(e);
	if (step_rows_begin(spare, x->n, s->out, e) < 0) {
		free(v);
		return -1;
	}
	for (i = 0; i < x->n; i++) {
		const double *from = step_row(x, i);

		for (t = 0; t < n; t++)
			v[t] = s->list[2 * t] == UINT32_MAX ? from[s->list[2 * t + 1]]
			                                    : v[s->list[2 * t]] * from[s->list[2 * t + 1]];
		if (one)
			step_row(spare, i)[0] = 1;
		memcpy(step_row(spare, i) + one, v + s->weigh, (s->out - one) * sizeof *v);
	}
	free(v);
	step_rows_swap(x, spare);
	return 0;
}

/* ---- bins ---- */

/* The number of the n values, which ascend, that are not greater than v; of NaN all. */
static size_t
rank_of(const double *a, size_t n, double v)
{
	size_t low = 0, high = n, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (v < a[at])
			high = at;
		else
			low = at + 1;
	}
	return low;
}

static void
bin_row(const struct step *s, const double *v, double *to)
{
	const double *edges = s->a;
	size_t j, bin;

	for (j = 0; j < s->in; edges += s->list[j++]) {
		bin = rank_of(edges, s->list[j], v[j]);
		if (s->mode & BINS_ONEHOT) {
			to[bin] = 1;
			to += s->list[j] + 1;
		} else {
			to[j] = (double)bin;
		}
	}
}

static int
bins(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, bin_row, e);
}

/* ---- between points ---- */

/* numpy.interp: the line between the points around v. */
static double
between(const double *x, const double *y, size_t n, double v)
{
	size_t at = rank_of(x, n, v);

	if (isnan(v))
		return v;
	if (at == 0)
		return y[0];
	if (at == n || x[at - 1] == v)
		return y[at - 1];
	return (y[at] - y[at - 1]) / (x[at] - x[at - 1]) * (v - x[at - 1]) + y[at - 1];
}

/* The same of -v among the negative points in the other order, with the sign turned. */
static double
between_back(const double *x, const double *y, size_t n, double v)
{
	size_t low = 0, high = n, at;

	while (low < high) { /* the points below v */
		at = low + (high - low) / 2;
		if (x[at] < v)
			low = at + 1;
		else
			high = at;
	}
	if (low == n)
		return y[n - 1];
	if (low == 0 || x[low] == v)
		return y[low];
	return -((-y[low - 1] + y[low]) / (-x[low - 1] + x[low]) * (-v + x[low]) - y[low]);
}

/* The x below which the normal distribution has the share p: a rational guess (Abramowitz and Stegun,
 * 26.2.23), and Halley's steps. */
static double
normal_quantile(double p)
{
	double tail = p < 0.5 ? p : 1 - p, t = sqrt(-2 * log(tail)), x;
	int i;

	x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
	for (i = 0; i < 4; i++) {
		double d = (0.5 * erfc(x * M_SQRT1_2) - tail) / (exp(-x * x / 2) * M_SQRT1_2 * M_2_SQRTPI / 2);

		x += d / (1 - x * d / 2);
	}
	return p < 0.5 ? -x : x;
}

#define EDGE 1e-7 /* scikit-learn's BOUNDS_THRESHOLD */

static double
quantile(const double *x, const double *y, size_t n, double v, unsigned mode)
{
	bool normal = mode == INTERPOLATE_NORMAL;
	double p;

	if (isnan(v))
		return v;
	p = 0.5 * (between(x, y, n, v) + between_back(x, y, n, v));
	if (normal ? v + EDGE > x[n - 1] : v == x[n - 1])
		p = 1;
	if (normal ? v - EDGE < x[0] : v == x[0])
		p = 0;
	if (!normal)
		return p;
	return normal_quantile(p < EDGE ? EDGE : p > 1 - EDGE ? 1 - EDGE : p);
}

static void
interpolate_row(const struct step *s, const double *v, double *to)
{
	const double *x = s->a, *y = s->b;
	size_t j, n;

	for (j = 0; j < s->in; x += n, y += n, j++) {
		n = s->list[j];
		to[j] = s->mode == INTERPOLATE_CLIP ? between(x, y, n, v[j]) : quantile(x, y, n, v[j], s->mode);
	}
}

static int
interpolate(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, interpolate_row, e);
}

/* ---- functions of a value ---- */

static double
yeo_johnson(double v, double p)
{
	const double tiny = 2.220446049250313e-16;

	if (isnan(v))
		return v;
	if (v >= 0)
		return fabs(p) < tiny ? log1p(v) : (pow(v + 1, p) - 1) / p;
	return fabs(p - 2) > tiny ? -(pow(-v + 1, 2 - p) - 1) / (2 - p) : -log1p(-v);
}

static double
box_cox(double v, double p)
{
	if (v < 0)
		return (double)NAN;
	return fabs(p) < 1e-19 ? log(v) : expm1(p * log(v)) / p;
}

static void
power_row(const struct step *s, const double *v, double *to)
{
	size_t j;

	for (j = 0; j < s->in; j++)
		to[j] = s->mode == POWER_BOX_COX ? box_cox(v[j], s->a[j]) : yeo_johnson(v[j], s->a[j]);
}

static int
power(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, power_row, e);
}

static double logistic(double v) { return v >= 0 ? 1 / (1 + exp(-v)) : exp(v) / (1 + exp(v)); }
static double square(double v) { return v * v; }
static double reciprocal(double v) { return 1 / v; }

static void
function_row(const struct step *s, const double *v, double *to)
{
	static double (*const functions[FUNCTIONS])(double) = { logistic, exp, expm1, exp2, log, log1p, log2,
		log10, sqrt, square, fabs, reciprocal };
	size_t j;

	for (j = 0; j < s->in; j++)
		to[j] = functions[s->mode](v[j]);
}

static int
function(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, function_row, e);
}

/* ---- classes with a matrix each ---- */

static void
quadratic_row(const struct step *s, const double *v, double *to)
{
	size_t k, i, j, n = s->in;

	for (k = 0; k < s->out; k++) {
		const double *a = s->a + k * n, *b = s->b + k * n * n;
		double all = 0;

		for (j = 0; j < n; j++) {
			double sum = 0;

			for (i = 0; i < n; i++)
				sum += (v[i] - a[i]) * b[i * n + j];
			all += sum * sum;
		}
		to[k] = s->c[k] - 0.5 * all;
	}
}

static int
quadratic(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	return each_row(s, x, spare, quadratic_row, e);
}

const struct step_kind step_select = { "selection", false, false, select_features };
const struct step_kind step_marks = { "indicator", false, false, mark };
const struct step_kind step_poly = { "products", false, false, poly };
const struct step_kind step_bins = { "bins", false, false, bins };
const struct step_kind step_interpolate = { "interpolation", false, false, interpolate };
const struct step_kind step_power = { "power", false, false, power };
const struct step_kind step_function = { "function", false, false, function };
const struct step_kind step_quadratic = { "classes", false, false, quadratic };

/* ---- what must hold ---- */

static bool
ascend(const double *v, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (!(v[i - 1] <= v[i]))
			return false;
	return true;
}

/* Lists of points or edges: all of s->n, in order. */
static bool
lists_fit(const struct step *s, size_t least)
{
	size_t j, at = 0, out = 0;

	for (j = 0; j < s->in; at += s->list[j], out += s->list[j++] + 1)
		if (s->list[j] < least || s->list[j] > s->n - at || (s->a && !ascend(s->a + at, s->list[j])))
			return false;
	return at == s->n && s->out == (s->kind == &step_bins && s->mode & BINS_ONEHOT ? out : s->in);
}

bool
step_features_fit(const struct step *s)
{
	size_t j;

	if (s->kind == &step_select || s->kind == &step_marks) {
		for (j = 0; j < s->out && s->list[j] < s->in; j++)
			;
		return j == s->out;
	}
	if (s->kind == &step_bins || s->kind == &step_interpolate)
		return lists_fit(s, s->kind == &step_interpolate);
	return s->kind != &step_function || s->mode < FUNCTIONS;
}
