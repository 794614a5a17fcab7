/* Operators of ONNX that move values or change shapes and types. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/decimal.h"
#include "predict/onnx/onnxops.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

/* The same values in another shape. */
static int
reshaped(struct ops_run *r, const struct ops_node *n, const struct ops_tensor *x, size_t rank, const size_t *dims,
         struct ops_tensor *out)
{
	struct ops_tensor to = *x;
	size_t i;

	if (rank > OPS_RANK)
		return ops_wrong(r, n, "a tensor has more than %d dimensions", OPS_RANK);
	to.rank = rank;
	for (i = 0, to.n = 1; i < rank; i++) {
		to.dims[i] = dims[i];
		if (dims[i] > OPS_CELLS || (to.n *= dims[i]) > OPS_CELLS)
			return ops_wrong(r, n, "%zu values do not have this shape", x->n);
	}
	if (to.n != x->n)
		return ops_wrong(r, n, "%zu values do not have this shape", x->n);
	*out = to;
	return ops_work(r, n, 1);
}

static void
copy(const struct ops_tensor *from, size_t at, struct ops_tensor *to, size_t i, size_t count)
{
	if (count == 0)
		return;
	if (to->type == OPS_STRING)
		memcpy(to->t + i, from->t + at, count * sizeof *to->t);
	else
		memcpy(to->v + i, from->v + at, count * sizeof *to->v);
}

static int
identity(RUN)
{
	*out = *in[0];
	return ops_work(r, n, 1);
}

/* Reshape: 0 keeps a dimension, -1 is what is left. */
static int
reshape(RUN)
{
	const struct ops_tensor *x = in[0];
	const double *v;
	size_t count, i, dims[OPS_RANK], known = 1, open = SIZE_MAX;

	ops_list(n, in, "shape", 1, &v, &count);
	if (!v || count > OPS_RANK)
		return ops_wrong(r, n, "the shape is not known or has more than %d dimensions", OPS_RANK);
	for (i = 0; i < count; i++) {
		if (v[i] == -1 && open == SIZE_MAX) {
			open = i;
			continue;
		}
		if (!(v[i] >= 0 && v[i] <= (double)OPS_CELLS) || (v[i] == 0 && i >= x->rank && ops_number(n, "allowzero", 0) == 0))
			return ops_wrong(r, n, "dimension %zu of the shape is wrong", i);
		dims[i] = v[i] == 0 && ops_number(n, "allowzero", 0) == 0 ? x->dims[i] : (size_t)v[i];
		if (__builtin_mul_overflow(known, dims[i], &known))
			return ops_wrong(r, n, "%zu values do not have this shape", x->n);
	}
	if (open != SIZE_MAX) {
		if (known == 0)
			return ops_wrong(r, n, "a shape with -1 has no values");
		dims[open] = x->n / known;
	}
	return reshaped(r, n, x, count, dims, out);
}

static int
flatten(RUN)
{
	const struct ops_tensor *x = in[0];
	double at = ops_number(n, "axis", 1);
	size_t dims[2];

	at += at < 0 ? (double)x->rank : 0;
	if (!(at >= 0 && at <= (double)x->rank))
		return ops_wrong(r, n, "the axis is not one of the %zu dimensions", x->rank);
	dims[0] = ops_product(x->dims, 0, (size_t)at);
	dims[1] = ops_product(x->dims, (size_t)at, x->rank);
	return reshaped(r, n, x, 2, dims, out);
}

static int
squeeze(RUN)
{
	const struct ops_tensor *x = in[0];
	bool gone[OPS_RANK] = { false };
	const double *v;
	size_t count, i, axis, rank = 0, dims[OPS_RANK];

	ops_list(n, in, "axes", 1, &v, &count);
	for (i = 0; i < count; i++) {
		if (ops_axis(r, n, v[i], x->rank, &axis) < 0)
			return -1;
		if (x->dims[axis] != 1)
			return ops_wrong(r, n, "dimension %zu is %zu, not 1", axis, x->dims[axis]);
		gone[axis] = true;
	}
	for (i = 0; i < x->rank; i++)
		if (!(count ? gone[i] : x->dims[i] == 1))
			dims[rank++] = x->dims[i];
	return reshaped(r, n, x, rank, dims, out);
}

static int
unsqueeze(RUN)
{
	const struct ops_tensor *x = in[0];
	bool made[OPS_RANK] = { false };
	const double *v;
	size_t count, i, axis, from = 0, dims[OPS_RANK];

	ops_list(n, in, "axes", 1, &v, &count);
	if (!v || count + x->rank > OPS_RANK)
		return ops_wrong(r, n, "a tensor has more than %d dimensions", OPS_RANK);
	for (i = 0; i < count; i++) {
		if (ops_axis(r, n, v[i], x->rank + count, &axis) < 0)
			return -1;
		if (made[axis])
			return ops_wrong(r, n, "an axis stands twice");
		made[axis] = true;
	}
	for (i = 0; i < x->rank + count; i++)
		dims[i] = made[i] ? 1 : x->dims[from++];
	return reshaped(r, n, x, x->rank + count, dims, out);
}

static int
transpose(RUN)
{
	const struct ops_tensor *x = in[0];
	const struct ops_attribute *a = ops_attribute(n, "perm");
	size_t perm[OPS_RANK], dims[OPS_RANK], steps[OPS_RANK], i, k, seen = 0;

	if (a && a->count != x->rank)
		return ops_wrong(r, n, "the order of the dimensions is wrong");
	for (i = 0; i < x->rank; i++) {
		double p = a ? a->list[i] : (double)(x->rank - 1 - i);

		if (!(p >= 0 && p < (double)x->rank) || seen & (size_t)1 << (size_t)p)
			return ops_wrong(r, n, "the order of the dimensions is wrong");
		perm[i] = (size_t)p;
		seen |= (size_t)1 << perm[i];
		dims[i] = x->dims[perm[i]];
		steps[i] = ops_product(x->dims, perm[i] + 1, x->rank);
	}
	if (ops_make(r, n, out, x->type, x->rank, dims) < 0 || ops_work(r, n, 4 * x->n) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		size_t rest = i, at = 0;

		for (k = x->rank; k-- > 0; rest /= dims[k])
			at += rest % dims[k] * steps[k];
		copy(x, at, out, i, 1);
	}
	return 0;
}

static int
concat(RUN)
{
	size_t axis, i, k, outer, inner, at = 0, dims[OPS_RANK];

	if (ops_axis(r, n, ops_number(n, "axis", n->version < 4 ? 1 : 0), in[0]->rank, &axis) < 0)
		return -1;
	memcpy(dims, in[0]->dims, sizeof dims);
	for (k = 1; k < n->in_count; k++) {
		if (!in[k] || in[k]->rank != in[0]->rank || in[k]->type != in[0]->type)
			return ops_wrong(r, n, "input %zu has another type or number of dimensions", k);
		for (i = 0; i < in[0]->rank; i++)
			if (i != axis && in[k]->dims[i] != dims[i])
				return ops_wrong(r, n, "input %zu has another shape", k);
		dims[axis] += in[k]->dims[axis];
	}
	if (ops_make(r, n, out, in[0]->type, in[0]->rank, dims) < 0)
		return -1;
	outer = ops_product(dims, 0, axis);
	inner = ops_product(dims, axis + 1, in[0]->rank);
	for (i = 0; i < outer; i++)
		for (k = 0; k < n->in_count; k++) {
			size_t some = in[k]->dims[axis] * inner;

			copy(in[k], i * some, out, at, some);
			at += some;
		}
	return 0;
}

/* Parts of an axis: sizes from an attribute, an input, or all equal. */
static int
split(RUN)
{
	const struct ops_tensor *x = in[0];
	const double *v;
	size_t count, axis, i, k, outer, inner, from = 0, dims[OPS_RANK];

	ops_list(n, in, "split", 1, &v, &count);
	if (ops_axis(r, n, ops_number(n, "axis", 0), x->rank, &axis) < 0)
		return -1;
	memcpy(dims, x->dims, sizeof dims);
	outer = ops_product(dims, 0, axis);
	inner = ops_product(dims, axis + 1, x->rank);
	for (k = 0; k < n->out_count; k++) {
		size_t all = (x->dims[axis] + n->out_count - 1) / n->out_count, left = x->dims[axis] - from;

		if (v && (k >= count || !(v[k] >= 0 && v[k] <= (double)left)))
			return ops_wrong(r, n, "the parts do not fit the %zu values", x->dims[axis]);
		dims[axis] = v ? (size_t)v[k] : all < left ? all : left;
		if (ops_make(r, n, &out[k], x->type, x->rank, dims) < 0)
			return -1;
		for (i = 0; i < outer; i++)
			copy(x, (i * x->dims[axis] + from) * inner, &out[k], i * dims[axis] * inner, dims[axis] * inner);
		from += dims[axis];
	}
	return from == x->dims[axis] ? 0 : ops_wrong(r, n, "the parts do not fit the %zu values", x->dims[axis]);
}

/* One axis of a slice: begin, step, and how many. */
static int
cut(struct ops_run *r, const struct ops_node *n, double size, double from, double to, double step, size_t *count,
    size_t *first)
{
	double low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1, k;

	if (step == 0 || !(fabs(step) <= OPS_WHOLE && fabs(from) <= OPS_WHOLE && fabs(to) <= OPS_WHOLE) || trunc(step) != step ||
	    trunc(from) != from || trunc(to) != to)
		return ops_wrong(r, n, "begin, end or step is not an integer, or the step is 0");
	from = from < 0 ? from + size : from;
	to = to < 0 ? to + size : to;
	from = from < 0 ? 0 : from > high ? high : from;
	to = to < low ? low : to > size ? size : to;
	k = ceil((to - from) / step);
	*count = k > 0 && size > 0 ? (size_t)k : 0;
	*first = *count ? (size_t)from : 0;
	return 0;
}

static int
slice(RUN)
{
	const struct ops_tensor *x = in[0];
	const double *from, *to, *axes, *steps;
	size_t count, other, k, i, axis, dims[OPS_RANK], first[OPS_RANK] = { 0 };
	double step[OPS_RANK];

	for (i = 0; i < OPS_RANK; i++)
		step[i] = 1;
	memcpy(dims, x->dims, sizeof dims);
	ops_list(n, in, "starts", 1, &from, &count);
	ops_list(n, in, "ends", 2, &to, &other);
	if (!from || !to || other != count || count > x->rank)
		return ops_wrong(r, n, "the begins and ends do not fit");
	ops_list(n, in, "axes", 3, &axes, &other);
	if (axes && other != count)
		return ops_wrong(r, n, "the axes do not fit");
	ops_list(n, in, "steps", 4, &steps, &other);
	if (steps && other != count)
		return ops_wrong(r, n, "the steps do not fit");
	for (k = 0; k < count; k++) {
		if (ops_axis(r, n, axes ? axes[k] : (double)k, x->rank, &axis) < 0)
			return -1;
		step[axis] = steps ? steps[k] : 1;
		if (cut(r, n, (double)x->dims[axis], from[k], to[k], step[axis], &dims[axis], &first[axis]) < 0)
			return -1;
	}
	if (ops_make(r, n, out, x->type, x->rank, dims) < 0 || ops_work(r, n, 4 * out->n) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		size_t rest = i, at = 0, size = 1;

		for (k = x->rank; k-- > 0; rest /= dims[k]) {
			at += (size_t)((double)first[k] + (double)(rest % dims[k]) * step[k]) * size;
			size *= x->dims[k];
		}
		copy(x, at, out, i, 1);
	}
	return 0;
}

static int
gather(RUN)
{
	const struct ops_tensor *x = in[0], *y = in[1];
	size_t axis, i, k, outer, inner, dims[2 * OPS_RANK], rank = 0;

	if (y->type == OPS_STRING || ops_axis(r, n, ops_number(n, "axis", 0), x->rank, &axis) < 0)
		return ops_wrong(r, n, "the places are not numbers");
	for (i = 0; i < axis; i++)
		dims[rank++] = x->dims[i];
	for (i = 0; i < y->rank; i++)
		dims[rank++] = y->dims[i];
	for (i = axis + 1; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	if (ops_make(r, n, out, x->type, rank, dims) < 0)
		return -1;
	outer = ops_product(x->dims, 0, axis);
	inner = ops_product(x->dims, axis + 1, x->rank);
	for (i = 0; i < outer; i++)
		for (k = 0; k < y->n; k++) {
			double at = y->v[k] < 0 ? y->v[k] + (double)x->dims[axis] : y->v[k];

			if (!(at >= 0 && at < (double)x->dims[axis]))
				return ops_wrong(r, n, "a place is not one of %zu", x->dims[axis]);
			copy(x, (i * x->dims[axis] + (size_t)at) * inner, out, (i * y->n + k) * inner, inner);
		}
	return 0;
}

static int
shape(RUN)
{
	const struct ops_tensor *x = in[0];
	size_t i, dims[1] = { x->rank };

	if (ops_attribute(n, "start") || ops_attribute(n, "end"))
		return ops_wrong(r, n, "a part of a shape is not read");
	if (ops_make(r, n, out, OPS_INT64, 1, dims) < 0)
		return -1;
	for (i = 0; i < x->rank; i++)
		out->v[i] = (double)x->dims[i];
	return 0;
}

static int
size(RUN)
{
	if (ops_make(r, n, out, OPS_INT64, 0, NULL) < 0)
		return -1;
	out->v[0] = (double)in[0]->n;
	return 0;
}

static int
read_shape(RUN, size_t i, size_t *rank, size_t *dims)
{
	size_t k;

	(void)out;
	if (in[i]->type == OPS_STRING || in[i]->n > OPS_RANK)
		return ops_wrong(r, n, "the shape is wrong");
	*rank = in[i]->n;
	for (k = 0; k < *rank; k++) {
		if (!(in[i]->v[k] >= 0 && in[i]->v[k] <= (double)OPS_CELLS))
			return ops_wrong(r, n, "dimension %zu of the shape is wrong", k);
		dims[k] = (size_t)in[i]->v[k];
	}
	return 0;
}

static int
constant_of_shape(RUN)
{
	const struct ops_attribute *a = ops_attribute(n, "value");
	size_t rank, dims[OPS_RANK], i;

	if (a && (a->tensor.n != 1 || !a->tensor.v))
		return ops_wrong(r, n, "the value is not one number");
	if (read_shape(r, n, in, out, 0, &rank, dims) < 0 ||
	    ops_make(r, n, out, a ? a->tensor.type : OPS_FLOAT, rank, dims) < 0)
		return -1;
	for (i = 0; a && i < out->n; i++)
		out->v[i] = a->tensor.v[0];
	return 0;
}

/* Repeats values of dimensions that are 1. */
static int
expand(RUN)
{
	const struct ops_tensor *x = in[0];
	size_t rank, dims[OPS_RANK], i, k, most;

	if (read_shape(r, n, in, out, 1, &rank, dims) < 0)
		return -1;
	most = rank > x->rank ? rank : x->rank;
	for (k = most; k-- > 0;) {
		size_t a = k + rank >= most ? dims[k + rank - most] : 1, b = k + x->rank >= most ? x->dims[k + x->rank - most] : 1;

		if (a != b && a != 1 && b != 1)
			return ops_wrong(r, n, "shapes do not fit: dimension %zu is %zu and %zu", k, a, b);
		dims[k] = a == 1 ? b : a;
	}
	if (ops_make(r, n, out, x->type, most, dims) < 0 || ops_work(r, n, 4 * out->n) < 0)
		return -1;
	for (i = 0; i < out->n; i++) {
		size_t rest = i, at = 0, step = 1;

		for (k = most; k-- > 0 && k + x->rank >= most; rest /= dims[k]) {
			size_t d = x->dims[k + x->rank - most];

			at += d == 1 ? 0 : rest % dims[k] * step;
			step *= d;
		}
		copy(x, at, out, i, 1);
	}
	return 0;
}

/* ---- types ---- */

/* Text as a number, and back. */
static int
cast_texts(RUN)
{
	const struct ops_tensor *x = in[0];
	size_t i;

	r->texts = true;
	for (i = 0; i < x->n; i++) {
		const char *p = x->t[i].p, *end = p + x->t[i].n;

		out->v[i] = decimal_read(&p, end);
		if ((p != end || x->t[i].n == 0) && ops_refuse(r, n, "a text is not a number") < 0)
			return -1;
		if (out->type == OPS_INT32 || out->type == OPS_INT64)
			out->v[i] = trunc(out->v[i]);
	}
	return ops_round(r, n, out);
}

static int
cast_to_texts(RUN)
{
	const struct ops_tensor *x = in[0];
	char text[40];
	size_t i;

	for (i = 0; i < x->n; i++) {
		int some = x->type == OPS_FLOAT ? snprintf(text, sizeof text, "%.8g", x->v[i])
		           : snprintf(text, sizeof text, "%.17g", x->v[i]);
		char *p = ops_take(&r->memory, (size_t)some, 1);

		if (!p)
			return ops_wrong(r, n, "too many values");
		memcpy(p, text, (size_t)some);
		out->t[i] = (struct step_text){ p, (size_t)some };
	}
	return 0;
}

static int
cast(RUN)
{
	const struct ops_tensor *x = in[0];
	double to = ops_number(n, "to", 0);
	unsigned type = to == OPS_FLOAT || to == OPS_INT32 || to == OPS_INT64 || to == OPS_STRING || to == OPS_BOOL ||
	                to == OPS_DOUBLE ? (unsigned)to : 0;
	size_t i;

	if (!type)
		return ops_wrong(r, n, "values do not become this type here");
	if (type == x->type)
		return identity(r, n, in, out);
	if (ops_like(r, n, out, type, x) < 0)
		return -1;
	if (x->type == OPS_STRING)
		return cast_texts(r, n, in, out);
	if (type == OPS_STRING)
		return cast_to_texts(r, n, in, out);
	for (i = 0; i < x->n; i++)
		out->v[i] = type == OPS_BOOL ? x->v[i] != 0 : type == OPS_INT32 || type == OPS_INT64 ? trunc(x->v[i]) : x->v[i];
	return ops_round(r, n, out);
}

/* ---- constants ---- */

static int
constant(RUN)
{
	const struct ops_attribute *a = n->attribute_count ? &n->attributes[0] : NULL;
	size_t dims[1] = { 0 }, i;

	(void)in;
	for (i = 1; i < n->attribute_count; i++)
		if (strncmp(n->attributes[i].name, "value", 5) == 0)
			a = &n->attributes[i];
	if (a && a->tensor.type) {
		*out = a->tensor;
		return ops_work(r, n, 1);
	}
	if (!a || strncmp(a->name, "value_", 6) != 0)
		return ops_wrong(r, n, "a constant of this kind is not read");
	dims[0] = a->text_count ? a->text_count : a->count;
	if (strcmp(a->name, "value_string") == 0 || strcmp(a->name, "value_strings") == 0) {
		if (ops_make(r, n, out, OPS_STRING, a->text_count || !a->text.p, dims) < 0)
			return -1;
		for (i = 0; i < out->n; i++)
			out->t[i] = a->text_count ? a->texts[i] : a->text;
		return 0;
	}
	if (ops_make(r, n, out, strncmp(a->name, "value_f", 7) == 0 ? OPS_FLOAT : OPS_INT64,
	             a->name[strlen(a->name) - 1] == 's', dims) < 0)
		return -1;
	for (i = 0; i < out->n; i++)
		out->v[i] = out->rank ? a->list[i] : a->number;
	return 0;
}

#define PLAIN(NAME, N, RUNS) { "", NAME, N, RUNS, NULL, NULL, NULL }

const struct ops_operator ops_shapes[] = {
	PLAIN("Identity", 1, identity), PLAIN("Dropout", 1, identity), PLAIN("Reshape", 1, reshape),
	PLAIN("Flatten", 1, flatten), PLAIN("Squeeze", 1, squeeze), PLAIN("Unsqueeze", 1, unsqueeze),
	PLAIN("Transpose", 1, transpose), PLAIN("Concat", 1, concat), PLAIN("Split", 1, split), PLAIN("Slice", 1, slice),
	PLAIN("Gather", 2, gather), PLAIN("Shape", 1, shape), PLAIN("Size", 1, size),
	PLAIN("ConstantOfShape", 1, constant_of_shape), PLAIN("Expand", 2, expand), PLAIN("Cast", 1, cast),
	PLAIN("Constant", 0, constant), { NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
