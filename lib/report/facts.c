#include "report/facts.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define SHOWN_ITEMS 6   /* of an array, in text */
#define SHOWN_TEXT 96   /* bytes of a string */

/* {"F32":7,"BF16":23}, in the order of first appearance. */
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

int
facts_add(json_t *o, struct model *m, struct err *e)
{
	size_t n = 0;
	const char *architecture = model_architecture(m, &n);
	int r = json_object_set_new(o, "architecture", architecture
	                            ? json_stringn(architecture, n) : json_null());

	r |= json_object_set_new(o, "parameters", json_from_u64(model_parameters(m)));
	r |= json_object_set_new(o, "tensors", json_from_u64(m->tensor_count));
	r |= json_object_set_new(o, "tensor_bytes", json_from_u64(model_tensor_bytes(m)));
	r |= json_object_set_new(o, "types", count_types(m));
	if (m->sealed)
		r |= json_object_set_new(o, "sealed", json_true());
	r |= json_object_set_new(o, "signatures", json_from_u64(m->signatures));
	if (m->signatures)
		r |= json_object_set_new(o, "signatures_verified", json_false());
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

/* A fact as text: numbers and words as they are, lists joined. */
static void
print_value(const json_t *v)
{
	struct buf b = { 0 };
	char text[SHOWN_TEXT * 2];
	const json_t *item;
	const char *name;
	json_t *count;
	size_t i;

	if (json_is_string(v)) {
		printf("%s", text_quote(text, sizeof text, json_string_value(v),
		                        json_string_length(v)));
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, item) {
			fputs(i == 0 ? "" : json_is_array(item) ? ", " : " ", stdout);
			print_value(item);
		}
		if (json_array_size(v) == 0)
			fputs("none", stdout);
	} else if (json_is_object(v)) {
		i = 0;
		json_object_foreach((json_t *)(uintptr_t)v, name, count)
			printf("%s%s %" JSON_INTEGER_FORMAT, i++ ? ", " : "",
			       text_quote(text, sizeof text, name, strlen(name)),
			       json_integer_value(count));
	} else if (json_is_null(v)) {
		fputs("unknown", stdout);
	} else if (json_is_boolean(v)) {
		fputs(json_is_true(v) ? "yes" : "no", stdout);
	} else if (json_show(v, &b) == 0 && buf_string(&b)) {
		fputs((char *)b.p, stdout);
	}
	buf_free(&b);
}

static void
print_meta(const struct model *m, const struct meta *k)
{
	char type[VALUE_TYPE_TEXT], key[256], size[32];
	json_t *v = NULL;
	const json_t *item;
	size_t i;

	printf("  %-40s %-14s ", text_quote(key, sizeof key, k->key, strlen(k->key)),
	       value_type_text(k->type, type));
	if (!k->wire) {
		printf("(%s)\n", text_size(size, sizeof size, m->blobs[k->blob].bytes));
		return;
	}
	v = value_to_json(k->type, k->wire, k->wire_bytes);
	if (json_is_array(v)) {
		printf("%zu:", json_array_size(v));
		json_array_foreach(v, i, item) {
			if (i == SHOWN_ITEMS) {
				fputs(" ...", stdout);
				break;
			}
			fputc(' ', stdout);
			print_value(item);
		}
	} else {
		print_value(v);
	}
	fputc('\n', stdout);
	json_decref(v);
}

void
facts_print(json_t *o)
{
	const char *name;
	json_t *v;

	json_object_foreach(o, name, v) {
		char size[32];

		if (strcmp(name, "signatures_verified") == 0)
			continue; /* that is said beside their number */
		printf("%-18s", name);
		print_value(v);
		if (strstr(name, "bytes") && json_is_integer(v))
			printf(" (%s)", text_size(size, sizeof size,
			                          (uint64_t)json_integer_value(v)));
		if (strcmp(name, "signatures") == 0 && json_integer_value(v) > 0)
			fputs(" (not verified)", stdout);
		if (strcmp(name, "provenance") == 0 && json_integer_value(v) > 0)
			fputs(" (claims)", stdout);
		fputc('\n', stdout);
	}
}

void
facts_print_metadata(const struct model *m)
{
	size_t i;

	printf("%-18s%zu key%s\n", "metadata", m->meta_count, m->meta_count == 1 ? "" : "s");
	for (i = 0; i < m->meta_count; i++)
		print_meta(m, &m->meta[i]);
}
