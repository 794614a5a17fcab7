/* Activations of Keras. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/nets/keras.h"

#define VERSION "keras.version"

static const struct {
	const char *name;
	struct net_activation a;
} functions[] = {
	{ "linear", { NET_LINEAR, 0, 0, 0 } },
	{ "relu", { NET_RELU, 0, HUGE_VAL, 0 } },
	{ "relu6", { NET_RELU, 0, 6, 0 } },
	{ "leaky_relu", { NET_RELU, 0.2, HUGE_VAL, 0 } },
	{ "elu", { NET_ELU, 1, 0, 0 } },
	{ "selu", { NET_SELU, 0, 0, 0 } },
	{ "softplus", { NET_SOFTPLUS, 0, 0, 0 } },
	{ "softsign", { NET_SOFTSIGN, 0, 0, 0 } },
	{ "tanh", { NET_TANH, 0, 0, 0 } },
	{ "sigmoid", { NET_SIGMOID, 0, 0, 0 } },
	{ "hard_sigmoid", { NET_HARD_SIGMOID, 0.2, 0, 0.5 } },
	{ "exponential", { NET_EXP, 0, 0, 0 } },
	{ "swish", { NET_SILU, 0, 0, 0 } },
	{ "silu", { NET_SILU, 0, 0, 0 } },
	{ "gelu", { NET_GELU, 0, 0, 0 } },
	{ "softmax", { NET_SOFTMAX, 0, 0, 0 } },
};

int
keras_function(const struct keras_net *k, const json_t *v, struct net_activation *a)
{
	const char *name = json_string_value(v), *version = model_text(k->w->plan, VERSION);
	size_t i;

	if (json_is_object(v)) {
		name = json_string_value(json_object_get(v, "config"));
		name = name ? name : json_string_value(json_object_get(v, "class_name"));
	}
	name = !v || json_is_null(v) ? "linear" : name ? name : "?";
	for (i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].name, name) == 0) {
			*a = functions[i].a;
			if (a->f == NET_HARD_SIGMOID && version && *version == '3')
				a->slope = 1.0 / 6; /* version 3 has another one */
			return 0;
		}
	return keras_wrong(k, "the activation %s is not known here", name);
}

int
keras_activate(struct keras_net *k, const struct net_activation *a)
{
	struct step *s = a->f == NET_LINEAR ? NULL : keras_step(k, &net_activate, k->ndim, k->dims);

	if (!s)
		return a->f == NET_LINEAR ? 0 : -1;
	s->n = k->dims[k->ndim - 1];
	s->more = mem_array(1, sizeof *a);
	s->free_more = free;
	if (!s->more)
		return err_memory(k->e);
	memcpy(s->more, a, sizeof *a);
	return 0;
}

int
keras_activation(struct keras_net *k, const char *member)
{
	struct net_activation a;

	return keras_function(k, json_object_get(k->config, member), &a) < 0 ? -1 : keras_activate(k, &a);
}

int
keras_named(struct keras_net *k)
{
	return keras_activation(k, "activation");
}

int
keras_relu(struct keras_net *k)
{
	struct net_activation a = { NET_RELU, keras_number(k, "negative_slope", 0),
		keras_number(k, "max_value", HUGE_VAL), 0 };

	if (keras_number(k, "threshold", 0) != 0)
		return keras_wrong(k, "a threshold is not read");
	return keras_activate(k, &a);
}

int
keras_leaky(struct keras_net *k)
{
	double slope = keras_number(k, "alpha", keras_number(k, "negative_slope", 0.3));
	struct net_activation a = { NET_RELU, slope, HUGE_VAL, 0 };

	return keras_activate(k, &a);
}

int
keras_elu(struct keras_net *k)
{
	struct net_activation a = { NET_ELU, keras_number(k, "alpha", 1), 0, 0 };

	return keras_activate(k, &a);
}

int
keras_softmax(struct keras_net *k)
{
	struct net_activation a = { NET_SOFTMAX, 0, 0, 0 };
	double axis = keras_number(k, "axis", -1);

	if (axis != -1 && axis != (double)k->ndim)
		return keras_wrong(k, "the axis is not the last one");
	return keras_activate(k, &a);
}
