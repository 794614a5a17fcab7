/* The configuration of a model: the classes of its layers, and what of it would be code. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "core/text.h"
#include "imports/keras/keras.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define CONFIG (16u << 20) /* maximum bytes of a text that is parsed */
#else
#define CONFIG (1u << 16)
#endif
#define DEPTH 256

/* ---- layouts ---- */

/* The weights of a class of layers whose order of dimensions matters. */
static const struct row {
	const char *class, *snake; /* snake: begins the names that Keras gives to such layers */
	const char *weight;
	unsigned variable;         /* its number in version 3 */
	const char *layout;        /* a letter for each dimension */
} rows[] = {
	{ "Dense", "dense", "kernel", 0, "IO" },
	{ "Conv1D", "conv1d", "kernel", 0, "WIO" },
	{ "Conv2D", "conv2d", "kernel", 0, "HWIO" },
	{ "Conv3D", "conv3d", "kernel", 0, "DHWIO" },
	{ "Conv1DTranspose", "conv1d_transpose", "kernel", 0, "WOI" },
	{ "Conv2DTranspose", "conv2d_transpose", "kernel", 0, "HWOI" },
	{ "Conv3DTranspose", "conv3d_transpose", "kernel", 0, "DHWOI" },
	{ "DepthwiseConv1D", "depthwise_conv1d", "depthwise_kernel", 0, "WIM" },
	{ "DepthwiseConv1D", "depthwise_conv1d", "kernel", 0, "WIM" },
	{ "DepthwiseConv2D", "depthwise_conv2d", "depthwise_kernel", 0, "HWIM" },
	{ "DepthwiseConv2D", "depthwise_conv2d", "kernel", 0, "HWIM" },
	{ "SeparableConv1D", "separable_conv1d", "depthwise_kernel", 0, "WIM" },
	{ "SeparableConv1D", "separable_conv1d", "pointwise_kernel", 1, "WIO" },
	{ "SeparableConv2D", "separable_conv2d", "depthwise_kernel", 0, "HWIM" },
	{ "SeparableConv2D", "separable_conv2d", "pointwise_kernel", 1, "HWIO" },
	{ "SimpleRNN", "simple_rnn", "kernel", 0, "IO" },
	{ "SimpleRNN", "simple_rnn", "recurrent_kernel", 1, "IO" },
	{ "GRU", "gru", "kernel", 0, "IO" },
	{ "GRU", "gru", "recurrent_kernel", 1, "IO" },
	{ "LSTM", "lstm", "kernel", 0, "IO" },
	{ "LSTM", "lstm", "recurrent_kernel", 1, "IO" },
};

/* True if a name is the one that Keras makes from a class: itself, or with "_" and a number. */
static bool
is_made_of(const char *name, size_t n, const char *snake)
{
	const size_t k = strlen(snake);
	size_t i;

	if (n < k || memcmp(name, snake, k) != 0)
		return false;
	if (n == k)
		return true;
	for (i = k + 1; i < n; i++)
		if (name[i] < '0' || name[i] > '9')
			return false;
	return name[k] == '_' && n > k + 1;
}

/* True if the layer with this name is of the row's class. */
static bool
is_layer_of(const struct keras *x, const char *name, size_t n, const struct row *row)
{
	json_t *class = x->classes && n < KERAS_NAME ? json_object_getn(x->classes, name, n) : NULL;

	if (class)
		return json_is_string(class) && strcmp(json_string_value(class), row->class) == 0;
	return is_made_of(name, n, row->snake);
}

/* True if the last part of a path is the row's weight: "kernel", "kernel:0", or its number below
 * "vars". */
static bool
is_weight_of(const char *last, size_t n, bool variable, const struct row *row)
{
	const size_t k = strlen(row->weight);

	if (variable)
		return n == 1 && *last == (char)('0' + row->variable);
	return n >= k && memcmp(last, row->weight, k) == 0 && (n == k || last[k] == ':');
}

/* A name with the part of the path before `end`; *n is its length. Returns where it begins. */
static const char *
part_before(const char *path, const char *end, size_t *n)
{
	const char *p = end;

	while (p > path && p[-1] != '/')
		p--;
	*n = (size_t)(end - p);
	return p;
}

static const char *
find_layout(const struct keras *x, const char *layer, size_t layer_bytes, const char *last,
            size_t n, bool variable, unsigned ndim)
{
	const struct row *row;

	for (row = rows; row < rows + sizeof rows / sizeof *rows; row++)
		if (strlen(row->layout) == ndim && is_weight_of(last, n, variable, row) &&
		    is_layer_of(x, layer, layer_bytes, row))
			return row->layout;
	return NULL;
}

const char *
keras_layout(const struct keras *x, const char *path, const char *layer, size_t layer_bytes,
             unsigned ndim)
{
	size_t n, k;
	const char *last = part_before(path, path + strlen(path), &n), *end = last, *p;
	const char *layout = NULL;
	bool variable = false;

	if (end > path) {
		p = part_before(path, end - 1, &k);
		variable = k == 4 && memcmp(p, "vars", 4) == 0;
		end = variable ? p : end;
	}
	if (layer)
		layout = find_layout(x, layer, layer_bytes, last, n, variable, ndim);
	while (!layout && end > path) {
		p = part_before(path, end - 1, &k);
		layout = find_layout(x, p, k, last, n, variable, ndim);
		end = variable ? path : p; /* a variable belongs to the nearest object */
	}
	return layout;
}

/* ---- the configuration ---- */

/* What a walk through the configuration finds. */
struct search {
	struct keras *x;
	uint64_t lambdas, others;
	char lambda[128], other[128]; /* the name of the first one; its class */
};

/* Note the class of a layer with this name. Names of nested models can be the same. */
static int
put_class(struct search *s, const char *name, const char *class)
{
	const json_t *old = json_object_get(s->x->classes, name);
	json_t *new = old && !(json_is_string(old) && strcmp(json_string_value(old), class) == 0)
	                  ? json_null() : json_string(class);

	return json_object_set_new(s->x->classes, name, new) < 0 ? err_memory(s->x->import.err) : 0;
}

/* True if a name of a module or its beginning is `of`. */
static bool
is_of(const char *module, const char *of)
{
	const size_t n = strlen(of);

	return strncmp(module, of, n) == 0 && (module[n] == 0 || module[n] == '.');
}

/* True if an object belongs to another module than Keras. */
static bool
is_other(const json_t *o, const char *class)
{
	const char *module = json_string_value(json_object_get(o, "module"));
	const char *registered = json_string_value(json_object_get(o, "registered_name"));

	return strchr(class, '>') || (registered && strchr(registered, '>')) ||
	       (module && !is_of(module, "keras") && !is_of(module, "builtins"));
}

static void
note_first(uint64_t *count, char to[128], const char *name)
{
	if ((*count)++ == 0)
		text_quote(to, 128, name, strlen(name));
}

/* An object of a class. *code: it is inside a Lambda layer; set if it is one. */
static int
look_at(struct search *s, const json_t *o, bool *code)
{
	const char *class = json_string_value(json_object_get(o, "class_name"));
	const json_t *config = json_object_get(o, "config");
	const char *name = json_string_value(json_object_get(config, "name"));
	bool other;

	if (!class || !config)
		return 0;
	other = is_other(o, class);
	if (other)
		note_first(&s->others, s->other, class);
	if (!*code && (strcmp(class, "Lambda") == 0 || strcmp(class, "__lambda__") == 0)) {
		note_first(&s->lambdas, s->lambda, name ? name : class);
		*code = true;
	}
	return name ? put_class(s, name, other ? "" : class) : 0;
}

static int
search(struct search *s, const json_t *v, bool code, unsigned depth)
{
	const char *key;
	json_t *child;
	size_t i;

	if (depth > DEPTH)
		return 0;
	if (json_is_object(v)) {
		if (look_at(s, v, &code) < 0)
			return -1;
		json_object_foreach((json_t *)(uintptr_t)v, key, child)
			if (search(s, child, code, depth + 1) < 0)
				return -1;
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, child)
			if (search(s, child, code, depth + 1) < 0)
				return -1;
	}
	return 0;
}

static void
tell(const struct search *s)
{
	const struct import *im = &s->x->import;

	if (s->lambdas)
		import_note(im, "%" PRIu64 " Lambda layer%s, the first is %s: code of Python in the "
		            "configuration, which never runs here", s->lambdas,
		            s->lambdas == 1 ? "" : "s", s->lambda);
	if (s->others)
		import_note(im, "%" PRIu64 " object%s of classes outside Keras, the first is %s: only "
		            "weights are read", s->others, s->others == 1 ? "" : "s", s->other);
}

int
keras_config(struct keras *x, const char *text, size_t n)
{
	struct search s = { .x = x };
	struct err e = ERR_INIT;
	json_t *v;
	int r;

	if (!text_utf8(text, n, false)) {
		import_note(&x->import, "left out: the configuration, because it is not text");
		return 0;
	}
	if (import_text(&x->import, KERAS_CONFIG_KEY, text, n) < 0)
		return -1;
	v = n > CONFIG ? NULL : json_parse_wide(text, n, ERR_CORRUPT, "the configuration", &e);
	if (!v) {
		import_note(&x->import, "the configuration is not JSON that can be read, so classes of "
		            "layers are not known");
		return 0;
	}
	if (!x->classes)
		x->classes = json_object();
	r = x->classes ? search(&s, v, false, 0) : err_memory(x->import.err);
	if (r == 0)
		tell(&s);
	json_decref(v);
	return r;
}
