#include "report/facts.h"

#include <stdio.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/match.h"
#include "arch/size.h"
#include "arch/words.h"
#include "core/text.h"
#include "model/value_text.h"
#include "report/table.h"

#define FACT 18         /* columns of the name of a fact */
#define KEY 24          /* minimum columns of a metadata key */
#define TYPE 6          /* minimum columns of its type */
#define TYPE_MOST 24
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

/* What kind of model it is: "NEURAL_CUSTOM (Whisper)", or only one of both; null if neither the
 * container (kind) nor the architecture says it. */
static json_t *
type_of(const char *kind, const struct arch *a, const struct model *m)
{
	const char *family = a ? arch_words(arch_refine(a, m))->family : NULL;

	if (kind && family)
		return json_sprintf("%s (%s)", kind, family);
	return kind || family ? json_string(kind ? kind : family) : json_null();
}

/* The rows of the token embeddings; 0 if there are none. */
static uint64_t
embeddings(const struct arch *a, const struct model *m)
{
	enum arch_form form = arch_form_of(a, m);
	struct match x;
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		if (tensor_ndim(t) == 2 && match_find(a, form, tensor_name(t), 0, &x) && !x.bias &&
		    (x.rule->role == ROLE_EMBED || (x.rule->role == ROLES && rule_name(x.rule) &&
		                                    strstr(rule_name(x.rule), "embed_tokens"))))
			return tensor_dims(t)[0];
	}
	return 0;
}

/* The number of tokens, as a key, the embeddings or the list of tokens shows it; 0: not known. */
static uint64_t
vocabulary(const struct arch *a, struct model *m)
{
	const struct meta *tokens = model_find(m, "tokenizer.ggml.tokens"), *k;
	const char *arch = model_text(m, "general.architecture");
	char key[ARCH_NAME + sizeof ".vocab_size"] = "vocab_size";
	uint64_t n;

	if (arch && strlen(arch) < ARCH_NAME)
		snprintf(key, sizeof key, "%s.vocab_size", arch);
	k = model_find(m, key);
	if (k && k->wire && value_u64(k->type, k->wire, k->wire_bytes, &n) == 0)
		return n;
	n = a ? embeddings(a, m) : 0;
	return n || !tokens || !tokens->wire
	           ? n : value_count(tokens->type, tokens->wire, tokens->wire_bytes);
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
	const char *kind = json_string_value(json_object_get(o, "model_type"));
	json_t *name = architecture(m, &a);
	int r = json_object_set_new(o, "type", type_of(kind, a, m));
	uint64_t tokens = vocabulary(a, m);

	r |= json_object_set_new(o, "architecture", name);
	r |= json_object_set_new(o, "size_label", size_label(m, a));
	if (tokens)
		r |= json_object_set_new(o, "vocab_size", json_from_u64(tokens));
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

		if (strcmp(name, "signatures_verified") == 0 ||
		    strcmp(name, "checksum_verified") == 0)
			continue; /* part of the line before */
		buf_printf(b, "%-*s", FACT, name);
		put_value(b, v);
		if (strstr(name, "bytes") && json_is_integer(v))
			buf_printf(b, " (%s)", text_size(size, sizeof size,
			                                 (uint64_t)json_integer_value(v)));
		if (strcmp(name, "signatures") == 0 && json_integer_value(v) > 0)
			buf_text(b, json_is_true(json_object_get(o, "signatures_verified"))
			                ? " (verified)" : " (not verified)");
		if (strcmp(name, "checksum") == 0 && (json_is_string(v) || json_is_true(v)))
			buf_text(b, json_is_true(json_object_get(o, "checksum_verified"))
			                ? " (valid)" : " (not verified)");
		if (strcmp(name, "provenance") == 0 && json_integer_value(v) > 0)
			buf_text(b, " (claims)");
		buf_text(b, "\n");
	}
}

/* ---- metadata as text ---- */

/* The tokens of a tokenizer, and what belongs to each of them. */
static bool
is_vocab(const struct meta *k)
{
	return strncmp(k->key, "tokenizer.", 10) == 0 || strcmp(k->key, "vocab") == 0;
}

/* Appends the value of a key: an array as its length and first items, a value in a blob
 * as its size. */
static void
put_meta_value(struct buf *b, const struct model *m, const struct meta *k,
               const struct facts_view *view)
{
	const size_t most = view && view->items ? view->items : FACTS_ITEMS;
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
			if (i == (view && view->no_vocab && is_vocab(k) ? 0 : most)) {
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

struct facts_columns
facts_columns(const struct model *m)
{
	struct facts_columns c = { KEY, TYPE };
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
facts_put_heading(struct buf *b, const struct model *m)
{
	buf_printf(b, "%-*s%zu key%s\n", FACT, "metadata", m->meta_count,
	           m->meta_count == 1 ? "" : "s");
}

void
facts_put_key(struct buf *b, const struct meta *k, const struct facts_columns *c)
{
	char type[VALUE_TYPE_TEXT];
	struct buf key = { 0 };

	buf_printf(b, "  %s %-*s ", table_name(&key, c->key, k->key), c->type,
	           value_type_text(k->type, type));
	buf_free(&key);
}

void
facts_put_metadata(struct buf *b, const struct model *m, const struct facts_view *view)
{
	struct facts_columns c = facts_columns(m);
	size_t i;

	facts_put_heading(b, m);
	for (i = 0; i < m->meta_count; i++) {
		facts_put_key(b, &m->meta[i], &c);
		put_meta_value(b, m, &m->meta[i], view);
		buf_text(b, "\n");
	}
}
