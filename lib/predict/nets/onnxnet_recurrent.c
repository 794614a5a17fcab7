/* Recurrent layers of ONNX. Their gates stand in the order i o f c, of GRU z r h; weights are gates x inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/nets/onnxnet.h"

/* Inputs of the operator. */
enum { IN_W = 1, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P };

static size_t
gates_of(const struct net_recurrent *n)
{
	return n->cell == NET_LSTM ? 4 : n->cell == NET_GRU ? 3 : 1;
}

/* ---- what the node says ---- */

struct functions {
	const struct net_recurrent *n;
	size_t count;
	bool right, relu;
};

/* Each function must be the usual one of its place; a simple cell may have Relu. */
static int
take_function(struct onnxml *x, struct onnxml_part text)
{
	struct functions *f = x->more;
	size_t all = f->n->cell == NET_LSTM ? 3 : f->n->cell == NET_GRU ? 2 : 1, place = f->count++ % all;
	bool first = f->n->cell != NET_SIMPLE && place == 0;

	f->relu |= onnxml_same(text, "Relu");
	f->right &= onnxml_same(text, first ? "Sigmoid" : f->relu && f->n->cell == NET_SIMPLE ? "Relu" : "Tanh");
	return 0;
}

static int
read_functions(struct onnxnet *x, struct net_recurrent *n)
{
	struct functions f = { n, 0, true, false };

	x->x.more = &f;
	if (onnxml_texts(&x->x, "activations", take_function) < 0)
		return -1;
	x->x.more = NULL;
	if (!f.right || onnxml_has(&x->x, "clip") || onnxml_has(&x->x, "activation_alpha") ||
	    onnxml_has(&x->x, "activation_beta"))
		return keras_wrong(&x->k, "only the usual functions of cells are read");
	n->gate = (struct net_activation){ NET_SIGMOID, 0, 0, 0 };
	n->f = (struct net_activation){ f.relu ? NET_RELU : NET_TANH, 0, HUGE_VAL, 0 };
	return 0;
}

static int
read_cell(struct onnxnet *x, struct net_recurrent *n)
{
	double units = onnxml_float(&x->x, "hidden_size", 0);

	if (x->k.ndim != 2 || x->batch != 1 || onnxml_float(&x->x, "layout", 0) != 0)
		return keras_wrong(&x->k, "its input is not steps, rows and values");
	if (!(units >= 1 && units <= FOREST_FEATURES))
		return keras_wrong(&x->k, "hidden_size is missing, or not a size");
	n->cell = x->kind[0] == 'L' ? NET_LSTM : x->kind[0] == 'G' ? NET_GRU : NET_SIMPLE;
	n->steps = x->k.dims[0];
	n->inputs = x->k.dims[1];
	n->units = (size_t)units;
	n->backward = onnxml_is(&x->x, "direction", "reverse");
	n->in_order = true;
	n->directions = onnxml_is(&x->x, "direction", "bidirectional") ? 2 : 1;
	n->sequences = onnxnet_used(x, x->x.outputs[0]) || x->x.output_count < 2;
	n->reset_after = n->cell == NET_GRU && onnxml_float(&x->x, "linear_before_reset", 0) != 0;
	if (onnxml_float(&x->x, "input_forget", 0) != 0 || onnxnet_given(x, IN_LENGTHS) || onnxnet_given(x, IN_P))
		return keras_wrong(&x->k, "lengths of rows, peepholes and coupled gates are not read");
	return read_functions(x, n);
}

/* A state that the layer begins with must be 0. */
static int
prove_state(struct onnxnet *x, size_t i, const struct net_recurrent *n)
{
	size_t k, all = n->units * n->directions;
	double *v;

	if (!onnxnet_given(x, i))
		return 0;
	v = onnxnet_values(x, onnxnet_constant(x, i), all);
	for (k = 0; v && k < all && v[k] == 0; k++)
		;
	free(v);
	return !v ? -1 : k < all ? keras_wrong(&x->k, "begins with a state that is not 0") : 0;
}

/* ---- weights ---- */

/* Where gate g of a step (i f g o) stands in the file. */
static size_t
source(const struct net_recurrent *n, size_t g)
{
	static const size_t lstm[] = { 0, 2, 3, 1 };

	return n->cell == NET_LSTM ? lstm[g] : g;
}

/* Takes gates x units x in of each direction, which become in x gates x units. */
static int
take_weights(struct onnxnet *x, struct net_recurrent *n, size_t input, size_t in)
{
	size_t gates = gates_of(n), u = n->units, d, g, j, i;
	uint64_t items = (uint64_t)gates * u * in;
	double *v = onnxnet_values(x, onnxnet_constant(x, input), items * n->directions);

	for (d = 0; v && d < n->directions; d++) {
		double *to = mem_array((size_t)items, sizeof *to);

		*(input == IN_W ? &n->direction[d].w : &n->direction[d].u) = to;
		if (!to) {
			free(v);
			return err_memory(x->k.e);
		}
		for (g = 0; g < gates; g++)
			for (j = 0; j < u; j++)
				for (i = 0; i < in; i++)
					to[i * gates * u + g * u + j] = v[d * items + (source(n, g) * u + j) * in + i];
	}
	free(v);
	return v ? 0 : -1;
}

/* The biases of inputs and of states: one sum, or of GRU, which needs them apart, two. */
static int
take_bias(struct onnxnet *x, struct net_recurrent *n)
{
	size_t gates = gates_of(n), u = n->units, all = gates * u, d, g, j;
	double *v;

	if (!onnxnet_given(x, IN_B))
		return 0;
	v = onnxnet_values(x, onnxnet_constant(x, IN_B), (uint64_t)2 * all * n->directions);
	for (d = 0; v && d < n->directions; d++) {
		struct net_direction *to = &n->direction[d];
		const double *from = v + d * 2 * all;

		to->b = mem_array(all, sizeof *v);
		to->a = n->cell == NET_GRU ? mem_array(all, sizeof *v) : NULL;
		if (!to->b || (n->cell == NET_GRU && !to->a)) {
			free(v);
			return err_memory(x->k.e);
		}
		for (g = 0; g < gates; g++)
			for (j = 0; j < u; j++) {
				double w = from[source(n, g) * u + j], r = from[all + source(n, g) * u + j];

				to->b[g * u + j] = to->a ? w : w + r;
				if (to->a)
					to->a[g * u + j] = r;
			}
	}
	free(v);
	return v ? 0 : -1;
}

/* The output is that of all steps (steps, directions, rows, units) or the last one. */
int
onnxnet_recurrent(struct onnxnet *x)
{
	struct net_recurrent n = { .cell = NET_SIMPLE }, *to;
	size_t dims[3];
	struct step *s;

	if (onnxnet_as_stored(x) < 0 || read_cell(x, &n) < 0)
		return -1;
	dims[0] = n.steps;
	dims[1] = n.directions;
	dims[2] = n.units;
	s = keras_recur(&x->k, &n, n.sequences ? 3 : 2, n.sequences ? dims : dims + 1);
	if (!s)
		return -1;
	to = s->more;
	if (prove_state(x, IN_H, to) < 0 || (n.cell == NET_LSTM && prove_state(x, IN_C, to) < 0) ||
	    take_weights(x, to, IN_W, n.inputs) < 0 || take_weights(x, to, IN_R, n.units) < 0 || take_bias(x, to) < 0)
		return -1;
	x->batch = n.sequences ? 2 : 1;
	if (!n.sequences)
		x->x.output = x->x.outputs[1];
	return 0;
}
