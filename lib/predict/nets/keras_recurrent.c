/* Recurrent layers of Keras: gates of LSTM stand in the order i f g o there, of GRU z r n. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/nets/keras.h"

static int
read_cell(const struct keras_net *k, const char *kind, struct net_recurrent *n)
{
	static const char *const names[] = { "SimpleRNN", "LSTM", "GRU" };
	const json_t *gate = json_object_get(k->config, "recurrent_activation");
	unsigned i;

	for (i = 0; i < 3 && strcmp(names[i], kind) != 0; i++)
		;
	if (i == 3)
		return keras_wrong(k, "the layer %.60s is not recurrent", kind);
	n->cell = (enum net_cell)i;
	if (k->ndim != 2)
		return keras_wrong(k, "a row has %zu dimensions, not steps of values", k->ndim);
	if (keras_flag(k, "return_state", false) || keras_flag(k, "time_major", false))
		return keras_wrong(k, "states as output, and steps in front of rows, are not read");
	n->steps = k->dims[0];
	n->inputs = k->dims[1];
	n->sequences = keras_flag(k, "return_sequences", false);
	n->backward = keras_flag(k, "go_backwards", false);
	n->reset_after = n->cell == NET_GRU && keras_flag(k, "reset_after", false);
	if (keras_sizes(k, "units", 1, false, &n->units) < 0 ||
	    keras_function(k, json_object_get(k->config, "activation"), &n->f) < 0 ||
	    (n->cell != NET_SIMPLE && keras_function(k, gate, &n->gate) < 0))
		return -1;
	if (n->f.f == NET_SOFTMAX || n->gate.f == NET_SOFTMAX)
		return keras_wrong(k, "softmax inside of a cell is not read");
	return 0;
}

static int
read_weights(const struct keras_net *k, const char *part, struct net_recurrent *n, unsigned which)
{
	uint64_t gates = (uint64_t)n->units * (n->cell == NET_LSTM ? 4 : n->cell == NET_GRU ? 3 : 1);
	struct net_direction *d = &n->direction[which];

	d->w = keras_variable(k, part, "kernel", 0, n->inputs * gates);
	if (!d->w || !(d->u = keras_variable(k, part, "recurrent_kernel", 1, n->units * gates)))
		return -1;
	if (!keras_flag(k, "use_bias", true))
		return 0;
	d->b = keras_variable(k, part, "bias", 2, gates * (n->reset_after ? 2 : 1));
	if (!d->b || !n->reset_after)
		return d->b ? 0 : -1;
	d->a = mem_array((size_t)gates, sizeof *d->a);
	if (!d->a)
		return err_memory(k->e);
	memcpy(d->a, d->b + gates, (size_t)gates * sizeof *d->a);
	return 0;
}

struct step *
keras_recur(struct keras_net *k, const struct net_recurrent *n, size_t ndim, const size_t *dims)
{
	uint64_t gates = (uint64_t)n->units * (n->cell == NET_LSTM ? 4 : n->cell == NET_GRU ? 3 : 1), work;
	struct step *s;

	if (__builtin_mul_overflow((n->inputs + n->units) * n->directions, gates, &work) ||
	    __builtin_mul_overflow(work, (uint64_t)n->steps, &work))
		work = UINT64_MAX;
	s = keras_work(k, work) < 0 ? NULL : keras_step(k, &net_recurrent, ndim, dims);
	if (!s)
		return NULL;
	s->more = mem_array(1, sizeof *n);
	s->free_more = net_recurrent_free;
	if (!s->more) {
		err_memory(k->e);
		return NULL;
	}
	memcpy(s->more, n, sizeof *n);
	return s;
}

static int
add(struct keras_net *k, const struct net_recurrent *n)
{
	size_t dims[2] = { n->steps, n->units * n->directions };

	return keras_recur(k, n, n->sequences ? 2 : 1, n->sequences ? dims : dims + 1) ? 0 : -1;
}

int
keras_recurrent(struct keras_net *k)
{
	struct net_recurrent n = { .directions = 1 };

	if (read_cell(k, k->kind, &n) < 0 || add(k, &n) < 0)
		return -1;
	return read_weights(k, "cell", k->m->steps[k->m->step_count - 1].more, 0);
}

int
keras_bidirectional(struct keras_net *k)
{
	const json_t *layer = json_object_get(k->config, "layer");
	const char *kind = json_string_value(json_object_get(layer, "class_name"));
	struct net_recurrent n = { .directions = 2 }, *to;

	if (strcmp(keras_text(k, "merge_mode", "concat"), "concat") != 0)
		return keras_wrong(k, "only outputs side by side are read");
	k->config = json_object_get(layer, "config");
	if (read_cell(k, kind ? kind : "?", &n) < 0)
		return -1;
	if (n.backward)
		return keras_wrong(k, "goes backward first, which is not read");
	if (add(k, &n) < 0)
		return -1;
	to = k->m->steps[k->m->step_count - 1].more;
	return read_weights(k, "forward_layer/cell", to, 0) < 0 || read_weights(k, "backward_layer/cell", to, 1) < 0
	       ? -1 : 0;
}
