/* net: layers of sequential networks as steps (step.h).
 *
 * A row is an array of at most three dimensions, the channels last, one value behind the other: that is
 * how Keras and TensorFlow Lite store it. Layers with windows see height x width x channels; a
 * sequence has the width 1. With x the input, y the output:
 *
 *     conv       y[i,j,o] = f(b[o] + sum over p, q, c of x[i s + p d - t, j s + q d - l, c] w[p,q,c,o]),
 *                with strides s, dilations d and zeros around x: t above, l on the left. With g
 *                groups, output o sees the channels of its group. A dense layer is a conv of 1 x 1
 *     pool       the maximum or the mean of a window, without what lies outside of x
 *     scale      y[i] = x[i] w[c] + b[c], c the channel of i: batch normalization, with
 *                w = gamma / sqrt(variance + epsilon), b = beta - mean w
 *     recurrent  over the steps t of a sequence, h[0] = c[0] = 0, s the logistic function, . by element:
 *                simple  h[t] = tanh(W x + U h + b)
 *                LSTM    i = s(..), f = s(..), g = tanh(..), o = s(W x + U h + b), each with its own W, U,
 *                        b; c[t] = f . c + i . g, h[t] = o . tanh(c[t])
 *                GRU     z = s(..), r = s(W x + U h + b); n = tanh(Wn x + bn + r . (Un h + an)), or with
 *                        the reset in front n = tanh(Wn x + bn + Un (r . h)); h[t] = z . h + (1 - z) . n
 *     embedding  y[i] = row x[i] of a table
 *     gather     y[i] = x[list[i]], or a constant: padding, permutation, repetition
 *     activation of each value, or of the channels together (softmax)
 *
 * Sources: Dumoulin, Visin: A guide to convolution arithmetic (2016); Ioffe, Szegedy: Batch
 * normalization (2015); Hochreiter, Schmidhuber: Long short-term memory (1997), with the forget gates of
 * Gers, Schmidhuber, Cummins (2000); Cho et al.: Learning phrase representations (2014); the documentation
 * of Keras and PyTorch for order of gates and defaults. Sums are in double precision.
 */
#ifndef PREDICT_NET_H
#define PREDICT_NET_H

#include "predict/step.h"

/* Multiplications that a model may need for a row. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define NET_WORK ((uint64_t)1 << 36)
#else
#define NET_WORK ((uint64_t)1 << 18)
#endif

enum net_function {
	NET_LINEAR,
	NET_RELU,         /* min(max(v, 0), high), or slope v if v < 0 */
	NET_ELU,          /* v, or slope (exp(v) - 1) if v < 0 */
	NET_SELU,         /* Klambauer et al.: Self-normalizing neural networks (2017) */
	NET_SOFTPLUS,     /* ln(1 + exp(v)) */
	NET_SOFTSIGN,     /* v / (1 + |v|) */
	NET_TANH,
	NET_SIGMOID,
	NET_HARD_SIGMOID, /* slope v + offset, between 0 and 1 */
	NET_EXP,
	NET_SILU,         /* v times the logistic function of v */
	NET_GELU,         /* v (1 + erf(v / sqrt 2)) / 2 */
	NET_GELU_TANH,    /* its approximation by tanh */
	NET_GRID,         /* the nearest multiple of slope between offset and high; halves away from 0 */
	NET_SOFTMAX
};

struct net_activation {
	enum net_function f;
	double slope, high, offset; /* high: HUGE_VAL if there is none */
};

/* What one value becomes; softmax, which needs all channels, leaves it. */
double net_value(const struct net_activation *a, double v);

/* Windows over an input of high x wide x channels. */
struct net_window {
	size_t high, wide, channels;
	size_t out_high, out_wide, out_channels;
	size_t window[2], stride[2], dilation[2];
	size_t before[2];  /* zeros above and on the left */
	size_t groups;
	bool average, padded; /* padded: the mean counts what lies outside */
};

/* Sets the size of the output and what lies before the input. same: as many zeros around as the output
 * needs to have a place for each stride; causal: all of them before; else `before` and `after` are
 * given. -1: the window does not fit. */
enum net_padding { NET_GIVEN, NET_SAME, NET_CAUSAL };
int net_measure(struct net_window *w, enum net_padding padding, const size_t after[2]);

/* Multiplications for a row. */
uint64_t net_window_work(const struct net_window *w);

enum net_cell { NET_SIMPLE, NET_LSTM, NET_GRU };
struct net_recurrent {
	enum net_cell cell;
	size_t steps, inputs, units;
	unsigned directions;     /* 2: forward and backward, their outputs side by side */
	bool backward;           /* one direction: from the end on */
	bool in_order;           /* backward: outputs in the order of the input, not of reading */
	bool sequences;          /* the output of all steps, else the last one */
	bool reset_after;        /* GRU: r times (U h + a), else U (r h) */
	struct net_activation f, gate; /* in place of tanh and of the logistic function */
	struct net_direction {
		double *w, *u, *b, *a;   /* inputs x gates, units x gates, gates, and GRU's second bias, all owned;
		                          * gates are i f g o, or z r n, of `units` values each */
	} direction[2];
};

/* Steps, in the members of struct step:
 *     conv        more: struct net_window, b: window x channels / groups x out_channels, a: bias or NULL
 *     pool        more: struct net_window
 *     scale       n channels, b: weights, a: what is added
 *     recurrent   more: struct net_recurrent, with free_more
 *     embedding   n rows of k values in a
 *     gather      list: `out` numbers, UINT32_MAX for the constant x
 *     activation  more: struct net_activation, n: channels of softmax
 */
extern const struct step_kind net_conv, net_pool, net_scale, net_recurrent, net_embedding, net_gather,
	net_activate;

void net_recurrent_free(void *more);

#endif
