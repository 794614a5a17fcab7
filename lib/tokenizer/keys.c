#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/reader.h"
#include "tokenizer/pre.h"
#include "tokenizer/private.h"
#include "tokenizer/wordpiece.h"

#define KEY "tokenizer.ggml."

/* The state of an opening. */
struct keys {
	const struct material *m;
	const char *what;
	const struct tokenizer_options *options;
	const char *tokens; /* the key that lists the tokens */
	struct tokenizer *t;
	struct err *e;
};

/* ---- single keys ---- */

/* The text of a key, copied; NULL if such a key does not exist, or with e filled. */
static char *
text_key(const struct keys *k, const char *key)
{
	const struct value_type type = { 0, VALUE_STRING };
	const uint8_t *wire;
	const char *s;
	size_t n;
	char *copy;

	wire = material_value(k->m, key, type, &n, k->e);
	if (!wire)
		return NULL;
	s = value_string(type, wire, n, &n);
	copy = s ? mem_text(s, n) : NULL;
	if (!copy)
		err_memory(k->e);
	return copy;
}

/* 1 and *yes; 0 if such a key does not exist; -1. */
static int
bool_key(const struct keys *k, const char *key, bool *yes)
{
	const uint8_t *wire;
	size_t n;

	wire = material_value(k->m, key, (struct value_type){ 0, VALUE_BOOL }, &n, k->e);
	if (wire)
		*yes = *wire != 0;
	return k->e->code != ERR_NONE ? -1 : wire != NULL;
}

/* The id of a role. A wrong id is a fault if encoding depends on the role, else it is
 * ignored. llama.cpp saves TOKEN_NONE for a missing role. */
static int
role_key(const struct keys *k, const char *key, enum tokenizer_role role, bool vital)
{
	const struct meta *meta = model_find(k->m->plan, key);
	bool known;
	uint64_t id;

	if (!meta)
		return 0;
	known = meta->wire && value_u64(meta->type, meta->wire, meta->wire_bytes, &id) == 0;
	if (known && id == TOKEN_NONE)
		return 0;
	if (!known || id >= k->t->vocab.count) {
		if (vital)
			return err_set(k->e, ERR_CORRUPT, k->what, "%s is not a token: there are %zu",
			               key, k->t->vocab.count);
		if (k->options->note)
			k->options->note("a token id in the metadata is none and is left out");
		return 0;
	}
	k->t->role[role] = (uint32_t)id;
	return 0;
}

/* ---- lists ---- */

/* A list in its wire form: a reader after its head, and *count items of the type. 1; 0 if
 * there is no such key; -1. */
static int
list_key(const struct keys *k, const char *key, unsigned leaf, struct reader *r,
         uint64_t *count)
{
	const uint8_t *wire;
	size_t n;

	wire = material_value(k->m, key, (struct value_type){ 1, (uint8_t)leaf }, &n, k->e);
	if (!wire)
		return k->e->code == ERR_NONE ? 0 : -1;
	reader_memory(r, wire, n, key, k->e);
	reader_u32(r);
	*count = reader_u64(r);
	return r->failed ? -1 : 1;
}

static int
read_tokens(struct keys *k)
{
	struct reader texts, kinds, scores;
	uint64_t count, more, i, length;
	int has_kinds, has_scores;
	const uint8_t *p;

	if (list_key(k, k->tokens, VALUE_STRING, &texts, &count) <= 0)
		return err_set(k->e, ERR_CORRUPT, k->what, "has no %s", k->tokens);
	if (count == 0)
		return err_set(k->e, ERR_CORRUPT, k->what, "has an empty vocabulary");
	has_kinds = list_key(k, KEY "token_type", VALUE_I32, &kinds, &more);
	if (has_kinds > 0 && more != count)
		return err_set(k->e, ERR_CORRUPT, KEY "token_type", "%llu items for %llu tokens",
		               (unsigned long long)more, (unsigned long long)count);
	has_scores = has_kinds < 0 ? -1 : list_key(k, KEY "scores", VALUE_F32, &scores, &more);
	if (has_scores > 0 && more != count)
		return err_set(k->e, ERR_CORRUPT, KEY "scores", "%llu items for %llu tokens",
		               (unsigned long long)more, (unsigned long long)count);
	if (has_scores < 0)
		return -1;
	k->t->scored = has_scores;
	if (!has_scores && (k->t->kind == KIND_SCORES || k->t->kind == KIND_UNIGRAM))
		return err_set(k->e, ERR_CORRUPT, k->what, "has no " KEY "scores");
	for (i = 0; i < count; i++) {
		uint32_t kind = has_kinds ? reader_u32(&kinds) : TOKEN_NORMAL, bits;
		float score = 0;

		if (kind > TOKEN_BYTE)
			return err_set(k->e, ERR_CORRUPT, KEY "token_type", "token %llu is of type %d",
			               (unsigned long long)i, (int)kind);
		if (has_scores) {
			bits = reader_u32(&scores);
			memcpy(&score, &bits, sizeof score);
			if (isnan(score))
				return err_set(k->e, ERR_CORRUPT, KEY "scores", "the score of token %llu "
				               "is not a number", (unsigned long long)i);
		}
		length = reader_u64(&texts);
		if (length > READER_WINDOW)
			return err_set(k->e, ERR_CORRUPT, k->tokens, "token %llu has %llu bytes",
			               (unsigned long long)i, (unsigned long long)length);
		p = reader_take(&texts, (size_t)length);
		if (texts.failed || (has_kinds && kinds.failed) || (has_scores && scores.failed) ||
		    vocab_add(&k->t->vocab, p, (size_t)length, kind ? kind : TOKEN_UNUSED, score,
		              k->e) < 0)
			return -1;
		if (kind == TOKEN_CONTROL || kind == TOKEN_USER || kind == TOKEN_UNKNOWN)
			k->t->vocab.token[i].flags |= TOKEN_ADDED;
	}
	return k->options->list ? 0 : vocab_index(&k->t->vocab, KEY "tokens", k->e);
}

static int
read_merges(struct keys *k)
{
	struct reader r;
	uint64_t count, i, length;
	const uint8_t *p, *blank;

	switch (list_key(k, KEY "merges", VALUE_STRING, &r, &count)) {
	case 0:
		return err_set(k->e, ERR_CORRUPT, k->what, "has no " KEY "merges");
	case -1:
		return -1;
	}
	if (count > reader_left(&r) / 8 || count >= TOKEN_NONE)
		return err_set(k->e, ERR_CORRUPT, KEY "merges", "is cut off");
	if (merges_open(&k->t->merges, (size_t)count, k->e) < 0)
		return -1;
	for (i = 0; i < count; i++) {
		length = reader_u64(&r);
		p = length <= READER_WINDOW ? reader_take(&r, (size_t)length) : NULL;
		if (r.failed)
			return -1;
		/* The left side has at least one byte, which can be a blank. */
		blank = p && length > 1 ? memchr(p + 1, ' ', (size_t)length - 1) : NULL;
		if (!blank)
			return err_set(k->e, ERR_CORRUPT, KEY "merges", "merge %llu is not a pair",
			               (unsigned long long)i);
		if (tokenizer_add_merge(k->t, p, (size_t)(blank - p), blank + 1,
		                        (size_t)(p + length - blank - 1), (uint32_t)i,
		                        KEY "merges", k->e) < 0)
			return -1;
	}
	return 0;
}

/* ---- kinds ---- */

/* Ids that files of this kind need not state. */
static void
default_role(struct tokenizer *t, enum tokenizer_role role, uint32_t id)
{
	if (id < t->vocab.count)
		t->role[role] = id;
}

static int
add_affixes(struct keys *k, bool bos, bool eos)
{
	struct tokenizer *t = k->t;

	if (bool_key(k, KEY "add_bos_token", &bos) < 0 ||
	    bool_key(k, KEY "add_eos_token", &eos) < 0 ||
	    (bos && affix_add(&t->before, t->role[TOKENIZER_BOS], KEY "add_bos_token",
	                      k->e) < 0) ||
	    (eos && affix_add(&t->behind, t->role[TOKENIZER_EOS], KEY "add_eos_token",
	                      k->e) < 0))
		return -1;
	return 0;
}

static int
open_scores(struct keys *k)
{
	struct tokenizer *t = k->t;
	struct step *s;
	bool prefix = true;

	if (bool_key(k, KEY "add_space_prefix", &prefix) < 0)
		return -1;
	s = split_add(&t->split, STEP_METASPACE, NULL, ERR_CORRUPT, k->e);
	if (!s)
		return -1;
	s->first = prefix ? FIRST_ALWAYS : FIRST_NEVER;
	s->twice = true;
	if (tokenizer_blanks_begin(t) &&
	    !split_add(&t->split, STEP_CUT_WORDS, NULL, ERR_CORRUPT, k->e))
		return -1;
	t->blank_first = prefix;
	t->blanks = true;
	t->joins_unknown = true;
	return add_affixes(k, true, false);
}

static int
open_ranks(struct keys *k)
{
	const struct pre *pre;
	struct tokenizer *t = k->t;

	t->pre = text_key(k, KEY "pre");
	if (k->e->code != ERR_NONE)
		return -1;
	if (!t->pre && k->options->note)
		k->options->note("the metadata names no pre-tokenizer: the default pattern is used");
	pre = pre_find(t->pre ? t->pre : "default");
	if (!pre && !k->options->any) {
		err_set(k->e, ERR_FORMAT, k->what, "pre-tokenizer %s is not supported", t->pre);
		return err_hint(k->e, "--any-tokenizer cuts text by the default pattern");
	}
	if (!pre && k->options->note)
		k->options->note("the pre-tokenizer is not known: the default pattern is used");
	pre = pre ? pre : pre_find("default");
	if (pre_steps(pre, &t->split, k->e) < 0 || read_merges(k) < 0 ||
	    tokenizer_use_bytes(t, k->e) < 0)
		return -1;
	t->whole_words = pre->flags & PRE_WHOLE_WORDS;
	return add_affixes(k, pre->flags & PRE_BOS, false);
}

static int
open_wordpiece(struct keys *k)
{
	struct tokenizer *t = k->t;
	bool lower = true, accents;

	if (bool_key(k, KEY "normalizer.lowercase", &lower) < 0)
		return -1;
	accents = lower;
	if (bool_key(k, KEY "normalizer.strip_accents", &accents) < 0 ||
	    tokenizer_bert_normal(t, true, true, accents, lower, k->e) < 0 ||
	    tokenizer_bert_split(t, k->e) < 0)
		return -1;
	if (t->vocab.longest > WORDPIECE_LONGEST)
		return err_set(k->e, ERR_CORRUPT, KEY "tokens", "a token of a word has %zu bytes",
		               t->vocab.longest);
	if (t->role[TOKENIZER_UNK] == TOKEN_NONE)
		return err_set(k->e, ERR_CORRUPT, k->what, "has no unknown token");
	t->blank_first = true;
	t->blanks = true;
	t->tidies = true;
	if (affix_add(&t->before, t->role[TOKENIZER_BOS], KEY "bos_token_id", k->e) < 0)
		return -1;
	return affix_add(&t->behind, t->role[TOKENIZER_SEP], KEY "seperator_token_id", k->e);
}

/* The bytes of the character map; NULL if there is none, or with e filled. */
static const uint8_t *
map_key(struct keys *k, size_t *n)
{
	const struct meta *meta = model_find(k->m->plan, KEY "precompiled_charsmap");
	bool is_signed = meta && meta->type.leaf == VALUE_I8;
	struct reader r;
	uint64_t count = 0;

	*n = 0;
	if (list_key(k, KEY "precompiled_charsmap", is_signed ? VALUE_I8 : VALUE_U8, &r,
	             &count) <= 0)
		return NULL;
	*n = (size_t)count;
	if (count != reader_left(&r))
		err_set(k->e, ERR_CORRUPT, KEY "precompiled_charsmap", "is cut off");
	return r.window + r.at;
}

static int
open_unigram(struct keys *k)
{
	const unsigned kinds = 1 << TOKEN_NORMAL | 1 << TOKEN_USER | 1 << TOKEN_UNUSED;
	struct tokenizer *t = k->t;
	bool prefix = false, merge = false;
	const uint8_t *map;
	size_t n;

	map = map_key(k, &n);
	if (k->e->code != ERR_NONE || bool_key(k, KEY "add_space_prefix", &prefix) < 0 ||
	    bool_key(k, KEY "remove_extra_whitespaces", &merge) < 0)
		return -1;
	/* llama.cpp puts a space in front of each word if it joins them. */
	if (normal_add_map(&t->normal, map, n, KEY "precompiled_charsmap", k->e) < 0 ||
	    normal_add_spaces(&t->normal, prefix || merge, merge, k->e) < 0 ||
	    (tokenizer_blanks_begin(t) &&
	     !split_add(&t->split, STEP_CUT_WORDS, NULL, ERR_CORRUPT, k->e)) ||
	    tokenizer_use_scores(t, kinds, KEY "tokens", k->e) < 0)
		return -1;
	t->blank_first = prefix || merge;
	t->blanks = true;
	return add_affixes(k, false, true);
}

/* Models need this, but no key states it: some tokens take the white space beside them. */
static void
strip_spaces(const struct keys *k)
{
	static const char *const masks[] = { "jina-v2-de", "jina-v2-es", "jina-v2-code",
		                             "modern-bert" };
	struct tokenizer *t = k->t;
	struct err none = ERR_INIT;
	struct keys quiet = *k;
	char *name;
	size_t i;
	uint32_t id;

	for (i = 0; t->pre && i < sizeof masks / sizeof *masks; i++) {
		const char *mask = i < 3 ? "<mask>" : "[MASK]";

		id = vocab_find(&t->vocab, mask, strlen(mask));
		if (strcmp(t->pre, masks[i]) == 0 && id != TOKEN_NONE)
			t->vocab.token[id].flags |= TOKEN_STRIP_LEFT;
	}
	quiet.e = &none;
	name = text_key(&quiet, "general.name");
	if (name && (strcasestr(name, "phi-3") || strcasestr(name, "phi3")))
		for (i = 0; i < t->vocab.count; i++) {
			size_t n;
			const char *s = tokenizer_text(t, (uint32_t)i, &n);

			if (t->vocab.token[i].flags & TOKEN_ADDED && !(n == 5 && !memcmp(s, "<unk>", 5)) &&
			    !(n == 3 && !memcmp(s, "<s>", 3)) &&
			    !(n == 13 && !memcmp(s, "<|endoftext|>", 13)))
				t->vocab.token[i].flags |= TOKEN_STRIP_RIGHT;
		}
	free(name);
}

static int
open_kind(struct keys *k)
{
	/* In the order of enum tokenizer_kind. */
	static int (*const open_as[])(struct keys *) = { open_scores, open_ranks, open_wordpiece,
		                                         open_unigram };
	struct tokenizer *t = k->t;

	if (read_tokens(k) < 0)
		return -1;
	if (t->kind == KIND_SCORES) {
		default_role(t, TOKENIZER_BOS, 1);
		default_role(t, TOKENIZER_EOS, 2);
		default_role(t, TOKENIZER_UNK, 0);
	}
	if (t->kind == KIND_UNIGRAM) {
		default_role(t, TOKENIZER_EOS, 1);
		default_role(t, TOKENIZER_UNK, 2);
		default_role(t, TOKENIZER_PAD, 0);
	}
	if (t->kind == KIND_WORDPIECE) {
		default_role(t, TOKENIZER_BOS, 101);
		default_role(t, TOKENIZER_UNK, 100);
		default_role(t, TOKENIZER_SEP, 102);
		default_role(t, TOKENIZER_PAD, 0);
		default_role(t, TOKENIZER_MASK, 103);
		if (role_key(k, KEY "cls_token_id", TOKENIZER_BOS, true) < 0)
			return -1;
	}
	if (role_key(k, KEY "bos_token_id", TOKENIZER_BOS, true) < 0 ||
	    role_key(k, KEY "eos_token_id", TOKENIZER_EOS, true) < 0 ||
	    role_key(k, KEY "unknown_token_id", TOKENIZER_UNK, true) < 0 ||
	    role_key(k, KEY "eot_token_id", TOKENIZER_EOT, false) < 0 ||
	    role_key(k, KEY "seperator_token_id", TOKENIZER_SEP, false) < 0 ||
	    role_key(k, KEY "padding_token_id", TOKENIZER_PAD, false) < 0 ||
	    role_key(k, KEY "mask_token_id", TOKENIZER_MASK, false) < 0)
		return -1;
	/* BPE has no unknown token: a key that names one is for generation. */
	if (t->kind != KIND_RANKS)
		t->unknown = t->role[TOKENIZER_UNK];
	if (open_as[t->kind](k) < 0)
		return -1;
	tokenizer_find_roles(t);
	strip_spaces(k);
	return tokenizer_finish(t, k->what, k->e);
}

struct tokenizer *
tokenizer_open_keys(const struct material *m, const char *what,
                    const struct tokenizer_options *options, struct err *e)
{
	struct keys k = { .m = m, .what = what, .options = options, .tokens = KEY "tokens",
		.e = e };
	char *model = text_key(&k, KEY "model");

	if (!model)
		return NULL;
	if (strcmp(model, "llama") == 0)
		k.t = tokenizer_new(KIND_SCORES, e);
	else if (strcmp(model, "gpt2") == 0)
		k.t = tokenizer_new(KIND_RANKS, e);
	else if (strcmp(model, "bert") == 0)
		k.t = tokenizer_new(KIND_WORDPIECE, e);
	else if (strcmp(model, "t5") == 0)
		k.t = tokenizer_new(KIND_UNIGRAM, e);
	else if (strcmp(model, "none") == 0 || strcmp(model, "no_vocab") == 0)
		err_set(e, ERR_FORMAT, what, "has no vocabulary");
	else
		err_set(e, ERR_FORMAT, what, "tokenizer %s is not supported", model);
	free(model);
	if (k.t && open_kind(&k) == 0)
		return k.t;
	tokenizer_free(k.t);
	return NULL;
}

/* ---- only the tokens ---- */

/* A list of texts as JSON. */
static int
read_json(struct keys *k)
{
	const uint8_t *wire;
	json_t *list, *text;
	size_t i, n;
	int r = 0;

	wire = material_value(k->m, k->tokens, (struct value_type){ 0, VALUE_JSON }, &n, k->e);
	list = wire ? json_parse_any(wire, n, ERR_CORRUPT, k->tokens, k->e) : NULL;
	if (k->e->code == ERR_NONE && !json_is_array(list))
		r = err_set(k->e, ERR_CORRUPT, k->tokens, "is not a list");
	json_array_foreach(list, i, text) {
		if (r == 0 && !json_is_string(text))
			r = err_set(k->e, ERR_CORRUPT, k->tokens, "item %zu is not a text", i);
		if (r == 0)
			r = vocab_add(&k->t->vocab, json_string_value(text), json_string_length(text),
			              TOKEN_NORMAL, 0, k->e);
	}
	json_decref(list);
	return k->e->code == ERR_NONE ? 0 : -1;
}

struct tokenizer *
tokenizer_list_keys(const struct material *m, const char *what,
                    const struct tokenizer_options *options, struct err *e)
{
	static const char *const names[] = { KEY "tokens", "vocab", "tokenizer.vocabulary" };
	struct keys k = { .m = m, .what = what, .options = options, .e = e };
	const struct meta *meta = NULL;
	size_t i;

	for (i = 0; !meta && i < sizeof names / sizeof *names; i++) {
		k.tokens = names[i];
		meta = model_find(m->plan, names[i]);
	}
	if (!meta)
		return NULL;
	k.t = tokenizer_new(KIND_RANKS, e);
	if (k.t && (meta->type.leaf == VALUE_JSON ? read_json : read_tokens)(&k) == 0)
		return k.t;
	tokenizer_free(k.t);
	return NULL;
}
