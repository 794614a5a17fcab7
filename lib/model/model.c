#include "model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir_name.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

int
model_init(struct model *m, struct err *e)
{
	*m = (struct model){ .licence = MODEL_NONE };
	m->source = json_object();
	m->extra = json_object();
	if (!m->source || !m->extra) {
		model_free(m);
		return err_memory(e);
	}
	return 0;
}

void
model_free(struct model *m)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		free(m->meta[i].key);
		free(m->meta[i].wire);
	}
	for (i = 0; i < m->blob_count; i++) {
		free(m->blobs[i].name);
		free(m->blobs[i].type);
	}
	for (i = 0; i < m->tensor_count; i++)
		tensor_free(m->tensors[i]);
	free(m->meta);
	free(m->blobs);
	free(m->tensors);
	free(m->provs);
	json_decref(m->source);
	json_decref(m->extra);
	free(m->folder);
	*m = (struct model){ .licence = MODEL_NONE };
}

void
model_clear_meta(struct model *m)
{
	for (; m->meta_count > 0; m->meta_count--) {
		free(m->meta[m->meta_count - 1].key);
		free(m->meta[m->meta_count - 1].wire);
	}
	for (; m->blob_count > 0; m->blob_count--) {
		free(m->blobs[m->blob_count - 1].name);
		free(m->blobs[m->blob_count - 1].type);
	}
}

static struct meta *
new_meta(struct model *m, const char *key, size_t key_bytes, struct value_type type,
         struct err *e)
{
	struct meta *k;

	if (mem_grow(&m->meta, &m->meta_cap, m->meta_count + 1, sizeof *m->meta) < 0) {
		err_memory(e);
		return NULL;
	}
	k = &m->meta[m->meta_count];
	*k = (struct meta){ .type = type, .blob = SIZE_MAX };
	if (!(k->key = mem_text(key, key_bytes))) {
		err_memory(e);
		return NULL;
	}
	m->meta_count++;
	return k;
}

int
model_add_meta(struct model *m, const char *key, size_t key_bytes,
               struct value_type type, const uint8_t *wire, size_t wire_bytes,
               struct err *e)
{
	struct meta *k = new_meta(m, key, key_bytes, type, e);

	if (!k)
		return -1;
	k->wire = (uint8_t *)mem_text((const char *)wire, wire_bytes);
	k->wire_bytes = wire_bytes;
	return k->wire ? 0 : err_memory(e);
}

int
model_add_blob(struct model *m, const char *name, const char *type, uint64_t bytes,
               struct err *e)
{
	struct blob *b;

	if (mem_grow(&m->blobs, &m->blob_cap, m->blob_count + 1, sizeof *m->blobs) < 0)
		return err_memory(e);
	b = &m->blobs[m->blob_count++];
	b->name = mem_text(name, strlen(name));
	b->type = mem_text(type, strlen(type));
	b->bytes = bytes;
	return b->name && b->type ? 0 : err_memory(e);
}

int
model_add_meta_blob(struct model *m, const char *key, size_t key_bytes,
                    struct value_type type, uint64_t bytes, struct err *e)
{
	struct meta *k = new_meta(m, key, key_bytes, type, e);
	struct buf name = { 0 };
	int r;

	if (!k)
		return -1;
	buf_text(&name, MODEL_VALUE_NAME);
	buf_put(&name, key, key_bytes);
	k->blob = m->blob_count;
	r = buf_string(&name) ? model_add_blob(m, (char *)name.p, MODEL_VALUE, bytes, e)
	                      : err_memory(e);
	buf_free(&name);
	return r;
}

int
model_add_tensor(struct model *m, struct tensor *t, struct err *e)
{
	if (mem_grow(&m->tensors, &m->tensor_cap, m->tensor_count + 1,
	             sizeof *m->tensors) < 0) {
		tensor_free(t);
		return err_memory(e);
	}
	m->tensors[m->tensor_count++] = t;
	return 0;
}

int
model_add_prov(struct model *m, uint64_t head_bytes, struct err *e)
{
	if (m->prov_count == MODEL_PROVS)
		return err_set(e, ERR_CORRUPT, NULL, "more than %d records of provenance",
		               MODEL_PROVS);
	if (mem_grow(&m->provs, &m->prov_cap, m->prov_count + 1, sizeof *m->provs) < 0)
		return err_memory(e);
	m->provs[m->prov_count++] = head_bytes;
	return 0;
}

static int
copy_lists(struct model *to, const struct model *from, struct err *e)
{
	size_t i;

	for (i = 0; i < from->meta_count; i++) {
		const struct meta *k = &from->meta[i];
		struct meta *n = new_meta(to, k->key, strlen(k->key), k->type, e);

		if (!n)
			return -1;
		n->blob = k->blob;
		n->wire_bytes = k->wire_bytes;
		if (k->wire &&
		    !(n->wire = (uint8_t *)mem_text((char *)k->wire, k->wire_bytes)))
			return err_memory(e);
	}
	for (i = 0; i < from->blob_count; i++)
		if (model_add_blob(to, from->blobs[i].name, from->blobs[i].type,
		                   from->blobs[i].bytes, e) < 0)
			return -1;
	for (i = 0; i < from->tensor_count; i++) {
		struct tensor *t = tensor_copy(from->tensors[i]);

		if (!t)
			return err_memory(e);
		if (model_add_tensor(to, t, e) < 0)
			return -1;
	}
	for (i = 0; i < from->prov_count; i++)
		if (model_add_prov(to, from->provs[i], e) < 0)
			return -1;
	return 0;
}

int
model_copy(struct model *to, const struct model *from, struct err *e)
{
	*to = (struct model){ .licence = from->licence, .signatures = from->signatures,
		.sealed = from->sealed, .holes = from->holes };
	to->source = json_deep_copy(from->source);
	to->extra = json_deep_copy(from->extra);
	model_set_folder(to, from->folder);
	if (!to->source || !to->extra || copy_lists(to, from, e) < 0) {
		model_free(to);
		return err_memory(e);
	}
	return 0;
}

int
model_set_meta(struct model *m, const char *key, struct value_type type,
               const uint8_t *wire, size_t wire_bytes, struct err *e)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		struct meta *k = &m->meta[i];
		uint8_t *copy;

		if (strcmp(k->key, key) != 0)
			continue;
		if (k->blob != SIZE_MAX)
			return err_set(e, ERR_FORMAT, key, "is too long a value to be replaced");
		copy = (uint8_t *)mem_text((const char *)wire, wire_bytes);
		if (!copy)
			return err_memory(e);
		free(k->wire);
		k->type = type;
		k->wire = copy;
		k->wire_bytes = wire_bytes;
		return 0;
	}
	return model_add_meta(m, key, strlen(key), type, wire, wire_bytes, e);
}

void
model_unset_meta(struct model *m, const char *key)
{
	const struct meta *found = model_find(m, key);
	size_t at;

	if (!found || found->blob != SIZE_MAX)
		return;
	at = (size_t)(found - m->meta);
	free(m->meta[at].key);
	free(m->meta[at].wire);
	m->meta_count--;
	memmove(m->meta + at, m->meta + at + 1, (m->meta_count - at) * sizeof *m->meta);
}

int
model_put_meta(struct model *m, const char *key, struct value_type type,
               const uint8_t *wire, size_t wire_bytes, struct err *e)
{
	const struct meta *found = model_find(m, key);

	if (found && found->blob != SIZE_MAX)
		return err_set(e, ERR_FORMAT, key, "is too long a value to be replaced");
	model_unset_meta(m, key);
	return model_add_meta(m, key, strlen(key), type, wire, wire_bytes, e);
}

/* Update a list in source that names tensors by position: remove the dropped tensors and
 * renumber the rest. */
static int
renumber(struct model *m, const char *member, const bool *keep, const size_t *now,
         size_t count, struct err *e)
{
	json_t *old = json_object_get(m->source, member), *list;
	size_t i;

	if (!json_is_array(old))
		return 0;
	if (!(list = json_array()))
		return err_memory(e);
	for (i = 0; i < json_array_size(old); i++) {
		uint64_t at;

		if (json_value_u64(json_array_get(old, i), &at) < 0 || at >= count ||
		    !keep[at])
			continue;
		if (json_array_append_new(list, json_integer((json_int_t)now[at])) < 0) {
			json_decref(list);
			return err_memory(e);
		}
	}
	return model_source_set(m, member, list, e);
}

int
model_keep(struct model *m, const bool *keep, struct err *e)
{
	size_t i, n = 0, *now = mem_array(m->tensor_count, sizeof *now);
	int r;

	if (!now)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++)
		now[i] = keep[i] ? n++ : 0;
	r = renumber(m, "index_order", keep, now, m->tensor_count, e);
	for (i = n = 0; i < m->tensor_count; i++)
		if (keep[i])
			m->tensors[n++] = m->tensors[i];
		else
			tensor_free(m->tensors[i]);
	m->tensor_count = n;
	free(now);
	return r;
}

static int
by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Check that count names are unique. Sorts the pointers in place. */
static int
unique(const char **names, size_t count, const char *what, const char *where,
       struct err *e)
{
	char quoted[128];
	size_t i;

	qsort(names, count, sizeof *names, by_text);
	for (i = 1; i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return err_set(e, ERR_CORRUPT, where, "%s %s occurs twice", what,
			               text_quote(quoted, sizeof quoted, names[i],
			                          strlen(names[i])));
	return 0;
}

/* Check that exactly the blobs of values have the names of values: a container that keeps
 * values apart from blobs rebuilds these names. */
static int
check_blob_names(const struct model *m, const char *where, struct err *e)
{
	size_t i, prefix = strlen(MODEL_VALUE_NAME);

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		const char *name = k->blob != SIZE_MAX ? m->blobs[k->blob].name : NULL;

		if (name && (strncmp(name, MODEL_VALUE_NAME, prefix) != 0 ||
		             strcmp(name + prefix, k->key) != 0))
			return err_set(e, ERR_CORRUPT, where, "the value of %.200s lies in a blob "
			               "of another name", k->key);
	}
	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0 &&
		    strncmp(m->blobs[i].name, MODEL_VALUE_NAME, prefix) == 0)
			return err_set(e, ERR_CORRUPT, where, "a side file has the name of a value, "
			               "%.200s", m->blobs[i].name);
	return 0;
}

static int
check_blobs(const struct model *m, const char *where, struct err *e)
{
	size_t i, values = 0;

	for (i = 0; i < m->meta_count; i++)
		if (m->meta[i].blob != SIZE_MAX && m->meta[i].blob != values++)
			return err_set(e, ERR_CORRUPT, where,
			               "its blobs are not in the order of their keys");
	for (i = 0; i < m->blob_count; i++)
		if ((strcmp(m->blobs[i].type, MODEL_VALUE) == 0) != (i < values))
			return err_set(e, ERR_CORRUPT, where,
			               "a blob holds a value that no key names");
	return values <= m->blob_count
	           ? 0
	           : err_set(e, ERR_CORRUPT, where, "a key names a blob that is not there");
}

int
model_check(const struct model *m, const char *where, struct err *e)
{
	size_t i, most = m->tensor_count;
	const char **names;
	int r;

	most = most < m->meta_count ? m->meta_count : most;
	most = most < m->blob_count ? m->blob_count : most;
	for (i = 0; i < m->meta_count; i++)
		if (!*m->meta[i].key || !text_utf8(m->meta[i].key, strlen(m->meta[i].key), false))
			return err_set(e, ERR_CORRUPT, where, "a metadata key is not UTF-8 text");
	if (check_blobs(m, where, e) < 0)
		return -1;
	names = mem_array(most, sizeof *names);
	if (!names)
		return err_memory(e);
	for (i = 0; i < m->meta_count; i++)
		names[i] = m->meta[i].key;
	r = unique(names, m->meta_count, "metadata key", where, e);
	for (i = 0; i < m->blob_count; i++)
		names[i] = m->blobs[i].name;
	if (r == 0)
		r = unique(names, m->blob_count, "blob", where, e);
	for (i = 0; i < m->tensor_count; i++)
		names[i] = tensor_name(m->tensors[i]);
	if (r == 0)
		r = unique(names, m->tensor_count, "tensor", where, e);
	free(names);
	return r < 0 ? -1 : check_blob_names(m, where, e);
}

const struct meta *
model_find(const struct model *m, const char *key)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		if (strcmp(m->meta[i].key, key) == 0)
			return &m->meta[i];
	return NULL;
}

int
model_u64(const struct model *m, const char *key, uint64_t *v)
{
	const struct meta *k = model_find(m, key);

	return k && k->wire ? value_u64(k->type, k->wire, k->wire_bytes, v) : -1;
}

const char *
model_text(struct model *m, const char *key)
{
	const struct meta *k = model_find(m, key);

	return k ? meta_text(k) : NULL;
}

const char *
meta_text(const struct meta *k)
{
	size_t n;

	/* A terminator follows the wire bytes in memory (mem_text). */
	return k->wire ? value_string(k->type, k->wire, k->wire_bytes, &n) : NULL;
}

int
model_source_u64(const struct model *m, const char *name, uint64_t *v)
{
	return json_member_u64(m->source, name, v);
}

const char *
model_source_text(const struct model *m, const char *name)
{
	const char *s = NULL;

	return json_member_text(m->source, name, &s) < 0 ? NULL : s;
}

bool
model_source_is(const struct model *m, const char *format)
{
	const char *s = model_source_text(m, "format");

	return s && !strcmp(s, format);
}

int
model_source_set(struct model *m, const char *name, json_t *value, struct err *e)
{
	if (!value || json_object_set_new(m->source, name, value) < 0)
		return err_memory(e);
	return 0;
}

void
model_set_folder(struct model *m, const char *path)
{
	char *name = path ? dir_last(path) : NULL;

	if (name && !text_utf8(name, strlen(name), false)) {
		free(name);
		name = NULL;
	}
	free(m->folder);
	m->folder = name;
}

const json_t *
model_config(const struct model *m)
{
	const json_t *o = json_object_get(m->source, MODEL_CONFIG);

	if (m->signatures || model_find(m, "general.architecture") || !json_is_object(o))
		return NULL;
	return o;
}

const char *
model_architecture(const struct model *m, size_t *n)
{
	const struct meta *k = model_find(m, "general.architecture");
	const char *s = NULL;

	if (k && k->wire)
		s = value_string(k->type, k->wire, k->wire_bytes, n);
	else if (json_member_text(model_config(m), "model_type", &s) == 0)
		*n = strlen(s);
	return s && *n > 0 ? s : NULL;
}

static int
by_name(const void *a, const void *b, void *m)
{
	const struct model *model = m;

	return strcmp(tensor_name(model->tensors[*(const size_t *)a]),
	              tensor_name(model->tensors[*(const size_t *)b]));
}

size_t *
model_tensors_by_name(const struct model *m, struct err *e)
{
	size_t i, *order = mem_array(m->tensor_count, sizeof *order);
	void *context;

	if (!order) {
		err_memory(e);
		return NULL;
	}
	for (i = 0; i < m->tensor_count; i++)
		order[i] = i;
	memcpy(&context, &m, sizeof context);
	qsort_r(order, m->tensor_count, sizeof *order, by_name, context);
	return order;
}

size_t
model_find_tensor(const struct model *m, const size_t *by_name, const char *name)
{
	size_t low = 0, high = m->tensor_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name, tensor_name(m->tensors[by_name[mid]]));

		if (c == 0)
			return by_name[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return SIZE_MAX;
}

size_t *
model_order(const json_t *list, size_t n, struct err *e)
{
	size_t i, *order = mem_array(n, sizeof *order);
	bool *used = mem_array(n, sizeof *used), usable = json_array_size(list) == n;

	if (!order || !used) {
		free(order);
		free(used);
		err_memory(e);
		return NULL;
	}
	for (i = 0; usable && i < n; i++) {
		uint64_t at;

		usable = json_value_u64(json_array_get(list, i), &at) == 0 && at < n &&
		         !used[at];
		if (usable) {
			order[i] = (size_t)at;
			used[at] = true;
		}
	}
	for (i = 0; !usable && i < n; i++)
		order[i] = i;
	free(used);
	return order;
}
