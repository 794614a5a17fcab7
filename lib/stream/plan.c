#include "stream/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream/stream.h"

/* The members of the plan in the order in which they are written. */
static const char *const members[] = { "version", "source", "metadata", "blobs",
	"licence", "tensors", "provenance", "signatures", "sealed", "holes",
	"folder" };

static json_t *
meta_row(const struct model *m, const struct meta *k)
{
	char type[VALUE_TYPE_TEXT];
	json_t *value;

	if (k->blob != SIZE_MAX)
		value = json_pack("{s:s}", "blob", m->blobs[k->blob].name);
	else
		value = value_to_json(k->type, k->wire, k->wire_bytes);
	return json_pack("[s,s,o]", k->key, value_type_text(k->type, type), value);
}

static json_t *
dims_list(const struct tensor *t)
{
	json_t *dims = json_array();
	unsigned i;

	for (i = 0; dims && i < tensor_ndim(t); i++)
		if (json_array_append_new(dims, json_from_u64(tensor_dims(t)[i])) < 0) {
			json_decref(dims);
			return NULL;
		}
	return dims;
}

static json_t *
tensor_row_json(const struct tensor *t)
{
	json_t *row = json_pack("[s,s,o]", tensor_name(t), tensor_type(t)->name,
	                        dims_list(t));

	char form[SPARSE_FORM_TEXT];
	json_t *more = NULL;

	if (row && !dtype_sized(tensor_type(t)))
		more = json_pack("{s:o}", "bytes", json_from_u64(tensor_bytes(t)));
	else if (row && tensor_form(t).kind != SPARSE_NONE)
		more = json_pack("{s:s,s:s}", "kind", STREAM_SPARSE, "form",
		                 sparse_form_text(tensor_form(t), form));
	else
		return row;
	if (row && json_array_append_new(row, more) == 0)
		return row;
	json_decref(row);
	return NULL;
}

/* Appends a row to a list and takes over the reference to row. A NULL list or row means
 * that memory ran out. */
static int
append(json_t *list, json_t *row)
{
	return list && row ? json_array_append_new(list, row) : (json_decref(row), -1);
}

static int
fill_lists(json_t *plan, const struct model *m, bool tensors)
{
	json_t *meta = json_array(), *blobs = json_array();
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->meta_count; i++)
		r = append(meta, meta_row(m, &m->meta[i]));
	for (i = 0; r == 0 && i < m->blob_count; i++)
		r = append(blobs, json_pack("[s,s,o]", m->blobs[i].name, m->blobs[i].type,
		                            json_from_u64(m->blobs[i].bytes)));
	r |= json_object_set_new(plan, "metadata", meta);
	r |= json_object_set_new(plan, "blobs", blobs);
	if (m->licence != MODEL_NONE)
		r |= json_object_set_new(plan, "licence", json_from_u64(m->licence));
	if (tensors) {
		json_t *list = json_array();

		for (i = 0; r == 0 && i < m->tensor_count; i++)
			r = append(list, tensor_row_json(m->tensors[i]));
		r |= json_object_set_new(plan, "tensors", list);
	}
	if (m->prov_count) {
		json_t *list = json_array();

		for (i = 0; r == 0 && i < m->prov_count; i++)
			r = append(list, json_from_u64(m->provs[i]));
		r |= json_object_set_new(plan, "provenance", list);
	}
	return r;
}

json_t *
plan_to_json(const struct model *m, bool tensors, struct err *e)
{
	json_t *plan = json_pack("{s:i,s:O}", "version", PLAN_VERSION, "source", m->source);
	int r = plan ? fill_lists(plan, m, tensors) : -1;
	const char *name;
	json_t *v;

	if (r == 0)
		r = json_object_set_new(plan, "signatures", json_from_u64(m->signatures));
	if (r == 0 && m->sealed)
		r = json_object_set_new(plan, "sealed", json_from_u64(m->sealed));
	if (r == 0 && tensors && m->holes)
		r = json_object_set_new(plan, "holes", json_from_u64(m->holes));
	if (r == 0 && tensors && m->folder)
		r = json_object_set_new(plan, "folder", json_string(m->folder));
	json_object_foreach(m->extra, name, v)
		if (r == 0 && !json_object_get(plan, name))
			r = json_object_set(plan, name, v);
	if (r == 0)
		return plan;
	json_decref(plan);
	err_memory(e);
	return NULL;
}

static int
bad(const char *where, struct err *e, const char *what)
{
	return err_set(e, ERR_CORRUPT, where, "its plan has a bad %s", what);
}

/* Parses a metadata row. If its value is a blob, the position of the blob is found later,
 * by name. */
static int
parse_meta(struct model *m, const json_t *row, size_t *values, const char *where,
           struct err *e)
{
	json_t *key = json_array_get(row, 0), *type = json_array_get(row, 1);
	json_t *value = json_array_get(row, 2);
	struct value_type t;
	struct buf wire = { 0 };
	int r;

	if (json_array_size(row) != 3 || !json_is_string(key) || !json_is_string(type) ||
	    value_type_parse(json_string_value(type), &t) < 0)
		return bad(where, e, "metadata row");
	if (json_is_object(value)) {
		size_t at = (*values)++;
		const char *name;

		if (json_member_text(value, "blob", &name) < 0 || json_object_size(value) != 1 ||
		    at >= m->blob_count || strcmp(m->blobs[at].name, name) != 0)
			return bad(where, e, "metadata row: its value is not the next blob");
		if (model_add_meta(m, json_string_value(key), json_string_length(key), t,
		                   NULL, 0, e) < 0)
			return -1;
		free(m->meta[m->meta_count - 1].wire);
		m->meta[m->meta_count - 1].wire = NULL;
		m->meta[m->meta_count - 1].blob = at;
		return 0;
	}
	r = value_from_json(t, value, &wire);
	if (r < 0)
		err_set(e, ERR_CORRUPT, where, "its plan gives %s a value that is not a %s",
		        json_string_value(key), json_string_value(type));
	else if (!buf_ok(&wire))
		r = err_memory(e);
	else
		r = model_add_meta(m, json_string_value(key), json_string_length(key), t,
		                   wire.p ? wire.p : (const uint8_t *)"", wire.n, e);
	buf_free(&wire);
	return r;
}

static int
parse_blob(struct model *m, const json_t *row, const char *where, struct err *e)
{
	json_t *name = json_array_get(row, 0), *type = json_array_get(row, 1);
	uint64_t bytes;

	if (json_array_size(row) != 3 || !json_is_string(name) || !json_is_string(type) ||
	    !*json_string_value(name) ||
	    json_value_u64(json_array_get(row, 2), &bytes) < 0)
		return bad(where, e, "blob row");
	return model_add_blob(m, json_string_value(name), json_string_value(type), bytes, e);
}

/* The fourth member of a tensor's row: its size, or the form without zeros that it comes in. */
static int
parse_more(const json_t *more, const char *name, uint64_t *bytes, struct sparse_form *form,
           const char *where, struct err *e)
{
	struct err own = ERR_INIT;
	const char *kind, *text;

	if (json_object_get(more, "bytes") && json_member_u64(more, "bytes", bytes) < 0)
		return bad(where, e, "tensor size");
	if (json_member_text(more, "kind", &kind) < 0 || strcmp(kind, "TENS") == 0)
		return 0;
	if (strcmp(kind, STREAM_SPARSE) != 0)
		return err_set(e, ERR_FORMAT, name,
		               "lies in a %.8s frame, which this tool does not know", kind);
	if (json_member_text(more, "form", &text) < 0 ||
	    sparse_form_parse(text, form, &own) < 0 || form->kind == SPARSE_NONE)
		return err_set(e, ERR_FORMAT, name, "has a sparse form that this tool does not know");
	return 0;
}

static int
parse_tensor(struct model *m, const json_t *row, const char *where, struct err *e)
{
	json_t *name = json_array_get(row, 0), *type = json_array_get(row, 1);
	json_t *dims = json_array_get(row, 2), *more = json_array_get(row, 3);
	uint64_t d[TENSOR_DIMS], bytes = TENSOR_OWN_SIZE;
	struct sparse_form form = { SPARSE_NONE, 0 };
	const struct dtype *dtype;
	struct tensor *t;
	size_t i;

	if (!json_is_string(name) || !json_is_string(type) || !json_is_array(dims) ||
	    json_array_size(row) > 4 || (json_array_size(row) == 4 && !json_is_object(more)))
		return bad(where, e, "tensor row");
	if (parse_more(more, json_string_value(name), &bytes, &form, where, e) < 0)
		return -1;
	dtype = dtype_by_name(json_string_value(type));
	if (!dtype)
		return err_set(e, ERR_FORMAT, json_string_value(name), "has the unknown dtype %.40s: "
		               "UnsupportedQuantization",
		               json_string_value(type));
	if (json_array_size(dims) > TENSOR_DIMS)
		return err_set(e, ERR_FORMAT, json_string_value(name),
		               "%zu dimensions, at most 8 are possible", json_array_size(dims));
	for (i = 0; i < json_array_size(dims); i++)
		if (json_value_u64(json_array_get(dims, i), &d[i]) < 0)
			return bad(where, e, "shape");
	t = tensor_new(json_string_value(name), json_string_length(name), dtype,
	               (unsigned)i, d, bytes, where, e);
	if (t)
		tensor_set_form(t, form);
	return t ? model_add_tensor(m, t, e) : -1;
}

static int
parse_prov(struct model *m, const json_t *v, const char *where, struct err *e)
{
	uint64_t bytes;

	if (json_value_u64(v, &bytes) < 0 || bytes > MODEL_PROV_HEAD)
		return bad(where, e, "provenance row");
	return model_add_prov(m, bytes, e);
}

static int
parse_lists(struct model *m, const json_t *plan, bool tensors, const char *where,
            struct err *e)
{
	json_t *meta = json_object_get(plan, "metadata"), *blobs, *list, *v;
	size_t i, values = 0;

	blobs = json_object_get(plan, "blobs");
	if (!json_is_array(meta) || !json_is_array(blobs))
		return bad(where, e, "metadata or blob list");
	json_array_foreach(blobs, i, v)
		if (parse_blob(m, v, where, e) < 0)
			return -1;
	json_array_foreach(meta, i, v)
		if (parse_meta(m, v, &values, where, e) < 0)
			return -1;
	list = json_object_get(plan, "tensors");
	if (json_is_array(list) != tensors)
		return bad(where, e, "tensor list");
	json_array_foreach(list, i, v)
		if (parse_tensor(m, v, where, e) < 0)
			return -1;
	list = json_object_get(plan, "provenance");
	if (list && !json_is_array(list))
		return bad(where, e, "provenance list");
	json_array_foreach(list, i, v)
		if (parse_prov(m, v, where, e) < 0)
			return -1;
	return 0;
}

/* Whether v nests at most `depth` levels deep. */
static bool
is_shallow(const json_t *v, unsigned depth)
{
	const char *name;
	json_t *in;
	size_t i;

	if (json_is_array(v)) {
		json_array_foreach(v, i, in)
			if (depth == 0 || !is_shallow(in, depth - 1))
				return false;
	} else if (json_is_object(v)) {
		json_object_foreach((json_t *)(uintptr_t)v, name, in)
			if (depth == 0 || !is_shallow(in, depth - 1))
				return false;
	}
	return true;
}

/* Keeps members that a later version may have added, so that they are passed on. */
static int
keep_unknown(struct model *m, const json_t *plan, const char *where, struct err *e)
{
	const char *name;
	json_t *v, *copy;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)plan, name, v) {
		for (i = 0; i < sizeof members / sizeof *members; i++)
			if (strcmp(name, members[i]) == 0)
				break;
		if (i < sizeof members / sizeof *members)
			continue;
		if (!is_shallow(v, PLAN_DEPTH))
			return bad(where, e, "member: it nests too deep");
		copy = json_deep_copy(v);
		if (!copy || json_object_set_new(m->extra, name, copy) < 0)
			return err_memory(e);
	}
	return 0;
}

/* The name of a folder is one part of a path. */
static int
parse_folder(struct model *m, const json_t *v, const char *where, struct err *e)
{
	const char *name = json_string_value(v);

	if (!v)
		return 0;
	if (!name || json_string_length(v) > PLAN_FOLDER)
		return bad(where, e, "name of a folder");
	model_set_folder(m, name);
	return m->folder && strcmp(m->folder, name) == 0 ? 0 : bad(where, e, "name of a folder");
}

static int
parse_plan(struct model *m, const json_t *plan, bool tensors, const char *where,
           struct err *e)
{
	json_t *source = json_object_get(plan, "source");
	uint64_t version;

	if (json_member_u64(plan, "version", &version) < 0)
		return bad(where, e, "version");
	if (version != PLAN_VERSION)
		return err_set(e, ERR_VERSION, where, "its plan has version %" PRIu64
		               ", this tool reads 1", version);
	if (!json_is_object(source) || !is_shallow(source, PLAN_DEPTH))
		return bad(where, e, "source");
	json_decref(m->source);
	m->source = json_deep_copy(source);
	if (!m->source)
		return err_memory(e);
	if (parse_lists(m, plan, tensors, where, e) < 0)
		return -1;
	if (json_object_get(plan, "licence") &&
	    (json_member_u64(plan, "licence", &m->licence) < 0 || m->licence == MODEL_NONE))
		return bad(where, e, "licence");
	if (json_member_u64(plan, "signatures", &m->signatures) < 0 ||
	    m->signatures > MODEL_SIGNS)
		return bad(where, e, "number of signatures");
	if (json_object_get(plan, "sealed") &&
	    (json_member_u64(plan, "sealed", &m->sealed) < 0 || m->sealed == 0 ||
	     m->sealed > MODEL_SKEY))
		return bad(where, e, "size of what seals it");
	if (tensors && json_object_get(plan, "holes") &&
	    json_member_u64(plan, "holes", &m->holes) < 0)
		return bad(where, e, "number of bytes in holes");
	if (tensors && parse_folder(m, json_object_get(plan, "folder"), where, e) < 0)
		return -1;
	if (keep_unknown(m, plan, where, e) < 0)
		return -1;
	return model_check(m, where, e);
}

int
plan_from_json(struct model *m, const json_t *plan, bool tensors, const char *where,
               struct err *e)
{
	if (model_init(m, e) < 0)
		return -1;
	if (parse_plan(m, plan, tensors, where, e) < 0) {
		model_free(m);
		return -1;
	}
	return 0;
}

static int
dump(json_t *v, struct buf *b)
{
	int r = v ? json_write(v, b) : -1;

	json_decref(v);
	return r;
}

int
plan_tensor_head(const struct tensor *t, struct buf *b)
{
	return dump(json_pack("{s:s,s:s,s:o}", "name", tensor_name(t), "dtype",
	                      tensor_type(t)->name, "shape", dims_list(t)), b);
}

int
plan_blob_head(const struct blob *blob, struct buf *b)
{
	return dump(json_pack("{s:s,s:s}", "name", blob->name, "type", blob->type), b);
}

/* The names of items by kind; NULL: the kind is never sealed. */
static const char *const holds[] = { [ITEM_BLOB] = "blob", [ITEM_TENSOR] = "tensor",
	[ITEM_PROV] = "prov", [ITEM_SIGN] = "sign" };
#define HOLDS (sizeof holds / sizeof *holds)

int
plan_seal_head(const struct model *m, enum item_kind kind, size_t index, struct buf *b)
{
	const struct tensor *t;

	switch (kind) {
	case ITEM_TENSOR:
		t = m->tensors[index];
		return dump(json_pack("{s:s,s:s,s:s,s:o}", "holds", holds[kind], "name",
		                      tensor_name(t), "dtype", tensor_type(t)->name, "shape",
		                      dims_list(t)), b);
	case ITEM_BLOB:
		return dump(json_pack("{s:s,s:s,s:s}", "holds", holds[kind], "name",
		                      m->blobs[index].name, "type", m->blobs[index].type), b);
	case ITEM_PROV:
	case ITEM_SIGN:
		return dump(json_pack("{s:s,s:o}", "holds", holds[kind], "number",
		                      json_from_u64(index)), b);
	case ITEM_LICENCE:
	case ITEM_OTHER:
	case ITEM_SKEY:
		break;
	}
	return 0;
}

int
plan_seal_kind(const void *head, size_t n, enum item_kind *kind, const char *where,
               struct err *e)
{
	json_t *o = json_parse(head, n, ERR_CORRUPT, where, e);
	const char *text;
	size_t i;
	int r = -1;

	if (!o)
		return -1;
	if (json_member_text(o, "holds", &text) == 0)
		for (i = 0; i < HOLDS; i++)
			if (holds[i] && strcmp(text, holds[i]) == 0) {
				*kind = (enum item_kind)i;
				r = 0;
			}
	json_decref(o);
	return r == 0 ? 0 : err_set(e, ERR_CORRUPT, where, "SEAL: what it holds is not known");
}
