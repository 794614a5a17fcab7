#include "adapt/tokens/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "core/mem.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/vocab.h"

/* ---- keys ---- */

static int
put(struct tokens_folder *f, const char *key, struct value_type type, struct buf *wire)
{
	int r = buf_ok(wire) ? model_set_meta(f->out, key, type, wire->p, wire->n, f->e)
	                     : err_memory(f->e);

	buf_free(wire);
	return r;
}

int
tokens_put_text(struct tokens_folder *f, const char *key, const char *text, size_t n)
{
	struct buf wire = { 0 };

	buf_u64(&wire, n);
	buf_put(&wire, text, n);
	return put(f, key, (struct value_type){ 0, VALUE_STRING }, &wire);
}

int
tokens_put_bool(struct tokens_folder *f, const char *key, bool v)
{
	struct buf wire = { 0 };

	buf_u8(&wire, v);
	return put(f, key, (struct value_type){ 0, VALUE_BOOL }, &wire);
}

int
tokens_put_u32(struct tokens_folder *f, const char *key, uint32_t v)
{
	struct buf wire = { 0 };

	buf_u32(&wire, v);
	return put(f, key, (struct value_type){ 0, VALUE_U32 }, &wire);
}

/* The head of an array. */
static void
begin_list(struct buf *wire, enum value_kind leaf, size_t n)
{
	buf_u32(wire, leaf);
	buf_u64(wire, n);
}

static int
put_texts(struct tokens_folder *f)
{
	struct buf wire = { 0 };
	size_t i;
	char pad[32];

	begin_list(&wire, VALUE_STRING, f->count);
	for (i = 0; i < f->count; i++) {
		const struct tokens_token *t = &f->token[i];
		size_t n = t->bytes;

		if (!t->kind)
			n = (size_t)snprintf(pad, sizeof pad, "%s[PAD%zu]",
			                     f->kind == TOKENS_WORDS ? TOKENS_BLANK : "", i);
		buf_u64(&wire, n);
		buf_put(&wire, t->kind ? (const char *)f->pool.p + t->text : pad, n);
	}
	return put(f, TOKENS_KEY "tokens", (struct value_type){ 1, VALUE_STRING }, &wire);
}

static int
put_scores(struct tokens_folder *f)
{
	struct buf wire = { 0 };
	uint32_t bits;
	size_t i;

	begin_list(&wire, VALUE_F32, f->count);
	for (i = 0; i < f->count; i++) {
		memcpy(&bits, &f->token[i].score, sizeof bits);
		buf_u32(&wire, bits);
	}
	return put(f, TOKENS_KEY "scores", (struct value_type){ 1, VALUE_F32 }, &wire);
}

static int
put_kinds(struct tokens_folder *f)
{
	struct buf wire = { 0 };
	size_t i;

	begin_list(&wire, VALUE_I32, f->count);
	for (i = 0; i < f->count; i++)
		buf_u32(&wire, f->token[i].kind ? f->token[i].kind : TOKEN_UNUSED);
	return put(f, TOKENS_KEY "token_type", (struct value_type){ 1, VALUE_I32 }, &wire);
}

static int
put_character_map(struct tokens_folder *f)
{
	struct buf wire = { 0 };

	if (f->character_map.n == 0)
		return 0;
	if (charsmap_check(f->character_map.p, f->character_map.n, "precompiled_charsmap", f->e) < 0)
		return -1;
	begin_list(&wire, VALUE_U8, f->character_map.n);
	buf_put(&wire, f->character_map.p, f->character_map.n);
	return put(f, TOKENS_KEY "precompiled_charsmap", (struct value_type){ 1, VALUE_U8 },
	           &wire);
}

/* ---- what architectures ask for ---- */

static const struct {
	const char *folder; /* model_type */
	unsigned flags;
} rows[] = {
	{ "llama", TOKENS_LLAMA },
	{ "mistral", TOKENS_LLAMA },
	{ "mixtral", TOKENS_LLAMA },
	{ "granite", TOKENS_LLAMA },
	{ "smollm3", TOKENS_LLAMA },
	{ "gemma2", TOKENS_NO_PREFIX },
	{ "gemma3_text", TOKENS_NO_PREFIX },
	{ "phi", TOKENS_NO_BOS },
	{ "phi3", TOKENS_ALL_ADDED },
	{ "nemotron", TOKENS_PAD_0_UNK_1 },
	{ "mamba", TOKENS_JSON_FIRST | TOKENS_EIGHTS },
	{ "bert", TOKENS_TYPES },
	{ "roberta", TOKENS_TYPES },
	{ "xlm-roberta", TOKENS_TYPES | TOKENS_UNIGRAM | TOKENS_SHIFTED },
	{ "t5", TOKENS_UNIGRAM },
};

static unsigned
flags_of(const struct subject *s)
{
	size_t i;

	for (i = 0; s->arch && s->arch->folder && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].folder, s->arch->folder) == 0)
			return rows[i].flags;
	return 0;
}

static int
put_types(struct tokens_folder *f)
{
	uint64_t n = 1;

	if (!(f->flags & TOKENS_TYPES))
		return 0;
	json_member_u64(f->s->config, "type_vocab_size", &n);
	if (n > UINT32_MAX)
		return err_set(f->e, ERR_CORRUPT, "config.json", "type_vocab_size is %llu",
		               (unsigned long long)n);
	return tokens_put_u32(f, TOKENS_KEY "token_type_count", (uint32_t)n);
}

static int
put_first(struct tokens_folder *f)
{
	const json_t *prefix = json_object_get(f->config, "add_prefix_space");

	if (f->flags & TOKENS_NO_BOS &&
	    tokens_put_bool(f, TOKENS_KEY "add_bos_token", false) < 0)
		return -1;
	if (f->flags & TOKENS_LLAMA && json_is_boolean(prefix) &&
	    tokens_put_bool(f, TOKENS_KEY "add_space_prefix", json_is_true(prefix)) < 0)
		return -1;
	return f->kind == TOKENS_WORDS ? put_types(f) : 0;
}

/* CodeLlama has these tokens for infilling. */
static int
put_infill(struct tokens_folder *f)
{
	static const struct { const char *key; uint32_t id; } ids[] = {
		{ TOKENS_KEY "prefix_token_id", 32007 }, { TOKENS_KEY "suffix_token_id", 32008 },
		{ TOKENS_KEY "middle_token_id", 32009 }, { TOKENS_KEY "eot_token_id", 32010 }
	};
	size_t i;

	for (i = 0; i < sizeof ids / sizeof *ids; i++)
		if (tokens_put_u32(f, ids[i].key, ids[i].id) < 0)
			return -1;
	return 0;
}

static int
put_last(struct tokens_folder *f)
{
	if (f->flags & TOKENS_LLAMA && f->count == 32016 && put_infill(f) < 0)
		return -1;
	/* Small Granite models. */
	if (f->flags & TOKENS_LLAMA && f->count == 49152 &&
	    tokens_put_bool(f, TOKENS_KEY "add_bos_token", false) < 0)
		return -1;
	if (f->flags & TOKENS_NO_PREFIX && f->kind != TOKENS_BYTES &&
	    tokens_put_bool(f, TOKENS_KEY "add_space_prefix", false) < 0)
		return -1;
	if (f->flags & TOKENS_PAD_0_UNK_1 && f->kind != TOKENS_BYTES &&
	    (tokens_put_u32(f, TOKENS_KEY "padding_token_id", 0) < 0 ||
	     tokens_put_u32(f, TOKENS_KEY "unknown_token_id", 1) < 0))
		return -1;
	return f->kind == TOKENS_BYTES ? put_types(f) : 0;
}

/* ---- the whole ---- */

static bool
is_unigram(const struct tokens_folder *f)
{
	return f->kind == TOKENS_LIST || (f->kind == TOKENS_PIECES && f->flags & TOKENS_UNIGRAM);
}

static int
put_names(struct tokens_folder *f)
{
	const char *model = f->kind == TOKENS_BYTES   ? "gpt2"
	                    : f->kind == TOKENS_WORDS ? "bert"
	                    : is_unigram(f)           ? "t5" : "llama";
	const char *pre = tokens_pre(f);

	if (!pre || tokens_put_text(f, TOKENS_KEY "model", model, strlen(model)) < 0)
		return -1;
	return tokens_put_text(f, TOKENS_KEY "pre", pre, strlen(pre));
}

static int
put_unigram(struct tokens_folder *f)
{
	if (tokens_put_bool(f, TOKENS_KEY "add_space_prefix", f->prefix) < 0 ||
	    put_types(f) < 0 ||
	    tokens_put_bool(f, TOKENS_KEY "remove_extra_whitespaces", f->extra) < 0)
		return -1;
	return put_character_map(f);
}

static int
put_all(struct tokens_folder *f)
{
	bool scores = f->kind != TOKENS_BYTES && f->kind != TOKENS_WORDS;

	if (put_first(f) < 0 || put_names(f) < 0 || put_texts(f) < 0 ||
	    (scores && put_scores(f) < 0) || put_kinds(f) < 0 ||
	    (is_unigram(f) && put_unigram(f) < 0) ||
	    (f->kind == TOKENS_BYTES && tokens_put_merges(f) < 0))
		return -1;
	if (tokens_put_special(f) < 0)
		return -1;
	return put_last(f);
}

static int
read_files(struct tokens_folder *f)
{
	static const char *const names[] = { "tokenizer.json", "tokenizer_config.json",
		                             "special_tokens_map.json" };
	json_t **const to[] = { &f->file, &f->config, &f->map };
	size_t i;

	for (i = 0; i < 3; i++) {
		*to[i] = subject_json(f->s, names[i], f->e);
		if (f->e->code != ERR_NONE)
			return -1;
	}
	return tokens_name(f) < 0 ? -1 : tokens_find_kind(f);
}

static int
read_folder(struct tokens_folder *f)
{
	if (read_files(f) < 0)
		return -1;
	switch (f->kind) {
	case TOKENS_NONE: return 0;
	case TOKENS_PIECES: return tokens_read_pieces(f);
	case TOKENS_LIST: return tokens_read_list(f);
	default: return tokens_read_vocabulary(f);
	}
}

/* ---- the record ---- */

/* Merges are in the keys of byte-level vocabularies, and follow from the pieces of a
 * SentencePiece model. */
static json_t *
file_without_tokens(struct tokens_folder *f)
{
	json_t *file = json_copy(f->file), *model;

	model = json_copy(json_object_get(file, "model"));
	json_object_set_new(file, "model", model);
	json_object_del(model, "vocab");
	if (f->kind != TOKENS_FALLBACK)
		json_object_del(model, "merges");
	return file;
}

static json_t *
config_without_tokens(const struct tokens_folder *f)
{
	json_t *config = json_copy(f->config);

	if (json_object_get(config, "added_tokens_decoder"))
		json_object_set_new(config, "added_tokens_decoder", json_null());
	json_object_del(config, "chat_template");
	return config;
}

static json_t *
make_record(struct tokens_folder *f)
{
	json_t *o;

	if (!f->file && !f->config && !f->map)
		return NULL;
	o = json_object();
	if (f->file)
		json_object_set_new(o, "file", file_without_tokens(f));
	if (f->config)
		json_object_set_new(o, "config", config_without_tokens(f));
	if (f->map)
		json_object_set(o, "map", f->map);
	return o;
}

/* ---- the whole ---- */

int
tokens_put_keys(const struct subject *s, const struct tokens_options *o, struct model *out,
           struct err *e)
{
	struct tokens_folder f = { .s = s, .o = o, .out = out, .e = e, .flags = flags_of(s) };
	int r = read_folder(&f);

	if (r == 0 && f.kind != TOKENS_NONE)
		r = put_all(&f);
	if (o->origin)
		*o->origin = r == 0 ? make_record(&f) : NULL;
	json_decref(f.file);
	json_decref(f.config);
	json_decref(f.map);
	json_decref(f.named);
	free(f.token);
	buf_free(&f.pool);
	buf_free(&f.character_map);
	return r;
}
