#include <stdlib.h>

#include "core/text.h"
#include "tokenizer/bytes.h"
#include "tokenizer/private.h"
#include "tokenizer/wordpiece.h"

/* The state of one call. */
struct encoding {
	struct tokenizer *t;
	struct tokens *to;
	struct err *e;
	struct work work;
	bool special;
	bool unknown;   /* the last id stands for unknown text, which is only characters of
	                 * this run */
};

static int
emit(struct encoding *x, uint32_t id)
{
	x->unknown = false;
	return tokens_add(x->to, id, x->e);
}

/* Append bytes without a token: each as its byte token, or all as one unknown token. */
static int
emit_bytes(struct encoding *x, const uint8_t *p, size_t n)
{
	struct tokenizer *t = x->t;
	size_t i;

	for (i = 0; i < n && t->byte[p[i]] != TOKEN_NONE; i++)
		;
	if (i < n) {
		if (t->unknown == TOKEN_NONE) {
			t->lost += n;
			return 0;
		}
		if (x->unknown && t->joins_unknown)
			return 0;
		if (emit(x, t->unknown) < 0)
			return -1;
		x->unknown = true;
		return 0;
	}
	for (i = 0; i < n; i++)
		if (emit(x, t->byte[p[i]]) < 0)
			return -1;
	return 0;
}

/* The token that is the whole word, in the letters of a byte-level vocabulary. */
static uint32_t
whole_word(const struct tokenizer *t, const uint8_t *p, size_t n)
{
	uint8_t letters[512];
	size_t i, used = 0;

	if (!t->of_bytes)
		return vocab_find(&t->vocab, p, n);
	for (i = 0; i < n; i++) {
		if (used + 2 > sizeof letters)
			return TOKEN_NONE;
		used += byte_letter(p[i], letters + used);
	}
	return vocab_find(&t->vocab, letters, used);
}

/* The first symbols of a word. */
static void
open_symbols(struct tokenizer *t, const uint8_t *p, size_t n)
{
	size_t i, length;
	uint32_t c;

	for (i = 0; i < n; i += length) {
		length = t->of_bytes ? 1 : text_character(p + i, n - i, &c);
		if (t->of_bytes)
			word_symbol(&t->word, i, 1, t->byte[p[i]]);
		else
			word_symbol(&t->word, i, length ? length : 1,
			            length ? vocab_find(&t->vocab, p + i, length) : TOKEN_NONE);
		if (length == 0)
			length = 1;
	}
}

static int
emit_symbols(struct encoding *x, const uint8_t *p, size_t n)
{
	const struct word *w = &x->t->word;
	size_t i;

	for (i = 0; i < n; i += w->length[i])
		if ((w->id[i] != TOKEN_NONE ? emit(x, w->id[i])
		                            : emit_bytes(x, p + i, w->length[i])) < 0)
			return -1;
	return 0;
}

static int
encode_word(struct encoding *x, const uint8_t *p, size_t n)
{
	struct tokenizer *t = x->t;
	uint32_t id;

	if (t->kind == KIND_WORDPIECE)
		return wordpiece_encode(&t->vocab, p, n, t->word_limit, t->unknown,
		                        &t->phantom, x->to, x->e);
	if (t->kind == KIND_UNIGRAM) {
		x->unknown = x->unknown && t->joins_words;
		if (unigram_cut(&t->unigram, &t->word, p, n, x->e) < 0)
			return -1;
		return emit_symbols(x, p, n);
	}
	if (t->whole_words) {
		id = whole_word(t, p, n);
		if (id != TOKEN_NONE)
			return emit(x, id);
	}
	if (word_open(&t->word, n, x->e) < 0)
		return -1;
	open_symbols(t, p, n);
	if (word_merge(&t->word, &t->merges, p, n, x->e) < 0)
		return -1;
	return emit_symbols(x, p, n);
}

static int
encode_text(struct encoding *x, const uint8_t *p, size_t n, bool first)
{
	struct tokenizer *t = x->t;
	struct pieces *words = &t->pieces;
	size_t i;

	if (t->normal.n > 0) {
		if (normal_run(&t->normal, p, n, &t->text, &x->work, x->e) < 0)
			return -1;
		p = t->text.p;
		n = t->text.n;
	}
	if (pieces_begin(words, p, n, x->e) < 0 ||
	    split_run(&t->split, words, first, &x->work, x->e) < 0)
		return -1;
	for (i = 0; i < words->n; i++)
		if (encode_word(x, words->text.p + words->p[i].from,
		                words->p[i].to - words->p[i].from) < 0)
			return -1;
	return 0;
}

/* Control tokens are searched only on request; other added tokens always are. */
static bool
is_wanted(const struct token *token, void *ctx)
{
	const struct encoding *x = ctx;

	return x->special || token->kind == TOKEN_USER || token->kind == TOKEN_NORMAL ||
	       token->kind == TOKEN_UNUSED;
}

int
tokenizer_encode(struct tokenizer *t, const void *text, size_t n, unsigned flags,
                 struct tokens *to, struct err *e)
{
	struct encoding x = { .t = t, .to = to, .e = e,
		.work = work_of(n), .special = flags & TOKENIZER_SPECIAL };
	bool whole = !(flags & TOKENIZER_BARE);
	struct fragments found = { 0 };
	size_t i;
	int r = -1;

	t->lost = 0;
	if (n > UINT32_MAX / 4)
		return err_set(e, ERR_MEMORY, NULL, "a text of more than 1 GiB is not encoded");
	if (n > 0 && special_find(&t->special, &t->vocab, text, n, is_wanted, &x, &found,
	                          &x.work, e) < 0)
		goto end;
	for (i = 0; whole && i < t->before.n; i++)
		if (emit(&x, t->before.id[i]) < 0)
			goto end;
	for (i = 0; i < found.n; i++) {
		const struct fragment *f = &found.p[i];

		x.unknown = false;
		if ((f->id != TOKEN_NONE
		         ? emit(&x, f->id)
		         : encode_text(&x, (const uint8_t *)text + f->from, f->to - f->from,
		                       f->from == 0)) < 0)
			goto end;
	}
	for (i = 0; whole && i < t->behind.n; i++)
		if (emit(&x, t->behind.id[i]) < 0)
			goto end;
	r = 0;
end:
	free(found.p);
	return r;
}

size_t
tokenizer_lost(const struct tokenizer *t)
{
	return t->lost;
}
