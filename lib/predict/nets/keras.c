#include "predict/nets/keras.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"

int
keras_wrong(const struct keras_net *k, const char *fmt, ...)
{
	char object[400];
	va_list ap;

	snprintf(object, sizeof object, "%.200s, layer %.80s (%.60s)", k->w->name, k->layer, k->kind);
	va_start(ap, fmt);
	err_vset(k->e, ERR_FORMAT, object, fmt, ap);
	va_end(ap);
	return -1;
}

/* ---- members ---- */

const char *
keras_text(const struct keras_net *k, const char *name, const char *other)
{
	const json_t *v = json_object_get(k->config, name);

	return json_is_string(v) ? json_string_value(v) : other;
}

double
keras_number(const struct keras_net *k, const char *name, double other)
{
	const json_t *v = json_object_get(k->config, name);

	return json_is_number(v) ? json_number_value(v) : other;
}

bool
keras_flag(const struct keras_net *k, const char *name, bool other)
{
	const json_t *v = json_object_get(k->config, name);

	return json_is_boolean(v) ? json_is_true(v) : other;
}

int
keras_sizes(const struct keras_net *k, const char *name, size_t n, bool zero, size_t *to)
{
	const json_t *v = json_object_get(k->config, name), *x;
	size_t i;

	if (json_is_array(v) && json_array_size(v) != n)
		return keras_wrong(k, "%s has %zu numbers, not %zu", name, json_array_size(v), n);
	for (i = 0; i < n; i++) {
		x = json_is_array(v) ? json_array_get(v, i) : v;
		if (!json_is_integer(x) || json_integer_value(x) < !zero || json_integer_value(x) > FOREST_FEATURES)
			return keras_wrong(k, "%s is missing, or not a size", name);
		to[i] = (size_t)json_integer_value(x);
	}
	return 0;
}

/* ---- variables ---- */

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Whether a tensor of version 2 belongs to the layer: "LAYER/...", or "MODEL/LAYER/...". */
static bool
belongs(const struct keras_net *k, const char *name)
{
	size_t n = strlen(k->layer);
	const char *at = name;

	for (; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, k->layer, n) == 0 && at[n] == '/')
			return true;
	}
	return false;
}

/* The number of the tensor of a variable, or -1. */
static int64_t
find(const struct keras_net *k, const char *part, const char *name, unsigned number)
{
	const char *side = strncmp(part, "forward", 7) == 0 ? "/forward_" : strncmp(part, "backward", 8) == 0
	                   ? "/backward_" : "/";
	char path[320], end[80];
	size_t i;

	snprintf(path, sizeof path, "%s/%.60s%svars/%u", k->path, part, *part ? "/" : "", number);
	snprintf(end, sizeof end, "/%.60s:0", name);
	for (i = 0; i < k->w->plan->tensor_count; i++) {
		const char *text = tensor_name(k->w->plan->tensors[i]);

		if (strcmp(text, path) == 0 || (ends_with(text, end) && belongs(k, text) && strstr(text, side)))
			return (int64_t)i;
	}
	return -1;
}

double *
keras_variable(const struct keras_net *k, const char *part, const char *name, unsigned number,
               uint64_t items)
{
	int64_t i = find(k, part, name, number);
	const struct tensor *t = i < 0 ? NULL : k->w->plan->tensors[i];
	const uint8_t *p = t ? k->w->tensors[i] : NULL;
	bool full = t && strcmp(tensor_type(t)->name, "F64") == 0;
	double *v;
	uint64_t j;

	if (!p || (!full && strcmp(tensor_type(t)->name, "F32") != 0)) {
		keras_wrong(k, "the variable %s is missing, or neither F32 nor F64", name);
		return NULL;
	}
	if (tensor_items(t) != items || items > SIZE_MAX) {
		keras_wrong(k, "the variable %s has %" PRIu64 " values, not %" PRIu64, name, tensor_items(t), items);
		return NULL;
	}
	v = mem_array((size_t)items, sizeof *v);
	if (!v)
		err_memory(k->e);
	for (j = 0; v && j < items; j++) {
		union { uint32_t u; float f; } f = { .u = full ? 0 : le32(p + 4 * j) };
		union { uint64_t u; double d; } d = { .u = full ? le64(p + 8 * j) : 0 };

		v[j] = full ? d.d : (double)f.f;
	}
	return v;
}

/* ---- steps ---- */

static int
product(const struct keras_net *k, size_t ndim, const size_t *dims, size_t *to)
{
	size_t i;

	*to = 1;
	for (i = 0; i < ndim; i++)
		if (dims[i] == 0 || dims[i] > FOREST_FEATURES / *to)
			return keras_wrong(k, "a row has no values, or more than %u", FOREST_FEATURES);
		else
			*to *= dims[i];
	return 0;
}

struct step *
keras_step(struct keras_net *k, const struct step_kind *kind, size_t ndim, const size_t *dims)
{
	struct step *s;
	size_t in, out;

	if (product(k, k->ndim, k->dims, &in) < 0 || product(k, ndim, dims, &out) < 0)
		return NULL;
	s = predictor_add_step(k->m);
	if (!s) {
		err_memory(k->e);
		return NULL;
	}
	s->kind = kind;
	s->in = in;
	s->out = out;
	k->ndim = ndim;
	memmove(k->dims, dims, ndim * sizeof *dims);
	return s;
}

int
keras_work(struct keras_net *k, uint64_t work)
{
	if (work <= NET_WORK && (k->work += work) <= NET_WORK)
		return 0;
	return keras_wrong(k, "the network needs more than %" PRIu64 " multiplications for a row", NET_WORK);
}

/* ---- layers without weights ---- */

static int
nothing(struct keras_net *k)
{
	(void)k;
	return 0;
}

static int
flatten(struct keras_net *k)
{
	size_t all;

	if (product(k, k->ndim, k->dims, &all) < 0)
		return -1;
	k->ndim = 1;
	k->dims[0] = all;
	return 0;
}

static int
reshape(struct keras_net *k)
{
	const json_t *v = json_object_get(k->config, "target_shape");
	size_t i, n = json_array_size(v), all, rest = 1, free_one = n, dims[KERAS_SHAPE];

	if (product(k, k->ndim, k->dims, &all) < 0)
		return -1;
	if (n == 0 || n > KERAS_SHAPE)
		return keras_wrong(k, "a shape of %zu dimensions is not read", n);
	for (i = 0; i < n; i++) {
		json_int_t d = json_integer_value(json_array_get(v, i));

		if (d == -1 && free_one == n)
			free_one = i;
		else if (d < 1 || d > FOREST_FEATURES || rest > FOREST_FEATURES / (size_t)d)
			return keras_wrong(k, "the shape is wrong");
		else
			rest *= dims[i] = (size_t)d;
	}
	if (all % rest || (free_one == n && all != rest))
		return keras_wrong(k, "%zu values do not have the shape", all);
	if (free_one < n)
		dims[free_one] = all / rest;
	k->ndim = n;
	memcpy(k->dims, dims, n * sizeof *dims);
	return 0;
}

/* y = x scale + offset. */
static int
rescale(struct keras_net *k)
{
	struct step *s;

	if (!json_is_number(json_object_get(k->config, "scale")))
		return keras_wrong(k, "a scale for each channel is not read");
	s = keras_step(k, &net_scale, k->ndim, k->dims);
	if (!s)
		return -1;
	s->n = 1;
	s->a = mem_array(1, sizeof *s->a);
	s->b = mem_array(1, sizeof *s->b);
	if (!s->a || !s->b)
		return err_memory(k->e);
	s->a[0] = keras_number(k, "offset", 0);
	s->b[0] = keras_number(k, "scale", 1);
	return 0;
}

/* A layer for each step that shares its weights. */
static int distributed(struct keras_net *k);

static const struct {
	const char *name;
	int (*read)(struct keras_net *k);
} kinds[] = {
	{ "InputLayer", nothing }, { "Dropout", nothing }, { "SpatialDropout1D", nothing },
	{ "SpatialDropout2D", nothing }, { "GaussianNoise", nothing }, { "GaussianDropout", nothing },
	{ "AlphaDropout", nothing }, { "ActivityRegularization", nothing }, { "Flatten", flatten },
	{ "Reshape", reshape }, { "Permute", keras_permute }, { "RepeatVector", keras_repeat },
	{ "ZeroPadding1D", keras_pad }, { "ZeroPadding2D", keras_pad }, { "UpSampling1D", keras_repeat },
	{ "UpSampling2D", keras_repeat }, { "Rescaling", rescale }, { "Activation", keras_named },
	{ "ReLU", keras_relu }, { "LeakyReLU", keras_leaky }, { "ELU", keras_elu }, { "Softmax", keras_softmax }, { "Dense", keras_dense },
	{ "TimeDistributed", distributed }, { "Conv1D", keras_conv }, { "Conv2D", keras_conv },
	{ "DepthwiseConv1D", keras_conv }, { "DepthwiseConv2D", keras_conv }, { "SeparableConv1D", keras_conv },
	{ "SeparableConv2D", keras_conv }, { "MaxPooling1D", keras_pool }, { "MaxPooling2D", keras_pool },
	{ "AveragePooling1D", keras_pool }, { "AveragePooling2D", keras_pool },
	{ "GlobalMaxPooling1D", keras_global_pool }, { "GlobalMaxPooling2D", keras_global_pool },
	{ "GlobalAveragePooling1D", keras_global_pool }, { "GlobalAveragePooling2D", keras_global_pool },
	{ "BatchNormalization", keras_norm }, { "Embedding", keras_embedding }, { "SimpleRNN", keras_recurrent },
	{ "LSTM", keras_recurrent }, { "GRU", keras_recurrent }, { "Bidirectional", keras_bidirectional },
};

static int
distributed(struct keras_net *k)
{
	const json_t *layer = json_object_get(k->config, "layer");
	const char *kind = json_string_value(json_object_get(layer, "class_name"));

	if (!kind || strcmp(kind, "Dense") != 0)
		return keras_wrong(k, "holds a layer that is not Dense");
	k->config = json_object_get(layer, "config");
	strcat(k->path, "/layer"); /* path_of leaves room */
	return keras_dense(k);
}

/* ---- a model ---- */

/* The shape of rows from the first layer: of a member with the number of rows in front. */
static int
read_shape(struct keras_net *k, const json_t *v)
{
	size_t i, n = json_array_size(v);

	if (n < 2 || n > KERAS_SHAPE + 1)
		return keras_wrong(k, "rows of %zu dimensions are not read", n ? n - 1 : 0);
	for (i = 1; i < n; i++) {
		json_int_t d = json_integer_value(json_array_get(v, i));

		if (d < 1 || d > FOREST_FEATURES)
			return keras_wrong(k, "the shape of the input is not fixed");
		k->dims[i - 1] = (size_t)d;
	}
	k->ndim = n - 1;
	return 0;
}

static int
take_shape(struct keras_net *k)
{
	static const char *const members[] = { "batch_input_shape", "batch_shape" };
	const json_t *v = NULL;
	size_t i;

	for (i = 0; i < 2 && !json_is_array(v); i++)
		v = json_object_get(k->config, members[i]);
	return json_is_array(v) ? read_shape(k, v) : 0;
}

/* The path of the layer's variables in files of version 3: its class in lower case with underlines, and
 * the number of layers of that class before it. */
static void
path_of(struct keras_net *k, const json_t *layers, size_t at)
{
	const char *p = k->kind;
	size_t i, n = 0, before = 0;
	char text[100];

	for (; *p && n < 80; p++) {
		bool upper = *p >= 'A' && *p <= 'Z';
		bool again = p > k->kind && ((p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= '0' && p[-1] <= '9') ||
		                             (p[1] >= 'a' && p[1] <= 'z'));

		if (upper && again)
			text[n++] = '_';
		text[n++] = (char)(upper ? *p | 0x20 : *p);
	}
	text[n] = 0;
	for (i = 0; i < at; i++) {
		const char *kind = json_string_value(json_object_get(json_array_get(layers, i), "class_name"));

		before += kind && strcmp(kind, k->kind) == 0;
	}
	if (before)
		snprintf(k->path, 140, "layers/%s_%zu", text, before);
	else
		snprintf(k->path, 140, "layers/%s", text);
}

/* Counts the tensors that a layer reads, and takes the name of the last one. */
static void
count_inputs(const json_t *v, unsigned depth, size_t *count, const char **name)
{
	const json_t *x, *history = json_object_get(v, "keras_history");
	const char *key;
	size_t i;

	if (depth > 12)
		return;
	if (json_is_array(v) && json_is_string(json_array_get(v, 0))) { /* ["name", 0, 0, {}] */
		*name = json_string_value(json_array_get(v, 0));
		++*count;
		return;
	}
	if (history) {
		count_inputs(history, depth + 1, count, name);
		return;
	}
	json_array_foreach(v, i, x)
		count_inputs(x, depth + 1, count, name);
	json_object_foreach((json_t *)(uintptr_t)v, key, x)
		count_inputs(x, depth + 1, count, name);
}

/* A layer of a model with inbound_nodes must follow the layer before it, and no other. */
static int
prove_order(const struct keras_net *k, const json_t *layer, const char *before)
{
	const json_t *nodes = json_object_get(layer, "inbound_nodes");
	const char *name = NULL;
	size_t count = 0;

	if (!json_is_array(nodes) || !before)
		return 0;
	count_inputs(nodes, 0, &count, &name);
	if (count == 1 && strcmp(name, before) == 0)
		return 0;
	return keras_wrong(k, count > 1 ? "has several inputs: only sequences of layers are read"
	                                : "does not follow the layer before it");
}

static int
read_layer(struct keras_net *k, const json_t *layers, size_t at, const char *before)
{
	const json_t *layer = json_array_get(layers, at);
	const char *name;
	size_t i;

	k->config = json_object_get(layer, "config");
	k->kind = json_string_value(json_object_get(layer, "class_name"));
	name = json_string_value(json_object_get(k->config, "name"));
	k->layer = name ? name : "?";
	k->kind = k->kind ? k->kind : "?";
	path_of(k, layers, at);
	if ((k->ndim == 0 && take_shape(k) < 0) || prove_order(k, layer, before) < 0)
		return -1;
	if (k->ndim == 0)
		return keras_wrong(k, "the shape of the input is missing");
	if (strcmp(keras_text(k, "data_format", "channels_last"), "channels_last") != 0 && k->ndim > 1)
		return keras_wrong(k, "channels in front are not read");
	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, k->kind) == 0)
			return kinds[i].read(k);
	return keras_wrong(k, "layers of this class are not read");
}

/* The last activation becomes the link, so that a classifier has labels and probabilities. */
static void
link_output(struct predictor *m)
{
	struct step *s = &m->steps[m->step_count - 1];
	const struct net_activation *a = s->more;
	bool binary = s->kind == &net_activate && a->f == NET_SIGMOID && s->out == 1;
	bool classes = s->kind == &net_activate && a->f == NET_SOFTMAX && s->out == s->n && s->n > 1;

	if (m->step_count < 2 || (!binary && !classes))
		return;
	m->task = binary ? PREDICT_BINARY : PREDICT_CLASSES;
	m->link = binary ? LINK_SIGMOID : LINK_SOFTMAX;
	step_free(s);
	m->step_count--;
}

void
keras_finish(struct predictor *m, const char *kind)
{
	m->kind = kind;
	m->form = PREDICT_STEPS;
	m->refuses_nan = true;
	m->sharpness = 1;
	link_output(m);
}

static int
read_layers(struct keras_net *k, const json_t *layers)
{
	const char *before = NULL;
	size_t i, n = json_array_size(layers);

	k->layer = k->kind = "?";
	if (n == 0 || n > KERAS_LAYERS)
		return keras_wrong(k, "the model has %zu layers", n);
	for (i = 0; i < n; i++) {
		if (read_layer(k, layers, i, before) < 0)
			return -1;
		before = k->layer;
	}
	if (k->m->step_count == 0)
		return keras_wrong(k, "the model computes nothing");
	keras_finish(k->m, "network of Keras");
	return 0;
}

int
keras_read(struct predictor *m, const struct weights *w, const char *config, struct err *e)
{
	struct keras_net k = { .m = m, .w = w, .e = e };
	json_t *v = json_parse(config, strlen(config), ERR_CORRUPT, w->name, e);
	const json_t *model = json_object_get(v, "config"), *layers, *shape;
	const char *kind = json_string_value(json_object_get(v, "class_name"));
	int r;

	if (!v)
		return -1;
	layers = json_is_array(model) ? model : json_object_get(model, "layers");
	shape = json_object_get(model, "build_input_shape");
	k.layer = k.kind = kind ? kind : "?";
	r = json_is_array(shape) && json_array_size(shape) > 1 ? read_shape(&k, shape) : 0;
	if (r == 0)
		r = read_layers(&k, layers);
	json_decref(v);
	return r < 0 ? -1 : predictor_finish(m, w->name, e);
}
