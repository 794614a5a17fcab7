#include "merge/tokenizer_out.h"

#include <string.h>

#include "adapt/tokens/tokens.h"
#include "core/le.h"
#include "core/text.h"

#define WORDS_DEPTH 2 /* lists in lists in a list, at most */
#define KEY "tokenizer.ggml."

struct output {
	const struct vocabulary *v;
	const struct merge_input *in;
	struct model *plan;
	struct subject_files *files;
	struct err *e;
	bool keys;                /* the reference has keys of GGUF, not files */
};

/* ---- metadata ---- */

/* Append a value: to the plan, or as a blob. */
static int
add_value(struct output *o, const struct meta *k)
{
	struct buf bytes = { 0 }, name = { 0 };
	size_t n = strlen(k->key);
	int r = -1;

	if (value_is_inline(k->type, k->wire, k->wire_bytes))
		return model_add_meta(o->plan, k->key, n, k->type, k->wire, k->wire_bytes, o->e);
	buf_printf(&name, MODEL_VALUE_NAME "%s", k->key);
	buf_put(&bytes, k->wire, k->wire_bytes);
	if (!buf_string(&name))
		err_memory(o->e);
	else if (model_add_meta_blob(o->plan, k->key, n, k->type, k->wire_bytes, o->e) == 0)
		r = subject_add_file(o->files, buf_string(&name), &bytes, o->e);
	buf_free(&name);
	buf_free(&bytes);
	return r;
}

static int
add_tokenizer(struct output *o)
{
	const struct model *keys = &o->v->words.keys;
	size_t i;

	for (i = 0; i < keys->meta_count; i++)
		if (add_value(o, &keys->meta[i]) < 0)
			return -1;
	return 0;
}

/* ARCHITECTURE.vocab_size of GGUF. */
static int
add_count(struct output *o, const struct meta *k)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	uint8_t wire[4];

	le32_put(wire, o->v->tokens);
	return model_add_meta(o->plan, k->key, strlen(k->key), u32, wire, sizeof wire, o->e);
}

static int
add_key(struct output *o, const struct meta *k)
{
	const struct model *m = merge_input_plan(o->in);
	const char *end = strrchr(k->key, '.');

	if (k->blob != SIZE_MAX)
		return model_add_meta_blob(o->plan, k->key, strlen(k->key), k->type,
		                           m->blobs[k->blob].bytes, o->e);
	if (end && strcmp(end, ".vocab_size") == 0 && strncmp(k->key, "general.", 8) != 0)
		return add_count(o, k);
	return model_add_meta(o->plan, k->key, strlen(k->key), k->type, k->wire, k->wire_bytes, o->e);
}

/* All keys, with those of the tokenizer in the place of the first of them. */
static int
add_keys(struct output *o)
{
	const struct model *m = merge_input_plan(o->in);
	bool done = false;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		bool own = strncmp(m->meta[i].key, "tokenizer.", 10) == 0;

		if (own && !done && o->keys && add_tokenizer(o) < 0)
			return -1;
		done = done || own;
		if (!own && add_key(o, &m->meta[i]) < 0)
			return -1;
	}
	return done || !o->keys ? 0 : add_tokenizer(o);
}

/* ---- side files ---- */

static bool
is_ours(const char *name)
{
	static const char *const names[] = { "tokenizer.json", "tokenizer_config.json",
		"special_tokens_map.json", "added_tokens.json", "tokenizer.model", "spiece.model",
		"sentencepiece.bpe.model", "vocab.json", "vocab.txt", "merges.txt",
		"chat_template.jinja", "chat_template.json" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The files of the tokenizer, from its keys. */
static int
make_files(struct output *o)
{
	struct subject s = o->in->subject;

	s.plan = s.w.plan = (struct model *)(uintptr_t)&o->v->words.keys;
	s.w.blobs = NULL;
	s.note = NULL;
	return tokens_files(&s, o->v->words.origin, o->files, o->e);
}

/* An id that a member of config.json states, by the key of the tokenizer. */
static void
put_id(const struct output *o, json_t *config, const char *member, const char *key)
{
	uint64_t id;

	if (!json_object_get(config, member))
		return;
	if (model_u64(&o->v->words.keys, key, &id) == 0 && id < o->v->tokens)
		json_object_set_new(config, member, json_integer((json_int_t)id));
	else
		json_object_set_new(config, member, json_null());
}

/* Whether a member of config.json is an id or a list of ids. */
static bool
is_id(const char *member)
{
	static const char *const ends[] = { "_token_id", "_token_ids", "_token_index" };
	size_t n = strlen(member), i, k;

	for (i = 0; i < sizeof ends / sizeof *ends; i++) {
		k = strlen(ends[i]);
		if (n > k && strcmp(member + n - k, ends[i]) == 0)
			return true;
	}
	return false;
}

static bool
is_own_id(const json_t *v, size_t tokens)
{
	return json_is_integer(v) && json_integer_value(v) >= 0 &&
		(uint64_t)json_integer_value(v) < tokens;
}

/* The new id of a token as a new reference, or NULL. Negative numbers mean that there is none. */
static json_t *
moved(const struct output *o, const json_t *v)
{
	uint32_t id;

	if (json_is_integer(v) && json_integer_value(v) < 0)
		return json_integer(json_integer_value(v));
	if (!is_own_id(v, o->v->before))
		return NULL;
	id = o->v->moved[json_integer_value(v)];
	return id == VOCABULARY_LACKS ? NULL : json_integer(id);
}

/* Sequences of tokens, in lists in lists. One with a token that does not stay goes, as it can neither
 * come nor be forced; a list without members becomes null. Returns a new reference. */
static json_t *
moved_words(const struct output *o, const json_t *v, unsigned depth)
{
	json_t *list = json_array(), *id;
	size_t i;

	for (i = 0; list && i < json_array_size(v); i++) {
		const json_t *part = json_array_get(v, i);

		if (json_is_array(part) && depth < WORDS_DEPTH) {
			id = moved_words(o, part, depth + 1);
			if (json_is_array(id))
				json_array_append_new(list, id);
			else
				json_decref(id);
		} else if ((id = moved(o, part))) {
			json_array_append_new(list, id);
		} else {
			json_array_clear(list);
			break;
		}
	}
	if (json_array_size(list) > 0)
		return list;
	json_decref(list);
	return json_null();
}

/* Pairs of a position, and the token that is forced there or null. */
static json_t *
moved_forced(const struct output *o, const json_t *v)
{
	json_t *list = json_array(), *id;
	size_t i;

	for (i = 0; i < json_array_size(v); i++) {
		const json_t *pair = json_array_get(v, i), *at = json_array_get(pair, 0);

		if (!json_is_integer(at))
			continue;
		id = moved(o, json_array_get(pair, 1));
		json_array_append_new(list, json_pack("[I,o]", json_integer_value(at), id ? id : json_null()));
	}
	return list;
}

static bool
is_words(const char *member)
{
	return strcmp(member, "bad_words_ids") == 0 || strcmp(member, "force_words_ids") == 0;
}

static bool
is_forced(const char *member)
{
	return strcmp(member, "forced_decoder_ids") == 0;
}

/* Ids of tokens that do not stay go from lists, and become null alone. */
static void
move_ids(const struct output *o, json_t *config)
{
	json_t *v, *id, *list;
	const char *name;
	size_t i;

	json_object_foreach(config, name, v) {
		if (json_is_array(v) && (is_words(name) || is_forced(name)))
			json_object_set_new(config, name, is_words(name) ? moved_words(o, v, 0)
			                                                  : moved_forced(o, v));
		if (!is_id(name) && !strstr(name, "suppress_tokens"))
			continue;
		if (json_is_integer(v)) {
			id = moved(o, v);
			json_object_set_new(config, name, id ? id : json_null());
		} else if (json_is_array(v)) {
			list = json_array();
			for (i = 0; i < json_array_size(v); i++)
				if ((id = moved(o, json_array_get(v, i))))
					json_array_append_new(list, id);
			json_object_set_new(config, name, list);
		}
	}
}

static void
put_numbers(const struct output *o, json_t *config)
{
	if (json_is_integer(json_object_get(config, "vocab_size")))
		json_object_set_new(config, "vocab_size", json_integer((json_int_t)o->v->tokens));
	if (o->v->moved)
		move_ids(o, config);
	if (!o->v->foreign || o->v->moved)
		return;
	put_id(o, config, "bos_token_id", KEY "bos_token_id");
	put_id(o, config, "eos_token_id", KEY "eos_token_id");
	put_id(o, config, "pad_token_id", KEY "padding_token_id");
}

static int
change_config(struct output *o, const char *name)
{
	json_t *config = subject_json(&o->in->subject, name, o->e), *part, *copy;

	if (!config)
		return o->e->code == ERR_NONE ? 0 : -1;
	copy = json_deep_copy(config);
	json_decref(config);
	put_numbers(o, copy);
	part = json_object_get(copy, "text_config");
	if (json_is_object(part))
		put_numbers(o, part);
	return subject_add_json(o->files, name, copy, o->e);
}

/* The reference's files except those of its tokenizer, then the new ones. Sizes follow later. */
static int
add_files(struct output *o)
{
	const struct model *m = merge_input_plan(o->in);
	size_t i, k;

	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0 && (o->keys || !is_ours(m->blobs[i].name)) &&
		    model_add_blob(o->plan, m->blobs[i].name, m->blobs[i].type, m->blobs[i].bytes, o->e) < 0)
			return -1;
	for (i = 0; i < o->files->count; i++) {
		for (k = 0; k < o->plan->blob_count; k++)
			if (strcmp(o->plan->blobs[k].name, o->files->file[i].name) == 0)
				break;
		if (k == o->plan->blob_count &&
		    model_add_blob(o->plan, o->files->file[i].name, "file", 0, o->e) < 0)
			return -1;
	}
	return 0;
}

/* Whether the tokenizer is keys of GGUF, not files. */
static bool
has_keys(const struct merge_input *in)
{
	return in->subject.form == ARCH_GGUF || model_find(merge_input_plan(in), KEY "tokens");
}

int
tokenizer_apply(const struct vocabulary *v, const struct merge_input *in, struct model *plan,
                struct subject_files *files, struct err *e)
{
	struct output o = { .v = v, .in = in, .plan = plan, .files = files, .e = e,
		.keys = has_keys(in) };

	if (in->subject.apr)
		return err_set(e, ERR_FORMAT, in->name, "has the names of an .apr file, whose tokenizer is not "
		               "replaced: apr-adapt gives it others");
	model_clear_meta(plan);
	if (add_keys(&o) < 0)
		return -1;
	if (!o.keys &&
	    (make_files(&o) < 0 || change_config(&o, "config.json") < 0 ||
	     change_config(&o, "generation_config.json") < 0))
		return -1;
	return add_files(&o);
}

/* ---- ids that are named ---- */

/* Tokens that are forced: all numbers in lists in lists, or the last one of each pair. */
static void
mark_forced(const json_t *v, bool pairs, bool *named, size_t n, unsigned depth)
{
	const json_t *part;
	size_t i;

	json_array_foreach(v, i, part) {
		if (json_is_array(part) && depth < WORDS_DEPTH)
			mark_forced(part, pairs, named, n, depth + 1);
		else if (is_own_id(part, n) && (!pairs || i == 1))
			named[json_integer_value(part)] = true;
	}
}

static void
mark_ids(json_t *config, bool *named, size_t n)
{
	const char *name;
	json_t *v, *id;
	size_t i;

	json_object_foreach(config, name, v) {
		if (strcmp(name, "force_words_ids") == 0 || is_forced(name))
			mark_forced(v, is_forced(name), named, n, 0);
		if (!is_id(name))
			continue;
		if (is_own_id(v, n))
			named[json_integer_value(v)] = true;
		json_array_foreach(v, i, id)
			if (is_own_id(id, n))
				named[json_integer_value(id)] = true;
	}
}

int
tokenizer_named(const struct merge_input *in, bool *named, size_t n, struct err *e)
{
	static const char *const files[] = { "config.json", "generation_config.json" };
	json_t *config;
	size_t i;

	for (i = 0; !has_keys(in) && i < sizeof files / sizeof *files; i++) {
		if (!(config = subject_json(&in->subject, files[i], e))) {
			if (e->code != ERR_NONE)
				return -1;
			continue;
		}
		mark_ids(config, named, n);
		mark_ids(json_object_get(config, "text_config"), named, n);
		json_decref(config);
	}
	return 0;
}
