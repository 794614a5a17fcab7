#include "tokenizer/json.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tokenizer/wordpiece.h"

#define HOLES 65536 /* the most ids without a token */
#define BLANK "\xe2\x96\x81"

int
file_refuse(struct file *f, const char *part, const char *name)
{
	return err_set(f->e, ERR_FORMAT, f->what, "%s %.80s is not supported", part, name);
}

int
file_bool(struct file *f, const json_t *o, const char *name, bool otherwise)
{
	const json_t *v = json_object_get(o, name);

	if (!v || json_is_null(v))
		return otherwise;
	if (!json_is_boolean(v))
		return err_set(f->e, ERR_CORRUPT, f->what, "%s is neither true nor false", name);
	return json_is_true(v);
}

const char *
file_text(struct file *f, const json_t *o, const char *name, const char *otherwise)
{
	const json_t *v = json_object_get(o, name);

	if (!v || json_is_null(v))
		return otherwise;
	if (json_is_string(v))
		return json_string_value(v);
	err_set(f->e, ERR_CORRUPT, f->what, "%s is not a string", name);
	return NULL;
}

/* ---- the vocabulary ---- */

/* A token with its id, before the tokens are sorted by id. */
struct entry {
	const char *text;
	size_t bytes;
	uint8_t kind, flags;
	bool is;
	float score; /* of a list */
};

struct entries {
	struct entry *p;
	size_t n, cap, tokens;
};

static int
set_entry(struct file *f, struct entries *all, const json_t *id, const char *text,
          size_t bytes, struct entry **entry)
{
	uint64_t v;

	if (!json_is_integer(id) || json_value_u64(id, &v) < 0)
		return err_set(f->e, ERR_CORRUPT, f->what, "the id of a token is not a number");
	if (v > all->tokens + HOLES)
		return err_set(f->e, ERR_CORRUPT, f->what,
		               "token id %llu is far beyond the number of tokens",
		               (unsigned long long)v);
	if (mem_grow(&all->p, &all->cap, (size_t)v + 1, sizeof *all->p) < 0)
		return err_memory(f->e);
	if (all->n <= v)
		all->n = (size_t)v + 1;
	*entry = &all->p[v];
	if ((*entry)->is && ((*entry)->bytes != bytes ||
	                     memcmp((*entry)->text, text, bytes) != 0))
		return err_set(f->e, ERR_CORRUPT, f->what, "two tokens have the id %llu",
		               (unsigned long long)v);
	(*entry)->text = text;
	(*entry)->bytes = bytes;
	(*entry)->is = true;
	return 0;
}

static int
read_vocab(struct file *f, json_t *vocab, struct entries *all)
{
	struct entry *entry;
	const char *text;
	json_t *id;

	json_object_foreach(vocab, text, id) {
		if (set_entry(f, all, id, text, strlen(text), &entry) < 0)
			return -1;
		if (entry->kind)
			return err_set(f->e, ERR_CORRUPT, f->what, "two tokens have one id");
		entry->kind = TOKEN_NORMAL;
	}
	return 0;
}

/* Unigram's: a list of texts with scores, by id. */
static int
read_list(struct file *f, json_t *vocab, const json_t *model, struct entries *all)
{
	const json_t *unknown = json_object_get(model, "unk_id");
	struct entry *entry;
	json_t *item, *id;
	size_t i;
	int r;

	json_array_foreach(vocab, i, item) {
		const json_t *text = json_array_get(item, 0);

		if (!json_is_string(text) || !json_is_number(json_array_get(item, 1)))
			return err_set(f->e, ERR_CORRUPT, f->what, "token %zu is not a text and a score",
			               i);
		id = json_integer((json_int_t)i);
		r = id ? set_entry(f, all, id, json_string_value(text), json_string_length(text),
		                   &entry)
		       : err_memory(f->e);
		json_decref(id);
		if (r < 0)
			return -1;
		entry->score = (float)json_number_value(json_array_get(item, 1));
		entry->kind = json_is_integer(unknown) && json_integer_value(unknown) == (json_int_t)i
		                      ? TOKEN_UNKNOWN : TOKEN_NORMAL;
	}
	return 0;
}

/* Whether the normalizer would change the text of an added token, apart from blanks in front
 * of it and replaced blanks. Such a token would never be found. */
static int
is_changed(struct file *f, const char *text, size_t n, struct work *work)
{
	struct buf b = { 0 };
	const uint8_t *p;
	size_t left;
	int r;

	if (normal_run(&f->t->normal, (const uint8_t *)text, n, &b, work, f->e) < 0) {
		buf_free(&b);
		return -1;
	}
	for (p = b.p, left = b.n; left >= 3 && left > n && memcmp(p, BLANK, 3) == 0; left -= 3)
		p += 3;
	r = left != n || memcmp(p, text, n) != 0;
	buf_free(&b);
	return r && !memmem(text, n, " ", 1);
}

/* They share one work limit, as if they were one text. */
static size_t
added_bytes(const json_t *list)
{
	size_t i, n = 0;

	for (i = 0; i < json_array_size(list); i++)
		n += 1 + json_string_length(json_object_get(json_array_get(list, i), "content"));
	return n;
}

static int
read_added(struct file *f, const json_t *list, struct entries *all)
{
	static const struct { const char *name; uint8_t flag; } flags[] = {
		{ "lstrip", TOKEN_STRIP_LEFT }, { "rstrip", TOKEN_STRIP_RIGHT },
		{ "single_word", TOKEN_WORD }
	};
	struct work work = work_of(added_bytes(list));
	struct entry *entry;
	size_t i, k;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		const json_t *text = json_object_get(o, "content");
		int special = file_bool(f, o, "special", false);
		int normalized = file_bool(f, o, "normalized", !special);

		if (!json_is_string(text))
			return err_set(f->e, ERR_CORRUPT, f->what, "an added token has no content");
		if (special < 0 || normalized < 0 ||
		    set_entry(f, all, json_object_get(o, "id"), json_string_value(text),
		              json_string_length(text), &entry) < 0)
			return -1;
		if (normalized && f->t->normal.n > 0 && !special &&
		    is_changed(f, json_string_value(text), json_string_length(text), &work) != 0)
			return f->e->code != ERR_NONE
			           ? -1 : file_refuse(f, "an added token that is normalized:",
			                              json_string_value(text));
		entry->kind = special ? TOKEN_CONTROL : TOKEN_USER;
		entry->flags = TOKEN_ADDED;
		for (k = 0; k < 3; k++) {
			int yes = file_bool(f, o, flags[k].name, false);

			if (yes < 0)
				return -1;
			if (yes)
				entry->flags |= flags[k].flag;
		}
	}
	return 0;
}

static bool
is_byte_token(const struct entry *x)
{
	return x->bytes == 6 && memcmp(x->text, "<0x", 3) == 0 && x->text[5] == '>' &&
	       strspn(x->text + 3, "0123456789ABCDEF") == 2;
}

/* Fill the vocabulary. WordPiece's tokens are spelt as in GGUF (wordpiece.h). */
static int
add_entries(struct file *f, const struct entries *all)
{
	struct vocab *v = &f->t->vocab;
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < all->n && r == 0; i++) {
		const struct entry *x = &all->p[i];
		enum token_kind kind = x->is ? x->kind : TOKEN_UNUSED;

		if (f->byte_fallback && is_byte_token(x))
			kind = TOKEN_BYTE;
		buf_clear(&b);
		if (f->t->kind != KIND_WORDPIECE || kind != TOKEN_NORMAL || f->options->list)
			buf_put(&b, x->text, x->bytes);
		else if (x->bytes > 2 && memcmp(x->text, "##", 2) == 0)
			buf_put(&b, x->text + 2, x->bytes - 2);
		else
			buf_printf(&b, BLANK "%s", x->text);
		r = buf_ok(&b) ? vocab_add(v, b.p, b.n, kind, x->score, f->e) : err_memory(f->e);
		if (r == 0)
			v->token[i].flags |= x->flags;
	}
	buf_free(&b);
	return r < 0 ? -1 : f->options->list ? 0 : vocab_index(v, f->what, f->e);
}

/* Read the tokens of a list or an object and those that were added. */
static int
read_entries(struct file *f, const json_t *root, struct entries *all)
{
	const json_t *model = json_object_get(root, "model");
	const json_t *added = json_object_get(root, "added_tokens");
	json_t *vocab = json_object_get(model, "vocab");
	bool list = json_is_array(vocab);

	all->tokens = json_object_size(vocab) + json_array_size(vocab) + json_array_size(added);
	f->t->scored = list;
	return (list ? read_list(f, vocab, model, all) : read_vocab(f, vocab, all)) < 0
	           ? -1 : read_added(f, added, all) < 0 ? -1 : add_entries(f, all);
}

/* ---- models ---- */

static int
read_merge(struct file *f, const json_t *m, uint32_t rank)
{
	const json_t *left = json_array_get(m, 0), *right = json_array_get(m, 1);
	const char *text = json_string_value(m), *blank;

	if (json_is_array(m) && json_is_string(left) && json_is_string(right))
		return tokenizer_add_merge(f->t, json_string_value(left), json_string_length(left),
		                           json_string_value(right), json_string_length(right),
		                           rank, f->what, f->e);
	blank = text && *text ? strchr(text + 1, ' ') : NULL;
	if (!blank)
		return err_set(f->e, ERR_CORRUPT, f->what, "merge %u is not a pair", rank);
	return tokenizer_add_merge(f->t, text, (size_t)(blank - text), blank + 1,
	                           strlen(blank + 1), rank, f->what, f->e);
}

static int
unknown_token(struct file *f, const json_t *model)
{
	const char *unknown = file_text(f, model, "unk_token", "");

	if (!unknown)
		return -1;
	if (!*unknown)
		return 0;
	f->t->unknown = vocab_find(&f->t->vocab, unknown, strlen(unknown));
	f->t->role[TOKENIZER_UNK] = f->t->unknown;
	if (f->t->unknown == TOKEN_NONE)
		return err_set(f->e, ERR_CORRUPT, f->what, "unk_token %s is not a token", unknown);
	return 0;
}

static int
finish_ranks(struct file *f, const json_t *model)
{
	const json_t *merges = json_object_get(model, "merges"), *dropout;
	const char *prefix = file_text(f, model, "continuing_subword_prefix", "");
	const char *suffix = file_text(f, model, "end_of_word_suffix", "");
	int joins = file_bool(f, model, "fuse_unk", false);
	int whole = file_bool(f, model, "ignore_merges", false);
	size_t i, n = json_array_size(merges);

	if (!prefix || !suffix || joins < 0 || whole < 0)
		return -1;
	dropout = json_object_get(model, "dropout");
	if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0)
		return file_refuse(f, "BPE with", "dropout");
	if (*prefix || *suffix)
		return file_refuse(f, *prefix ? "continuing_subword_prefix" : "end_of_word_suffix",
		                   *prefix ? prefix : suffix);
	if (!json_is_array(merges))
		return err_set(f->e, ERR_CORRUPT, f->what, "has no merges");
	if (merges_open(&f->t->merges, n, f->e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (read_merge(f, json_array_get(merges, i), (uint32_t)i) < 0)
			return -1;
	f->t->joins_unknown = joins;
	f->t->whole_words = whole;
	return f->t->of_bytes ? tokenizer_use_bytes(f->t, f->e) : 0;
}

static int
finish_words(struct file *f, const json_t *model)
{
	const char *prefix = file_text(f, model, "continuing_subword_prefix", "##");
	uint64_t limit = 100;

	json_member_u64(model, "max_input_chars_per_word", &limit);
	if (!prefix)
		return -1;
	if (strcmp(prefix, "##") != 0)
		return file_refuse(f, "continuing_subword_prefix", prefix);
	if (f->t->unknown == TOKEN_NONE)
		return err_set(f->e, ERR_CORRUPT, f->what, "has no unk_token");
	if (f->t->vocab.longest > WORDPIECE_LONGEST)
		return err_set(f->e, ERR_CORRUPT, f->what, "a token of a word has %zu bytes",
		               f->t->vocab.longest);
	f->t->word_limit = limit < UINT32_MAX ? (size_t)limit : UINT32_MAX;
	f->t->blanks = true;
	f->t->blank_first = true;
	return 0;
}

/* Every token of the list counts for the lowest score, as in the tokenizers library. */
static int
finish_list(struct file *f, const json_t *model)
{
	const json_t *vocab = json_object_get(model, "vocab");
	const json_t *unknown = json_object_get(model, "unk_id");
	double *score = mem_array(f->t->vocab.count, sizeof *score), lowest = DBL_MAX;
	uint64_t id = TOKEN_NONE;
	size_t i;

	if (!score)
		return err_memory(f->e);
	for (i = 0; i < json_array_size(vocab); i++) {
		score[i] = json_number_value(json_array_get(json_array_get(vocab, i), 1));
		if (score[i] < lowest)
			lowest = score[i];
	}
	if (unknown && !json_is_null(unknown) &&
	    (json_value_u64(unknown, &id) < 0 || id >= json_array_size(vocab))) {
		free(score);
		return err_set(f->e, ERR_CORRUPT, f->what, "unk_id is not a token");
	}
	f->t->unknown = f->t->role[TOKENIZER_UNK] = (uint32_t)id;
	return tokenizer_use_unigram(f->t, 1 << TOKEN_NORMAL | 1 << TOKEN_USER, score,
	                             lowest - UNIGRAM_UNKNOWN, f->what, f->e);
}

/* ---- roles ---- */

/* "bos_token" of tokenizer_config.json: a text, or an object with a content. */
static uint32_t
configured(const struct tokenizer *t, const json_t *config, const char *name)
{
	const json_t *v = json_object_get(config, name);

	if (json_is_object(v))
		v = json_object_get(v, "content");
	return json_is_string(v) ? vocab_find(&t->vocab, json_string_value(v),
	                                      json_string_length(v)) : TOKEN_NONE;
}

static void
find_roles(struct file *f, const json_t *config)
{
	static const struct { const char *name; enum tokenizer_role role; } roles[] = {
		{ "bos_token", TOKENIZER_BOS }, { "eos_token", TOKENIZER_EOS },
		{ "sep_token", TOKENIZER_SEP }, { "pad_token", TOKENIZER_PAD },
		{ "mask_token", TOKENIZER_MASK }
	};
	static const char *const eos[] = { "</s>", "<|endoftext|>", "<|end_of_text|>", "<eos>" };
	struct tokenizer *t = f->t;
	size_t i;

	for (i = 0; i < sizeof roles / sizeof *roles; i++)
		t->role[roles[i].role] = configured(t, config, roles[i].name);
	if (t->role[TOKENIZER_UNK] == TOKEN_NONE)
		t->role[TOKENIZER_UNK] = configured(t, config, "unk_token");
	if (t->role[TOKENIZER_BOS] == TOKEN_NONE && t->before.n > 0)
		t->role[TOKENIZER_BOS] = t->before.id[0];
	for (i = 0; i < 4 && t->role[TOKENIZER_EOS] == TOKEN_NONE; i++)
		t->role[TOKENIZER_EOS] = vocab_find(&t->vocab, eos[i], strlen(eos[i]));
	tokenizer_find_roles(t);
}

static int
open_kind(struct file *f, const json_t *root, const json_t *config)
{
	const json_t *model = json_object_get(root, "model");
	json_t *vocab = json_object_get(model, "vocab");
	const json_t *pre = json_object_get(root, "pre_tokenizer");
	int fallback = file_bool(f, model, "byte_fallback", false);
	bool list = f->options->list ? json_is_array(vocab) : f->t->kind == KIND_UNIGRAM;
	struct entries all = { 0 };
	int r = -1;

	if (fallback < 0)
		return -1;
	if (list ? !json_is_array(vocab) || json_array_size(vocab) == 0
	         : !json_is_object(vocab) || json_object_size(vocab) == 0)
		return err_set(f->e, ERR_CORRUPT, f->what, "has no vocabulary");
	f->t->of_bytes = f->t->kind == KIND_RANKS && file_is_byte_level(pre);
	f->byte_fallback = (list || f->options->list) && fallback;
	if (f->options->list)
		r = read_entries(f, root, &all);
	else if (file_normalizer(f, json_object_get(root, "normalizer")) == 0 &&
	    file_pre_tokenizer(f, pre) == 0 &&
	    file_decoder(f, json_object_get(root, "decoder")) == 0 &&
	    read_entries(f, root, &all) == 0 && unknown_token(f, model) == 0 &&
	    file_post_processor(f, json_object_get(root, "post_processor")) == 0)
		r = list                      ? finish_list(f, model)
		    : f->t->kind == KIND_RANKS ? finish_ranks(f, model)
		                               : finish_words(f, model);
	free(all.p);
	if (r < 0 || f->options->list)
		return r;
	/* Text that cannot cross a blank need not be merged together. */
	if (f->t->kind != KIND_WORDPIECE && !f->t->of_bytes && f->t->split.n == 0 &&
	    !f->t->whole_words && tokenizer_blanks_begin(f->t)) {
		f->t->joins_words = true;
		if (!split_add(&f->t->split, STEP_CUT_WORDS, NULL, ERR_CORRUPT, f->e))
			return -1;
	}
	find_roles(f, config);
	if (tokenizer_finish(f->t, f->what, f->e) < 0)
		return -1;
	if (!fallback && !f->t->of_bytes)
		memset(f->t->byte, 0xff, sizeof f->t->byte);
	return 0;
}

struct tokenizer *
tokenizer_open_json(const void *text, size_t n, const void *config, size_t config_bytes,
                    const char *what, const struct tokenizer_options *options,
                    struct err *e)
{
	static const struct tokenizer_options none = { 0 };
	struct file f = { .what = what, .options = options ? options : &none, .e = e };
	json_t *root = json_parse(text, n, ERR_CORRUPT, what, e), *more = NULL;
	const json_t *model;
	const char *type;

	if (f.options->list && json_is_integer(json_object_iter_value(json_object_iter(root))))
		root = json_pack("{s:{s:s,s:o}}", "model", "type", "BPE", "vocab", root);
	model = json_object_get(root, "model");
	type = json_string_value(json_object_get(model, "type"));
	if (root && config)
		more = json_parse_wide(config, config_bytes, ERR_CORRUPT, "tokenizer_config.json",
		                       e);
	if (e->code == ERR_NONE && !json_is_object(model))
		err_set(e, ERR_FORMAT, what, "is not a tokenizer: it has no model");
	/* Files from before 2020 do not state the type of the model. */
	if (e->code == ERR_NONE && !type)
		type = json_object_get(model, "merges") ? "BPE" : "WordPiece";
	if (e->code == ERR_NONE && strcmp(type, "BPE") == 0)
		f.t = tokenizer_new(KIND_RANKS, e);
	else if (e->code == ERR_NONE && strcmp(type, "WordPiece") == 0)
		f.t = tokenizer_new(KIND_WORDPIECE, e);
	else if (e->code == ERR_NONE && strcmp(type, "Unigram") == 0)
		f.t = tokenizer_new(KIND_UNIGRAM, e);
	else if (e->code == ERR_NONE && f.options->list)
		f.t = tokenizer_new(KIND_RANKS, e);
	else if (e->code == ERR_NONE)
		file_refuse(&f, "model", type);
	if (f.t && open_kind(&f, root, more) < 0) {
		tokenizer_free(f.t);
		f.t = NULL;
	}
	json_decref(root);
	json_decref(more);
	return f.t;
}
