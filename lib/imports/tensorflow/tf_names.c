/* Names: what variables of a checkpoint are called, and which of them belong to training. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "imports/keras/keras.h"
#include "imports/tensorflow/tensorflow.h"

/* ---- variables of training ---- */

/* True if a part of the path, between slashes, has this name. */
static bool
has_part(const char *path, const char *name)
{
	const size_t n = strlen(name);
	const char *p = path;

	for (; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
		if (strncmp(p, name, n) == 0 && (p[n] == '/' || p[n] == 0))
			return true;
	return false;
}

/* True if a name ends in one of these, perhaps with "_" and a number behind it. *before: bytes
 * before it. */
static bool
ends_in(const char *name, size_t n, const char *const *list, size_t *before)
{
	size_t end = n, k;

	while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	end = end < n && end > 0 && name[end - 1] == '_' ? end - 1 : n;
	for (; *list; list++) {
		k = strlen(*list);
		if (end >= k && memcmp(name + end - k, *list, k) == 0) {
			*before = end - k;
			return true;
		}
	}
	return false;
}

/* Version 1 puts the variables of its optimizers beside those of the model. */
static bool
is_slot(const struct tensorflow *x, const struct tf_entry *t)
{
	static const char *const slots[] = { "/Adam", "/Momentum", "/RMSProp", "/Adagrad", "/Adadelta",
		"/Ftrl", "/AdamW", "/AdamWeightDecay", "/LAMB", "/adam_m", "/adam_v", "/Adafactor", NULL };
	static const char *const powers[] = { "beta1_power", "beta2_power", NULL };
	size_t before;

	if (t->ndim == 0 && ends_in(t->key, t->key_bytes, powers, &before))
		return before == 0 || t->key[before - 1] == '/';
	return ends_in(t->key, t->key_bytes, slots, &before) && tf_find(x, t->key, before);
}

static bool
is_training(const struct tensorflow *x, const struct tf_entry *t)
{
	static const char *const parts[] = { "optimizer", "_optimizer", "keras_api", ".OPTIMIZER_SLOT",
		"save_counter" };
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++)
		if (has_part(t->key, parts[i]))
			return true;
	return is_slot(x, t);
}

/* ---- names ---- */

static char *
path_of(const struct tf_entry *t)
{
	static const char value[] = "/.ATTRIBUTES/VARIABLE_VALUE";
	const size_t n = sizeof value - 1;

	return t->key_bytes > n && strcmp(t->key + t->key_bytes - n, value) == 0
	       ? mem_text(t->key, t->key_bytes - n) : mem_text(t->key, t->key_bytes);
}

static int
by_name(const void *a, const void *b)
{
	const struct tf_entry *const *s = a, *const *t = b;

	return strcmp((*s)->as, (*t)->as);
}

/* Gives variables of the same name another one. */
static int
rename_equal(struct tf_entry **order, size_t n, char *(*make)(const struct tf_entry *t))
{
	size_t i, k, end;

	qsort(order, n, sizeof *order, by_name);
	for (i = 0; i < n; i = end) {
		for (end = i + 1; end < n && by_name(&order[i], &order[end]) == 0; end++)
			;
		for (k = i; end > i + 1 && k < end; k++) {
			free(order[k]->as);
			if (!(order[k]->as = make(order[k])))
				return -1;
		}
	}
	return 0;
}

static char *
key_of(const struct tf_entry *t)
{
	return mem_text(t->key, t->key_bytes);
}

int
tf_name(struct tensorflow *x)
{
	struct tf_entry **order = mem_array(x->entry_count, sizeof *order), *t;
	size_t i, n = 0;
	int r = order ? 0 : -1;

	for (i = 0; r == 0 && i < x->entry_count; i++) {
		t = &x->entries[i];
		if (!t->left_out && !x->all && is_training(x, t)) {
			t->left_out = true;
			x->training++;
		}
		if (t->left_out)
			continue;
		t->as = t->name.p ? mem_text(t->name.p, t->name.n) : path_of(t);
		r = t->as ? 0 : -1;
		order[n++] = t;
	}
	if (r == 0)
		r = rename_equal(order, n, path_of);
	if (r == 0)
		r = rename_equal(order, n, key_of);
	free(order);
	return r < 0 ? err_memory(x->import.err) : 0;
}

/* ---- layouts and paths ---- */

/* The layout that a name tells: that of a layer of Keras, or of a kernel by any other name. */
static const char *
layout_of(const char *name, unsigned ndim)
{
	static const struct keras unknown;
	static const struct { const char *last, *layouts[6]; } rows[] = {
		{ "kernel", { [2] = "IO", [3] = "WIO", [4] = "HWIO", [5] = "DHWIO" } },
		{ "weights", { [2] = "IO", [4] = "HWIO" } },
		{ "depthwise_kernel", { [3] = "WIM", [4] = "HWIM" } },
		{ "depthwise_weights", { [4] = "HWIM" } },
		{ "pointwise_kernel", { [3] = "WIO", [4] = "HWIO" } },
		{ "recurrent_kernel", { [2] = "IO" } },
	};
	const char *layout = keras_layout(&unknown, name, NULL, 0, ndim), *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name;
	size_t i;

	for (i = 0; !layout && ndim < 6 && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].last, last) == 0 && !strstr(name, "transpose"))
			layout = rows[i].layouts[ndim];
	return layout;
}

int
tf_tell_entry(struct tensorflow *x, const struct tf_entry *t)
{
	char *path = path_of(t);
	int r;

	if (!path)
		return err_memory(x->import.err);
	r = tf_relate(x, t->as, strcmp(path, t->as) != 0 ? path : NULL, layout_of(t->as, t->ndim),
	              t->type);
	free(path);
	return r;
}
