/* Values of any kind, and side files. */
#include "api/private.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/le.h"
#include "core/mem.h"

#define HEAD 12 /* bytes before an array's items: u32 item type, u64 count */

_Static_assert(APRML_TYPE == VALUE_TYPE_TEXT, "text of a type");

/* ---- what comes before the tensors ---- */

void
api_drop_blobs(struct aprml *m)
{
	size_t i;

	for (i = 0; m->blobs && i < m->source->plan->blob_count; i++)
		free(m->blobs[i].p);
	free(m->blobs);
	m->blobs = NULL;
}

/* Read a blob; memory grows as the bytes arrive. *kept: bytes of all blobs kept so far. */
static int
read_blob(struct aprml *m, const struct item *item, uint64_t *kept)
{
	struct buf bytes = { 0 };

	if (item->bytes > APRML_KEEP - *kept)
		return 0;
	*kept += item->bytes;
	do {
		if (api_refill(m) < 0)
			break;
		buf_put(&bytes, m->p, m->n);
		m->n = 0;
	} while (m->in_body);
	if (m->err.code == ERR_NONE && !buf_string(&bytes)) /* even if it is empty */
		err_memory(&m->err);
	if (m->err.code != ERR_NONE) {
		buf_free(&bytes);
		return -1;
	}
	m->blobs[item->index] = (struct api_blob){ bytes.p, bytes.n };
	return 0;
}

/* Read and keep all blobs, unless this has been done. */
static int
keep(struct aprml *m)
{
	uint64_t kept = 0;
	int more;

	if (m->blobs || m->in_tensors || m->err.code != ERR_NONE)
		return m->err.code == ERR_NONE ? 0 : -1;
	m->blobs = mem_array(m->source->plan->blob_count, sizeof *m->blobs);
	if (!m->blobs)
		return err_memory(&m->err);
	while ((more = api_item(m, &m->item)) > 0 && m->item.kind != ITEM_TENSOR)
		if (m->item.kind == ITEM_BLOB && read_blob(m, &m->item, &kept) < 0)
			return -1;
	m->waits = more > 0;
	return more < 0 ? -1 : 0;
}

/* The kept bytes of a blob, or NULL with *e filled. */
static const struct api_blob *
kept_blob(struct aprml *m, size_t i, struct aprml_error *e)
{
	struct err err = ERR_INIT;

	if (keep(m) < 0) {
		api_fail(&m->err, e);
		return NULL;
	}
	if (m->blobs && m->blobs[i].p)
		return &m->blobs[i];
	err_set(&err, ERR_NO, m->source->plan->blobs[i].name, "%s",
	        m->blobs ? "is too long to be kept" : "has gone by: it comes before the tensors");
	api_fail(&err, e);
	return NULL;
}

/* ---- wire bytes to a value ---- */

/* Compute the bytes of a value of this kind at p, which must fit into n. 0 or -1. */
static int
span(uint32_t kind, const uint8_t *p, size_t n, unsigned depth, size_t *bytes)
{
	uint64_t i, count;
	size_t at, one;

	*bytes = value_leaf_bytes(kind);
	if (*bytes > 0)
		return *bytes <= n ? 0 : -1;
	if (kind == VALUE_STRING) {
		if (n < 8 || le64(p) > n - 8)
			return -1;
		*bytes = 8 + (size_t)le64(p);
		return 0;
	}
	if (kind != VALUE_ARRAY || depth >= VALUE_DEPTH || n < HEAD)
		return -1;
	count = le64(p + 4);
	one = value_leaf_bytes(le32(p));
	if (one > 0) {
		*bytes = HEAD + (size_t)count * one;
		return count <= (n - HEAD) / one ? 0 : -1;
	}
	if (le32(p) != VALUE_STRING && le32(p) != VALUE_ARRAY)
		return -1;
	/* Each item takes at least a byte, so n bounds the work, whatever count is. */
	for (at = HEAD, i = 0; i < count; i++, at += one)
		if (span(le32(p), p + at, n - at, depth + 1, &one) < 0)
			return -1;
	*bytes = at;
	return 0;
}

static double
real(uint64_t bits, size_t bytes)
{
	uint32_t half = (uint32_t)bits;
	double d;
	float f;

	if (bytes == 8) {
		memcpy(&d, &bits, sizeof d);
		return d;
	}
	memcpy(&f, &half, sizeof f);
	return (double)f;
}

static void
set_number(struct aprml_value *v, unsigned leaf, const uint8_t *p)
{
	size_t bytes = value_leaf_bytes(leaf), i;
	uint64_t bits = 0, sign = (uint64_t)1 << (8 * bytes - 1);

	for (i = 0; i < bytes; i++)
		bits |= (uint64_t)p[i] << (8 * i);
	switch (leaf) {
	case VALUE_I8: case VALUE_I16: case VALUE_I32: case VALUE_I64:
		v->kind = APRML_SIGNED;
		v->i = (int64_t)((bits ^ sign) - sign);
		v->number = (double)v->i;
		break;
	case VALUE_F32: case VALUE_F64:
		v->kind = APRML_REAL;
		v->number = real(bits, bytes);
		break;
	default:
		v->kind = leaf == VALUE_BOOL ? APRML_BOOL : APRML_UNSIGNED;
		v->u = bits;
		v->number = (double)bits;
	}
}

/* Set v from n bytes that are one value of the type. */
static void
set_value(struct aprml_value *v, struct value_type t, const uint8_t *p, size_t n)
{
	*v = (struct aprml_value){ 0 };
	value_type_text(t, v->type);
	if (t.depth > 0 || t.leaf == VALUE_ARRAY) {
		v->kind = APRML_ARRAY;
		v->item = le32(p);
		v->count = le64(p + 4);
		v->wire = p + HEAD;
		v->wire_bytes = n - HEAD;
	} else if (t.leaf == VALUE_STRING) {
		v->kind = APRML_STRING;
		v->text = (const char *)p + 8;
		v->bytes = n - 8;
	} else if (t.leaf == VALUE_JSON) {
		v->kind = APRML_JSON;
		v->text = (const char *)p;
		v->bytes = n;
	} else {
		set_number(v, t.leaf, p);
	}
}

int
aprml_value(struct aprml *m, const char *key, struct aprml_value *v, struct aprml_error *e)
{
	const struct meta *meta;
	struct err err = ERR_INIT;
	struct api_blob wire;
	size_t bytes = 0;

	if (api_need(m, "model", e) < 0)
		return -1;
	meta = model_find(m->source->plan, key);
	if (!meta) {
		err_set(&err, ERR_NO, key, "the model has no such key");
		return api_fail(&err, e);
	}
	wire = (struct api_blob){ meta->wire, meta->wire_bytes };
	if (!meta->wire) {
		const struct api_blob *kept = kept_blob(m, meta->blob, e);

		if (!kept)
			return -1;
		wire = *kept;
	}
	if ((meta->type.depth > 0 || meta->type.leaf != VALUE_JSON) &&
	    (span(meta->type.depth > 0 ? VALUE_ARRAY : meta->type.leaf, wire.p, wire.n, 0,
	          &bytes) < 0 || bytes != wire.n)) {
		err_set(&err, ERR_CORRUPT, key, "the value is not of its type");
		return api_fail(&err, e);
	}
	set_value(v, meta->type, wire.p, wire.n);
	return 0;
}

int
aprml_item(struct aprml_value *array, uint64_t i, struct aprml_value *item)
{
	size_t at, bytes = value_leaf_bytes(array->item);
	struct value_type type = { array->item == VALUE_ARRAY, (uint8_t)array->item };

	if (array->kind != APRML_ARRAY || i >= array->count)
		return -1;
	if (bytes > 0) {
		array->at = (size_t)i * bytes;
		array->next = i;
	} else if (i < array->next) {
		array->at = 0;
		array->next = 0;
	}
	for (;; array->next++, array->at += bytes) {
		at = array->at;
		if (span(array->item, array->wire + at, array->wire_bytes - at, 1, &bytes) < 0)
			return -1;
		if (array->next == i)
			break;
	}
	if (type.depth > 0)
		type.leaf = (uint8_t)le32(array->wire + at);
	set_value(item, type, array->wire + at, bytes);
	return 0;
}

/* ---- side files ---- */

/* The first blob that is a side file: the values come before them. */
static size_t
first_file(const struct model *plan)
{
	size_t i = 0;

	while (i < plan->blob_count && strcmp(plan->blobs[i].type, MODEL_VALUE) == 0)
		i++;
	return i;
}

size_t
aprml_file_count(const struct aprml *m)
{
	return m->source->plan->blob_count - first_file(m->source->plan);
}

int
aprml_file(struct aprml *m, size_t i, struct aprml_file *f, struct aprml_error *e)
{
	const struct model *plan;
	const struct api_blob *kept;
	struct err err = ERR_INIT;

	if (api_need(m, "model", e) < 0)
		return -1;
	plan = m->source->plan;
	if (i >= aprml_file_count(m)) {
		err_set(&err, ERR_NO, api_name(m), "no side file has this number");
		return api_fail(&err, e);
	}
	if (source_check_open(m->source, &err) < 0)
		return api_fail(&err, e);
	i += first_file(plan);
	kept = kept_blob(m, i, e);
	if (!kept)
		return -1;
	*f = (struct aprml_file){ plan->blobs[i].name, plan->blobs[i].type, kept->n, kept->p };
	return 0;
}
