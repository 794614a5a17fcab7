#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tokenizer/bytes.h"
#include "tokenizer/private.h"

#define BLANK "\xe2\x96\x81" /* U+2581 */
#define DEEPSEEK(name) ("<\xef\xbd\x9c" name "\xef\xbd\x9c>") /* U+FF5C */

struct tokenizer *
tokenizer_new(enum tokenizer_kind kind, struct err *e)
{
	struct tokenizer *t = mem_array(1, sizeof *t);
	size_t i;

	if (!t) {
		err_memory(e);
		return NULL;
	}
	t->kind = kind;
	for (i = 0; i < TOKENIZER_ROLES; i++)
		t->role[i] = TOKEN_NONE;
	memset(t->byte, 0xff, sizeof t->byte);
	t->unknown = TOKEN_NONE;
	return t;
}

void
tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	vocab_free(&t->vocab);
	special_free(&t->special);
	normal_free(&t->normal);
	split_free(&t->split);
	merges_free(&t->merges);
	unigram_free(&t->unigram);
	word_free(&t->word);
	pieces_free(&t->pieces);
	buf_free(&t->text);
	buf_free(&t->phantom);
	free(t->pre);
	free(t);
}

int
tokens_add(struct tokens *list, uint32_t id, struct err *e)
{
	if (list->n == list->cap &&
	    mem_grow(&list->id, &list->cap, list->n + 1, sizeof *list->id) < 0)
		return err_memory(e);
	list->id[list->n++] = id;
	return 0;
}

void
tokens_free(struct tokens *list)
{
	free(list->id);
	*list = (struct tokens){ 0 };
}

/* ---- opening ---- */

int
affix_add(struct affix *a, uint32_t id, const char *what, struct err *e)
{
	if (id == TOKEN_NONE)
		return err_set(e, ERR_CORRUPT, what,
		               "a token is to be put beside each text, but there is none");
	if (a->n == AFFIX_IDS)
		return err_set(e, ERR_FORMAT, what, "more than %d tokens beside each text",
		               AFFIX_IDS);
	a->id[a->n++] = id;
	return 0;
}

int
tokenizer_bert_normal(struct tokenizer *t, bool clean, bool chinese, bool accents,
                      bool lower, struct err *e)
{
	struct normal *n = &t->normal;

	if ((clean && !normal_add(n, NORMAL_CLEAN, NULL, NULL, e)) ||
	    (chinese && !normal_add(n, NORMAL_CJK, NULL, NULL, e)) ||
	    (accents && (!normal_add(n, NORMAL_NFD, NULL, NULL, e) ||
	                 !normal_add(n, NORMAL_ACCENTS, NULL, NULL, e))) ||
	    (lower && !normal_add(n, NORMAL_LOWER, NULL, NULL, e)))
		return -1;
	return 0;
}

int
tokenizer_bert_split(struct tokenizer *t, struct err *e)
{
	struct step *s = split_add(&t->split, STEP_PATTERN, "\\s+", ERR_CORRUPT, e);

	if (!s)
		return -1;
	s->behavior = SPLIT_REMOVED;
	return split_add(&t->split, STEP_PATTERN, "[!-/:-@\\[-`{-~]|\\p{P}", ERR_CORRUPT, e)
	           ? 0 : -1;
}

static uint32_t
named(const struct tokenizer *t, const char *text)
{
	return vocab_find(&t->vocab, text, strlen(text));
}

/* The names that models give to the token that ends a text, a turn or a call, and to other
 * control tokens. Each line has the names for one role; the first name that the vocabulary
 * has gets it. The names are those that llama.cpp knows. */
static const char *const ends[] = {
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>",
	"<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>",
	"_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>",
	"<turn|>", "<|tool_response>",
	DEEPSEEK("end" BLANK "of" BLANK "sentence"), "[e~["
};
static const char *const turn_ends[] = {
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>",
	"<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]",
	DEEPSEEK("end" BLANK "of" BLANK "sentence"),
	"<end_of_utterance>"
};
#define FILLS 6
static const char *const fill[][9] = {
	{ "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]" }, /* these end a text */
	{ "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>" },
	{ "<|file_sep|>" },
	{ "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
	  DEEPSEEK("fim" BLANK "begin"), "<PRE>",
	  BLANK "<PRE>", "<|code_prefix|>", "<|prefix|>" },
	{ "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",
	  DEEPSEEK("fim" BLANK "hole"), "<SUF>",
	  BLANK "<SUF>", "<|code_suffix|>", "<|suffix|>" },
	{ "<|fim_middle|>", "<fim-middle>", "<fim_middle>",
	  DEEPSEEK("fim" BLANK "end"), "<MID>",
	  BLANK "<MID>", "<|code_middle|>", "<|middle|>" }
};
static const char *const shown[] = { "<|channel|>", "<|message|>", "<|start|>",
	                             "<|constrain|>" };
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void
set_control(struct tokenizer *t, uint32_t id, uint8_t flags)
{
	if (id != TOKEN_NONE) {
		t->vocab.token[id].kind = TOKEN_CONTROL;
		t->vocab.token[id].flags |= flags | TOKEN_ADDED;
	}
}

static void
set_end(struct tokenizer *t, uint32_t id)
{
	if (id != TOKEN_NONE)
		t->vocab.token[id].flags |= TOKEN_END;
}

/* "<|end|>" ends only a message if other tokens end the text; "</s>" is not an end if there
 * is another. */
static void
undo_ends(struct tokenizer *t)
{
	uint32_t end = named(t, "<|end|>"), s = named(t, "</s>");
	bool calls = named(t, "<|call|>") != TOKEN_NONE || named(t, "<|calls|>") != TOKEN_NONE;
	bool others = named(t, "<|return|>") != TOKEN_NONE ||
	              named(t, "<|flush|>") != TOKEN_NONE;

	if (end != TOKEN_NONE && calls && others) {
		t->vocab.token[end].kind = TOKEN_USER;
		t->vocab.token[end].flags &= (uint8_t)~TOKEN_END;
	}
	if (s != TOKEN_NONE && named(t, "<|tool_response>") != TOKEN_NONE) {
		t->vocab.token[s].kind = TOKEN_NORMAL;
		t->vocab.token[s].flags &= (uint8_t)~(TOKEN_END | TOKEN_ADDED);
	}
}

void
tokenizer_find_roles(struct tokenizer *t)
{
	size_t i, k;
	uint32_t id;

	for (i = 0; i < COUNT(turn_ends) && t->role[TOKENIZER_EOT] == TOKEN_NONE; i++)
		t->role[TOKENIZER_EOT] = named(t, turn_ends[i]);
	for (i = 0; i < COUNT(ends); i++)
		set_control(t, named(t, ends[i]), TOKEN_END);
	for (i = 0; i < COUNT(fill); i++)
		for (k = 0; k < COUNT(*fill) && fill[i][k]; k++) {
			id = named(t, fill[i][k]);
			if (id == TOKEN_NONE)
				continue;
			set_control(t, id, i < 3 ? TOKEN_END : 0);
			break;
		}
	for (i = 0; i < COUNT(shown); i++) {
		id = named(t, shown[i]);
		if (id != TOKEN_NONE)
			t->vocab.token[id].kind = TOKEN_USER;
	}
	set_end(t, t->role[TOKENIZER_EOS]);
	set_end(t, t->role[TOKENIZER_EOT]);
	undo_ends(t);
}

int
tokenizer_use_bytes(struct tokenizer *t, struct err *e)
{
	struct buf b = { 0 };
	uint8_t letter[2];
	uint32_t id;
	unsigned c;
	size_t i;
	int r = 0;

	t->of_bytes = true;
	for (c = 0; c < 256; c++) {
		id = vocab_find(&t->vocab, letter, byte_letter((uint8_t)c, letter));
		/* Added tokens are text, and can be letters by chance. */
		if (id != TOKEN_NONE && t->vocab.token[id].kind != TOKEN_USER &&
		    t->vocab.token[id].kind != TOKEN_CONTROL)
			t->byte[c] = id;
	}
	for (i = 0; i < t->vocab.count && r == 0; i++) {
		const struct token *k = &t->vocab.token[i];

		buf_clear(&b);
		if (k->kind != TOKEN_CONTROL && k->kind != TOKEN_USER &&
		    bytes_of_letters(t->vocab.pool.p + k->text, k->text_bytes, &b))
			r = buf_ok(&b) ? vocab_set_piece(&t->vocab, (uint32_t)i, b.p, b.n, e)
			               : err_memory(e);
	}
	buf_free(&b);
	return r;
}

int
tokenizer_add_merge(struct tokenizer *t, const void *left, size_t left_bytes,
                    const void *right, size_t right_bytes, uint32_t rank,
                    const char *what, struct err *e)
{
	uint32_t l = vocab_find(&t->vocab, left, left_bytes), to = TOKEN_NONE;
	uint32_t r = vocab_find(&t->vocab, right, right_bytes);
	struct buf both = { 0 };
	bool full;

	buf_put(&both, left, left_bytes);
	buf_put(&both, right, right_bytes);
	full = !buf_ok(&both);
	if (!full)
		to = vocab_find(&t->vocab, both.p, both.n);
	buf_free(&both);
	if (full)
		return err_memory(e);
	if (l == TOKEN_NONE || r == TOKEN_NONE || to == TOKEN_NONE)
		return err_set(e, ERR_CORRUPT, what,
		               "merge %u: %s is not a token of the vocabulary", rank,
		               l == TOKEN_NONE ? "its left side" : r == TOKEN_NONE ? "its right side"
		                                                                  : "its result");
	merges_add(&t->merges, l, r, rank, to);
	return 0;
}

int
tokenizer_use_unigram(struct tokenizer *t, unsigned kinds, double *score, double unknown,
                      const char *what, struct err *e)
{
	t->joins_unknown = true;
	return unigram_open(&t->unigram, &t->vocab, kinds, score, unknown, what, e);
}

int
tokenizer_use_scores(struct tokenizer *t, unsigned kinds, const char *what, struct err *e)
{
	double *score = mem_array(t->vocab.count, sizeof *score);
	float lowest = FLT_MAX;
	size_t i;

	if (!score)
		return err_memory(e);
	for (i = 0; i < t->vocab.count; i++) {
		const struct token *k = &t->vocab.token[i];

		if (k->kind == TOKEN_NORMAL && k->score < lowest)
			lowest = k->score;
		/* A token that the user added costs nothing. */
		score[i] = k->kind == TOKEN_USER ? 0 : (double)k->score;
	}
	lowest -= UNIGRAM_UNKNOWN;
	t->joins_words = true;
	return tokenizer_use_unigram(t, kinds, score, (double)lowest, what, e);
}

bool
tokenizer_blanks_begin(const struct tokenizer *t)
{
	const uint8_t *p;
	size_t i, k, n;

	for (i = 0; i < t->vocab.count; i++) {
		p = vocab_text(&t->vocab, (uint32_t)i);
		n = t->vocab.token[i].text_bytes;
		for (k = 0; k + 3 <= n && memcmp(p + k, BLANK, 3) == 0; k += 3)
			;
		if (n > k && memmem(p + k, n - k, BLANK, 3))
			return false;
	}
	return true;
}

/* WordPiece writes a blank in front of each word, but not before these. */
static bool
is_tidy(const uint8_t *p, size_t n)
{
	static const char *const tidy[] = { ".", "?", "!", ",", "n't", "'m", "'s", "'ve",
		                            "'re" };
	size_t i;

	for (i = 0; i < COUNT(tidy); i++)
		if (strlen(tidy[i]) == n && memcmp(tidy[i], p, n) == 0)
			return true;
	return false;
}

/* What a token of SentencePiece writes: a byte, or text with blanks. */
static int
find_piece(struct tokenizer *t, uint32_t id, struct buf *b, const char *what,
           struct err *e)
{
	const struct token *k = &t->vocab.token[id];
	const uint8_t *p = vocab_text(&t->vocab, id);
	char hex[3] = "";
	size_t i;

	if (k->kind == TOKEN_BYTE) {
		if (k->text_bytes == 6)
			memcpy(hex, p + 3, 2);
		if (k->text_bytes != 6 || memcmp(p, "<0x", 3) != 0 || p[5] != '>' ||
		    strspn(hex, "0123456789abcdefABCDEF") != 2)
			return err_set(e, ERR_CORRUPT, what,
			               "token %u is a byte, but not spelt like <0x0A>", id);
		buf_u8(b, (uint8_t)strtoul(hex, NULL, 16));
	} else if (k->kind == TOKEN_CONTROL || k->kind == TOKEN_USER ||
	           k->kind == TOKEN_UNKNOWN || !memmem(p, k->text_bytes, BLANK, 3)) {
		return 0;
	} else {
		i = t->tidies && k->text_bytes > 3 && memcmp(p, BLANK, 3) == 0 &&
		    is_tidy(p + 3, k->text_bytes - 3) ? 3 : 0;
		for (; i < k->text_bytes; i++)
			if (i + 3 <= k->text_bytes && memcmp(p + i, BLANK, 3) == 0)
				buf_u8(b, ' '), i += 2;
			else
				buf_u8(b, p[i]);
	}
	return buf_ok(b) ? vocab_set_piece(&t->vocab, id, b->p, b->n, e) : err_memory(e);
}

int
tokenizer_finish(struct tokenizer *t, const char *what, struct err *e)
{
	struct buf b = { 0 };
	char name[8];
	unsigned c;
	size_t i;
	int r = 0;

	for (c = 0; c < 256 && !t->of_bytes; c++) {
		uint8_t byte = (uint8_t)c;

		snprintf(name, sizeof name, "<0x%02X>", c);
		t->byte[c] = named(t, name);
		if (t->byte[c] == TOKEN_NONE && t->kind == KIND_SCORES)
			t->byte[c] = vocab_find(&t->vocab, &byte, 1);
		/* Unigram falls back to bytes only if the vocabulary asks for it. */
		if (t->kind == KIND_UNIGRAM && t->byte[c] != TOKEN_NONE &&
		    t->vocab.token[t->byte[c]].kind != TOKEN_BYTE)
			t->byte[c] = TOKEN_NONE;
	}
	for (i = 0; i < t->vocab.count && t->blanks && r == 0; i++) {
		buf_clear(&b);
		r = find_piece(t, (uint32_t)i, &b, what, e);
	}
	buf_free(&b);
	t->merges.vocab = &t->vocab;
	return r < 0 ? -1 : special_open(&t->special, &t->vocab, what, e);
}

/* The n bytes of a vocab.txt: a token per line, in the order of ids. */
static struct tokenizer *
list_lines(const uint8_t *p, size_t n, struct err *e)
{
	struct tokenizer *t = tokenizer_new(KIND_WORDPIECE, e);
	const uint8_t *end;
	size_t length;

	for (; t && n > 0; p += length, n -= length) {
		end = memchr(p, '\n', n);
		length = end ? (size_t)(end - p) + 1 : n;
		if (vocab_add(&t->vocab, p, length - (end != NULL), TOKEN_NORMAL, 0, e) < 0) {
			tokenizer_free(t);
			return NULL;
		}
	}
	return t;
}

/* The files of tokenizers that only their programs put together. */
static struct tokenizer *
list_files(const struct material *m, const char *what, const struct tokenizer_options *options,
           struct err *e)
{
	const uint8_t *p;
	size_t n;

	p = material_file(m, "vocab.json", &n);
	if (p)
		return tokenizer_open_json(p, n, NULL, 0, "vocab.json", options, e);
	p = material_file(m, "vocab.txt", &n);
	if (p)
		return list_lines(p, n, e);
	err_set(e, ERR_FORMAT, what, "has no vocabulary");
	return NULL;
}

struct tokenizer *
tokenizer_open(const struct material *m, const char *what,
               const struct tokenizer_options *options, struct err *e)
{
	static const struct tokenizer_options none = { 0 };
	static const char *const pieces[] = { "tokenizer.model", "spiece.model" };
	const uint8_t *p, *config;
	size_t n, config_bytes, i;
	struct tokenizer *t;

	options = options ? options : &none;
	t = options->list ? tokenizer_list_keys(m, what, options, e) : NULL;
	if (t || e->code != ERR_NONE)
		return t;
	if (!options->list && model_find(m->plan, "tokenizer.ggml.model"))
		return tokenizer_open_keys(m, what, options, e);
	config = material_file(m, "tokenizer_config.json", &config_bytes);
	p = material_file(m, "tokenizer.json", &n);
	if (p)
		return tokenizer_open_json(p, n, config, config_bytes, "tokenizer.json", options,
		                           e);
	for (i = 0; i < 2; i++) {
		p = material_file(m, pieces[i], &n);
		if (p)
			return tokenizer_open_sentencepiece(p, n, pieces[i], options, e);
	}
	if (options->list)
		return list_files(m, what, options, e);
	err_set(e, ERR_FORMAT, what, "has no vocabulary");
	return NULL;
}

/* ---- what it has ---- */

uint32_t
tokenizer_count(const struct tokenizer *t)
{
	return (uint32_t)t->vocab.count;
}

size_t
tokenizer_longest(const struct tokenizer *t)
{
	return t->vocab.longest;
}

uint32_t
tokenizer_role(const struct tokenizer *t, enum tokenizer_role role)
{
	return t->role[role];
}

bool
tokenizer_is_end(const struct tokenizer *t, uint32_t id)
{
	return id < t->vocab.count && t->vocab.token[id].flags & TOKEN_END;
}

bool
tokenizer_is_control(const struct tokenizer *t, uint32_t id)
{
	return id < t->vocab.count && (t->vocab.token[id].kind == TOKEN_CONTROL ||
	                               t->vocab.token[id].kind == TOKEN_UNKNOWN);
}

bool
tokenizer_adds_bos(const struct tokenizer *t)
{
	return t->before.n > 0 && t->before.id[0] == t->role[TOKENIZER_BOS];
}

void
tokenizer_row(const struct tokenizer *t, uint32_t id, struct token_row *row)
{
	static const char *const types[] = { "unused", "normal", "unknown", "control", "user",
		"unused", "byte" };
	const struct token *k = &t->vocab.token[id];

	*row = (struct token_row){ .type = types[k->kind <= TOKEN_BYTE ? k->kind : 0],
		.scored = t->scored, .score = k->score };
	row->text = tokenizer_text(t, id, &row->n);
}

const char *
tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *n)
{
	*n = t->vocab.token[id].text_bytes;
	return (const char *)vocab_text(&t->vocab, id);
}

uint32_t
tokenizer_find(const struct tokenizer *t, const char *text, size_t n)
{
	return vocab_find(&t->vocab, text, n);
}

const char *
tokenizer_kind(const struct tokenizer *t)
{
	static const char *const names[] = { "SentencePiece", "BPE", "WordPiece", "Unigram" };

	return names[t->kind];
}

const char *
tokenizer_pre(const struct tokenizer *t)
{
	return t->pre;
}

struct tokenizer *
tokenizer_of(const struct weights *w, const struct tokenizer_options *options,
             struct err *e)
{
	struct tokenizer *t = NULL;
	struct material m;
	size_t i;
	int done = material_open(&m, w->plan, e);

	for (i = 0; done == 0 && i < w->plan->blob_count; i++)
		if (material_wants(&m, i) && w->blobs[i].p)
			done = material_add(&m, i, w->blobs[i].p, w->blobs[i].n, e);
	if (done == 0)
		t = tokenizer_open(&m, w->name, options, e);
	material_free(&m);
	return t;
}
