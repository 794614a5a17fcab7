#include "merge/layer.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"

/* The digits of the layer in a name: [*from, *to). False if there are none. */
static bool
find_digits(const char *name, size_t *from, size_t *to)
{
	const char *p = name;

	while ((p = strchr(p, '.'))) {
		size_t n = strspn(++p, "0123456789");

		if (n > 0 && n < 10 && p[n] == '.') {
			*from = (size_t)(p - name);
			*to = *from + n;
			return true;
		}
	}
	return false;
}

uint64_t
merge_layer_of(const char *name)
{
	size_t from, to;
	const char *p;
	uint64_t v;

	if (!find_digits(name, &from, &to))
		return MERGE_APART;
	p = name + from;
	return text_digits(&p, &v) < 0 ? MERGE_APART : v;
}

char *
merge_layer_name(const char *name, uint64_t layer, struct err *e)
{
	struct buf b = { 0 };
	size_t from = 0, to = 0;

	find_digits(name, &from, &to);
	buf_put(&b, name, from);
	buf_printf(&b, "%llu", (unsigned long long)layer);
	buf_text(&b, name + to);
	if (buf_string(&b))
		return (char *)b.p;
	buf_free(&b);
	err_memory(e);
	return NULL;
}

/* ---- keys of GGUF ---- */

/* The bytes of an item of a list whose items have a fixed size; 0: they do not. */
static size_t
item_bytes(const struct meta *k)
{
	return k->type.depth == 1 && k->wire ? value_leaf_bytes(k->type.leaf) : 0;
}

/* Layers of other models have no item in the lists of this one. */
static int
check_list(const struct merge_input *in, const char *name, const uint64_t *layers, size_t n,
           struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (layers[i] >= in->layers)
			return err_set(e, ERR_INVALID, in->name, "%s has an item for each of its %llu "
			               "layers, and none for layer %llu of the other model", name,
			               (unsigned long long)in->layers, (unsigned long long)layers[i]);
	return 0;
}

/* Take the items of the new layers. */
static int
gather(const struct merge_input *in, struct model *plan, const struct meta *k,
       const uint64_t *layers, size_t n, struct err *e)
{
	size_t each = item_bytes(k), i;
	struct buf b = { 0 };
	int r;

	if (check_list(in, k->key, layers, n, e) < 0)
		return -1;
	buf_put(&b, k->wire, 4);
	buf_u64(&b, n);
	for (i = 0; i < n; i++)
		buf_put(&b, k->wire + 12 + layers[i] * each, each);
	r = buf_ok(&b) ? model_set_meta(plan, k->key, k->type, b.p, b.n, e) : err_memory(e);
	buf_free(&b);
	return r;
}

static int
change_keys(const struct merge_input *in, const uint64_t *layers, size_t n, struct model *plan,
            struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	const struct model *m = merge_input_plan(in);
	uint8_t wire[4];
	uint64_t count;
	size_t i;

	le32_put(wire, (uint32_t)n);
	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		const char *end = strrchr(k->key, '.');

		if (strncmp(k->key, "general.", 8) == 0 || strncmp(k->key, "tokenizer.", 10) == 0)
			continue;
		if (end && strcmp(end, ".block_count") == 0 && k->wire &&
		    value_u64(k->type, k->wire, k->wire_bytes, &count) == 0) {
			if (model_set_meta(plan, k->key, u32, wire, sizeof wire, e) < 0)
				return -1;
		} else if (item_bytes(k) > 0 && le64(k->wire + 4) == in->layers &&
		           gather(in, plan, k, layers, n, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- config.json ---- */

static int
change_member(json_t *config, const char *name, json_t *v, const struct merge_input *in,
              const uint64_t *layers, size_t n, struct err *e)
{
	static const char *const counts[] = { "num_hidden_layers", "n_layer", "num_layers",
		"n_layers" };
	json_t *list;
	size_t i;

	for (i = 0; i < sizeof counts / sizeof *counts; i++)
		if (strcmp(name, counts[i]) == 0 && json_is_integer(v))
			return json_object_set_new(config, name, json_integer((json_int_t)n)) < 0
				? err_memory(e) : 0;
	if (json_array_size(v) != in->layers || in->layers < 2 || strcmp(name, "architectures") == 0)
		return 0;
	if (check_list(in, name, layers, n, e) < 0)
		return -1;
	list = json_array();
	for (i = 0; i < n; i++)
		if (json_array_append(list, json_array_get(v, layers[i])) < 0)
			break;
	return json_object_set_new(config, name, list) < 0 ? err_memory(e) : 0;
}

/* The config.json of the result so far, which leaves files, or that of the model. */
static json_t *
take_config(const struct merge_input *in, struct subject_files *files, struct err *e)
{
	struct subject_file *f = files->file;
	size_t n = files->count;
	json_t *config;

	while (n > 0 && strcmp(f->name, "config.json") != 0) {
		f++;
		n--;
	}
	if (n == 0)
		return subject_json(&in->subject, "config.json", e);
	config = json_parse_wide(f->bytes.p, f->bytes.n, ERR_CORRUPT, f->name, e);
	free(f->name);
	buf_free(&f->bytes);
	memmove(f, f + 1, (n - 1) * sizeof *f);
	files->count--;
	return config;
}

static int
change_config(const struct merge_input *in, const uint64_t *layers, size_t n,
              struct subject_files *files, struct err *e)
{
	json_t *config = take_config(in, files, e), *copy, *v;
	const char *name;
	int r = 0;

	if (!config)
		return e->code == ERR_NONE ? 0 : -1;
	copy = json_copy(config);
	json_object_foreach(config, name, v)
		if (r == 0)
			r = copy ? change_member(copy, name, v, in, layers, n, e) : err_memory(e);
	json_decref(config);
	if (r < 0) {
		json_decref(copy);
		return -1;
	}
	return subject_add_json(files, "config.json", copy, e);
}

int
merge_layers_apply(const struct merge_input *in, const uint64_t *layers, size_t n,
                   struct model *plan, struct subject_files *files, struct err *e)
{
	return change_keys(in, layers, n, plan, e) < 0 ||
	       change_config(in, layers, n, files, e) < 0 ? -1 : 0;
}
