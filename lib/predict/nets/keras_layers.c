/* Layers of Keras with windows, and those that move values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/nets/keras.h"

/* Places of all lists. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define LISTED ((size_t)1 << 26)
#else
#define LISTED ((size_t)1 << 16)
#endif

/* ---- windows ---- */

struct step *
keras_window(struct keras_net *k, const struct step_kind *kind, const struct net_window *w, size_t ndim,
             const size_t *dims)
{
	struct step *s = keras_work(k, net_window_work(w)) < 0 ? NULL : keras_step(k, kind, ndim, dims);

	if (!s)
		return NULL;
	s->more = mem_array(1, sizeof *w);
	s->free_more = free;
	if (!s->more) {
		err_memory(k->e);
		return NULL;
	}
	memcpy(s->more, w, sizeof *w);
	return s;
}

/* A dense layer, for each place of the dimensions before the last one. */
int
keras_dense(struct keras_net *k)
{
	size_t units, i, dims[KERAS_SHAPE], in = k->dims[k->ndim - 1];
	struct net_window w = { .wide = 1, .channels = in, .window = { 1, 1 }, .stride = { 1, 1 },
		.dilation = { 1, 1 }, .out_wide = 1, .groups = 1 };
	struct step *s;

	if (keras_sizes(k, "units", 1, false, &units) < 0)
		return -1;
	for (i = 0, w.high = 1; i + 1 < k->ndim; i++)
		w.high *= k->dims[i]; /* keras_step has proved the product, or does so */
	w.out_high = w.high;
	w.out_channels = units;
	memcpy(dims, k->dims, sizeof dims);
	dims[k->ndim - 1] = units;
	s = keras_window(k, &net_conv, &w, k->ndim, dims);
	if (!s || !(s->b = keras_variable(k, "", "kernel", 0, (uint64_t)in * units)))
		return -1;
	if (keras_flag(k, "use_bias", true) && !(s->a = keras_variable(k, "", "bias", 1, units)))
		return -1;
	return keras_activation(k, "activation");
}

/* Reads window, strides and padding for one or two dimensions. 0 or -1. */
static int
read_window(struct keras_net *k, const char *size, struct net_window *w)
{
	const char *padding = keras_text(k, "padding", "valid");
	size_t n = strstr(k->kind, "1D") ? 1 : 2, none[2] = { 0, 0 };
	bool pool = strcmp(size, "pool_size") == 0;

	if (k->ndim != n + 1)
		return keras_wrong(k, "a row has %zu dimensions, not %zu", k->ndim, n + 1);
	*w = (struct net_window){ .high = k->dims[0], .wide = n == 2 ? k->dims[1] : 1, .channels = k->dims[n],
		.out_channels = k->dims[n], .window = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1 };
	if (keras_sizes(k, size, n, false, w->window) < 0)
		return -1;
	memcpy(w->stride, w->window, pool ? sizeof w->stride : 0);
	if (!json_is_null(json_object_get(k->config, "strides")) &&
	    keras_sizes(k, "strides", n, false, w->stride) < 0)
		return -1;
	if (json_object_get(k->config, "dilation_rate") && keras_sizes(k, "dilation_rate", n, false, w->dilation) < 0)
		return -1;
	if (strcmp(padding, "valid") != 0 && strcmp(padding, "same") != 0 && strcmp(padding, "causal") != 0)
		return keras_wrong(k, "the padding %s is not known here", padding);
	if (net_measure(w, *padding == 's' ? NET_SAME : *padding == 'c' ? NET_CAUSAL : NET_GIVEN, none) < 0)
		return keras_wrong(k, "the window does not fit into the input");
	if (*padding == 'c' && n == 2)
		return keras_wrong(k, "the padding causal is for sequences");
	return 0;
}

static int
add_conv(struct keras_net *k, const struct net_window *w, const char *kernel, unsigned number, bool bias)
{
	size_t n = strstr(k->kind, "1D") ? 1 : 2, dims[3] = { w->out_high, n == 2 ? w->out_wide : w->out_channels,
		w->out_channels };
	uint64_t in = w->channels / w->groups, all = (uint64_t)w->window[0] * w->window[1];
	struct step *s = keras_window(k, &net_conv, w, n + 1, dims);

	if (!s)
		return -1;
	if (__builtin_mul_overflow(all, in, &all) || __builtin_mul_overflow(all, (uint64_t)w->out_channels, &all))
		return keras_wrong(k, "the kernel is too large");
	s->b = keras_variable(k, "", kernel, number, all);
	if (s->b && bias)
		s->a = keras_variable(k, "", "bias", number + 1, w->out_channels);
	return s->b && (s->a || !bias) ? 0 : -1;
}

/* Each channel alone, then sums over channels. */
static int
separable(struct keras_net *k, struct net_window *w, size_t out)
{
	struct net_window point = { .high = w->out_high, .wide = w->out_wide, .channels = w->out_channels,
		.out_high = w->out_high, .out_wide = w->out_wide, .out_channels = out, .window = { 1, 1 },
		.stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1 };

	return add_conv(k, w, "depthwise_kernel", 0, false) < 0 ||
	       add_conv(k, &point, "pointwise_kernel", 1, keras_flag(k, "use_bias", true)) < 0 ? -1 : 0;
}

/* The depthwise kernel has its name in version 2 alone. */
int
keras_conv(struct keras_net *k)
{
	bool depthwise = strncmp(k->kind, "Depthwise", 9) == 0, split = strncmp(k->kind, "Separable", 9) == 0;
	size_t filters = 0, groups = 1, multiplier = 1;
	struct net_window w;
	int r;

	if (read_window(k, "kernel_size", &w) < 0 || (!depthwise && keras_sizes(k, "filters", 1, false, &filters) < 0))
		return -1;
	if (json_object_get(k->config, "groups") && !depthwise && !split && keras_sizes(k, "groups", 1, false, &groups) < 0)
		return -1;
	if (json_object_get(k->config, "depth_multiplier") && keras_sizes(k, "depth_multiplier", 1, false, &multiplier) < 0)
		return -1;
	w.groups = depthwise || split ? w.channels : groups;
	w.out_channels = depthwise || split ? w.channels * multiplier : filters;
	if (w.channels % w.groups || w.out_channels % w.groups || w.out_channels > FOREST_FEATURES)
		return keras_wrong(k, "%zu groups of %zu channels", w.groups, w.channels);
	if (split)
		r = separable(k, &w, filters);
	else
		r = add_conv(k, &w, depthwise ? "depthwise_kernel" : "kernel", 0, keras_flag(k, "use_bias", true));
	return r < 0 ? -1 : keras_activation(k, "activation");
}

int
keras_pool(struct keras_net *k)
{
	size_t n = strstr(k->kind, "1D") ? 1 : 2, dims[3];
	struct net_window w;

	if (read_window(k, "pool_size", &w) < 0)
		return -1;
	w.average = *k->kind == 'A';
	dims[0] = w.out_high;
	dims[1] = n == 2 ? w.out_wide : w.channels;
	dims[2] = w.channels;
	w.groups = w.channels; /* for the work */
	return keras_window(k, &net_pool, &w, n + 1, dims) ? 0 : -1;
}

int
keras_global_pool(struct keras_net *k)
{
	size_t i, n = k->ndim - 1, dims[KERAS_SHAPE] = { 1, 1, 1, 1 };
	struct net_window w = { .channels = k->dims[n], .out_channels = k->dims[n], .out_high = 1, .out_wide = 1,
		.wide = 1, .high = 1, .stride = { 1, 1 }, .dilation = { 1, 1 }, .average = strstr(k->kind, "Average") };

	if (n != (strstr(k->kind, "1D") ? 1u : 2u))
		return keras_wrong(k, "a row has %zu dimensions", k->ndim);
	for (i = 0; i < n; i++)
		w.high *= k->dims[i];
	w.window[0] = w.high;
	w.window[1] = 1;
	w.groups = w.channels;
	n = keras_flag(k, "keepdims", false) ? n : 0;
	dims[n] = w.channels;
	return keras_window(k, &net_pool, &w, n + 1, dims) ? 0 : -1;
}

/* ---- weights for each channel ---- */

int
keras_norm(struct keras_net *k)
{
	const json_t *axis = json_object_get(k->config, "axis");
	bool scaled = keras_flag(k, "scale", true), centered = keras_flag(k, "center", true);
	size_t i, n = k->dims[k->ndim - 1];
	double epsilon = keras_number(k, "epsilon", 1e-3), *mean, *variance;
	json_int_t at;
	struct step *s;

	axis = json_is_array(axis) ? json_array_get(axis, 0) : axis;
	at = json_is_integer(axis) ? json_integer_value(axis) : -1;
	if (at != -1 && at != (json_int_t)k->ndim)
		return keras_wrong(k, "the axis is not the last one");
	s = keras_step(k, &net_scale, k->ndim, k->dims);
	if (!s)
		return -1;
	s->n = n;
	s->b = scaled ? keras_variable(k, "", "gamma", 0, n) : mem_array(n, sizeof *s->b);
	s->a = centered ? keras_variable(k, "", "beta", scaled, n) : mem_array(n, sizeof *s->a);
	mean = keras_variable(k, "", "moving_mean", (unsigned)scaled + centered, n);
	variance = keras_variable(k, "", "moving_variance", (unsigned)scaled + centered + 1, n);
	for (i = 0; s->a && s->b && mean && variance && i < n; i++) {
		s->b[i] = (scaled ? s->b[i] : 1) / sqrt(variance[i] + epsilon);
		s->a[i] -= mean[i] * s->b[i];
	}
	i = s->a && s->b && mean && variance;
	free(mean);
	free(variance);
	return i ? 0 : k->e->code ? -1 : err_memory(k->e);
}

int
keras_embedding(struct keras_net *k)
{
	size_t rows, wide, dims[KERAS_SHAPE];
	struct step *s;

	if (keras_sizes(k, "input_dim", 1, false, &rows) < 0 || keras_sizes(k, "output_dim", 1, false, &wide) < 0)
		return -1;
	if (keras_flag(k, "mask_zero", false))
		return keras_wrong(k, "masks are not computed");
	if (k->ndim == KERAS_SHAPE)
		return keras_wrong(k, "a row has too many dimensions");
	memcpy(dims, k->dims, sizeof dims);
	dims[k->ndim] = wide;
	s = keras_step(k, &net_embedding, k->ndim + 1, dims);
	if (!s || !(s->a = keras_variable(k, "", "embeddings", 0, (uint64_t)rows * wide)))
		return -1;
	s->n = rows;
	s->k = wide;
	return 0;
}

/* ---- layers that move values ---- */

struct step *
keras_gather(struct keras_net *k, size_t ndim, const size_t *dims)
{
	struct step *s = keras_step(k, &net_gather, ndim, dims);
	size_t i, all = 0;

	for (i = 0; s && i < k->m->step_count; i++)
		all += k->m->steps[i].kind == &net_gather ? k->m->steps[i].out : 0;
	if (s && all > LISTED) {
		keras_wrong(k, "the model moves more than %zu values", LISTED);
		return NULL;
	}
	if (s && !(s->list = mem_array(s->out, sizeof *s->list))) {
		err_memory(k->e);
		return NULL;
	}
	return s;
}

/* Rows of `channels` values: row i, j of high x wide takes that at from(i), from(j), or zeros. */
struct grid {
	size_t high, wide, channels;
	size_t before[2], times[2];
};

static void
fill_grid(struct step *s, const struct grid *g, size_t high, size_t wide)
{
	size_t i, j, c, at = 0;

	for (i = 0; i < high; i++)
		for (j = 0; j < wide; j++)
			for (c = 0; c < g->channels; c++, at++) {
				size_t y = (i - g->before[0]) / g->times[0], x = (j - g->before[1]) / g->times[1];
				bool in = i >= g->before[0] && j >= g->before[1] && y < g->high && x < g->wide;

				s->list[at] = in ? (uint32_t)((y * g->wide + x) * g->channels + c) : UINT32_MAX;
			}
}

/* Zeros around: [[top, bottom], [left, right]], [vertical, horizontal], or one number. */
int
keras_pad(struct keras_net *k)
{
	const json_t *v = json_object_get(k->config, "padding"), *x, *both;
	size_t n = strstr(k->kind, "1D") ? 1 : 2, i, j, pad[2][2] = { { 0, 0 }, { 0, 0 } }, dims[3];
	struct grid g = { k->dims[0], n == 2 ? k->dims[1] : 1, k->dims[n], { 0, 0 }, { 1, 1 } };
	struct step *s;

	if (k->ndim != n + 1)
		return keras_wrong(k, "a row has %zu dimensions, not %zu", k->ndim, n + 1);
	for (i = 0; i < n; i++)
		for (j = 0; j < 2; j++) {
			both = n == 1 ? v : json_is_array(v) ? json_array_get(v, i) : v;
			x = json_is_array(both) ? json_array_get(both, j) : both;
			if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) > FOREST_FEATURES)
				return keras_wrong(k, "the padding is not a size");
			pad[i][j] = (size_t)json_integer_value(x);
		}
	dims[0] = g.high + pad[0][0] + pad[0][1];
	dims[1] = n == 2 ? g.wide + pad[1][0] + pad[1][1] : g.channels;
	dims[2] = g.channels;
	g.before[0] = pad[0][0];
	g.before[1] = pad[1][0];
	s = keras_gather(k, n + 1, dims);
	if (!s)
		return -1;
	fill_grid(s, &g, dims[0], n == 2 ? dims[1] : 1);
	return 0;
}

/* Each place several times; RepeatVector: the row as each step of a sequence. */
int
keras_repeat(struct keras_net *k)
{
	size_t n = strstr(k->kind, "2D") ? 2 : 1, times[2] = { 1, 1 }, dims[3];
	bool vector = strcmp(k->kind, "RepeatVector") == 0;
	struct grid g;
	struct step *s;

	if (k->ndim != (vector ? 1 : n + 1))
		return keras_wrong(k, "a row has %zu dimensions", k->ndim);
	if (strcmp(keras_text(k, "interpolation", "nearest"), "nearest") != 0)
		return keras_wrong(k, "the interpolation is not read");
	if (keras_sizes(k, vector ? "n" : "size", n, false, times) < 0)
		return -1;
	g = (struct grid){ vector ? 1 : k->dims[0], n == 2 ? k->dims[1] : 1, k->dims[k->ndim - 1], { 0, 0 },
		{ times[0], times[1] } };
	dims[0] = g.high * times[0];
	dims[1] = n == 2 ? g.wide * times[1] : g.channels;
	dims[2] = g.channels;
	s = keras_gather(k, n + 1, dims);
	if (!s)
		return -1;
	fill_grid(s, &g, dims[0], n == 2 ? dims[1] : 1);
	return 0;
}

int
keras_turn(struct keras_net *k, const size_t *order)
{
	size_t n = k->ndim, i, j, dims[KERAS_SHAPE], step[KERAS_SHAPE], at[KERAS_SHAPE] = { 0 };
	struct step *s;

	for (i = 0; i < n; i++) {
		dims[i] = k->dims[order[i]];
		for (j = order[i] + 1, step[i] = 1; j < n; j++)
			step[i] *= k->dims[j];
	}
	s = keras_gather(k, n, dims);
	for (i = 0; s && i < s->out; i++) {
		size_t place = 0;

		for (j = 0; j < n; j++)
			place += at[j] * step[j];
		s->list[i] = (uint32_t)place;
		for (j = n; j > 0 && ++at[j - 1] == dims[j - 1]; j--)
			at[j - 1] = 0;
	}
	return s ? 0 : -1;
}

/* dims: [2, 1, 3]: the second dimension becomes the first. */
int
keras_permute(struct keras_net *k)
{
	size_t n = k->ndim, i, order[KERAS_SHAPE];
	bool seen[KERAS_SHAPE] = { false };

	if (keras_sizes(k, "dims", n, false, order) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		if (order[i] > n || seen[order[i] - 1])
			return keras_wrong(k, "the order of dimensions is wrong");
		seen[--order[i]] = true;
	}
	return keras_turn(k, order);
}
