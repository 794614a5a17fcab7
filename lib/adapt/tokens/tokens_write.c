#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "adapt/tokens/tokens_keys.h"
#include "core/base64.h"
#include "tokenizer/bytes.h"

/* ---- tokens ---- */

/* Whether the text of a token in a byte-level vocabulary is also the letters of other bytes:
 * then it is found as it stands only if it is normalized. */
static bool
spells_other(const struct tokens_keys *k, size_t id)
{
	const struct token *t = &k->v.token[id];
	const uint8_t *text = vocab_text(&k->v, (uint32_t)id);
	struct buf b = { 0 };
	bool r = k->model == TOKENS_GPT2 && bytes_of_letters(text, t->text_bytes, &b) &&
	         (b.n != t->text_bytes || memcmp(b.p, text, b.n) != 0);

	buf_free(&b);
	return r;
}

json_t *
tokens_added(const struct tokens_keys *k, size_t id)
{
	const struct token *t = &k->v.token[id];
	struct buf b = { 0 };
	const char *text = tokens_spell(k, id, &b);
	json_t *o = json_object();

	if (k->added && k->added[id]) {
		json_object_update(o, (json_t *)(uintptr_t)k->added[id]);
		json_object_del(o, "id");
		buf_free(&b);
		return o;
	}
	if (text)
		json_object_set_new(o, "content", json_stringn(text, b.n));
	json_object_set_new(o, "single_word", json_false());
	json_object_set_new(o, "lstrip", json_false());
	json_object_set_new(o, "rstrip", json_false());
	json_object_set_new(o, "normalized", json_boolean(spells_other(k, id)));
	json_object_set_new(o, "special", json_boolean(t->kind != TOKEN_USER));
	buf_free(&b);
	return o;
}

static int
put_added(struct tokens_keys *k, struct buf *b)
{
	bool first = true;
	size_t i;

	buf_text(b, "[");
	for (i = 0; i < k->v.count; i++) {
		json_t *o, *all;
		int r;

		if (!tokens_is_added(k, i))
			continue;
		o = tokens_added(k, i);
		all = json_object();
		json_object_set_new(all, "id", json_integer((json_int_t)i));
		json_object_update(all, o);
		buf_text(b, first ? "\n    " : ",\n    ");
		r = json_write(all, b);
		json_decref(o);
		json_decref(all);
		first = false;
		if (r < 0)
			return err_memory(k->e);
	}
	buf_text(b, "\n  ]");
	return 0;
}

/* Two tokens that files spell alike cannot be told apart there. */
static int
check_spelling(struct tokens_keys *k)
{
	struct vocab v = { 0 };
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	if (k->model != TOKENS_BERT)
		return 0;
	for (i = 0; i < k->v.count && r == 0; i++)
		r = tokens_spell(k, i, &b) ? vocab_add(&v, b.p, b.n, TOKEN_NORMAL, 0, k->e) : -1;
	if (r == 0)
		r = vocab_index(&v, TOKENS_KEY "tokens", k->e);
	vocab_free(&v);
	buf_free(&b);
	return r;
}

/* The ids of the vocabulary proper; added tokens and padding follow. */
static size_t
proper(const struct tokens_keys *k)
{
	size_t n = k->v.count;

	while (n > 1 && (tokens_is_added(k, n - 1) || tokens_is_padding(k, n - 1)))
		n--;
	return n;
}

/* {"text": id, …} without padding, and without a second empty text. */
static int
put_vocab(struct tokens_keys *k, struct buf *b)
{
	bool first = true, empty = false;
	size_t i, n = proper(k);
	struct buf text = { 0 };

	buf_text(b, "{");
	for (i = 0; i < n; i++) {
		if (tokens_is_padding(k, i) && !tokens_is_added(k, i))
			continue;
		if (!tokens_spell(k, i, &text))
			break;
		if (text.n == 0 && empty)
			continue;
		empty = empty || text.n == 0;
		buf_text(b, first ? "\n      " : ",\n      ");
		json_quote(b, (char *)text.p, text.n);
		buf_printf(b, ": %zu", i);
		first = false;
	}
	buf_text(b, "\n    }");
	buf_free(&text);
	return buf_ok(b) && i == n ? 0 : err_memory(k->e);
}

/* [["text", score], …] of all ids. */
static int
put_scored(struct tokens_keys *k, struct buf *b)
{
	struct buf text = { 0 };
	size_t i;

	buf_text(b, "[");
	for (i = 0; i < k->v.count && tokens_spell(k, i, &text); i++) {
		buf_text(b, i == 0 ? "\n      [" : ",\n      [");
		json_quote(b, (char *)text.p, text.n);
		buf_text(b, ", ");
		json_put_real(b, (double)k->v.token[i].score);
		buf_text(b, "]");
	}
	buf_text(b, "\n    ]");
	buf_free(&text);
	return buf_ok(b) && i == k->v.count ? 0 : err_memory(k->e);
}

/* ---- components ---- */

static json_t *
byte_level(bool cuts)
{
	return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0,
	                 "trim_offsets", 1, "use_regex", (int)cuts);
}

/* Runs of digits in threes from the end, as a pattern. */
#define THREES "\\p{N}{1,3}(?=(?:\\p{N}{3})*$)"

json_t *
tokens_patterns(const struct pre *p)
{
	json_t *list = json_array();
	size_t i;

	if (!p->pattern[1] && strcmp(p->pattern[0], pre_gpt2) == 0) {
		json_decref(list);
		return byte_level(true);
	}
	for (i = 0; i < PRE_PATTERNS && p->pattern[i]; i++)
		json_array_append_new(list, json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split",
			"pattern", "Regex", *p->pattern[i] ? p->pattern[i] : THREES, "behavior",
			"Isolated", "invert", 0));
	json_array_append_new(list, byte_level(false));
	return json_pack("{s:s,s:o}", "type", "Sequence", "pretokenizers", list);
}

static json_t *
space_mark(const char *from, const char *to)
{
	return json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", "String", from,
	                 "content", to);
}

/* What SentencePiece does to a text before Unigram. A prefix goes in front of spaces too, which
 * Metaspace leaves out. */
static json_t *
map_and_spaces(const struct tokens_keys *k)
{
	json_t *list = json_array();
	struct buf b = { 0 };

	if (k->map) {
		base64_put(&b, k->map, k->map_bytes);
		if (buf_string(&b))
			json_array_append_new(list, json_pack("{s:s,s:s}", "type", "Precompiled",
				"precompiled_charsmap", (char *)b.p));
		buf_free(&b);
	}
	if (k->extra && !k->prefix)
		json_array_append_new(list, json_pack("{s:s,s:{s:s},s:s}", "type", "Replace",
			"pattern", "Regex", " {2,}", "content", " "));
	if (!k->extra && k->prefix)
		json_array_append_new(list, json_pack("{s:s,s:s}", "type", "Prepend", "prepend", " "));
	return json_pack("{s:s,s:o}", "type", "Sequence", "normalizers", list);
}

static json_t *
normalizer(const struct tokens_keys *k)
{
	json_t *o = NULL;

	switch (k->model) {
	case TOKENS_GPT2:
		return json_null();
	case TOKENS_SPM:
		o = space_mark(" ", TOKENS_BLANK);
		return !k->prefix ? o : json_pack("{s:s,s:[{s:s,s:s},o]}", "type", "Sequence",
			"normalizers", "type", "Prepend", "prepend", TOKENS_BLANK, o);
	case TOKENS_BERT:
		return json_pack("{s:s,s:b,s:b,s:o,s:b}", "type", "BertNormalizer", "clean_text", 1,
		                 "handle_chinese_chars", 1, "strip_accents",
		                 k->accents < 0 ? json_null() : json_boolean(k->accents), "lowercase",
		                 (int)k->lower);
	case TOKENS_T5:
		return map_and_spaces(k);
	}
	return o;
}

static json_t *
metaspace(const struct tokens_keys *k)
{
	return json_pack("{s:s,s:s,s:b,s:s,s:b}", "type", "Metaspace", "replacement", TOKENS_BLANK,
	                 "add_prefix_space", (int)k->prefix, "prepend_scheme",
	                 k->prefix ? "always" : "never", "split", (int)k->extra);
}

static json_t *
pre_tokenizer(const struct tokens_keys *k)
{
	switch (k->model) {
	case TOKENS_GPT2:
		return tokens_patterns(k->pre);
	case TOKENS_BERT:
		return json_pack("{s:s}", "type", "BertPreTokenizer");
	case TOKENS_T5:
		return !k->extra || !k->prefix
		           ? metaspace(k)
		           : json_pack("{s:s,s:[{s:s,s:{s:s},s:s,s:b},o]}", "type", "Sequence",
		                       "pretokenizers", "type", "Split", "pattern", "String", " ",
		                       "behavior", "Removed", "invert", 0, metaspace(k));
	default:
		return json_null();
	}
}

static json_t *
decoder(const struct tokens_keys *k)
{
	json_t *o;

	switch (k->model) {
	case TOKENS_GPT2:
		return byte_level(true);
	case TOKENS_BERT:
		return json_pack("{s:s,s:s,s:b}", "type", "WordPiece", "prefix", "##", "cleanup", 1);
	case TOKENS_T5:
		return metaspace(k);
	default:
		o = json_pack("{s:s,s:[o,{s:s},{s:s}]}", "type", "Sequence", "decoders",
		              space_mark(TOKENS_BLANK, " "), "type", "ByteFallback", "type", "Fuse");
		if (k->prefix)
			json_array_append_new(json_object_get(o, "decoders"),
			                      json_pack("{s:s,s:s,s:i,s:i}", "type", "Strip", "content",
			                                " ", "start", 1, "stop", 0));
		return o;
	}
}

/* ---- the post-processor ---- */

static json_t *
token_text(const struct tokens_keys *k, uint32_t id)
{
	struct buf b = { 0 };
	const char *s = tokens_spell(k, id, &b);
	json_t *v = s ? json_stringn(s, b.n) : NULL;

	buf_free(&b);
	return v;
}

static void
add_special(const struct tokens_keys *k, json_t *list, uint32_t id, int text)
{
	if (id != TOKEN_NONE)
		json_array_append_new(list, json_pack("{s:{s:o,s:i}}", "SpecialToken", "id",
			token_text(k, id), "type_id", text));
}

static void
add_sequence(json_t *list, const char *name, int text)
{
	json_array_append_new(list, json_pack("{s:{s:s,s:i}}", "Sequence", "id", name, "type_id",
	                                      text));
}

static void
add_entry(const struct tokens_keys *k, json_t *all, uint32_t id)
{
	json_t *text;

	if (id == TOKEN_NONE)
		return;
	text = token_text(k, id);
	json_object_set_new(all, json_string_value(text) ? json_string_value(text) : "",
		json_pack("{s:O,s:[I],s:[O]}", "id", text, "ids", (json_int_t)id, "tokens", text));
	json_decref(text);
}

/* Between two texts stands what the key of a separator asks for: nothing without a key; once
 * more what begins or ends a text if it is false; EOS twice if it is true. */
static json_t *
template(const struct tokens_keys *k, uint32_t bos, uint32_t eos)
{
	json_t *single = json_array(), *pair = json_array(), *all = json_object();

	add_special(k, single, bos, 0);
	add_sequence(single, "A", 0);
	add_special(k, single, eos, 0);
	add_special(k, pair, bos, 0);
	add_sequence(pair, "A", 0);
	if (k->add_sep == 0)
		add_special(k, pair, eos != TOKEN_NONE ? eos : bos, eos == TOKEN_NONE);
	if (k->add_sep > 0) {
		add_special(k, pair, k->eos, 0);
		add_special(k, pair, k->eos, 0);
	}
	add_sequence(pair, "B", 1);
	add_special(k, pair, eos, 1);
	add_entry(k, all, bos);
	add_entry(k, all, eos);
	if (k->add_sep > 0)
		add_entry(k, all, k->eos);
	return json_pack("{s:s,s:o,s:o,s:o}", "type", "TemplateProcessing", "single", single,
	                 "pair", pair, "special_tokens", all);
}

static json_t *
post_processor(const struct tokens_keys *k)
{
	uint32_t bos = k->puts_bos ? k->bos : TOKEN_NONE;
	uint32_t eos = k->puts_eos ? k->eos : TOKEN_NONE;

	if (k->model == TOKENS_GPT2 && bos != TOKEN_NONE && eos != TOKEN_NONE && k->add_sep > 0)
		return json_pack("{s:s,s:[o,I],s:[o,I],s:b,s:b}", "type", "RobertaProcessing", "sep",
		                 token_text(k, eos), (json_int_t)eos, "cls", token_text(k, bos),
		                 (json_int_t)bos, "trim_offsets", 1, "add_prefix_space", 0);
	if (bos != TOKEN_NONE || eos != TOKEN_NONE || k->add_sep >= 0)
		return template(k, bos, eos);
	return k->model == TOKENS_GPT2 ? byte_level(true) : json_null();
}

/* ---- the file ---- */

/* A part of the file: that of the record, unless the keys name other patterns. */
static int
put_part(struct tokens_keys *k, struct buf *b, const char *name, json_t *v)
{
	json_t *own = json_object_get(k->file, name);
	char derived[64];
	int r;

	if (own && strcmp(name, "pre_tokenizer") == 0 && k->model == TOKENS_GPT2) {
		const json_t *whole = json_object_get(json_object_get(k->file, "model"),
		                                      "ignore_merges");
		const char *pre = tokens_derived(k->s, own, json_is_true(whole), derived);
		const char *stated = json_string_value(json_object_get(k->config,
		                                                       TOKENS_PRE_MEMBER));

		if (!(pre && strcmp(pre, k->pre_name) == 0) &&
		    !(stated && strcmp(stated, k->pre_name) == 0))
			own = NULL;
	}
	if (own && (json_is_object(own) || json_is_null(own))) {
		json_decref(v);
		v = json_incref(own);
	}
	buf_printf(b, ",\n  \"%s\": ", name);
	r = v ? json_write(v, b) : -1;
	json_decref(v);
	return r < 0 ? err_memory(k->e) : 0;
}

static void
put_text(const struct tokens_keys *k, struct buf *b, uint32_t id)
{
	struct buf text = { 0 };

	if (id == TOKEN_NONE || !tokens_spell(k, id, &text))
		buf_text(b, "null");
	else
		json_quote(b, (char *)text.p, text.n);
	buf_free(&text);
}

/* The model's other members as in the record, up to its vocabulary, if it has that type. */
static bool
put_own_model(struct tokens_keys *k, struct buf *b, const char *type)
{
	json_t *own = json_object_get(k->file, "model"), *v;
	const char *name = json_string_value(json_object_get(own, "type"));

	if (!name || strcmp(name, type) != 0)
		return false;
	json_object_foreach(own, name, v) {
		if (strcmp(name, "vocab") == 0 || strcmp(name, "merges") == 0)
			continue;
		buf_text(b, "    ");
		json_quote(b, name, strlen(name));
		buf_text(b, ": ");
		b->failed = b->failed || json_write(v, b) < 0;
		buf_text(b, ",\n");
	}
	buf_text(b, "    \"vocab\": ");
	return true;
}

static int
put_bpe(struct tokens_keys *k, struct buf *b)
{
	bool spm = k->model == TOKENS_SPM;

	if (put_own_model(k, b, "BPE")) {
		if (put_vocab(k, b) < 0)
			return -1;
		buf_text(b, ",\n    \"merges\": ");
		return tokens_write_merges(k, b);
	}
	buf_text(b, "    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": ");
	put_text(k, b, spm ? k->unk : TOKEN_NONE);
	buf_printf(b, ",\n    \"continuing_subword_prefix\": null,\n"
	           "    \"end_of_word_suffix\": null,\n    \"fuse_unk\": %s,\n"
	           "    \"byte_fallback\": %s,\n    \"ignore_merges\": %s,\n    \"vocab\": ",
	           spm ? "true" : "false", spm ? "true" : "false",
	           !spm && k->pre->flags & PRE_WHOLE_WORDS ? "true" : "false");
	if (put_vocab(k, b) < 0)
		return -1;
	buf_text(b, ",\n    \"merges\": ");
	return tokens_write_merges(k, b);
}

static int
put_model(struct tokens_keys *k, struct buf *b)
{
	switch (k->model) {
	case TOKENS_BERT:
		if (k->unk == TOKEN_NONE)
			return err_set(k->e, ERR_CORRUPT, k->s->w.name, "has no unknown token");
		if (put_own_model(k, b, "WordPiece"))
			return put_vocab(k, b);
		buf_text(b, "    \"type\": \"WordPiece\",\n    \"unk_token\": ");
		put_text(k, b, k->unk);
		/* Words have no limit for readers of GGUF. */
		buf_text(b, ",\n    \"continuing_subword_prefix\": \"##\",\n"
		         "    \"max_input_chars_per_word\": 4294967295,\n    \"vocab\": ");
		return put_vocab(k, b);
	case TOKENS_T5:
		if (put_own_model(k, b, "Unigram"))
			return put_scored(k, b);
		buf_text(b, "    \"type\": \"Unigram\",\n    \"unk_id\": ");
		if (k->unk == TOKEN_NONE)
			buf_text(b, "null");
		else
			buf_printf(b, "%u", k->unk);
		buf_text(b, ",\n    \"vocab\": ");
		return put_scored(k, b);
	default:
		return put_bpe(k, b);
	}
}

int
tokens_write_json(struct tokens_keys *k, struct buf *b)
{
	if (check_spelling(k) < 0)
		return -1;
	buf_text(b, "{\n  \"version\": \"1.0\"");
	if (put_part(k, b, "truncation", json_null()) < 0 ||
	    put_part(k, b, "padding", json_null()) < 0)
		return -1;
	buf_text(b, ",\n  \"added_tokens\": ");
	if (put_added(k, b) < 0 || put_part(k, b, "normalizer", normalizer(k)) < 0 ||
	    put_part(k, b, "pre_tokenizer", pre_tokenizer(k)) < 0 ||
	    put_part(k, b, "post_processor", post_processor(k)) < 0 ||
	    put_part(k, b, "decoder", decoder(k)) < 0)
		return -1;
	buf_text(b, ",\n  \"model\": {\n");
	if (put_model(k, b) < 0)
		return -1;
	buf_text(b, "\n  }\n}\n");
	return buf_ok(b) ? 0 : err_memory(k->e);
}
