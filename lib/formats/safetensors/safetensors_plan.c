#include "formats/safetensors/safetensors_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "stream/plan.h"

#define FRAMES 1024 /* maximum number of prov frames, and of sign frames */

/* ---- keys of __metadata__ ---- */

static int
by_name(const void *a, const void *b)
{
	const struct safetensors_key *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

int
safetensors_sort_keys(struct safetensors *s)
{
	struct safetensors_header *h = &s->header;
	size_t i;

	s->sorted = mem_array(h->key_count, sizeof *s->sorted);
	if (!s->sorted)
		return err_memory(s->reader.err);
	for (i = 0; i < h->key_count; i++)
		s->sorted[i] = &h->keys[i];
	qsort(s->sorted, h->key_count, sizeof *s->sorted, by_name);
	for (i = 1; i < h->key_count; i++)
		if (strcmp(s->sorted[i - 1]->name, s->sorted[i]->name) == 0)
			return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
			               "metadata key %.100s occurs twice", s->sorted[i]->name);
	return 0;
}

struct safetensors_key *
safetensors_find(struct safetensors *s, const char *prefix, const char *name)
{
	struct safetensors_key probe, *key = &probe, **at;
	struct buf b = { 0 };

	buf_text(&b, prefix);
	buf_text(&b, name);
	probe.name = (char *)(uintptr_t)buf_string(&b);
	at = probe.name ? bsearch(&key, s->sorted, s->header.key_count, sizeof key, by_name)
	                : NULL;
	buf_free(&b);
	if (at)
		(*at)->used = true;
	return at ? *at : NULL;
}

int
safetensors_bad(struct safetensors *s, const char *key)
{
	return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
	               "metadata key %.100s, which is one of ours, has a value that is not",
	               key);
}

/* Append the whole value of a key to b. */
static int
recall(struct safetensors *s, const struct safetensors_key *k, struct buf *b)
{
	uint8_t *to = buf_room(b, k->bytes);

	if (!to)
		return err_memory(s->reader.err);
	b->n += k->bytes;
	if (!k->text)
		return spool_get(&s->header.spool, k->at, to, k->bytes, s->reader.err);
	if (k->bytes)
		memcpy(to, k->text, k->bytes);
	return 0;
}

json_t *
safetensors_json_of(struct safetensors *s, const char *prefix, const char *name, bool *absent)
{
	const struct safetensors_key *k = safetensors_find(s, prefix, name);
	struct buf b = { 0 };
	json_t *v = NULL;

	*absent = !k;
	if (k && recall(s, k, &b) == 0)
		v = json_parse_any(b.p, b.n, ERR_CORRUPT, k->name, s->reader.err);
	buf_free(&b);
	return v;
}

/* ---- blobs ---- */

static int
add_blob(struct safetensors *s, const struct safetensors_key *k, bool is_text)
{
	if (mem_grow(&s->blobs, &s->blob_cap, s->blob_count + 1, sizeof *s->blobs) < 0 ||
	    mem_grow(&s->is_text, &s->text_cap, s->blob_count + 1, sizeof *s->is_text) < 0)
		return err_memory(s->reader.err);
	s->blobs[s->blob_count] = k;
	s->is_text[s->blob_count++] = is_text;
	return 0;
}

/* Append a row to the plan's list of blobs; k holds the bytes. */
static int
list_blob(struct safetensors *s, json_t *blobs, const char *name, const char *type,
          const struct safetensors_key *k, bool is_text)
{
	json_t *row = json_pack("[s,s,o]", name, type,
	                        json_from_u64(k->bytes + (is_text ? 8 : 0)));

	if (json_array_append_new(blobs, row) < 0)
		return err_memory(s->reader.err);
	return add_blob(s, k, is_text);
}

/* ---- the typed list ---- */

/* Add the value to the row of a string, or a blob if the value is too long. */
static int
complete(struct safetensors *s, json_t *row, const struct safetensors_key *k,
         json_t *blobs)
{
	struct buf name = { 0 };
	int r;

	if (k->text && k->bytes + 8 <= VALUE_INLINE_BYTES) {
		r = json_array_append_new(row, json_stringn(k->text, k->bytes));
		return r < 0 ? err_memory(s->reader.err) : 0;
	}
	buf_printf(&name, "value:%s", k->name);
	if (buf_string(&name) &&
	    json_array_append_new(row, json_pack("{s:s}", "blob", (char *)name.p)) == 0)
		r = list_blob(s, blobs, (char *)name.p, MODEL_VALUE, k, true);
	else
		r = err_memory(s->reader.err);
	buf_free(&name);
	return r;
}

/* Read one row of apr.metadata. */
static int
read_row(struct safetensors *s, json_t *row, json_t *blobs)
{
	const char *key = json_string_value(json_array_get(row, 0));
	const char *type = json_string_value(json_array_get(row, 1)), *blob;
	json_t *value = json_array_get(row, 2);
	const struct safetensors_key *k;

	if (!key || !type || json_array_size(row) < 2)
		return safetensors_bad(s, SAFETENSORS_LIST);
	if (!value) {
		if (strcmp(type, "string") != 0 || safetensors_is_ours(key) ||
		    !(k = safetensors_find(s, key, "")))
			return safetensors_bad(s, SAFETENSORS_LIST);
		return complete(s, row, k, blobs);
	}
	if (!json_is_object(value))
		return 0;
	if (json_member_text(value, "blob", &blob) < 0 ||
	    !(k = safetensors_find(s, SAFETENSORS_BLOB, blob)))
		return safetensors_bad(s, SAFETENSORS_LIST);
	return list_blob(s, blobs, blob, MODEL_VALUE, k, false);
}

/* Add the keys that no row names. In a file of another program, these are all keys. */
static int
add_rows(struct safetensors *s, json_t *rows, json_t *blobs)
{
	size_t i;

	for (i = 0; i < s->header.key_count; i++) {
		struct safetensors_key *k = &s->header.keys[i];
		json_t *row;

		if (k->used || safetensors_is_ours(k->name))
			continue;
		k->used = true;
		row = json_pack("[s,s]", k->name, "string");
		if (json_array_append_new(rows, row) < 0)
			return err_memory(s->reader.err);
		if (complete(s, row, k, blobs) < 0)
			return -1;
	}
	return 0;
}

static int
read_list(struct safetensors *s, json_t *plan, json_t *blobs)
{
	bool absent;
	json_t *rows = safetensors_json_of(s, SAFETENSORS_LIST, "", &absent), *row;
	size_t i;

	if (absent)
		rows = json_array();
	if (json_object_set_new(plan, "metadata", rows) < 0)
		return err_memory(s->reader.err);
	if (!json_is_array(rows))
		return safetensors_bad(s, SAFETENSORS_LIST);
	json_array_foreach(rows, i, row)
		if (read_row(s, row, blobs) < 0)
			return -1;
	return add_rows(s, rows, blobs);
}

/* Read the list of side files, which gives their order. */
static int
read_files(struct safetensors *s, json_t *blobs)
{
	bool absent;
	json_t *list = safetensors_json_of(s, SAFETENSORS_BLOBS, "", &absent), *row;
	size_t i;
	int r = 0;

	if (absent)
		return 0;
	if (!json_is_array(list))
		r = safetensors_bad(s, SAFETENSORS_BLOBS);
	json_array_foreach(list, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		const char *type = json_string_value(json_array_get(row, 1));
		const struct safetensors_key *k = NULL;

		if (r < 0)
			break;
		if (name && type && json_array_size(row) == 2)
			k = safetensors_find(s, SAFETENSORS_BLOB, name);
		r = k ? list_blob(s, blobs, name, type, k, false) : safetensors_bad(s, SAFETENSORS_BLOBS);
	}
	json_decref(list);
	return r;
}

/* ---- prov and sign ---- */

/* Read the frames, which are numbered from 0. head: maximum bytes of JSON at the beginning. */
static int
read_frames(struct safetensors *s, const char *prefix, size_t head, struct buf **list,
            size_t *count, size_t *cap)
{
	const struct safetensors_key *k;
	struct err *e = s->reader.err;
	char number[24] = "0";
	json_t *json;
	struct buf *b;

	for (; (k = safetensors_find(s, prefix, number)); snprintf(number, sizeof number, "%zu", *count)) {
		if (*count == FRAMES)
			return safetensors_bad(s, k->name);
		if (mem_grow(list, cap, *count + 1, sizeof **list) < 0)
			return err_memory(e);
		b = &(*list)[(*count)++];
		if (recall(s, k, b) < 0)
			return -1;
		json = json_parse(b->p, b->n < head ? b->n : head, ERR_CORRUPT, k->name, e);
		json_decref(json);
		if (!json)
			return -1;
	}
	return 0;
}

static int
read_late(struct safetensors *s, json_t *plan)
{
	json_t *provs = json_array();
	size_t i;

	if (json_object_set_new(plan, "provenance", provs) < 0)
		return err_memory(s->reader.err);
	if (read_frames(s, SAFETENSORS_PROV, MODEL_PROV_HEAD, &s->provs, &s->prov_count,
	                &s->prov_cap) < 0 ||
	    read_frames(s, SAFETENSORS_SIGN, MODEL_SIGN_HEAD, &s->signs, &s->sign_count,
	                &s->sign_cap) < 0)
		return -1;
	for (i = 0; i < s->prov_count; i++)
		if (json_array_append_new(provs, json_from_u64(s->provs[i].n)) < 0)
			return err_memory(s->reader.err);
	return json_object_set_new(plan, "signatures", json_from_u64(s->sign_count)) < 0
	           ? err_memory(s->reader.err) : 0;
}

int
safetensors_prove_signs(const struct source *source, const struct model *m,
                        struct err *e)
{
	const struct safetensors *s = (const struct safetensors *)source;
	uint64_t bytes = MODEL_SIGN_HEAD + model_sign_body(m);
	size_t i;

	for (i = 0; i < s->sign_count; i++)
		if (s->signs[i].n != bytes)
			return err_set(e, ERR_CORRUPT, s->reader.name,
			               SAFETENSORS_SIGN "%zu has %zu bytes, but this model's "
			               "signatures have %" PRIu64, i, s->signs[i].n, bytes);
	return 0;
}

/* ---- the plan without its tensors ---- */

static int
read_source(struct safetensors *s, json_t *plan)
{
	bool absent;
	json_t *source = safetensors_json_of(s, SAFETENSORS_SOURCE, "", &absent);

	if (absent)
		source = json_pack("{s:s}", "format", format_safetensors.name);
	else if (source && !json_is_object(source)) {
		json_decref(source);
		return safetensors_bad(s, SAFETENSORS_SOURCE);
	}
	if (!source)
		return err_memory(s->reader.err);
	if (absent &&
	    safetensors_style_set(&s->header.style, s->header.key_count > 0, source) < 0) {
		json_decref(source);
		return err_memory(s->reader.err);
	}
	return json_object_set_new(plan, "source", source) < 0
	           ? err_memory(s->reader.err) : 0;
}

static int
fill_plan(struct safetensors *s, json_t *plan)
{
	json_t *blobs = json_array();

	if (json_object_set_new(plan, "blobs", blobs) < 0)
		return err_memory(s->reader.err);
	if (read_source(s, plan) < 0 || read_list(s, plan, blobs) < 0 ||
	    read_files(s, blobs) < 0 || read_late(s, plan) < 0)
		return -1;
	s->licence = safetensors_find(s, SAFETENSORS_LICENCE, "");
	if (s->licence &&
	    json_object_set_new(plan, "licence", json_from_u64(s->licence->bytes)) < 0)
		return err_memory(s->reader.err);
	return plan_from_json(&s->plan, plan, false, s->reader.name, s->reader.err);
}

int
safetensors_read_plan(struct safetensors *s)
{
	json_t *plan = json_pack("{s:i}", "version", PLAN_VERSION);
	int r = plan ? fill_plan(s, plan) : err_memory(s->reader.err);

	json_decref(plan);
	return r;
}
