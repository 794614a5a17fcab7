/* From the keys of GGUF to config.json. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/keys/keys.h"
#include "adapt/keys/keys_list.h"
#include "arch/expr.h"
#include "arch/keys.h"
#include "core/le.h"

#define ITEMS 65536 /* the most items of an array that becomes a list */

struct make {
	struct expr_scope scope; /* first: find gets this structure */
	const struct subject *s;
	const struct arch *arch; /* of the folder */
	const struct arch_class *class;
	json_t *config, *rope;   /* rope_scaling, or NULL */
	struct err *e;
};

/* ---- values of keys ---- */

static json_t *
leaf_json(unsigned leaf, const uint8_t *p, size_t n)
{
	const struct value_type type = { 0, (uint8_t)leaf };
	uint64_t u;
	float single;
	double d;

	switch (leaf) {
	case VALUE_F32:
		single = le_f32(p);
		return isfinite(single) ? json_real(keys_shortest(single)) : NULL;
	case VALUE_F64:
		d = le_f64(p);
		return isfinite(d) ? json_real(d) : NULL;
	case VALUE_BOOL:
		return json_boolean(*p != 0);
	case VALUE_STRING:
		return n < 8 ? NULL : json_stringn((const char *)p + 8, n - 8);
	default:
		return value_u64(type, p, n, &u) < 0 || u > INT64_MAX ? NULL
		                                                      : json_integer((json_int_t)u);
	}
}

/* An array of numbers, bools or texts. */
static json_t *
array_json(unsigned leaf, const uint8_t *p, size_t n)
{
	size_t size = value_leaf_bytes(leaf), i;
	uint64_t count, length;
	json_t *list, *v;

	if (n < 12 || le64(p + 4) > ITEMS)
		return NULL;
	count = le64(p + 4);
	list = json_array();
	for (i = 0, p += 12, n -= 12; i < count; i++, p += length, n -= length) {
		length = size;
		if (size == 0 && (leaf != VALUE_STRING || n < 8 || le64(p) > n - 8))
			break;
		if (size == 0)
			length = 8 + le64(p);
		v = length <= n ? leaf_json(leaf, p, length) : NULL;
		if (!v || json_array_append_new(list, v) < 0)
			break;
	}
	if (i == count && count > 0)
		return list;
	json_decref(list);
	return NULL;
}

/* The value of a key by its whole name, as a new reference, or NULL. */
static json_t *
key_json(const struct make *m, const char *key)
{
	struct value_type t;
	size_t n;
	const uint8_t *p = weights_value(&m->s->w, key, &t, &n);

	if (!p || t.depth > 1 || n < value_leaf_bytes(t.leaf))
		return NULL;
	return t.depth ? array_json(t.leaf, p, n) : leaf_json(t.leaf, p, n);
}

static bool
has_tensor(const struct subject *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++)
		if (strcmp(tensor_name(s->plan->tensors[i]), name) == 0)
			return true;
	return false;
}

static json_t *
find(const struct expr_scope *scope, const char *name)
{
	const struct make *m = (const struct make *)(const void *)scope;
	char key[256];

	if (name[0] == '?')
		return json_boolean(has_tensor(m->s, name + 1));
	if (strncmp(name, "tokenizer.", 10) == 0)
		return key_json(m, name);
	snprintf(key, sizeof key, "%s.%s", m->s->arch->name, name);
	return key_json(m, key);
}

/* A value of each block that all blocks share is one value. */
static json_t *
one_of(json_t *v)
{
	json_t *first = json_array_get(v, 0);
	size_t i;

	for (i = 1; i < json_array_size(v); i++)
		if (!json_equal(first, json_array_get(v, i)))
			return v;
	if (!first)
		return v;
	json_incref(first);
	json_decref(v);
	return first;
}

/* ---- the class ---- */

const struct arch *
keys_arch(const struct subject *s)
{
	struct make m = { .scope = { find, NULL }, .s = s };
	const struct arch_choice *c;
	const struct arch *a;

	if (!s->arch || arch_by_name(s->arch->name) != s->arch)
		return s->arch; /* its model_type was given */
	for (c = arch_choices; c->name; c++)
		if (strcmp(c->name, s->arch->name) == 0 && expr_holds(&m.scope, c->when) &&
		    (a = arch_by_folder(c->model_type)))
			return a;
	return s->arch;
}

/* ---- members ---- */

static int
lacks(const struct make *m, const char *key)
{
	return err_set(m->e, ERR_CORRUPT, m->s->w.name, "key %s.%s is missing or has an invalid "
	               "value", m->s->arch->name, key);
}

/* Set a member; "rope_scaling.NAME" is one of that object, if there is one. Takes v. */
static int
set(struct make *m, const char *name, json_t *v)
{
	const size_t n = strlen("rope_scaling.");
	bool rope = strncmp(name, "rope_scaling.", n) == 0;
	json_t *o = rope ? m->rope : m->config;

	if (!o) {
		json_decref(v);
		return 0;
	}
	return json_object_set_new(o, rope ? name + n : name, v) < 0 ? err_memory(m->e) : 0;
}

/* Which alternative of a row gets the value of its key: the class's own, or the first. */
static bool
target(const struct make *m, const struct arch_key *row, char name[EXPR_NAME])
{
	const char *text = row->value + (row->value[0] == '!');
	char next[EXPR_NAME];
	bool found = expr_alternative(&text, name);

	while (text && *text)
		if (expr_alternative(&text, next) && keys_listed(m->class->first, next)) {
			snprintf(name, EXPR_NAME, "%s", next);
			return true;
		}
	return found;
}

static json_t *
member_value(const struct arch_key *row, json_t *v)
{
	const char *name;

	if (row->type == KEY_EACH)
		return one_of(v);
	if (row->type != KEY_GATING)
		return v;
	name = keys_gating_name((uint64_t)json_integer_value(v));
	json_decref(v);
	return name ? json_string(name) : NULL;
}

static bool
is_kind(const struct arch_key *row, const json_t *v)
{
	switch (row->type) {
	case KEY_F32: return json_is_number(v);
	case KEY_BOOL: return json_is_boolean(v);
	case KEY_TEXT: case KEY_GATING: return json_is_string(v);
	case KEY_EACH: return json_is_integer(v) || json_is_array(v);
	default: return json_is_integer(v);
	}
}

/* Set the member of a row to v, which is taken. */
static int
set_member(struct make *m, const struct arch_key *row, const char *name, json_t *v)
{
	const json_t *other = json_object_get(m->config, name);

	v = member_value(row, v);
	if (!is_kind(row, v)) {
		json_decref(v);
		return lacks(m, row->key);
	}
	if (other && !json_equal(other, v)) {
		json_decref(v);
		return err_set(m->e, ERR_FORMAT, m->s->w.name, "key %s.%s cannot be expressed in "
		               "config.json, which has one %s", m->s->arch->name, row->key, name);
	}
	return set(m, name, v);
}

static bool
is_needed(const struct arch_key *row)
{
	return row->value[0] == '!' && !row->when && keys_listed("block_count embedding_length "
	       "attention.head_count", row->key);
}

static int
take_row(struct make *m, const struct arch_key *row)
{
	char name[EXPR_NAME];
	json_t *v;

	if (row->type == KEY_FILE || row->type == KEY_POOLING || row->type == KEY_LABELS ||
	    row->type == KEY_BLOCKS)
		return 0;
	if (row->scaling && (!m->rope || !keys_listed(row->scaling, json_string_value(
	    json_object_get(m->rope, "rope_type")))))
		return 0;
	if (!target(m, row, name) || (name[0] == '@' && !row->scaling))
		return 0;
	v = find(&m->scope, row->key);
	if (!v)
		return is_needed(row) ? lacks(m, row->key) : 0;
	if (row->scaling && name[0] == '@')
		return json_object_set_new(m->rope, name + 1, v) < 0 ? err_memory(m->e) : 0;
	return set_member(m, row, name, v);
}

static int
take_members(struct make *m)
{
	struct keys_list l = { .text = m->class->members };
	json_t *v;

	while (keys_list_next(&l)) {
		if (!expr_holds(&m->scope, l.when))
			continue;
		v = strcmp(l.value, "null") == 0 ? json_null() : expr_value(&m->scope, l.value, m->e);
		if (!v && m->e->code != ERR_NONE)
			return -1;
		if (!v && strstr(l.value, "| null"))
			v = json_null();
		if (v && set(m, l.name, one_of(v)) < 0)
			return -1;
	}
	return 0;
}

/* ---- rope_scaling ---- */

/* Make m->rope if positions are scaled. */
static int
begin_rope(struct make *m)
{
	json_t *type = find(&m->scope, "rope.scaling.type");
	json_t *factor = find(&m->scope, "rope.scaling.factor");
	const char *name = json_string_value(type);

	if (has_tensor(m->s, "rope_factors_long.weight"))
		name = "longrope";
	else if (has_tensor(m->s, "rope_freqs.weight"))
		name = "llama3";
	else if (keys_listed("linear yarn", name) && (!json_is_number(factor) ||
	                                              json_number_value(factor) == 1))
		name = NULL;
	if (keys_listed("linear yarn longrope llama3", name))
		m->rope = json_pack("{s:s}", strcmp(name, "longrope") == 0 ? "type" : "rope_type",
		                    name); /* Phi-3 takes only three members, with the old name */
	json_decref(type);
	json_decref(factor);
	return json_object_set(m->config, "rope_scaling", m->rope ? m->rope : json_null()) < 0
		? err_memory(m->e) : 0;
}

/* ---- lists of blocks ---- */

static int
append(json_t *list, json_t *v, struct err *e)
{
	return json_array_append_new(list, v) < 0 ? err_memory(e) : 0;
}

/* The number of blocks, if it is one that the tensors allow, or 0. */
static size_t
blocks(const struct make *m)
{
	json_t *v = find(&m->scope, "block_count");
	uint64_t n = json_is_integer(v) ? (uint64_t)json_integer_value(v) : 0;

	json_decref(v);
	return n <= m->s->plan->tensor_count ? (size_t)n : 0;
}

/* layer_types: from the key with a bool for each block, or the class's period. */
static int
add_types(struct make *m)
{
	json_t *key = find(&m->scope, "attention.sliding_window_pattern"), *list;
	size_t i, n = blocks(m), period = m->class->period;
	bool each = json_is_array(key) && json_array_size(key) == n;
	int r = 0;

	if (json_is_integer(key) && json_integer_value(key) > 0)
		period = (size_t)json_integer_value(key);
	list = (each || period) && n ? json_array() : NULL;
	for (i = 0; list && r == 0 && i < n; i++) {
		bool window = each ? json_is_true(json_array_get(key, i)) : (i + 1) % period != 0;

		r = append(list, json_string(window ? "sliding_attention" : "full_attention"), m->e);
	}
	json_decref(key);
	return list ? set(m, "layer_types", list) : r;
}

/* no_rope_layers: 0 for each block without rotary positions, every Nth. */
static int
add_no_rope(struct make *m)
{
	json_int_t period = json_integer_value(json_object_get(m->config,
	                                                       "no_rope_layer_interval"));
	json_t *list = period > 0 ? json_array() : NULL;
	size_t i, n = blocks(m);
	int r = 0;

	for (i = 0; list && r == 0 && i < n; i++)
		r = append(list, json_integer((json_int_t)(i + 1) % period != 0), m->e);
	return list ? set(m, "no_rope_layers", list) : r;
}

/* ---- the rest ---- */

/* Gemma scales scores by a number that GGUF has no key for. */
static int
add_scalar(struct make *m)
{
	bool wide = arch_scales_wide(m->arch, blocks(m));
	json_t *v;

	if (!(m->arch->flags & ARCH_WIDE_HEADS))
		return 0;
	v = expr_value(&m->scope, wide ? "embedding_length / attention.head_count"
	                               : "attention.key_length * 1", m->e);
	return v ? set(m, "query_pre_attn_scalar", v) : 0;
}

/* The labels of a classifier, and its class. */
static int
add_labels(struct make *m)
{
	json_t *labels = find(&m->scope, "classifier.output_labels"), *v;
	json_t *by_id = json_object(), *by_name = json_object();
	char text[64];
	size_t i;
	int r = 0;

	json_array_foreach(labels, i, v) {
		snprintf(text, sizeof text, "%zu", i);
		if (json_is_string(v) && (json_object_set(by_id, text, v) < 0 ||
		    json_object_set_new(by_name, json_string_value(v), json_integer((json_int_t)i)) < 0))
			r = err_memory(m->e);
	}
	if (r == 0 && json_object_size(by_id) > 0) {
		snprintf(text, sizeof text, "%.*sForSequenceClassification",
		         (int)strcspn(m->class->model, "M"), m->class->model);
		set(m, "architectures", json_pack("[s]", text));
		set(m, "id2label", json_incref(by_id));
		set(m, "label2id", json_incref(by_name));
	}
	json_decref(labels);
	json_decref(by_id);
	json_decref(by_name);
	return r;
}

static int
add_tokens(struct make *m)
{
	static const char *const ids[][2] = {
		{ "bos_token_id", "tokenizer.ggml.bos_token_id" },
		{ "eos_token_id", "tokenizer.ggml.eos_token_id" },
		{ "pad_token_id", "tokenizer.ggml.padding_token_id" },
	};
	json_t *v;
	size_t i;

	for (i = 0; i < 3; i++)
		if ((v = key_json(m, ids[i][1])) && set(m, ids[i][0], v) < 0)
			return -1;
	return 0;
}

static int
add_rest(struct make *m, const char *torch_dtype, uint64_t vocabulary, bool tied)
{
	set(m, "model_type", json_string(m->class->model_type));
	set(m, "architectures", json_pack("[s]", m->class->model));
	if (torch_dtype)
		set(m, "torch_dtype", json_string(torch_dtype));
	set(m, "tie_word_embeddings", json_boolean(tied));
	if (vocabulary <= INT64_MAX)
		set(m, "vocab_size", json_integer((json_int_t)vocabulary));
	if (add_tokens(m) < 0 || add_types(m) < 0 || add_no_rope(m) < 0 || add_scalar(m) < 0 ||
	    add_labels(m) < 0)
		return -1;
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same object with its members in the order of their names. */
static json_t *
sorted(json_t *o, struct err *e)
{
	size_t n = json_object_size(o), i = 0;
	const char **names = malloc((n + 1) * sizeof *names), *name;
	json_t *r = json_object(), *v;

	if (!names || !r)
		err_memory(e);
	json_object_foreach(o, name, v)
		if (names)
			names[i++] = name;
	if (names)
		qsort(names, n, sizeof *names, by_name);
	for (i = 0; e->code == ERR_NONE && i < n; i++)
		if (json_object_set(r, names[i], json_object_get(o, names[i])) < 0)
			err_memory(e);
	free(names);
	return r;
}

static int
make_config(struct make *m)
{
	const struct arch_key *const *list, *row;
	int r = begin_rope(m);

	for (list = m->class->keys; r == 0 && *list; list++)
		for (row = *list; r == 0 && row->key; row++)
			r = take_row(m, row);
	return r < 0 ? -1 : take_members(m);
}

json_t *
keys_config(const struct subject *s, const char *torch_dtype, uint64_t vocabulary, bool tied,
            struct err *e)
{
	struct make m = { .scope = { find, s->w.name }, .s = s, .arch = keys_arch(s), .e = e };
	json_t *r = NULL;

	m.class = m.arch && m.arch->folder ? arch_class(m.arch->folder) : NULL;
	if (!m.class) {
		err_set(e, ERR_FORMAT, s->w.name,
		        "the hyper-parameters of its architecture are not known");
		return NULL;
	}
	m.config = json_object();
	if (!m.config)
		err_memory(e);
	else if (make_config(&m) == 0 && add_rest(&m, torch_dtype, vocabulary, tied) == 0)
		r = sorted(m.config, e);
	json_decref(m.config);
	json_decref(m.rope);
	if (e->code != ERR_NONE) {
		json_decref(r);
		r = NULL;
	}
	return r;
}
