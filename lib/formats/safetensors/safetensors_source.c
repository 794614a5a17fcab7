#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/safetensors/safetensors.h"
#include "model/layout.h"
#include "stream/plan.h"

#define PIECE (1u << 18) /* bytes at once from the spool */
#define FRAMES 1024      /* prov or sign, at most */

struct safetensors {
	struct source source;
	struct reader reader;
	struct model plan;
	struct safetensors_header header;
	struct safetensors_key **sorted; /* header.keys by name */

	/* The values of keys: of each blob of the plan, and its head where the blob
	 * is a string, which in wire form begins with its length. */
	const struct safetensors_key **blobs;
	bool *is_text;
	size_t blob_count, blob_cap, text_cap;
	const struct safetensors_key *licence;
	struct buf *provs, *signs;
	size_t prov_count, prov_cap, sign_count, sign_cap;

	uint64_t *offsets;   /* of the plan's tensors, in the data */
	uint64_t data_at, data_bytes;

	/* What is being sent. */
	size_t blob, tensor, prov, sign;
	bool licence_sent;
	enum { FROM_FILE, FROM_KEY, FROM_MEMORY } from;
	uint8_t head[8];     /* of a string, before its text */
	bool head_waits;
	const struct safetensors_key *key; /* FROM_KEY */
	const uint8_t *memory;             /* FROM_MEMORY */
	uint64_t left;       /* of the body */
	struct buf piece;
};

/* ---- keys of __metadata__ ---- */

static int
by_name(const void *a, const void *b)
{
	const struct safetensors_key *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int
sort_keys(struct safetensors *s)
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

/* The key of this name, which is used thereby, or NULL. */
static struct safetensors_key *
find(struct safetensors *s, const char *prefix, const char *name)
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

static int
bad(struct safetensors *s, const char *key)
{
	return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
	               "metadata key %.100s, which is one of ours, has a value that is not",
	               key);
}

/* The whole value in memory, appended to b. */
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

/* The value of a key as JSON, or NULL; *absent tells why. */
static json_t *
json_of(struct safetensors *s, const char *prefix, const char *name, bool *absent)
{
	const struct safetensors_key *k = find(s, prefix, name);
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

/* A row of the plan's list of blobs; k holds its bytes. */
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

/* Give the row of a string its value, or a blob where it is too long. */
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

/* One row of apr.metadata. */
static int
read_row(struct safetensors *s, json_t *row, json_t *blobs)
{
	const char *key = json_string_value(json_array_get(row, 0));
	const char *type = json_string_value(json_array_get(row, 1)), *blob;
	json_t *value = json_array_get(row, 2);
	const struct safetensors_key *k;

	if (!key || !type || json_array_size(row) < 2)
		return bad(s, SAFETENSORS_LIST);
	if (!value) {
		if (strcmp(type, "string") != 0 || safetensors_is_ours(key) ||
		    !(k = find(s, key, "")))
			return bad(s, SAFETENSORS_LIST);
		return complete(s, row, k, blobs);
	}
	if (!json_is_object(value))
		return 0;
	if (json_member_text(value, "blob", &blob) < 0 ||
	    !(k = find(s, SAFETENSORS_BLOB, blob)))
		return bad(s, SAFETENSORS_LIST);
	return list_blob(s, blobs, blob, MODEL_VALUE, k, false);
}

/* Keys that no row names: all of them in a file of others. */
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
	json_t *rows = json_of(s, SAFETENSORS_LIST, "", &absent), *row;
	size_t i;

	if (absent)
		rows = json_array();
	if (json_object_set_new(plan, "metadata", rows) < 0)
		return err_memory(s->reader.err);
	if (!json_is_array(rows))
		return bad(s, SAFETENSORS_LIST);
	json_array_foreach(rows, i, row)
		if (read_row(s, row, blobs) < 0)
			return -1;
	return add_rows(s, rows, blobs);
}

/* The list of side files gives their order. */
static int
read_files(struct safetensors *s, json_t *blobs)
{
	bool absent;
	json_t *list = json_of(s, SAFETENSORS_BLOBS, "", &absent), *row;
	size_t i;
	int r = 0;

	if (absent)
		return 0;
	if (!json_is_array(list))
		r = bad(s, SAFETENSORS_BLOBS);
	json_array_foreach(list, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		const char *type = json_string_value(json_array_get(row, 1));
		const struct safetensors_key *k = NULL;

		if (r < 0)
			break;
		if (name && type && json_array_size(row) == 2)
			k = find(s, SAFETENSORS_BLOB, name);
		r = k ? list_blob(s, blobs, name, type, k, false) : bad(s, SAFETENSORS_BLOBS);
	}
	json_decref(list);
	return r;
}

/* ---- prov and sign ---- */

/* Numbered from 0. head: bytes of JSON they begin with, at most. */
static int
read_frames(struct safetensors *s, const char *prefix, size_t head, struct buf **list,
            size_t *count, size_t *cap)
{
	const struct safetensors_key *k;
	struct err *e = s->reader.err;
	char number[24] = "0";
	json_t *json;
	struct buf *b;

	for (; (k = find(s, prefix, number)); snprintf(number, sizeof number, "%zu", *count)) {
		if (*count == FRAMES)
			return bad(s, k->name);
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
	json_t *source = json_of(s, SAFETENSORS_SOURCE, "", &absent);

	if (absent)
		source = json_pack("{s:s}", "format", format_safetensors.name);
	else if (source && !json_is_object(source)) {
		json_decref(source);
		return bad(s, SAFETENSORS_SOURCE);
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
	s->licence = find(s, SAFETENSORS_LICENCE, "");
	if (s->licence &&
	    json_object_set_new(plan, "licence", json_from_u64(s->licence->bytes)) < 0)
		return err_memory(s->reader.err);
	return plan_from_json(&s->plan, plan, false, s->reader.name, s->reader.err);
}

static int
read_plan(struct safetensors *s)
{
	json_t *plan = json_pack("{s:i}", "version", PLAN_VERSION);
	int r = plan ? fill_plan(s, plan) : err_memory(s->reader.err);

	json_decref(plan);
	return r;
}

/* ---- tensors ---- */

/* A tensor stored as bytes becomes what it was before. */
static int
restore(struct safetensors *s, struct safetensors_entry *x)
{
	const char *name = tensor_name(x->tensor);
	const struct safetensors_key *k = find(s, SAFETENSORS_DTYPE, name);
	const struct dtype *type = k && k->text ? dtype_by_name(k->text) : NULL;
	uint64_t dims[TENSOR_DIMS];
	bool absent, good;
	struct tensor *t;
	json_t *shape;
	size_t i, n;

	if (!k)
		return 0;
	if (!type)
		return bad(s, k->name);
	shape = json_of(s, SAFETENSORS_SHAPE, name, &absent);
	n = json_array_size(shape);
	good = json_is_array(shape) && n <= TENSOR_DIMS;
	for (i = 0; good && i < n; i++)
		good = json_value_u64(json_array_get(shape, i), &dims[i]) == 0;
	json_decref(shape);
	if (!good || strcmp(tensor_type(x->tensor)->name, "U8") != 0 ||
	    tensor_ndim(x->tensor) != 1)
		return err_set(s->reader.err, ERR_CORRUPT, name, "contradicts its "
		               SAFETENSORS_DTYPE " and " SAFETENSORS_SHAPE " keys");
	t = tensor_new(name, strlen(name), type, (unsigned)n, dims, tensor_bytes(x->tensor),
	               s->reader.name, s->reader.err);
	if (!t)
		return -1;
	tensor_free(x->tensor);
	x->tensor = t;
	return 0;
}

/* Tensors travel in the order of their data; that of the header is kept where it
 * is another one. */
static int
add_tensors(struct safetensors *s, const struct extent *extents, size_t *order)
{
	struct safetensors_header *h = &s->header;
	const char *format = model_source_text(&s->plan, "format");
	struct err *e = s->reader.err;
	bool moved = false;
	json_t *list;
	size_t i;

	for (i = 0; i < h->entry_count; i++) {
		struct safetensors_entry *x = &h->entries[extents[i].index];

		if (model_add_tensor(&s->plan, x->tensor, e) < 0) {
			x->tensor = NULL;
			return -1;
		}
		x->tensor = NULL;
		s->offsets[i] = extents[i].offset;
		order[extents[i].index] = i;
		moved |= extents[i].index != i;
	}
	if (!moved || !format || strcmp(format, format_safetensors.name) != 0)
		return 0;
	if (!(list = json_array()))
		return err_memory(e);
	for (i = 0; i < h->entry_count; i++)
		if (json_array_append_new(list, json_integer((json_int_t)order[i])) < 0) {
			json_decref(list);
			return err_memory(e);
		}
	return model_source_set(&s->plan, "index_order", list, e);
}

static int
prove_tensors(struct safetensors *s, struct extent *extents)
{
	struct safetensors_header *h = &s->header;
	struct reader *r = &s->reader;
	uint64_t end, length = reader_left(r);
	size_t i;

	for (i = 0; i < h->entry_count; i++) {
		extents[i] = (struct extent){ .offset = h->entries[i].at, .index = i,
			.bytes = tensor_bytes(h->entries[i].tensor),
			.name = tensor_name(h->entries[i].tensor) };
		if (restore(s, &h->entries[i]) < 0)
			return -1;
		extents[i].name = tensor_name(h->entries[i].tensor);
	}
	if (layout_prove(extents, h->entry_count, 1, length, &s->data_bytes, r->err) < 0)
		return -1;
	if (num_add(s->data_at, s->data_bytes, &end) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its size overflows");
	if (r->end != READER_UNKNOWN && r->end != end)
		return err_set(r->err, ERR_CORRUPT, r->name, "has %" PRIu64
		               " bytes, but its content ends at %" PRIu64, r->end, end);
	return 0;
}

static int
place_tensors(struct safetensors *s)
{
	size_t n = s->header.entry_count, *order = mem_array(n, sizeof *order);
	struct extent *extents = mem_array(n, sizeof *extents);
	int r;

	s->data_at = reader_tell(&s->reader);
	s->offsets = mem_array(n, sizeof *s->offsets);
	if (!order || !extents || !s->offsets)
		r = err_memory(s->reader.err);
	else if ((r = prove_tensors(s, extents)) == 0)
		r = add_tensors(s, extents, order);
	free(order);
	free(extents);
	return r;
}

/* A key of ours that nothing has asked for carries nothing. */
static int
check_keys(struct safetensors *s)
{
	size_t i;

	for (i = 0; i < s->header.key_count; i++)
		if (!s->header.keys[i].used)
			return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
			               "metadata key %.100s, which is one of ours, belongs to "
			               "nothing", s->header.keys[i].name);
	return 0;
}

static int
read_all(struct safetensors *s)
{
	if (safetensors_header_read(&s->header, &s->reader) < 0 || sort_keys(s) < 0 ||
	    read_plan(s) < 0 || place_tensors(s) < 0 || check_keys(s) < 0)
		return -1;
	return model_check(&s->plan, s->reader.name, s->reader.err);
}

/* ---- sending ---- */

static void
begin_key(struct safetensors *s, const struct safetensors_key *k, bool is_text)
{
	s->from = FROM_KEY;
	s->key = k;
	s->left = k->bytes;
	s->head_waits = is_text;
	le64_put(s->head, k->bytes);
}

static int
begin_frame(struct safetensors *s, struct item *item, enum item_kind kind,
            const struct buf *b, size_t *index)
{
	size_t head = kind == ITEM_PROV ? b->n : MODEL_SIGN_HEAD;

	*item = (struct item){ .kind = kind, .index = (*index)++, .head = (char *)b->p,
		.head_bytes = head, .bytes = b->n - head };
	s->from = FROM_MEMORY;
	s->memory = b->p + head;
	s->left = item->bytes;
	return 1;
}

/* The end of a file was proved before the first byte was sent. */
static int
finish(struct safetensors *s)
{
	struct reader *r = &s->reader;

	if (r->end == READER_UNKNOWN && !reader_at_end(r))
		return reader_fail(r, ERR_CORRUPT, "bytes after the end of the model");
	return r->failed ? -1 : 0;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;
	const struct model *m = &s->plan;

	(void)e; /* the reader holds it */
	if (s->blob < m->blob_count) {
		*item = (struct item){ .kind = ITEM_BLOB, .index = s->blob,
			.bytes = m->blobs[s->blob].bytes };
		begin_key(s, s->blobs[s->blob], s->is_text[s->blob]);
		s->blob++;
		return 1;
	}
	if (s->licence && !s->licence_sent) {
		s->licence_sent = true;
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = m->licence };
		begin_key(s, s->licence, false);
		return 1;
	}
	if (s->tensor < m->tensor_count) {
		s->from = FROM_FILE;
		s->left = tensor_bytes(m->tensors[s->tensor]);
		*item = (struct item){ .kind = ITEM_TENSOR, .index = s->tensor++,
			.bytes = s->left };
		return 1;
	}
	if (s->prov < s->prov_count)
		return begin_frame(s, item, ITEM_PROV, &s->provs[s->prov], &s->prov);
	if (s->sign < s->sign_count)
		return begin_frame(s, item, ITEM_SIGN, &s->signs[s->sign], &s->sign);
	return finish(s);
}

/* A piece of a key's value. */
static int
read_key(struct safetensors *s, const uint8_t **p, size_t *n, struct err *e)
{
	const struct safetensors_key *k = s->key;
	uint64_t done = k->bytes - s->left;

	if (k->text) {
		*p = (const uint8_t *)k->text + done;
		*n = (size_t)s->left;
		return 0;
	}
	*n = (size_t)num_min(s->left, PIECE);
	buf_clear(&s->piece);
	if (!buf_room(&s->piece, *n))
		return err_memory(e);
	*p = s->piece.p;
	return spool_get(&s->header.spool, k->at + done, s->piece.p, *n, e);
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;

	*n = 0;
	if (s->from == FROM_KEY && s->head_waits) {
		s->head_waits = false;
		*p = s->head;
		*n = sizeof s->head;
		return 0;
	}
	if (s->left == 0)
		return 0;
	switch (s->from) {
	case FROM_KEY:
		if (read_key(s, p, n, e) < 0)
			return -1;
		break;
	case FROM_MEMORY:
		*p = s->memory;
		*n = (size_t)s->left;
		break;
	case FROM_FILE:
		*p = reader_some(&s->reader, s->left, n);
		if (!*p)
			return -1;
		break;
	}
	s->left -= *n;
	return 0;
}

static void
close_source(struct source *source)
{
	struct safetensors *s = (struct safetensors *)source;
	size_t i;

	for (i = 0; i < s->prov_count; i++)
		buf_free(&s->provs[i]);
	for (i = 0; i < s->sign_count; i++)
		buf_free(&s->signs[i]);
	free(s->provs);
	free(s->signs);
	free(s->blobs);
	free(s->is_text);
	free(s->sorted);
	free(s->offsets);
	buf_free(&s->piece);
	safetensors_header_free(&s->header);
	model_free(&s->plan);
	reader_close(&s->reader);
	free(s);
}

struct source *
safetensors_open_shard(struct reader *r, void (*note)(const char *), struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source };
	struct safetensors *s = mem_array(1, sizeof *s);

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = r->name,
		.note = note };
	s->reader = *r;
	if (read_all(s) < 0) {
		close_source(&s->source);
		return NULL;
	}
	return &s->source;
}

struct source *
safetensors_open(struct reader *r, const struct format_options *options,
                 void (*note)(const char *), struct err *e)
{
	struct source *s = safetensors_open_shard(r, note, e);

	(void)options; /* nothing here is only odd */
	/* Only now do the sizes that follow from the plan follow. */
	if (s && safetensors_prove_signs(s, s->plan, e) < 0) {
		source_close(s);
		return NULL;
	}
	return s;
}

json_t *
safetensors_describe(struct source *source, struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;
	json_t *o = json_pack("{s:s,s:o,s:o,s:o,s:b}", "format", format_safetensors.name,
	                      "header_bytes", json_from_u64(s->header.bytes), "data_offset",
	                      json_from_u64(s->data_at), "data_bytes",
	                      json_from_u64(s->data_bytes), "checksum", 0);

	if (o && (!s->header.reserve ||
	          json_object_set_new(o, "reserve", json_from_u64(s->header.reserve)) == 0))
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

uint64_t
safetensors_tensor_offset(const struct source *source, size_t i)
{
	const struct safetensors *s = (const struct safetensors *)source;

	return s->data_at + s->offsets[i];
}
