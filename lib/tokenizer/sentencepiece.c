#include "tokenizer/private.h"
#include "tokenizer/sp_model.h"

/* m->extra, which turns several blanks into one, is ignored for BPE: the GGUF form of the same
 * model has no key for it, and a text would not come back unchanged. */

static int
refuse(const struct sp_model *m, const char *what, struct err *e)
{
	static const char *const types[] = { "of no type", "Unigram", "BPE", "WORD", "CHAR" };

	if (m->type != SP_BPE && m->type != SP_UNIGRAM)
		return err_set(e, ERR_FORMAT, what, "a SentencePiece model %s is not supported",
		               types[m->type < 5 ? m->type : 0]);
	if (m->map && m->type == SP_BPE)
		return err_set(e, ERR_FORMAT, what,
		               "a normalizer with a table (precompiled_charsmap) is not supported");
	if (m->suffix || !m->escapes)
		return err_set(e, ERR_FORMAT, what, "blanks that are not in front of words "
		               "are not supported");
	return 0;
}

static int
add_pieces(struct tokenizer *t, const struct sp_model *m, const char *what, bool list,
           struct err *e)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct sp_piece *p = &m->piece[i];

		if (vocab_add(&t->vocab, p->text, p->bytes, (enum token_kind)p->kind, p->score,
		              e) < 0)
			return -1;
		if (p->kind == TOKEN_CONTROL || p->kind == TOKEN_USER || p->kind == TOKEN_UNKNOWN)
			t->vocab.token[i].flags |= TOKEN_ADDED;
	}
	t->scored = true;
	return list ? 0 : vocab_index(&t->vocab, what, e);
}

static int
set_role(struct tokenizer *t, enum tokenizer_role role, uint64_t id, const char *what,
         struct err *e)
{
	if (id > INT32_MAX) /* -1 means none; here it has 64 bits */
		return 0;
	/* The names have these ids whether or not they are used; pad has -1. */
	if (id >= t->vocab.count)
		return err_set(e, ERR_CORRUPT, what, "token %llu has a role, but "
		               "there are %zu tokens", (unsigned long long)id, t->vocab.count);
	t->role[role] = (uint32_t)id;
	return 0;
}

static int
open_bpe(struct tokenizer *t, const struct sp_model *m, const char *what, struct err *e)
{
	struct step *s = split_add(&t->split, STEP_METASPACE, NULL, ERR_CORRUPT, e);

	if (!s)
		return -1;
	s->first = m->prefix ? FIRST_ALWAYS : FIRST_NEVER;
	s->twice = true;
	return t->role[TOKENIZER_BOS] == TOKEN_NONE
	           ? 0 : affix_add(&t->before, t->role[TOKENIZER_BOS], what, e);
}

/* T5, whose texts end with EOS; other models with such a file have a tokenizer.json too. */
static int
open_unigram(struct tokenizer *t, const struct sp_model *m, const char *what, struct err *e)
{
	t->kind = KIND_UNIGRAM;
	if (normal_add_map(&t->normal, m->map, m->map_bytes, what, e) < 0 ||
	    normal_add_spaces(&t->normal, m->prefix, m->extra, e) < 0 ||
	    tokenizer_use_scores(t, 1 << TOKEN_NORMAL | 1 << TOKEN_USER, what, e) < 0)
		return -1;
	return t->role[TOKENIZER_EOS] == TOKEN_NONE
	           ? 0 : affix_add(&t->behind, t->role[TOKENIZER_EOS], what, e);
}

static int
open_model(struct tokenizer *t, const struct sp_model *m, const char *what, struct err *e)
{
	if (refuse(m, what, e) < 0 || add_pieces(t, m, what, false, e) < 0)
		return -1;
	if (set_role(t, TOKENIZER_UNK, m->unk, what, e) < 0 ||
	    set_role(t, TOKENIZER_BOS, m->bos, what, e) < 0 ||
	    set_role(t, TOKENIZER_EOS, m->eos, what, e) < 0 ||
	    set_role(t, TOKENIZER_PAD, m->pad, what, e) < 0)
		return -1;
	t->blank_first = m->prefix;
	t->blanks = true;
	t->joins_unknown = true;
	t->unknown = t->role[TOKENIZER_UNK];
	if ((m->type == SP_BPE ? open_bpe : open_unigram)(t, m, what, e) < 0)
		return -1;
	if (tokenizer_blanks_begin(t) &&
	    !split_add(&t->split, STEP_CUT_WORDS, NULL, ERR_CORRUPT, e))
		return -1;
	tokenizer_find_roles(t);
	return tokenizer_finish(t, what, e);
}

struct tokenizer *
tokenizer_open_sentencepiece(const void *p, size_t n, const char *what,
                             const struct tokenizer_options *options, struct err *e)
{
	struct tokenizer *t = tokenizer_new(KIND_SCORES, e);
	bool list = options && options->list;
	struct sp_model m = { 0 };

	if (t && (sp_model_read(&m, p, n, what, e) < 0 ||
	          (list ? add_pieces(t, &m, what, true, e) : open_model(t, &m, what, e)) < 0)) {
		tokenizer_free(t);
		t = NULL;
	}
	sp_model_free(&m);
	return t;
}
