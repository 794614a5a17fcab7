#include "predict/net.h"

#include <math.h>
#include <string.h>

/* ---- activations ---- */

static double
gelu_tanh(double v)
{
	return 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))); /* sqrt(2 / pi) */
}

static double
logistic(double v)
{
	return 1 / (1 + exp(-v));
}

static double
clip(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

double
net_value(const struct net_activation *a, double v)
{
	switch (a->f) {
	case NET_RELU:
		return v < 0 ? a->slope * v : v > a->high ? a->high : v;
	case NET_ELU:
		return v < 0 ? a->slope * expm1(v) : v;
	case NET_SELU:
		return 1.0507009873554805 * (v < 0 ? 1.6732632423543772 * expm1(v) : v);
	case NET_SOFTPLUS:
		return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
	case NET_SOFTSIGN:
		return v / (1 + fabs(v));
	case NET_TANH:
		return tanh(v);
	case NET_SIGMOID:
		return logistic(v);
	case NET_HARD_SIGMOID:
		return clip(a->slope * v + a->offset, 0, 1);
	case NET_EXP:
		return exp(v);
	case NET_SILU:
		return v * logistic(v);
	case NET_GELU:
		return 0.5 * v * (1 + erf(v / 1.4142135623730951));
	case NET_GRID:
		return clip(a->slope * round(v / a->slope), a->offset, a->high);
	case NET_GELU_TANH:
		return gelu_tanh(v);
	default:
		return v;
	}
}

static void
softmax(double *v, size_t n)
{
	double most = v[0], sum = 0;
	size_t j;

	for (j = 1; j < n; j++)
		most = v[j] > most ? v[j] : most;
	for (j = 0; j < n; j++)
		sum += v[j] = exp(v[j] - most);
	for (j = 0; j < n; j++)
		v[j] /= sum;
}

static int
activate(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct net_activation *a = s->more;
	double *v = step_row(x, 0);
	size_t i, all = x->n * s->in;

	(void)spare, (void)e;
	if (a->f == NET_SOFTMAX)
		for (i = 0; i + s->n <= all; i += s->n)
			softmax(v + i, s->n);
	else
		for (i = 0; i < all; i++)
			v[i] = net_value(a, v[i]);
	return 0;
}

/* ---- windows ---- */

int
net_measure(struct net_window *w, enum net_padding padding, const size_t after[2])
{
	size_t in[2] = { w->high, w->wide }, *out[2] = { &w->out_high, &w->out_wide }, i, span, need, all;

	for (i = 0; i < 2; i++) {
		if (w->window[i] == 0 || w->stride[i] == 0 || w->dilation[i] == 0 || in[i] == 0)
			return -1;
		if (__builtin_mul_overflow(w->window[i] - 1, w->dilation[i], &span) || span > UINT32_MAX ||
		    w->before[i] > UINT32_MAX || after[i] > UINT32_MAX || in[i] > UINT32_MAX)
			return -1;
		all = in[i] + w->before[i] + after[i];
		if (padding == NET_CAUSAL) {
			w->before[i] = span;
			all = in[i] + span;
		} else if (padding == NET_SAME) {
			*out[i] = (in[i] - 1) / w->stride[i] + 1;
			need = (in[i] - 1) / w->stride[i] * w->stride[i] + span + 1;
			w->before[i] = need > in[i] ? (need - in[i]) / 2 : 0;
			continue;
		}
		if (all <= span)
			return -1;
		*out[i] = (all - span - 1) / w->stride[i] + 1;
	}
	return 0;
}

uint64_t
net_window_work(const struct net_window *w)
{
	uint64_t v = 1, n;
	size_t parts[] = { w->out_high, w->out_wide, w->out_channels, w->channels / w->groups,
		w->window[0] < w->high ? w->window[0] : w->high, w->window[1] < w->wide ? w->window[1] : w->wide };
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)parts[i], &n))
			return UINT64_MAX;
		v = n;
	}
	return v;
}

/* The places of a window that lie in the input: from *first to before *end, along axis i. */
static void
inside(const struct net_window *w, unsigned i, size_t out, size_t *first, size_t *end)
{
	size_t at = out * w->stride[i], d = w->dilation[i], n = i ? w->wide : w->high;
	size_t reach = n + w->before[i];

	*first = at < w->before[i] ? (w->before[i] - at + d - 1) / d : 0;
	*end = at < reach ? (reach - at + d - 1) / d : 0;
	*end = *end < w->window[i] ? *end : w->window[i];
	*first = *first < *end ? *first : *end;
}

/* The place in the input of part p of a window. */
static size_t
place(const struct net_window *w, unsigned i, size_t out, size_t p)
{
	return out * w->stride[i] + p * w->dilation[i] - w->before[i];
}

/* Adds one place of the input, with its weights, to all channels of the output. */
static void
add_place(const struct net_window *w, const double *x, const double *weights, double *y)
{
	size_t c, o, in = w->channels / w->groups, out = w->out_channels / w->groups, g;

	if (in == 1) { /* depthwise: rows of weights are as long as the output */
		for (g = 0; g < w->groups; g++)
			for (o = g * out; o < (g + 1) * out; o++)
				y[o] += x[g] * weights[o];
		return;
	}
	for (g = 0; g < w->groups; g++)
		for (c = 0; c < in; c++) {
			const double *row = weights + c * w->out_channels + g * out;
			double v = x[g * in + c], *to = y + g * out;

			for (o = 0; o < out; o++)
				to[o] += v * row[o];
		}
}

static void
conv_place(const struct step *s, const double *x, size_t i, size_t j, double *y)
{
	const struct net_window *w = s->more;
	size_t p, q, p0, p1, q0, q1, weights = w->channels / w->groups * w->out_channels;

	if (s->a)
		memcpy(y, s->a, w->out_channels * sizeof *y);
	inside(w, 0, i, &p0, &p1);
	inside(w, 1, j, &q0, &q1);
	for (p = p0; p < p1; p++)
		for (q = q0; q < q1; q++)
			add_place(w, x + (place(w, 0, i, p) * w->wide + place(w, 1, j, q)) * w->channels,
			          s->b + (p * w->window[1] + q) * weights, y);
}

static void
pool_place(const struct net_window *w, const double *x, size_t i, size_t j, double *y)
{
	size_t p, q, c, p0, p1, q0, q1, count;

	inside(w, 0, i, &p0, &p1);
	inside(w, 1, j, &q0, &q1);
	for (c = 0; c < w->channels && !w->average; c++)
		y[c] = -HUGE_VAL;
	for (p = p0; p < p1; p++)
		for (q = q0; q < q1; q++) {
			const double *v = x + (place(w, 0, i, p) * w->wide + place(w, 1, j, q)) * w->channels;

			for (c = 0; c < w->channels; c++)
				y[c] = w->average ? y[c] + v[c] : v[c] > y[c] || isnan(v[c]) ? v[c] : y[c];
		}
	count = w->padded ? w->window[0] * w->window[1] : (p1 - p0) * (q1 - q0);
	for (c = 0; c < w->channels && w->average && count; c++)
		y[c] /= (double)count;
}

static int
windows(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct net_window *w = s->more;
	size_t r, i, j;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (r = 0; r < x->n; r++)
		for (i = 0; i < w->out_high; i++)
			for (j = 0; j < w->out_wide; j++) {
				double *y = step_row(spare, r) + (i * w->out_wide + j) * w->out_channels;

				if (s->kind == &net_conv)
					conv_place(s, step_row(x, r), i, j, y);
				else
					pool_place(w, step_row(x, r), i, j, y);
			}
	step_rows_swap(x, spare);
	return 0;
}

/* ---- other layers ---- */

static int
scale(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	double *v = step_row(x, 0);
	size_t i, c, all = x->n * s->in;

	(void)spare, (void)e;
	for (i = 0; i + s->n <= all; i += s->n)
		for (c = 0; c < s->n; c++)
			v[i + c] = v[i + c] * s->b[c] + s->a[c];
	return 0;
}

static int
embed(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const double *v = step_row(x, 0);
	size_t i;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n * s->in; i++) {
		if (!(v[i] >= 0 && v[i] < (double)s->n))
			return err_set(e, ERR_CORRUPT, NULL, "a row has the number %g, and the embedding has %zu", v[i],
			               s->n);
		memcpy(step_row(spare, 0) + i * s->k, s->a + (size_t)v[i] * s->k, s->k * sizeof *v);
	}
	step_rows_swap(x, spare);
	return 0;
}

static int
gather(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t r, i;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (r = 0; r < x->n; r++)
		for (i = 0; i < s->out; i++)
			step_row(spare, r)[i] = s->list[i] == UINT32_MAX ? s->x : step_row(x, r)[s->list[i]];
	step_rows_swap(x, spare);
	return 0;
}

const struct step_kind net_conv = { "convolution", false, false, windows };
const struct step_kind net_pool = { "pooling", false, false, windows };
const struct step_kind net_scale = { "batch normalization", false, false, scale };
const struct step_kind net_embedding = { "embedding", false, false, embed };
const struct step_kind net_gather = { "gather", false, false, gather };
const struct step_kind net_activate = { "activation", false, false, activate };
