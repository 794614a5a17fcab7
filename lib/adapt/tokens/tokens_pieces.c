#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "core/base64.h"
#include "core/text.h"
#include "tokenizer/json.h"
#include "tokenizer/sp_model.h"
#include "tokenizer/vocab.h"

/* ---- the kind of a folder ---- */

/* SentencePiece models by their names, and the flags that a name asks for. */
static const struct { const char *name; unsigned flags; } models[] = {
	{ "sentencepiece.bpe.model", TOKENS_SHIFTED }, { "tokenizer.model", 0 },
	{ "spiece.model", 0 }
};

static bool
has(const struct tokens_folder *f, const char *name)
{
	size_t n;

	return weights_file(&f->s->w, name, &n) != NULL;
}

static const char *
find_model(const struct tokens_folder *f)
{
	size_t i;

	for (i = 0; i < sizeof models / sizeof *models; i++)
		if (has(f, models[i].name) && (f->flags & models[i].flags) == models[i].flags)
			return models[i].name;
	return NULL;
}

/* The kind of a tokenizer.json. Files from before 2020 do not state the type of the model. */
static int
kind_of_file(struct tokens_folder *f)
{
	static const struct { const char *type; enum tokens_kind kind; } types[] = {
		{ "BPE", TOKENS_BYTES }, { "WordPiece", TOKENS_WORDS }, { "Unigram", TOKENS_LIST }
	};
	const json_t *model = json_object_get(f->file, "model"), *stated;
	const char *type;
	size_t i;

	if (!json_is_object(model))
		return err_set(f->e, ERR_CORRUPT, "tokenizer.json", "has no model");
	stated = json_object_get(model, "type");
	type = json_string_value(stated);
	if (!stated)
		type = json_object_get(model, "merges") ? "BPE" : "WordPiece";
	for (i = 0; type && i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].type, type) == 0)
			f->kind = types[i].kind;
	if (f->kind == TOKENS_NONE)
		return err_set(f->e, ERR_FORMAT, "tokenizer.json", "model %.60s is not supported",
		               type ? type : "of no type");
	if (f->kind == TOKENS_BYTES && json_is_true(json_object_get(model, "byte_fallback")) &&
	    !file_is_byte_level(json_object_get(f->file, "pre_tokenizer")))
		f->kind = TOKENS_FALLBACK;
	return 0;
}

int
tokens_find_kind(struct tokens_folder *f)
{
	bool model = find_model(f) != NULL;

	if (model && !(f->file && f->flags & TOKENS_JSON_FIRST))
		f->kind = TOKENS_PIECES;
	else if (f->file)
		return kind_of_file(f);
	else if (has(f, "vocab.json"))
		f->kind = TOKENS_BYTES;
	else if (has(f, "vocab.txt"))
		f->kind = TOKENS_WORDS;
	return 0;
}

/* ---- tokens that other files add ---- */

/* Whether an id is in the vocabulary; if not, one note for all of them says so. */
static bool
fits(struct tokens_folder *f, uint64_t id)
{
	if (id < f->count)
		return true;
	if (f->s->note && !f->beyond)
		f->s->note("added tokens beyond the vocabulary are left out");
	f->beyond = true;
	return false;
}

static int
add_file(struct tokens_folder *f)
{
	json_t *added = subject_json(f->s, "added_tokens.json", f->e), *v;
	const char *text;
	uint64_t id;
	int r = f->e->code == ERR_NONE ? 0 : -1;

	json_object_foreach(added, text, v) {
		if (r == 0)
			r = tokens_id(v, "added_tokens.json", &id, f->e);
		if (r == 0 && fits(f, id))
			r = tokens_set(f, (size_t)id, text, strlen(text), TOKEN_USER, TOKENS_SCORE_ADDED);
	}
	json_decref(added);
	return r;
}

static int
add_object(struct tokens_folder *f, uint64_t id, const json_t *o, const char *what)
{
	const json_t *content = json_object_get(o, "content");
	bool control = json_is_true(json_object_get(o, "special"));
	const char *text = json_string_value(content);
	size_t n = json_string_length(content);

	if (!text)
		return err_set(f->e, ERR_CORRUPT, what, "an added token has no content");
	if (!fits(f, id))
		return 0;
	if (f->flags & TOKENS_ALL_ADDED)
		return tokens_set(f, (size_t)id, text, n, control ? TOKEN_CONTROL : TOKEN_USER,
		                  TOKENS_SCORE_ADDED);
	return tokens_set_added(f, (size_t)id, text, n, control || tokens_look_special(text, n),
	                        TOKENS_SCORE_ADDED);
}

static int
add_decoder(struct tokens_folder *f)
{
	json_t *decoder = json_object_get(f->config, "added_tokens_decoder"), *o;
	const char *text;
	uint64_t id;

	if (decoder && !json_is_null(decoder) && !json_is_object(decoder))
		return err_set(f->e, ERR_CORRUPT, "tokenizer_config.json",
		               "added_tokens_decoder is not an object");
	json_object_foreach(decoder, text, o) {
		if (text_u64(text, 0, UINT64_MAX, &id) < 0)
			return err_set(f->e, ERR_CORRUPT, "tokenizer_config.json",
			               "added_tokens_decoder: %.60s is not the id of a token", text);
		if (add_object(f, id, o, "tokenizer_config.json") < 0)
			return -1;
	}
	return 0;
}

static int
add_list(struct tokens_folder *f)
{
	const json_t *list = json_object_get(f->file, "added_tokens");
	uint64_t id;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);

		if (tokens_id(json_object_get(o, "id"), "tokenizer.json", &id, f->e) < 0 ||
		    add_object(f, id, o, "tokenizer.json") < 0)
			return -1;
	}
	return 0;
}

/* ---- pieces ---- */

/* User-defined pieces count as normal ones; tokenizer_config.json lists them too. */
static int
set_piece(struct tokens_folder *f, size_t id, const struct sp_piece *p)
{
	uint8_t kind = p->kind == TOKEN_USER ? TOKEN_NORMAL : p->kind;

	return tokens_set(f, id, (const char *)p->text, p->bytes, kind, p->score);
}

/* XLM-RoBERTa puts four tokens of its own before the pieces that follow the first three. */
static int
set_shifted(struct tokens_folder *f, const struct sp_model *m)
{
	static const struct { const char *text; uint8_t kind; } own[] = {
		{ "<s>", TOKEN_CONTROL }, { "<pad>", TOKEN_CONTROL }, { "</s>", TOKEN_CONTROL },
		{ "<unk>", TOKEN_UNKNOWN }
	};
	size_t i;
	int r = f->count > 4 ? 0
	                     : err_set(f->e, ERR_CORRUPT, "sentencepiece.bpe.model",
	                               "has %zu pieces", m->n);

	for (i = 0; i < 4 && r == 0; i++)
		r = tokens_set(f, i, own[i].text, strlen(own[i].text), own[i].kind, 0);
	for (i = 3; i < m->n && i + 1 < f->count && r == 0; i++)
		r = set_piece(f, i + 1, &m->piece[i]);
	return r;
}

/* Padding keeps the number that it has before the shift. */
static int
pad_shifted(struct tokens_folder *f, size_t pieces)
{
	char text[32];
	size_t i;

	for (i = pieces + 1; i < f->count; i++) {
		int n = snprintf(text, sizeof text, "[PAD%zu]", i - 1);

		if (tokens_set(f, i, text, (size_t)n, TOKEN_UNUSED, f->token[i].score) < 0)
			return -1;
	}
	return 0;
}

static int
set_pieces(struct tokens_folder *f, const struct sp_model *m, const char *name)
{
	size_t i;

	if (tokens_open(f, m->n, true, name) < 0)
		return -1;
	if (f->flags & TOKENS_SHIFTED)
		return set_shifted(f, m) < 0 || pad_shifted(f, m->n) < 0 ? -1 : 0;
	for (i = 0; i < m->n && i < f->count; i++)
		if (set_piece(f, i, &m->piece[i]) < 0)
			return -1;
	if (add_file(f) < 0)
		return -1;
	if (f->flags & TOKENS_UNIGRAM)
		return 0;
	if (add_decoder(f) < 0)
		return -1;
	return f->flags & TOKENS_ALL_ADDED ? add_list(f) : 0;
}

int
tokens_read_pieces(struct tokens_folder *f)
{
	const char *name = find_model(f);
	struct sp_model m = { 0 };
	const uint8_t *p;
	size_t n;
	int r;

	p = weights_file(&f->s->w, name, &n);
	r = sp_model_read(&m, p, n, name, f->e);
	if (r == 0 && m.type != SP_UNIGRAM)
		f->flags &= ~(unsigned)TOKENS_UNIGRAM; /* Pile-T5 */
	if (r == 0)
		r = set_pieces(f, &m, name);
	f->prefix = m.prefix;
	f->extra = m.extra;
	if (m.map)
		buf_put(&f->character_map, m.map, m.map_bytes);
	sp_model_free(&m);
	return r;
}

/* ---- Unigram in tokenizer.json ---- */

static int
set_scored(struct tokens_folder *f, size_t id, const json_t *item, uint64_t unknown)
{
	const json_t *text = json_array_get(item, 0), *score = json_array_get(item, 1);
	const char *s = json_string_value(text);
	uint8_t kind = TOKEN_NORMAL;

	if (!s || !json_is_number(score))
		return err_set(f->e, ERR_CORRUPT, "tokenizer.json",
		               "vocab: item %zu is not a text and a score", id);
	if (id == unknown)
		kind = TOKEN_UNKNOWN;
	else if (json_number_value(score) <= -10000 && strncmp(s, "[PAD", 4) == 0)
		kind = TOKEN_UNUSED;
	else if (tokens_named(f, s))
		kind = TOKEN_CONTROL;
	return tokens_set(f, id, s, json_string_length(text), kind,
	                  (float)json_number_value(score));
}

/* The first component of a type, in a component or its sequence. */
static const json_t *
component(const json_t *o, const char *list, const char *type)
{
	const json_t *parts = json_object_get(o, list);
	const char *t = json_string_value(json_object_get(o, "type"));
	size_t i;

	if (t && strcmp(t, type) == 0)
		return o;
	for (i = 0; i < json_array_size(parts); i++) {
		const json_t *found = json_array_get(parts, i);

		t = json_string_value(json_object_get(found, "type"));
		if (t && strcmp(t, type) == 0)
			return found;
	}
	return NULL;
}

static int
read_map(struct tokens_folder *f)
{
	const json_t *map = json_object_get(
		component(json_object_get(f->file, "normalizer"), "normalizers", "Precompiled"),
		"precompiled_charsmap");
	struct base64_reader r = { 0 };

	if (!json_is_string(map))
		return 0;
	if (base64_add(&r, json_string_value(map), json_string_length(map),
	               &f->character_map) < 0 || base64_end(&r) < 0)
		return err_set(f->e, ERR_CORRUPT, "tokenizer.json",
		               "precompiled_charsmap is not base64");
	return buf_ok(&f->character_map) ? 0 : err_memory(f->e);
}

static int
read_spaces(struct tokens_folder *f)
{
	const json_t *pre = json_object_get(f->file, "pre_tokenizer");
	const json_t *o = component(pre, "pretokenizers", "Metaspace");
	const char *scheme = json_string_value(json_object_get(o, "prepend_scheme"));
	const char *cut = json_string_value(json_object_get(
		json_object_get(component(pre, "pretokenizers", "Split"), "pattern"), "String"));

	f->prefix = scheme ? strcmp(scheme, "never") != 0
	                   : o && !json_is_false(json_object_get(o, "add_prefix_space"));
	f->extra = component(pre, "pretokenizers", "WhitespaceSplit") ||
	           (cut && strcmp(cut, " ") == 0) ||
	           component(json_object_get(f->file, "normalizer"), "normalizers", "Replace");
	return 0;
}

int
tokens_read_list(struct tokens_folder *f)
{
	const json_t *model = json_object_get(f->file, "model");
	const json_t *vocab = json_object_get(model, "vocab");
	uint64_t unknown = UINT64_MAX;
	size_t i, n = json_array_size(vocab);

	if (n == 0)
		return err_set(f->e, ERR_CORRUPT, "tokenizer.json", "has no vocabulary");
	json_member_u64(model, "unk_id", &unknown);
	if (tokens_open(f, n, true, "tokenizer.json") < 0)
		return -1;
	for (i = 0; i < n && i < f->count; i++)
		if (set_scored(f, i, json_array_get(vocab, i), unknown) < 0)
			return -1;
	if (read_map(f) < 0)
		return -1;
	return read_spaces(f);
}
