/* Operators of ONNX on numbers: value by value, products of matrices, sums along axes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/onnx/onnxops.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

int
ops_need_numbers(RUN)
{
	size_t i;

	(void)out;
	for (i = 0; i < n->in_count; i++)
		if (in[i] && in[i]->type == OPS_STRING)
			return ops_wrong(r, n, "an input is a text");
	return 0;
}

/* ---- one value ---- */

static double negate(double x) { return -x; }
static double relu(double x) { return x > 0 || isnan(x) ? x : 0; }
static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }
static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double softsign(double x) { return x / (1 + fabs(x)); }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double reciprocal(double x) { return 1 / x; }
static double not(double x) { return x == 0; }
static double is_nan(double x) { return isnan(x); }
static double is_infinite(double x) { return isinf(x) != 0; }

static int
each(RUN)
{
	bool truth = n->op->f == not || n->op->f == is_nan || n->op->f == is_infinite;
	size_t i;

	if (ops_need_numbers(r, n, in, out) < 0 || ops_like(r, n, out, truth ? OPS_BOOL : in[0]->type, in[0]) < 0)
		return -1;
	for (i = 0; i < out->n; i++)
		out->v[i] = n->op->f(in[0]->v[i]);
	return ops_round(r, n, out);
}

static int
clip(RUN)
{
	double low = n->in_count > 1 && in[1] && in[1]->n && in[1]->type != OPS_STRING ? in[1]->v[0]
	             : ops_number(n, "min", -HUGE_VAL);
	double high = n->in_count > 2 && in[2] && in[2]->n && in[2]->type != OPS_STRING ? in[2]->v[0]
	              : ops_number(n, "max", HUGE_VAL);
	size_t i;

	if (ops_need_numbers(r, n, in, out) < 0 || ops_like(r, n, out, in[0]->type, in[0]) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		double v = in[0]->v[i] < low ? low : in[0]->v[i];

		out->v[i] = v > high ? high : v;
	}
	return ops_round(r, n, out);
}

static int
leaky(RUN)
{
	double alpha = ops_number(n, "alpha", 0.009999999776482582);
	size_t i;

	if (ops_need_numbers(r, n, in, out) < 0 || ops_like(r, n, out, in[0]->type, in[0]) < 0)
		return -1;
	for (i = 0; i < out->n; i++)
		out->v[i] = in[0]->v[i] < 0 ? alpha * in[0]->v[i] : in[0]->v[i];
	return ops_round(r, n, out);
}

/* ---- two values ---- */

static double add(double x, double y) { return x + y; }
static double subtract(double x, double y) { return x - y; }
static double multiply(double x, double y) { return x * y; }
static double divide(double x, double y) { return x / y; }
static double greatest(double x, double y) { return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y; }
static double smallest(double x, double y) { return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y; }
static double both(double x, double y) { return x != 0 && y != 0; }
static double either(double x, double y) { return x != 0 || y != 0; }
static double one_of(double x, double y) { return (x != 0) != (y != 0); }
static double equal(double x, double y) { return x == y; }
static double greater(double x, double y) { return x > y; }
static double not_less(double x, double y) { return x >= y; }
static double less(double x, double y) { return x < y; }
static double not_greater(double x, double y) { return x <= y; }

/* The shape that a and b have together, each dimension that of both or 1. */
int
ops_together(struct ops_run *r, const struct ops_node *n, const struct ops_tensor *a, size_t *rank, size_t *dims)
{
	size_t most = a->rank > *rank ? a->rank : *rank, i, to[OPS_RANK];

	for (i = 0; i < most; i++) {
		size_t x = i + *rank >= most ? dims[i + *rank - most] : 1;
		size_t y = i + a->rank >= most ? a->dims[i + a->rank - most] : 1;

		if (x != y && x != 1 && y != 1)
			return ops_wrong(r, n, "shapes do not fit: dimension %zu is %zu and %zu", i, x, y);
		to[i] = x == 1 ? y : x;
	}
	memcpy(dims, to, most * sizeof *to);
	*rank = most;
	return 0;
}

/* The place in a of value i of a tensor of this shape. */
size_t
ops_place(const struct ops_tensor *a, size_t rank, const size_t *dims, size_t i)
{
	size_t k, at = 0, step = 1;

	if (a->n == 1)
		return 0;
	for (k = rank; k-- > 0 && k + a->rank >= rank; i /= dims[k]) {
		size_t d = a->dims[k + a->rank - rank];

		at += d == 1 ? 0 : i % dims[k] * step;
		step *= d;
	}
	return at;
}

static bool
is_whole(unsigned type)
{
	return type == OPS_INT32 || type == OPS_INT64;
}

static int
pair(RUN)
{
	double (*g)(double, double) = n->op->g;
	bool truth = g == both || g == either || g == one_of || g == equal || g == greater || g == not_less ||
	             g == less || g == not_greater;
	const struct ops_tensor *a = in[0], *b = in[1];
	size_t rank = a->rank, dims[OPS_RANK], i;
	bool texts = a->type == OPS_STRING && b->type == OPS_STRING && g == equal;

	memcpy(dims, a->dims, sizeof dims);
	r->texts |= texts;
	if ((!texts && ops_need_numbers(r, n, in, out) < 0) || ops_together(r, n, b, &rank, dims) < 0 ||
	    ops_make(r, n, out, truth ? OPS_BOOL : a->type, rank, dims) < 0 || ops_work(r, n, 4 * out->n) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		size_t x = a->n == out->n ? i : ops_place(a, rank, dims, i), y = b->n == out->n ? i : ops_place(b, rank, dims, i);

		if (texts) {
			out->v[i] = ops_texts_equal(a->t[x], b->t[y]);
		} else if (g == divide && is_whole(a->type)) {
			if (b->v[y] == 0 && ops_refuse(r, n, "an integer is divided by 0") < 0)
				return -1;
			out->v[i] = b->v[y] == 0 ? 0 : trunc(a->v[x] / b->v[y]);
		} else {
			out->v[i] = g(a->v[x], b->v[y]);
		}
	}
	return ops_round(r, n, out);
}

/* Min, Max, Sum, Mean of any number of inputs. */
static int
several(RUN)
{
	bool mean = strcmp(n->name, "Mean") == 0;
	size_t rank = in[0]->rank, dims[OPS_RANK], i, k;

	memcpy(dims, in[0]->dims, sizeof dims);
	if (ops_need_numbers(r, n, in, out) < 0)
		return -1;
	for (k = 1; k < n->in_count; k++)
		if (!in[k])
			return ops_wrong(r, n, "input %zu is missing", k);
		else if (ops_together(r, n, in[k], &rank, dims) < 0)
			return -1;
	if (ops_make(r, n, out, in[0]->type, rank, dims) < 0 || ops_work(r, n, 4 * out->n * n->in_count) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		double v = in[0]->v[ops_place(in[0], rank, dims, i)];

		for (k = 1; k < n->in_count; k++)
			v = n->op->g(v, in[k]->v[ops_place(in[k], rank, dims, i)]);
		out->v[i] = mean ? v / (double)n->in_count : v;
	}
	return ops_round(r, n, out);
}

/* A value of one input or the other. */
static int
where(RUN)
{
	const struct ops_tensor *c = in[0], *a = in[1], *b = in[2];
	size_t rank = c->rank, dims[OPS_RANK], i;

	memcpy(dims, c->dims, sizeof dims);
	if (c->type == OPS_STRING || a->type != b->type)
		return ops_wrong(r, n, "inputs are of different types");
	if (ops_together(r, n, a, &rank, dims) < 0 || ops_together(r, n, b, &rank, dims) < 0 ||
	    ops_make(r, n, out, a->type, rank, dims) < 0 || ops_work(r, n, 4 * out->n) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		const struct ops_tensor *from = c->v[ops_place(c, rank, dims, i)] != 0 ? a : b;
		size_t at = ops_place(from, rank, dims, i);

		if (a->type == OPS_STRING)
			out->t[i] = from->t[at];
		else
			out->v[i] = from->v[at];
	}
	return 0;
}

/* ---- along an axis ---- */

/* Which axes are gone, from an attribute or an input. 0 or -1. */
static int
read_axes(RUN, bool *gone)
{
	const double *v;
	size_t count, i, axis;

	(void)out;
	ops_list(n, in, "axes", 1, &v, &count);
	for (i = 0; i < in[0]->rank; i++)
		gone[i] = count == 0 && ops_number(n, "noop_with_empty_axes", 0) == 0;
	for (i = 0; i < count; i++) {
		if (ops_axis(r, n, v[i], in[0]->rank, &axis) < 0)
			return -1;
		gone[axis] = true;
	}
	return 0;
}

static double take_square(double s, double x) { return s + x * x; }
static double take_size(double s, double x) { return s + fabs(x); }

/* sum of exp(x): what was seen so far, above the greatest. */
struct along {
	const char *name;
	double begin;
	double (*take)(double s, double x);
};

static const struct along alongs[] = {
	{ "ReduceSum", 0, add }, { "ReduceMean", 0, add }, { "ReduceProd", 1, multiply },
	{ "ReduceMax", -HUGE_VAL, greatest }, { "ReduceMin", HUGE_VAL, smallest },
	{ "ReduceSumSquare", 0, take_square }, { "ReduceL1", 0, take_size }, { "ReduceL2", 0, take_square },
	{ "ReduceLogSum", 0, add }, { "ReduceLogSumExp", -HUGE_VAL, greatest },
};

/* The place of value i of the input among the results. */
static size_t
reduced(const struct ops_tensor *a, const bool *gone, size_t i)
{
	size_t k, at = 0, step = 1;

	for (k = a->rank; k-- > 0; i /= a->dims[k])
		if (!gone[k]) {
			at += i % a->dims[k] * step;
			step *= a->dims[k];
		}
	return at;
}

static int
reduce_exp(RUN, const bool *gone)
{
	double *sums = ops_take(&r->memory, out->n, sizeof *sums);
	size_t i, at;

	if (!sums)
		return ops_wrong(r, n, "too many values");
	for (i = 0; i < in[0]->n; i++) {
		at = reduced(in[0], gone, i);
		sums[at] += isinf(out->v[at]) ? out->v[at] > 0 : exp(in[0]->v[i] - out->v[at]);
	}
	for (i = 0; i < out->n; i++)
		out->v[i] += isinf(out->v[i]) ? 0 : log(sums[i]);
	return ops_round(r, n, out);
}

static int
reduce(RUN)
{
	const struct along *a = alongs;
	const struct ops_tensor *x = in[0];
	bool gone[OPS_RANK], keep = ops_number(n, "keepdims", 1) != 0;
	size_t i, rank = 0, dims[OPS_RANK], each_of;

	while (strcmp(a->name, n->name) != 0)
		a++;
	if (ops_need_numbers(r, n, in, out) < 0 || read_axes(r, n, in, out, gone) < 0)
		return -1;
	for (i = 0; i < x->rank; i++)
		if (!gone[i] || keep)
			dims[rank++] = gone[i] ? 1 : x->dims[i];
	if (ops_make(r, n, out, x->type, rank, dims) < 0 || ops_work(r, n, 4 * x->n) < 0)
		return -1;
	each_of = out->n ? x->n / out->n : 0;
	for (i = 0; i < out->n; i++)
		out->v[i] = a->begin;
	for (i = 0; i < x->n; i++) {
		double *to = &out->v[reduced(x, gone, i)];

		*to = a->take(*to, x->v[i]);
	}
	if (strcmp(n->name, "ReduceLogSumExp") == 0)
		return reduce_exp(r, n, in, out, gone);
	for (i = 0; i < out->n; i++)
		out->v[i] = strcmp(n->name, "ReduceMean") == 0 ? out->v[i] / (double)each_of
		            : strcmp(n->name, "ReduceL2") == 0 ? sqrt(out->v[i])
		            : strcmp(n->name, "ReduceLogSum") == 0 ? log(out->v[i]) : out->v[i];
	return ops_round(r, n, out);
}

/* Outer, along and inner values of an axis. */
static void
sizes(const struct ops_tensor *x, size_t axis, size_t *outer, size_t *along, size_t *inner)
{
	*outer = ops_product(x->dims, 0, axis);
	*along = x->rank ? x->dims[axis] : 1;
	*inner = ops_product(x->dims, axis + 1, x->rank);
}

static int
arg(RUN)
{
	bool least = strcmp(n->name, "ArgMin") == 0, keep = ops_number(n, "keepdims", 1) != 0;
	bool last = ops_number(n, "select_last_index", 0) != 0;
	const struct ops_tensor *x = in[0];
	size_t axis, outer, along, inner, i, j, k, rank = 0, dims[OPS_RANK];

	if (ops_need_numbers(r, n, in, out) < 0 || ops_axis(r, n, ops_number(n, "axis", 0), x->rank, &axis) < 0)
		return -1;
	for (i = 0; i < x->rank; i++)
		if (i != axis || keep)
			dims[rank++] = i == axis ? 1 : x->dims[i];
	sizes(x, axis, &outer, &along, &inner);
	if (along == 0)
		return ops_wrong(r, n, "the input does not have values along the axis");
	if (ops_make(r, n, out, OPS_INT64, rank, dims) < 0 || ops_work(r, n, x->n) < 0)
		return -1;
	for (i = 0; i < outer; i++)
		for (j = 0; j < inner; j++) {
			const double *v = x->v + i * along * inner + j;
			size_t best = 0;

			for (k = 1; k < along; k++) {
				double a = v[k * inner], b = v[best * inner];

				if ((least ? a < b : a > b) || (last && a == b))
					best = k;
			}
			out->v[i * inner + j] = (double)best;
		}
	return 0;
}

struct ranked {
	double v;
	size_t at;
};

static int
by_size(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	if (isnan(a->v) != isnan(b->v))
		return isnan(a->v) ? -1 : 1;
	return a->v > b->v ? -1 : a->v < b->v ? 1 : a->at < b->at ? -1 : a->at > b->at;
}

/* The k greatest or smallest values of an axis, in order; of equal ones the first. */
static int
top(RUN)
{
	const struct ops_tensor *x = in[0];
	double sign_of = ops_number(n, "largest", 1) != 0 ? 1 : -1;
	double k = n->in_count > 1 && in[1] && in[1]->type != OPS_STRING && in[1]->n == 1 ? in[1]->v[0]
	           : ops_number(n, "k", -1);
	size_t axis, outer, along, inner, i, j, m, dims[OPS_RANK];
	struct ranked *list;

	if (x->type == OPS_STRING || ops_axis(r, n, ops_number(n, "axis", -1), x->rank, &axis) < 0)
		return ops_wrong(r, n, "the values are not numbers");
	sizes(x, axis, &outer, &along, &inner);
	memcpy(dims, x->dims, sizeof dims);
	if (!(k >= 0 && k <= (double)along))
		return ops_wrong(r, n, "the input does not have %g values along the axis", k);
	dims[axis] = (size_t)k;
	list = ops_take(&r->memory, along, sizeof *list);
	if (!list || ops_make(r, n, &out[0], x->type, x->rank, dims) < 0 ||
	    ops_make(r, n, &out[1], OPS_INT64, x->rank, dims) < 0 || ops_work(r, n, 16 * x->n + 16 * outer * inner) < 0)
		return ops_wrong(r, n, "too many values");
	for (i = 0; i < outer; i++)
		for (j = 0; j < inner; j++) {
			for (m = 0; m < along; m++)
				list[m] = (struct ranked){ sign_of * x->v[(i * along + m) * inner + j], m };
			qsort(list, along, sizeof *list, by_size);
			for (m = 0; m < dims[axis]; m++) {
				out[0].v[(i * dims[axis] + m) * inner + j] = sign_of * list[m].v;
				out[1].v[(i * dims[axis] + m) * inner + j] = (double)list[m].at;
			}
		}
	return 0;
}

/* Softmax and LogSoftmax of one list with a step. */
static void
soften(const double *v, double *to, size_t n, size_t step, bool logs)
{
	double most = -HUGE_VAL, sum = 0;
	size_t k;

	for (k = 0; k < n; k++)
		most = v[k * step] > most ? v[k * step] : most;
	for (k = 0; k < n; k++)
		sum += exp(v[k * step] - most);
	for (k = 0; k < n; k++)
		to[k * step] = logs ? v[k * step] - most - log(sum) : exp(v[k * step] - most) / sum;
}

static int
softmax(RUN)
{
	const struct ops_tensor *x = in[0];
	bool logs = strcmp(n->name, "LogSoftmax") == 0, old = n->version < 13;
	size_t axis, outer, along, inner, i, j;

	if (ops_need_numbers(r, n, in, out) < 0 || ops_axis(r, n, ops_number(n, "axis", old ? 1 : -1), x->rank, &axis) < 0 ||
	    ops_like(r, n, out, x->type, x) < 0 || ops_work(r, n, 8 * x->n) < 0)
		return -1;
	sizes(x, axis, &outer, &along, &inner);
	if (old) { /* all dimensions from the axis on are one */
		along *= inner;
		inner = 1;
	}
	for (i = 0; i < outer; i++)
		for (j = 0; j < inner; j++)
			soften(x->v + i * along * inner + j, out->v + i * along * inner + j, along, inner, logs);
	return ops_round(r, n, out);
}

static int
cumulate(RUN)
{
	const struct ops_tensor *x = in[0];
	bool back = ops_number(n, "reverse", 0) != 0, later = ops_number(n, "exclusive", 0) != 0;
	size_t axis, outer, along, inner, i, j, k;

	if (ops_need_numbers(r, n, in, out) < 0 || in[1]->n != 1)
		return ops_wrong(r, n, "the axis is not one number");
	if (ops_axis(r, n, in[1]->v[0], x->rank, &axis) < 0 || ops_like(r, n, out, x->type, x) < 0)
		return -1;
	sizes(x, axis, &outer, &along, &inner);
	for (i = 0; i < outer; i++)
		for (j = 0; j < inner; j++) {
			double sum = 0;

			for (k = 0; k < along; k++) {
				size_t at = (i * along + (back ? along - 1 - k : k)) * inner + j;

				out->v[at] = later ? sum : sum + x->v[at];
				sum += x->v[at];
			}
		}
	return ops_round(r, n, out);
}

#define EACH(NAME, F) { "", NAME, 1, each, NULL, F, NULL }
#define PAIR(NAME, G) { "", NAME, 2, pair, NULL, NULL, G }
#define PLAIN(NAME, N, RUNS) { "", NAME, N, RUNS, NULL, NULL, NULL }

const struct ops_operator ops_math[] = {
	EACH("Abs", fabs), EACH("Neg", negate), EACH("Sqrt", sqrt), EACH("Exp", exp), EACH("Log", log),
	EACH("Reciprocal", reciprocal), EACH("Floor", floor), EACH("Ceil", ceil), EACH("Round", nearbyint),
	EACH("Sign", sign), EACH("Erf", erf), EACH("Relu", relu), EACH("Sigmoid", sigmoid), EACH("Tanh", tanh),
	EACH("Softplus", softplus), EACH("Softsign", softsign), EACH("Not", not), EACH("IsNaN", is_nan),
	EACH("IsInf", is_infinite), EACH("Sin", sin), EACH("Cos", cos),
	PAIR("Add", add), PAIR("Sub", subtract), PAIR("Mul", multiply), PAIR("Div", divide), PAIR("Pow", pow),
	PAIR("And", both), PAIR("Or", either), PAIR("Xor", one_of), PAIR("Equal", equal), PAIR("Greater", greater),
	PAIR("GreaterOrEqual", not_less), PAIR("Less", less), PAIR("LessOrEqual", not_greater),
	{ "", "Max", 1, several, NULL, NULL, greatest }, { "", "Min", 1, several, NULL, NULL, smallest },
	{ "", "Sum", 1, several, NULL, NULL, add }, { "", "Mean", 1, several, NULL, NULL, add },
	PLAIN("Clip", 1, clip), PLAIN("LeakyRelu", 1, leaky), PLAIN("Where", 3, where),
	PLAIN("ReduceSum", 1, reduce), PLAIN("ReduceMean", 1, reduce), PLAIN("ReduceProd", 1, reduce),
	PLAIN("ReduceMax", 1, reduce), PLAIN("ReduceMin", 1, reduce), PLAIN("ReduceSumSquare", 1, reduce),
	PLAIN("ReduceL1", 1, reduce), PLAIN("ReduceL2", 1, reduce), PLAIN("ReduceLogSum", 1, reduce),
	PLAIN("ReduceLogSumExp", 1, reduce), PLAIN("ArgMax", 1, arg), PLAIN("ArgMin", 1, arg), PLAIN("TopK", 1, top),
	PLAIN("Softmax", 1, softmax), PLAIN("LogSoftmax", 1, softmax), PLAIN("CumSum", 2, cumulate),
	{ NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
