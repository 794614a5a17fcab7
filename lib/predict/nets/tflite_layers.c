/* Operators of TensorFlow Lite as steps. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/nets/tflite.h"

static uint64_t
option(struct tflite_net *x, unsigned field, unsigned bytes, uint64_t absent)
{
	return flat_number(&x->f, &x->options, field, bytes, absent);
}

/* ---- activations ---- */

static int
activate(struct tflite_net *x, enum net_function f, double slope, double high)
{
	struct net_activation a = { f, slope, high, 0 };

	return keras_activate(&x->k, &a);
}

/* The activation that is part of another operator. */
static int
fused(struct tflite_net *x, unsigned field)
{
	uint64_t f = option(x, field, 1, 0);

	switch (f) {
	case 0:
		return 0;
	case 1:
		return activate(x, NET_RELU, 0, HUGE_VAL);
	case 3:
		return activate(x, NET_RELU, 0, 6);
	case 4:
		return activate(x, NET_TANH, 0, 0);
	default:
		return keras_wrong(&x->k, "its activation %" PRIu64 " is not read", f);
	}
}

static int relu(struct tflite_net *x) { return activate(x, NET_RELU, 0, HUGE_VAL); }
static int relu6(struct tflite_net *x) { return activate(x, NET_RELU, 0, 6); }
static int logistic(struct tflite_net *x) { return activate(x, NET_SIGMOID, 0, 0); }
static int hyperbolic(struct tflite_net *x) { return activate(x, NET_TANH, 0, 0); }
static int elu(struct tflite_net *x) { return activate(x, NET_ELU, 1, 0); }

static double
float_option(struct tflite_net *x, unsigned field)
{
	union { uint32_t u; float f; } v = { .u = (uint32_t)option(x, field, 4, 0) };

	return (double)v.f;
}

static int leaky(struct tflite_net *x) { return activate(x, NET_RELU, float_option(x, 0), HUGE_VAL); }

static int
softmax(struct tflite_net *x)
{
	if (float_option(x, 0) != 1)
		return keras_wrong(&x->k, "its beta is not 1");
	return activate(x, NET_SOFTMAX, 0, 0);
}

/* ---- layers ---- */

static int
is_image(const struct tflite_net *x)
{
	return x->k.ndim == 3 ? 0 : keras_wrong(&x->k, "a row has %zu dimensions, not 3", x->k.ndim);
}

/* Weights o x p x c become p x c x o. */
static double *
turn(double *from, size_t outer, size_t inner)
{
	double *to = from ? mem_array(outer * inner, sizeof *to) : NULL;
	size_t i, j;

	for (i = 0; to && i < outer; i++)
		for (j = 0; j < inner; j++)
			to[j * outer + i] = from[i * inner + j];
	free(from);
	return to;
}

/* Gives a step its weights, which are outer x inner in the file, and its bias. */
static int
weigh(struct tflite_net *x, struct step *s, size_t outer, size_t inner)
{
	double *w = tflite_constant(x, tflite_input(x, 1), (uint64_t)outer * inner);

	if (!w || !(s->b = outer > 1 ? turn(w, outer, inner) : w))
		return w ? err_memory(x->k.e) : -1;
	if (tflite_input(x, 2) == NONE)
		return 0;
	s->a = tflite_constant(x, tflite_input(x, 2), x->k.dims[x->k.ndim - 1]);
	return s->a ? 0 : -1;
}

static int
dense(struct tflite_net *x)
{
	size_t shape[KERAS_SHAPE + 1], ndim, i, all = 1, dims[2];
	struct net_window w = { .wide = 1, .window = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .out_wide = 1,
		.groups = 1 };
	struct step *s;

	if (tflite_shape(x, tflite_input(x, 1), &ndim, shape) < 0)
		return -1;
	for (i = 0; i < x->k.ndim; i++)
		all *= x->k.dims[i]; /* at most FOREST_FEATURES, as each step proves */
	if (ndim != 2 || all % shape[1])
		return keras_wrong(&x->k, "its weights do not fit a row of %zu values", all);
	w.high = w.out_high = all / shape[1];
	w.channels = shape[1];
	w.out_channels = shape[0];
	dims[0] = w.high;
	dims[1] = shape[0];
	s = keras_window(&x->k, &net_conv, &w, 2, dims);
	return s && weigh(x, s, shape[0], shape[1]) == 0 ? fused(x, 0) : -1;
}

/* Sets strides, padding and the size of the output. */
static int
measure(struct tflite_net *x, struct net_window *w)
{
	static const size_t none[2] = { 0, 0 };
	uint64_t padding = option(x, 0, 1, 0);

	w->high = x->k.dims[0];
	w->wide = x->k.dims[1];
	w->channels = x->k.dims[2];
	w->stride[1] = (size_t)option(x, 1, 4, 0);
	w->stride[0] = (size_t)option(x, 2, 4, 0);
	if (padding > 1 || net_measure(w, padding ? NET_GIVEN : NET_SAME, none) < 0)
		return keras_wrong(&x->k, "the window does not fit into the input");
	return 0;
}

static int
convolve(struct tflite_net *x, bool depthwise)
{
	size_t shape[KERAS_SHAPE + 1], ndim, dims[3];
	unsigned more = depthwise ? 5 : 4; /* the field of the dilations */
	struct net_window w = { .groups = 1 };
	struct step *s;

	if (is_image(x) < 0 || tflite_shape(x, tflite_input(x, 1), &ndim, shape) < 0)
		return -1;
	if (ndim != 4 || (depthwise && shape[0] != 1))
		return keras_wrong(&x->k, "its weights do not have four dimensions");
	w.window[0] = shape[1];
	w.window[1] = shape[2];
	w.dilation[1] = (size_t)option(x, more, 4, 1);
	w.dilation[0] = (size_t)option(x, more + 1, 4, 1);
	w.out_channels = depthwise ? shape[3] : shape[0];
	if (measure(x, &w) < 0)
		return -1;
	w.groups = depthwise ? w.channels : w.channels / shape[3];
	if (w.groups == 0 || w.channels % w.groups || w.out_channels % w.groups ||
	    (!depthwise && w.channels / w.groups != shape[3]))
		return keras_wrong(&x->k, "its weights do not fit %zu channels", w.channels);
	dims[0] = w.out_high;
	dims[1] = w.out_wide;
	dims[2] = w.out_channels;
	s = keras_window(&x->k, &net_conv, &w, 3, dims);
	if (!s || weigh(x, s, shape[0], shape[1] * shape[2] * shape[3]) < 0)
		return -1;
	return fused(x, depthwise ? 4 : 3);
}

static int conv(struct tflite_net *x) { return convolve(x, false); }
static int depthwise(struct tflite_net *x) { return convolve(x, true); }

static int
pool(struct tflite_net *x, bool average)
{
	struct net_window w = { .dilation = { 1, 1 }, .average = average };
	size_t dims[3];

	if (is_image(x) < 0)
		return -1;
	w.window[1] = (size_t)option(x, 3, 4, 0);
	w.window[0] = (size_t)option(x, 4, 4, 0);
	if (measure(x, &w) < 0)
		return -1;
	w.groups = w.out_channels = w.channels;
	dims[0] = w.out_high;
	dims[1] = w.out_wide;
	dims[2] = w.channels;
	return keras_window(&x->k, &net_pool, &w, 3, dims) ? fused(x, 5) : -1;
}

static int average(struct tflite_net *x) { return pool(x, true); }
static int greatest(struct tflite_net *x) { return pool(x, false); }

/* The mean of each channel. */
static int
mean(struct tflite_net *x)
{
	size_t n = x->k.ndim - 1, i;
	struct net_window w = { .high = 1, .wide = 1, .channels = x->k.dims[n], .out_channels = x->k.dims[n],
		.out_high = 1, .out_wide = 1, .stride = { 1, 1 }, .dilation = { 1, 1 }, .window = { 1, 1 },
		.groups = x->k.dims[n], .average = true };
	double *axes = tflite_constant(x, tflite_input(x, 1), n);
	bool right = axes != NULL;

	for (i = 0; right && i < n; i++) {
		right = axes[i] == (double)(i + 1) || axes[i] == (double)(i + 1) - (double)(n + 2);
		w.high *= x->k.dims[i];
	}
	free(axes);
	if (!right)
		return axes ? keras_wrong(&x->k, "its mean is not that of each channel") : -1;
	w.window[0] = w.high;
	return keras_window(&x->k, &net_pool, &w, 1, &w.channels) ? 0 : -1;
}

/* A constant for each channel, or one for all, that is added or multiplied. */
static int
scale(struct tflite_net *x, double sign, bool product)
{
	struct step *s = keras_step(&x->k, &net_scale, x->k.ndim, x->k.dims);
	size_t n = x->k.dims[x->k.ndim - 1], ndim, dims[KERAS_SHAPE + 1], i;
	double *v, *other;

	if (!s || tflite_shape(x, tflite_input(x, 1), &ndim, dims) < 0)
		return -1;
	for (i = 0; i + 1 < ndim; i++)
		if (dims[i] != 1)
			return keras_wrong(&x->k, "its constant is not for each channel");
	s->n = ndim ? dims[ndim - 1] : 1;
	if (s->n != 1 && s->n != n)
		return keras_wrong(&x->k, "its constant is not for each channel");
	v = tflite_constant(x, tflite_input(x, 1), s->n);
	if (!v)
		return -1;
	other = mem_array(s->n, sizeof *other);
	s->a = product ? other : v;
	s->b = product ? v : other;
	if (!other)
		return err_memory(x->k.e);
	for (i = 0; !product && i < s->n; i++) {
		v[i] *= sign;
		other[i] = 1;
	}
	return fused(x, 0);
}

static int add(struct tflite_net *x) { return scale(x, 1, false); }
static int subtract(struct tflite_net *x) { return scale(x, -1, false); }
static int multiply(struct tflite_net *x) { return scale(x, 1, true); }

/* Zeros around: pairs for rows, height, width and channels. */
static int
pad(struct tflite_net *x)
{
	size_t from[3], dims[3], i, j, c, at = 0, high = x->k.dims[0], wide = x->k.dims[1], channels = x->k.dims[2];
	double *v = is_image(x) < 0 ? NULL : tflite_constant(x, tflite_input(x, 1), 8);
	bool right = v && v[0] == 0 && v[1] == 0;
	struct step *s;

	for (i = 0; right && i < 3; i++) {
		double before = v[2 + 2 * i], after = v[3 + 2 * i];

		right = before >= 0 && before <= FOREST_FEATURES && after >= 0 && after <= FOREST_FEATURES;
		from[i] = right ? (size_t)before : 0;
		dims[i] = x->k.dims[i] + (right ? (size_t)(before + after) : 0);
	}
	free(v);
	if (!right)
		return v ? keras_wrong(&x->k, "its padding is not a size") : -1;
	s = keras_gather(&x->k, 3, dims);
	if (!s)
		return -1;
	for (i = 0; i < dims[0]; i++)
		for (j = 0; j < dims[1]; j++)
			for (c = 0; c < dims[2]; c++) {
				bool in = i - from[0] < high && j - from[1] < wide && c - from[2] < channels;

				s->list[at++] = in ? (uint32_t)(((i - from[0]) * wide + j - from[1]) * channels + c - from[2])
				                   : UINT32_MAX;
			}
	return 0;
}

/* The values stay: what changes is their shape, which the tensor has, or their grid. */
static int
stay(struct tflite_net *x)
{
	(void)x;
	return 0;
}

/* ---- all of them ---- */

const struct tflite_operator tflite_operators[] = {
	{ 0, "ADD", add, false }, { 1, "AVERAGE_POOL_2D", average, false }, { 3, "CONV_2D", conv, false },
	{ 4, "DEPTHWISE_CONV_2D", depthwise, false }, { 6, "DEQUANTIZE", stay, false },
	{ 9, "FULLY_CONNECTED", dense, false }, { 14, "LOGISTIC", logistic, true },
	{ 17, "MAX_POOL_2D", greatest, false }, { 18, "MUL", multiply, false }, { 19, "RELU", relu, false },
	{ 21, "RELU6", relu6, false }, { 22, "RESHAPE", stay, false }, { 25, "SOFTMAX", softmax, true },
	{ 28, "TANH", hyperbolic, false }, { 34, "PAD", pad, false }, { 40, "MEAN", mean, false },
	{ 41, "SUB", subtract, false }, { 43, "SQUEEZE", stay, false }, { 70, "EXPAND_DIMS", stay, false },
	{ 98, "LEAKY_RELU", leaky, false }, { 111, "ELU", elu, false }, { 114, "QUANTIZE", stay, false },
	{ 0, NULL, NULL, false },
};
