#include "report/facts.h"

#include <string.h>

#include "arch/guess.h"
#include "arch/size.h"
#include "core/text.h"
#include "report/table.h"

#define FACT 18         /* columns of the name of a fact */
#define KEY 24          /* minimum columns of a metadata key */
#define TYPE 6          /* minimum columns of its type */
#define TYPE_MOST 24
#define SHOWN_ITEMS 6   /* maximum items shown of an array */
#define SHOWN_TEXT 96   /* maximum bytes shown of a string */

/* Counts the tensors by type: {"F32":7,"BF16":23}, in the order of first appearance. */
static json_t *
count_types(const struct model *m)
{
	json_t *o = json_object();
	size_t i;

	for (i = 0; o && i < m->tensor_count; i++) {
		const char *name = tensor_type(m->tensors[i])->name;
		json_int_t n = json_integer_value(json_object_get(o, name));

		if (json_object_set_new(o, name, json_integer(n + 1)) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *
side_files(const struct model *m)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < m->blob_count; i++) {
		const struct blob *b = &m->blobs[i];

		if (strcmp(b->type, MODEL_VALUE) != 0 &&
		    json_array_append_new(list, json_pack("[s,s,o]", b->name, b->type,
		                                          json_from_u64(b->bytes))) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* The architecture by its name in GGUF, whatever form states it; as the model states it if it
 * is not known; as the names of its tensors show it; or null. */
static json_t *
architecture(const struct model *m, const struct arch **found)
{
	char text[ARCH_NAME];
	const char *said;
	enum arch_form form;
	size_t n;

	*found = NULL;
	said = arch_said(m, &n);
	if (!said)
		*found = arch_guess(m, &form);
	else if (arch_said_text(m, text))
		*found = arch_known(text);
	if (*found)
		return json_string((*found)->name);
	return said ? json_stringn(said, n) : json_null();
}

/* The size as the model states it, or from its tensors. */
static json_t *
size_label(struct model *m, const struct arch *a)
{
	const char *said = model_text(m, "general.size_label");
	struct arch_sizes sizes;
	char text[ARCH_SIZE];

	if (said && *said)
		return json_string(said);
	arch_count(a, m, &sizes);
	return sizes.all ? json_string(arch_size_text(text, &sizes)) : json_null();
}

int
facts_add(json_t *o, struct model *m, bool verified, struct err *e)
{
	const struct arch *a;
	int r = json_object_set_new(o, "architecture", architecture(m, &a));

	r |= json_object_set_new(o, "size_label", size_label(m, a));
	r |= json_object_set_new(o, "parameters", json_from_u64(model_parameters(m)));
	r |= json_object_set_new(o, "tensors", json_from_u64(m->tensor_count));
	r |= json_object_set_new(o, "tensor_bytes", json_from_u64(model_tensor_bytes(m)));
	r |= json_object_set_new(o, "types", count_types(m));
	if (m->sealed)
		r |= json_object_set_new(o, "sealed", json_true());
	r |= json_object_set_new(o, "signatures", json_from_u64(m->signatures));
	if (m->signatures)
		r |= json_object_set_new(o, "signatures_verified", json_boolean(verified));
	r |= json_object_set_new(o, "provenance", json_from_u64(m->prov_count));
	r |= json_object_set_new(o, "licence", json_boolean(m->licence != MODEL_NONE));
	r |= json_object_set_new(o, "files", side_files(m));
	return r < 0 ? err_memory(e) : 0;
}

json_t *
facts_metadata(const struct model *m, struct err *e)
{
	json_t *list = json_array();
	char type[VALUE_TYPE_TEXT];
	size_t i;

	for (i = 0; list && i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		json_t *v = k->wire ? value_to_json(k->type, k->wire, k->wire_bytes)
		                    : json_pack("{s:s,s:o}", "blob", m->blobs[k->blob].name,
		                                "bytes",
		                                json_from_u64(m->blobs[k->blob].bytes));

		if (json_array_append_new(list, json_pack("[s,s,o]", k->key,
		                                          value_type_text(k->type, type),
		                                          v)) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	if (!list)
		err_memory(e);
	return list;
}

/* Appends a fact as text: numbers and words as they are, lists joined. */
static void
put_value(struct buf *b, const json_t *v)
{
	char text[SHOWN_TEXT * 2];
	const json_t *item;
	const char *name;
	json_t *count;
	size_t i;

	if (json_is_string(v)) {
		buf_text(b, text_quote(text, sizeof text, json_string_value(v),
		                       json_string_length(v)));
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, item) {
			buf_text(b, i == 0 ? "" : json_is_array(item) ? ", " : " ");
			put_value(b, item);
		}
		if (json_array_size(v) == 0)
			buf_text(b, "none");
	} else if (json_is_object(v)) {
		i = 0;
		json_object_foreach((json_t *)(uintptr_t)v, name, count)
			buf_printf(b, "%s%s %" JSON_INTEGER_FORMAT, i++ ? ", " : "",
			           text_quote(text, sizeof text, name, strlen(name)),
			           json_integer_value(count));
	} else if (json_is_null(v)) {
		buf_text(b, "unknown");
	} else if (json_is_boolean(v)) {
		buf_text(b, json_is_true(v) ? "yes" : "no");
	} else if (json_show(v, b) < 0) {
		b->failed = true;
	}
}

void
facts_put(struct buf *b, json_t *o)
{
	const char *name;
	json_t *v;

	json_object_foreach(o, name, v) {
		char size[32];

		if (strcmp(name, "signatures_verified") == 0)
			continue; /* part of the line "signatures" */
		buf_printf(b, "%-*s", FACT, name);
		put_value(b, v);
		if (strstr(name, "bytes") && json_is_integer(v))
			buf_printf(b, " (%s)", text_size(size, sizeof size,
			                                 (uint64_t)json_integer_value(v)));
		if (strcmp(name, "signatures") == 0 && json_integer_value(v) > 0)
			buf_text(b, json_is_true(json_object_get(o, "signatures_verified"))
			                ? " (verified)" : " (not verified)");
		if (strcmp(name, "provenance") == 0 && json_integer_value(v) > 0)
			buf_text(b, " (claims)");
		buf_text(b, "\n");
	}
}

/* ---- metadata as text ---- */

/* Appends the value of a key: an array as its length and first items, a value in a blob
 * as its size. */
static void
put_meta_value(struct buf *b, const struct model *m, const struct meta *k)
{
	char size[32];
	const json_t *item;
	json_t *v;
	size_t i;

	if (!k->wire) {
		buf_printf(b, "(%s)", text_size(size, sizeof size, m->blobs[k->blob].bytes));
		return;
	}
	v = value_to_json(k->type, k->wire, k->wire_bytes);
	if (json_is_array(v)) {
		buf_printf(b, "%zu:", json_array_size(v));
		json_array_foreach(v, i, item) {
			if (i == SHOWN_ITEMS) {
				buf_text(b, " ...");
				break;
			}
			buf_text(b, " ");
			put_value(b, item);
		}
	} else {
		put_value(b, v);
	}
	json_decref(v);
}

/* The widths of the columns of keys and types. */
struct columns {
	int key, type;
};

static struct columns
columns_of(const struct model *m)
{
	struct columns c = { KEY, TYPE };
	char type[VALUE_TYPE_TEXT];
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		c.key = table_widen(c.key, TABLE_NAME_MOST, table_name(&b, 0, m->meta[i].key));
		c.type = table_widen(c.type, TYPE_MOST,
		                     value_type_text(m->meta[i].type, type));
	}
	buf_free(&b);
	return c;
}

void
facts_put_metadata(struct buf *b, const struct model *m)
{
	struct columns c = columns_of(m);
	char type[VALUE_TYPE_TEXT];
	struct buf key = { 0 };
	size_t i;

	buf_printf(b, "%-*s%zu key%s\n", FACT, "metadata", m->meta_count,
	           m->meta_count == 1 ? "" : "s");
	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		buf_printf(b, "  %s %-*s ", table_name(&key, c.key, k->key), c.type,
		           value_type_text(k->type, type));
		put_meta_value(b, m, k);
		buf_text(b, "\n");
	}
	buf_free(&key);
}
