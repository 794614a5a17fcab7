/* Where the tensors of a file are, and its attributes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "imports/keras/keras.h"

/* ---- attributes ---- */

typedef int each_text(void *ctx, const char *p, size_t n);

/* Call `each` for the texts of an attribute: 1 if the object has it, 0, or -1. */
static int
texts_of_one(struct keras *x, const struct hdf5_object *o, const char *name, each_text *each,
             void *ctx)
{
	struct hdf5_attribute a;
	const char *p = "";
	uint64_t i;
	size_t n;
	int r = hdf5_attribute(&x->h5, o, name, &a);

	for (i = 0; r > 0 && i < a.space.count; i++)
		if (hdf5_text(&x->h5, &a, i, &p, &n) < 0 || each(ctx, p, n) < 0)
			return -1;
	return r;
}

/* The same. Keras divides lists of more than 64,512 bytes into attributes NAME0, NAME1, … */
static int
texts_of(struct keras *x, const struct hdf5_object *o, const char *name, each_text *each,
         void *ctx)
{
	char part[64];
	unsigned i;
	int r = texts_of_one(x, o, name, each, ctx);

	if (r != 0)
		return r;
	for (i = 0;; i++) {
		snprintf(part, sizeof part, "%s%u", name, i);
		r = texts_of_one(x, o, part, each, ctx);
		if (r <= 0)
			return r < 0 ? -1 : i > 0;
	}
}

/* An attribute of the model, which is one text, becomes a key. */
static int
add_key(struct keras *x, const char *key, const struct hdf5_attribute *a)
{
	const char *p;
	size_t n;

	if (a->space.count != 1)
		return import_fail(&x->import, ERR_CORRUPT, "has an attribute for %s that is not one text",
		                   key);
	if (hdf5_text(&x->h5, a, 0, &p, &n) < 0)
		return -1;
	if (strcmp(key, KERAS_CONFIG_KEY) == 0)
		return keras_config(x, p, n);
	if (text_utf8(p, n, false))
		return import_text(&x->import, key, p, n);
	import_note(&x->import, "left out: %s, which is not text", key);
	return 0;
}

/* weights: the group of the weights, which may have an attribute that the root lacks; or NULL. */
static int
add_keys(struct keras *x, const struct hdf5_object *root, const struct hdf5_object *weights)
{
	static const struct { const char *name, *key; } rows[] = {
		{ "keras_version", "keras.version" },
		{ "backend", "keras.backend" },
		{ "model_config", KERAS_CONFIG_KEY },
		{ "training_config", "keras.training_config" },
	};
	struct hdf5_attribute a;
	size_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < sizeof rows / sizeof *rows; i++) {
		r = hdf5_attribute(&x->h5, root, rows[i].name, &a);
		if (r == 0 && weights)
			r = hdf5_attribute(&x->h5, weights, rows[i].name, &a);
		if (r > 0)
			r = add_key(x, rows[i].key, &a);
	}
	return r < 0 ? -1 : 0;
}

/* ---- collecting ---- */

/* Add a tensor with the layer and the path below it. */
static int
collect(struct keras *x, const char *name, size_t name_bytes, const char *layer,
        size_t layer_bytes, uint64_t at)
{
	struct keras_tensor *t;

	if (x->count == IMPORT_TENSORS)
		return import_fail(&x->import, ERR_CORRUPT, "has more than %u tensors", IMPORT_TENSORS);
	if (mem_grow(&x->tensors, &x->cap, x->count + 1, sizeof *t) < 0)
		return err_memory(x->import.err);
	t = &x->tensors[x->count];
	*t = (struct keras_tensor){ .at = at, .number = x->count };
	t->name = mem_text(name, name_bytes);
	t->path = mem_array(layer_bytes + name_bytes + 2, 1);
	x->count++;
	if (!t->name || !t->path)
		return err_memory(x->import.err);
	if (layer) {
		memcpy(t->path, layer, layer_bytes);
		t->path[layer_bytes] = '/';
	}
	memcpy(t->path + layer_bytes + (layer != NULL), name, name_bytes);
	return 0;
}

/* Set the layout of the tensor that was added last. */
static int
find_layout(struct keras *x, const struct hdf5_object *o, const char *layer, size_t layer_bytes)
{
	struct keras_tensor *t = &x->tensors[x->count - 1];
	struct hdf5_space s;

	if (hdf5_space(&x->h5, o, &s) < 0)
		return -1;
	t->layout = keras_layout(x, t->name, layer, layer_bytes, s.ndim);
	return 0;
}

/* ---- layers with lists of names ---- */

struct layers {
	struct keras *x;
	const struct hdf5_object *group;
	struct hdf5_object layer;
	const char *name; /* of the layer */
	size_t name_bytes;
	struct buf names; /* of all layers, in the form of a value */
	uint64_t count;
};

static int
check_name(const struct layers *l, const char *p, size_t n)
{
	if (n > 0 && n < KERAS_NAME && text_utf8(p, n, false))
		return 0;
	return import_fail(&l->x->import, ERR_CORRUPT, "has a name of a layer or weight that is empty, "
	                   "too long or not text");
}

static int
put_weight(void *ctx, const char *p, size_t n)
{
	struct layers *l = ctx;
	struct hdf5_object o;
	int r = check_name(l, p, n);

	if (r == 0)
		r = hdf5_find(&l->x->h5, &l->layer, p, n, &o);
	if (r < 0)
		return -1;
	if (r == 0 || !hdf5_is_dataset(&o))
		return import_fail(&l->x->import, ERR_CORRUPT, "has no dataset %.*s, which layer %.*s "
		                   "names", n > 100 ? 100 : (int)n, p,
		                   l->name_bytes > 100 ? 100 : (int)l->name_bytes, l->name);
	if (collect(l->x, p, n, l->name, l->name_bytes, o.at) < 0)
		return -1;
	return find_layout(l->x, &o, l->name, l->name_bytes);
}

static int
put_layer(void *ctx, const char *p, size_t n)
{
	struct layers *l = ctx;
	int r = check_name(l, p, n);

	if (r == 0)
		r = hdf5_find(&l->x->h5, l->group, p, n, &l->layer);
	if (r < 0)
		return -1;
	if (r == 0)
		return import_fail(&l->x->import, ERR_CORRUPT, "has no group of layer %.*s",
		                   n > 100 ? 100 : (int)n, p);
	l->name = p;
	l->name_bytes = n;
	l->count++;
	import_string(&l->names, p, n);
	if (l->names.n > IMPORT_KEYS)
		return import_fail(&l->x->import, ERR_CORRUPT, "has keys of more than %u bytes",
		                   IMPORT_KEYS);
	return texts_of(l->x, &l->layer, "weight_names", put_weight, l) < 0 ? -1 : 0;
}

/* The layers of a group, and the weights of the model itself: 1, 0 if it has no layers, or -1. */
static int
walk_layers(struct keras *x, const struct hdf5_object *group)
{
	static const char own[] = "top_level_model_weights";
	struct layers l = { .x = x, .group = group, .name = own, .name_bytes = sizeof own - 1 };
	struct buf wire = { 0 };
	int r = texts_of(x, group, "layer_names", put_layer, &l);

	if (r > 0) {
		l.name = own;
		l.name_bytes = sizeof own - 1;
		r = hdf5_find(&x->h5, group, own, sizeof own - 1, &l.layer);
		if (r > 0)
			r = texts_of(x, &l.layer, "weight_names", put_weight, &l);
		import_array(&wire, VALUE_STRING, l.count);
		if (l.names.n)
			buf_put(&wire, l.names.p, l.names.n);
		wire.failed |= l.names.failed;
		if (r >= 0)
			r = import_value(&x->import, "keras.layer_names",
			                 (struct value_type){ 1, VALUE_STRING }, &wire) < 0 ? -1 : 1;
	}
	buf_free(&l.names);
	buf_free(&wire);
	return r;
}

/* ---- trees of groups ---- */

struct tree {
	struct keras *x;
	char path[KERAS_NAME];
	size_t n, layer, layer_bytes; /* layer: the place in path */
	unsigned depth;
	bool optimizer;               /* below it */
	const char *vars;             /* the name of the object whose variables these are, or NULL */
	size_t vars_bytes;
};

static int walk_group(struct tree *t, const struct hdf5_object *group);

static int
use_dataset(struct tree *t, const struct hdf5_object *o)
{
	struct keras *x = t->x;

	if (t->optimizer && !x->all) {
		x->optimizer++;
		return 0;
	}
	if (collect(x, t->path, t->n, NULL, 0, o->at) < 0)
		return -1;
	return find_layout(x, o, t->vars, t->vars_bytes);
}

static int
walk_link(void *ctx, const char *name, size_t n, uint64_t at)
{
	struct tree *t = ctx;
	struct keras *x = t->x;
	const size_t before = t->n;
	const bool optimizer = t->optimizer;
	struct hdf5_object o;
	int r;

	if (n == 0 || n + 2 > sizeof t->path - t->n || !text_utf8(name, n, false))
		return import_fail(&x->import, ERR_CORRUPT, "has a name that is empty, too long or not "
		                   "text");
	if (++t->depth > KERAS_DEPTH)
		return import_fail(&x->import, ERR_CORRUPT, "has groups in more than %d levels, or in a "
		                   "circle", KERAS_DEPTH);
	if (t->n > 0)
		t->path[t->n++] = '/';
	memcpy(t->path + t->n, name, n);
	t->n += n;
	t->path[t->n] = 0;
	t->optimizer |= before == 0 && (strcmp(t->path, "optimizer") == 0 ||
	                                strcmp(t->path, "optimizer_weights") == 0);
	r = hdf5_object(&x->h5, at, &o);
	if (r == 0)
		r = hdf5_is_group(&o) ? walk_group(t, &o) : hdf5_is_dataset(&o) ? use_dataset(t, &o) : 0;
	t->depth--;
	t->n = before;
	t->optimizer = optimizer;
	return r;
}

static int
walk_group(struct tree *t, const struct hdf5_object *group)
{
	const char *vars = t->vars;
	const size_t vars_bytes = t->vars_bytes;
	struct hdf5_attribute a;
	int r;

	t->vars = NULL;
	r = hdf5_attribute(&t->x->h5, group, "name", &a);
	if (r > 0 && a.space.count == 1 && (a.type.class == HDF5_TEXT || a.type.class == HDF5_TEXTS))
		r = hdf5_text(&t->x->h5, &a, 0, &t->vars, &t->vars_bytes);
	if (r >= 0)
		r = hdf5_links(&t->x->h5, group, walk_link, t);
	t->vars = vars;
	t->vars_bytes = vars_bytes;
	return r;
}

static int
walk_optimizer(struct keras *x, const struct hdf5_object *root)
{
	struct tree t = { .x = x, .path = "optimizer_weights", .optimizer = true };
	struct hdf5_object o;
	int r;

	t.n = strlen(t.path);
	r = hdf5_find(&x->h5, root, t.path, t.n, &o);
	return r <= 0 ? r : walk_group(&t, &o);
}

/* ---- the file ---- */

int
keras_walk(struct keras *x, const char **form)
{
	struct hdf5_object root, weights;
	struct tree t = { .x = x };
	int r;

	if (hdf5_object(&x->h5, x->h5.root, &root) < 0)
		return -1;
	if (!hdf5_is_group(&root))
		return import_fail(&x->import, ERR_CORRUPT, "has a root that is not a group");
	r = hdf5_find(&x->h5, &root, "model_weights", strlen("model_weights"), &weights);
	if (r < 0 || add_keys(x, &root, r > 0 ? &weights : NULL) < 0)
		return -1;
	*form = r > 0 ? "model" : "weights";
	r = walk_layers(x, r > 0 ? &weights : &root);
	if (r > 0)
		return walk_optimizer(x, &root);
	*form = "variables";
	return r < 0 ? -1 : walk_group(&t, &root);
}
