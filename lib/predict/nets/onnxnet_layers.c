/* Operators of networks of ONNX as steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/nets/onnxnet.h"

/* ---- activations ---- */

static int
activate(struct onnxnet *x, enum net_function f, double slope, double high, double offset)
{
	struct net_activation a = { f, slope, high, offset };

	return keras_activate(&x->k, &a);
}

static double
number(struct onnxnet *x, const char *name, double missing)
{
	return onnxml_float(&x->x, name, missing);
}

static int relu(struct onnxnet *x) { return activate(x, NET_RELU, 0, HUGE_VAL, 0); }
static int leaky(struct onnxnet *x) { return activate(x, NET_RELU, number(x, "alpha", (double)0.01f), HUGE_VAL, 0); }
static int elu(struct onnxnet *x) { return activate(x, NET_ELU, number(x, "alpha", 1), 0, 0); }
static int logistic(struct onnxnet *x) { return activate(x, NET_SIGMOID, 0, 0, 0); }
static int hyperbolic(struct onnxnet *x) { return activate(x, NET_TANH, 0, 0, 0); }
static int softplus(struct onnxnet *x) { return activate(x, NET_SOFTPLUS, 0, 0, 0); }
static int softsign(struct onnxnet *x) { return activate(x, NET_SOFTSIGN, 0, 0, 0); }
static int exponential(struct onnxnet *x) { return activate(x, NET_EXP, 0, 0, 0); }

static int
selu(struct onnxnet *x)
{
	if (fabs(number(x, "alpha", 1.6732632) - 1.6732632) > 1e-6 || fabs(number(x, "gamma", 1.0507010) - 1.0507010) > 1e-6)
		return keras_wrong(&x->k, "its alpha and gamma are not those of its paper");
	return activate(x, NET_SELU, 0, 0, 0);
}

static int
hard(struct onnxnet *x)
{
	return activate(x, NET_HARD_SIGMOID, number(x, "alpha", (double)0.2f), 0, number(x, "beta", 0.5));
}

/* One bound, an attribute or input i, or what stands for it. 0 or -1. */
static int
bound(struct onnxnet *x, const char *name, size_t i, double *to)
{
	double *v;

	if (!onnxnet_given(x, i)) {
		*to = number(x, name, *to);
		return 0;
	}
	v = onnxnet_values(x, onnxnet_constant(x, i), 1);
	*to = v ? *v : 0;
	free(v);
	return v ? 0 : -1;
}

static int
clip(struct onnxnet *x)
{
	double low = -HUGE_VAL, high = HUGE_VAL;

	if (bound(x, "min", 1, &low) < 0 || bound(x, "max", 2, &high) < 0)
		return -1;
	if (low != 0 || !(high > 0))
		return keras_wrong(&x->k, "only values from 0 to a positive bound are read");
	return activate(x, NET_RELU, 0, high, 0);
}

/* Since version 13 over one dimension; before, over all from one on. */
static int
softmax(struct onnxnet *x)
{
	size_t full[ONNXNET_SHAPE], n = onnxnet_shape(x, full), i, at, group = 1;
	double axis = number(x, "axis", x->version >= 13 ? -1 : 1);

	axis += axis < 0 ? (double)n : 0;
	if (!(axis >= 0 && axis < (double)n) || x->batch >= (size_t)axis)
		return keras_wrong(&x->k, "mixes values of several rows");
	at = (size_t)axis;
	if ((x->version >= 13 && at + 1 < n && at > 1) || x->batch)
		return keras_wrong(&x->k, "its axis %zu is not read", at);
	if (x->version >= 13 && at + 1 < n ? onnxnet_channels_last(x) < 0 : onnxnet_as_stored(x) < 0)
		return -1;
	for (i = at; i < (x->version >= 13 ? at + 1 : n); i++)
		group *= full[i];
	if (activate(x, NET_SOFTMAX, 0, 0, 0) < 0)
		return -1;
	x->k.m->steps[x->k.m->step_count - 1].n = group;
	return 0;
}

/* ---- products ---- */

/* A dense layer over the last dimension. w: in x out, or with turned out x in, times alpha; owned. */
static struct step *
dense(struct onnxnet *x, const struct onnxnet_constant *c, bool turned, double alpha)
{
	size_t i, j, n = x->k.ndim, dims[KERAS_SHAPE], in = x->k.dims[n - 1];
	struct net_window w = { .high = 1, .wide = 1, .channels = in, .window = { 1, 1 }, .stride = { 1, 1 },
		.dilation = { 1, 1 }, .out_wide = 1, .groups = 1 };
	struct step *s;
	double *v;

	if (!c || c->ndim != 2 || c->dims[turned] != in || c->dims[!turned] == 0 || x->batch == n) {
		keras_wrong(&x->k, "its weights do not fit a row whose last dimension is %zu", in);
		return NULL;
	}
	for (i = 0; i + 1 < n; i++)
		w.high *= x->k.dims[i];
	w.out_high = w.high;
	w.out_channels = c->dims[!turned];
	memcpy(dims, x->k.dims, sizeof dims);
	dims[n - 1] = w.out_channels;
	s = keras_window(&x->k, &net_conv, &w, n, dims);
	v = s ? onnxnet_values(x, c, c->items) : NULL;
	if (!v || !(s->b = mem_array(in * w.out_channels, sizeof *v))) {
		if (v)
			err_memory(x->k.e);
		free(v);
		return NULL;
	}
	for (i = 0; i < in; i++)
		for (j = 0; j < w.out_channels; j++)
			s->b[i * w.out_channels + j] = alpha * v[turned ? j * in + i : i * w.out_channels + j];
	free(v);
	return s;
}

static int
product(struct onnxnet *x)
{
	if (!onnxnet_constant(x, 1) || x->x.input_count != 2)
		return keras_wrong(&x->k, "its second input is not a constant");
	return onnxnet_as_stored(x) == 0 && dense(x, onnxnet_constant(x, 1), false, 1) ? 0 : -1;
}

static int
gemm(struct onnxnet *x)
{
	const struct onnxnet_constant *c = onnxnet_constant(x, 2);
	double beta = number(x, "beta", 1), *v;
	size_t i, n;
	struct step *s;

	if (onnxnet_as_stored(x) < 0)
		return -1;
	if (x->k.ndim != 1 || x->batch || number(x, "transA", 0) != 0 || !onnxnet_constant(x, 1))
		return keras_wrong(&x->k, "is not a product of a row and a constant");
	s = dense(x, onnxnet_constant(x, 1), number(x, "transB", 0) != 0, number(x, "alpha", 1));
	if (!s || !c)
		return s ? 0 : -1;
	n = x->k.dims[0];
	if (c->ndim > 2 || (c->ndim == 2 && c->dims[0] != 1) || (c->items != 1 && c->items != n))
		return keras_wrong(&x->k, "its bias does not fit %zu values", n);
	v = onnxnet_values(x, c, c->items);
	s->a = v ? mem_array(n, sizeof *v) : NULL;
	for (i = 0; s->a && i < n; i++)
		s->a[i] = beta * v[c->items == 1 ? 0 : i];
	free(v);
	return s->a ? 0 : v ? err_memory(x->k.e) : -1;
}

/* ---- windows ---- */

/* Zeros that the output needs to have a place for each stride: the greater part above, or below. */
static void
pad_same(struct net_window *w, const size_t in[2], bool upper, size_t after[2])
{
	size_t i;

	for (i = 0; i < 2; i++) {
		size_t need = (in[i] - 1) / w->stride[i] * w->stride[i] + (w->window[i] - 1) * w->dilation[i] + 1;
		size_t more = need > in[i] ? need - in[i] : 0;

		w->before[i] = upper ? more / 2 : more - more / 2;
		after[i] = more - w->before[i];
	}
}

/* Reads strides, dilations and zeros around for n dimensions, and measures the output. 0 or -1. */
static int
measure(struct onnxnet *x, struct net_window *w, size_t n)
{
	size_t pads[4] = { 0, 0, 0, 0 }, after[2] = { 0, 0 }, in[2] = { w->high, w->wide }, i;
	bool upper = onnxml_is(&x->x, "auto_pad", "SAME_UPPER"), lower = onnxml_is(&x->x, "auto_pad", "SAME_LOWER");

	if (onnxnet_sizes(x, "strides", n, 1, w->stride) < 0 || onnxnet_sizes(x, "dilations", n, 1, w->dilation) < 0 ||
	    onnxnet_sizes(x, "pads", 2 * n, 0, pads) < 0)
		return -1;
	if (number(x, "ceil_mode", 0) != 0)
		return keras_wrong(&x->k, "windows that are not whole are not read");
	for (i = 0; i < n && !onnxml_is(&x->x, "auto_pad", "VALID"); i++) {
		w->before[i] = pads[i];
		after[i] = pads[n + i];
	}
	if (upper || lower)
		pad_same(w, in, upper, after);
	if (net_measure(w, NET_GIVEN, after) < 0)
		return keras_wrong(&x->k, "the window does not fit into the input");
	return 0;
}

/* Begins a window over a row of channels and one or two dimensions. 0 or -1. */
static int
begin(struct onnxnet *x, struct net_window *w, size_t *n)
{
	if (x->batch || x->k.ndim < 2 || x->k.ndim > 3)
		return keras_wrong(&x->k, "a row does not have channels, and one or two dimensions");
	if (onnxnet_channels_last(x) < 0)
		return -1;
	*n = x->k.ndim - 1;
	*w = (struct net_window){ .high = x->k.dims[0], .wide = *n == 2 ? x->k.dims[1] : 1, .channels = x->k.dims[*n],
		.out_channels = x->k.dims[*n], .window = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1 };
	return 0;
}

static struct step *
add_window(struct onnxnet *x, const struct step_kind *kind, const struct net_window *w, size_t n)
{
	size_t dims[3] = { w->out_high, n == 2 ? w->out_wide : w->out_channels, w->out_channels };

	return keras_window(&x->k, kind, w, n + 1, dims);
}

/* Weights of the file are outputs x channels of a group x window. */
static int
weigh(struct onnxnet *x, struct step *s, const struct net_window *w, const struct onnxnet_constant *c)
{
	size_t o, i, p, out = w->out_channels, in = w->channels / w->groups, places = w->window[0] * w->window[1];
	double *v = onnxnet_values(x, c, c->items);

	if (!v || !(s->b = mem_array((size_t)c->items, sizeof *v))) {
		free(v);
		return v ? err_memory(x->k.e) : -1;
	}
	for (o = 0; o < out; o++)
		for (i = 0; i < in; i++)
			for (p = 0; p < places; p++)
				s->b[(p * in + i) * out + o] = v[(o * in + i) * places + p];
	free(v);
	if (!onnxnet_given(x, 2))
		return 0;
	s->a = onnxnet_values(x, onnxnet_constant(x, 2), out);
	return s->a ? 0 : -1;
}

static int
conv(struct onnxnet *x)
{
	const struct onnxnet_constant *c = onnxnet_constant(x, 1);
	size_t i, n, shape[2];
	struct net_window w;
	struct step *s;

	if (begin(x, &w, &n) < 0)
		return -1;
	if (!c || c->ndim != n + 2)
		return keras_wrong(&x->k, "its weights do not have %zu dimensions", n + 2);
	for (i = 0; i < n; i++)
		w.window[i] = shape[i] = c->dims[2 + i];
	if (onnxnet_sizes(x, "kernel_shape", n, 1, shape) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (shape[i] != w.window[i] || shape[i] == 0)
			return keras_wrong(&x->k, "its weights do not have the shape of its window");
	w.groups = number(x, "group", 1) >= 1 && number(x, "group", 1) <= (double)w.channels ? (size_t)number(x, "group", 1) : 0;
	w.out_channels = c->dims[0];
	if (w.groups == 0 || w.channels % w.groups || w.out_channels == 0 || w.out_channels % w.groups ||
	    c->dims[1] != w.channels / w.groups)
		return keras_wrong(&x->k, "its weights do not fit %zu channels", w.channels);
	if (measure(x, &w, n) < 0)
		return -1;
	s = add_window(x, &net_conv, &w, n);
	return s ? weigh(x, s, &w, c) : -1;
}

static int
pool(struct onnxnet *x, bool average)
{
	struct net_window w;
	size_t n, i, pads[4] = { 0, 0, 0, 0 };

	if (begin(x, &w, &n) < 0 || onnxnet_sizes(x, "kernel_shape", n, 1, w.window) < 0 || measure(x, &w, n) < 0 ||
	    onnxnet_sizes(x, "pads", 2 * n, 0, pads) < 0)
		return -1;
	for (i = 0; i < 2 * n; i++)
		if (pads[i] >= w.window[i % n] && pads[i])
			return keras_wrong(&x->k, "a window lies outside of the input");
	if (!onnxml_has(&x->x, "kernel_shape"))
		return keras_wrong(&x->k, "its window has no shape");
	w.average = average;
	w.padded = average && number(x, "count_include_pad", 0) != 0;
	w.groups = w.channels;
	return add_window(x, &net_pool, &w, n) ? 0 : -1;
}

static int greatest(struct onnxnet *x) { return pool(x, false); }
static int mean(struct onnxnet *x) { return pool(x, true); }

static int
pool_all(struct onnxnet *x, bool average)
{
	struct net_window w;
	size_t n;

	if (begin(x, &w, &n) < 0)
		return -1;
	w.window[0] = w.high;
	w.window[1] = w.wide;
	w.out_high = w.out_wide = 1;
	w.average = average;
	w.groups = w.channels;
	return add_window(x, &net_pool, &w, n) ? 0 : -1;
}

static int greatest_of_all(struct onnxnet *x) { return pool_all(x, false); }
static int mean_of_all(struct onnxnet *x) { return pool_all(x, true); }

/* ---- weights for each channel ---- */

static int
norm(struct onnxnet *x)
{
	double epsilon = number(x, "epsilon", (double)1e-5f), *mean_of, *variance;
	size_t i, n;
	struct step *s;
	int r = -1;

	if (x->batch || number(x, "spatial", 1) != 1 || number(x, "training_mode", 0) != 0 || onnxnet_channels_last(x) < 0)
		return keras_wrong(&x->k, "is not a normalization of each channel");
	n = x->k.dims[x->k.ndim - 1];
	s = keras_step(&x->k, &net_scale, x->k.ndim, x->k.dims);
	if (!s)
		return -1;
	s->n = n;
	s->b = onnxnet_values(x, onnxnet_constant(x, 1), n);
	s->a = s->b ? onnxnet_values(x, onnxnet_constant(x, 2), n) : NULL;
	mean_of = s->a ? onnxnet_values(x, onnxnet_constant(x, 3), n) : NULL;
	variance = mean_of ? onnxnet_values(x, onnxnet_constant(x, 4), n) : NULL;
	for (i = 0; variance && i < n; i++) {
		s->b[i] /= sqrt(variance[i] + epsilon);
		s->a[i] -= mean_of[i] * s->b[i];
	}
	r = variance ? 0 : -1;
	free(mean_of);
	free(variance);
	return r;
}

/* The dimension at which a constant differs: sets n, the number of its values that take turns over a row
 * whose order of values it fits then. 0 or -1. */
static int
spread(struct onnxnet *x, const struct onnxnet_constant *c, size_t *n)
{
	size_t full[ONNXNET_SHAPE], have = onnxnet_shape(x, full), i, at, places = 0, all = 1, from;
	double axis = number(x, "axis", c->ndim <= have ? (double)(have - c->ndim) : 0);

	for (i = 0; i < have; i++)
		all *= full[i];
	if (c->ndim > have || !(axis >= 0 && axis <= (double)(have - c->ndim)))
		return keras_wrong(&x->k, "its constant does not fit the row");
	from = (size_t)axis;
	for (i = 0, at = have - 1; i < c->ndim; i++)
		if (c->dims[i] != 1 && (places++, c->dims[i] != full[at = from + i]))
			return keras_wrong(&x->k, "its constant does not fit the row");
	*n = (size_t)c->items;
	if (*n == 1)
		return 0;
	if (places == 1 && at == 1 && at < have - 1 && x->batch == 0)
		return onnxnet_channels_last(x);
	if (*n != all && !(places == 1 && at == have - 1 && x->batch != at))
		return keras_wrong(&x->k, "its constant is not for each channel");
	return onnxnet_as_stored(x);
}

enum arithmetic { ADD, SUB, MUL, DIV };

static int
calculate(struct onnxnet *x, enum arithmetic f)
{
	const struct onnxnet_constant *c = onnxnet_constant(x, 1);
	size_t n = 0, i;
	double *v, *other;
	struct step *s;

	if (!c && (f == ADD || f == MUL))
		c = onnxnet_constant(x, 0);
	if (!c || x->x.input_count != 2)
		return keras_wrong(&x->k, "its second input is not a constant");
	s = spread(x, c, &n) < 0 ? NULL : keras_step(&x->k, &net_scale, x->k.ndim, x->k.dims);
	v = s ? onnxnet_values(x, c, n) : NULL;
	if (!v)
		return -1;
	other = mem_array(n, sizeof *other);
	s->n = n;
	s->a = f == MUL || f == DIV ? other : v;
	s->b = f == MUL || f == DIV ? v : other;
	if (!other)
		return err_memory(x->k.e);
	for (i = 0; i < n; i++)
		if (f == ADD || f == SUB) {
			v[i] = f == SUB ? -v[i] : v[i];
			other[i] = 1;
		} else if (f == DIV) {
			v[i] = 1 / v[i];
		}
	return 0;
}

static int add(struct onnxnet *x) { return calculate(x, ADD); }
static int subtract(struct onnxnet *x) { return calculate(x, SUB); }
static int multiply(struct onnxnet *x) { return calculate(x, MUL); }
static int divide(struct onnxnet *x) { return calculate(x, DIV); }

/* ---- others ---- */

static int
stay(struct onnxnet *x)
{
	(void)x;
	return 0;
}

static int
drop(struct onnxnet *x)
{
	return onnxnet_given(x, 2) ? keras_wrong(&x->k, "may be for training") : 0;
}

/* Floats and doubles are the same here. */
static int
cast(struct onnxnet *x)
{
	double to = number(x, "to", 0);

	return to == 1 || to == 11 || onnxml_is(&x->x, "to", "FLOAT") || onnxml_is(&x->x, "to", "DOUBLE")
	       ? 0 : keras_wrong(&x->k, "numbers of this type are not read");
}

const struct onnxnet_operator onnxnet_operators[] = {
	{ "Add", add }, { "AveragePool", mean }, { "BatchNormalization", norm }, { "Cast", cast }, { "Clip", clip },
	{ "Conv", conv }, { "Div", divide }, { "Dropout", drop }, { "Elu", elu }, { "Exp", exponential },
	{ "Flatten", onnxnet_flatten }, { "GRU", onnxnet_recurrent }, { "Gemm", gemm },
	{ "GlobalAveragePool", mean_of_all }, { "GlobalMaxPool", greatest_of_all }, { "HardSigmoid", hard },
	{ "Identity", stay }, { "LSTM", onnxnet_recurrent }, { "LeakyRelu", leaky }, { "MatMul", product },
	{ "MaxPool", greatest }, { "Mul", multiply }, { "RNN", onnxnet_recurrent }, { "Relu", relu },
	{ "Reshape", onnxnet_reshape }, { "Selu", selu }, { "Sigmoid", logistic }, { "Softmax", softmax },
	{ "Softplus", softplus }, { "Softsign", softsign }, { "Squeeze", onnxnet_squeeze }, { "Sub", subtract },
	{ "Tanh", hyperbolic }, { "Transpose", onnxnet_transpose }, { "Unsqueeze", onnxnet_unsqueeze }, { NULL, NULL },
};
