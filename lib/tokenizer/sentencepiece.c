#include <math.h>
#include <string.h>

#include "tokenizer/private.h"
#include "wire/protobuf.h"

/* The fields that are read, with the numbers of sentencepiece_model.proto.
 * remove_extra_whitespaces, which turns several blanks into one, is ignored: the GGUF form of
 * the same model has no key for it, and a text would not come back unchanged. */
struct model_proto {
	struct tokenizer *t;
	const char *what;
	struct err *e;
	uint64_t type, bos, eos, unk, pad;
	bool prefix, escapes, suffix, maps;
};

static int
read_piece(struct model_proto *m, const uint8_t *p, size_t n)
{
	struct protobuf message;
	struct protobuf_field f;
	const uint8_t *text = NULL;
	uint64_t bytes = 0, kind = TOKEN_NORMAL;
	float score = 0;
	uint32_t bits;
	int got;

	protobuf_open(&message, p, n, m->what, m->e);
	while ((got = protobuf_next(&message, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES) {
			text = f.p;
			bytes = f.value;
		} else if (f.number == 2 && f.form == PROTOBUF_4) {
			bits = (uint32_t)f.value;
			memcpy(&score, &bits, sizeof score);
		} else if (f.number == 3 && f.form == PROTOBUF_VARINT) {
			kind = f.value;
		}
	if (got < 0)
		return -1;
	if (kind < TOKEN_NORMAL || kind > TOKEN_BYTE || isnan(score))
		return err_set(m->e, ERR_CORRUPT, m->what, "piece %zu is of no known type, or its "
		               "score not a number", m->t->vocab.count);
	if (vocab_add(&m->t->vocab, text, (size_t)bytes, (enum token_kind)kind, score, m->e) < 0)
		return -1;
	if (kind == TOKEN_CONTROL || kind == TOKEN_USER || kind == TOKEN_UNKNOWN)
		m->t->vocab.token[m->t->vocab.count - 1].flags |= TOKEN_ADDED;
	return 0;
}

/* The numeric fields of a message, and where each goes. */
static int
read_spec(struct model_proto *m, const uint8_t *p, size_t n, bool trainer)
{
	struct protobuf message;
	struct protobuf_field f;
	int got;

	protobuf_open(&message, p, n, m->what, m->e);
	while ((got = protobuf_next(&message, &f)) > 0) {
		if (trainer && f.form == PROTOBUF_VARINT) {
			switch (f.number) {
			case 3: m->type = f.value; break;
			case 24: m->suffix = f.value; break;
			case 40: m->unk = f.value; break;
			case 41: m->bos = f.value; break;
			case 42: m->eos = f.value; break;
			case 43: m->pad = f.value; break;
			}
		} else if (!trainer && f.form == PROTOBUF_VARINT) {
			switch (f.number) {
			case 3: m->prefix = f.value; break;
			case 5: m->escapes = f.value; break;
			}
		} else if (!trainer && f.number == 2 && f.form == PROTOBUF_BYTES) {
			m->maps = f.value > 0;
		}
	}
	return got;
}

static int
read_model(struct model_proto *m, const uint8_t *p, size_t n)
{
	struct protobuf message;
	struct protobuf_field f;
	int got;

	protobuf_open(&message, p, n, m->what, m->e);
	while ((got = protobuf_next(&message, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES || f.number > 3)
			continue;
		if ((f.number == 1 ? read_piece(m, f.p, (size_t)f.value)
		                   : read_spec(m, f.p, (size_t)f.value, f.number == 2)) < 0)
			return -1;
	}
	return got;
}

static int
refuse(const struct model_proto *m)
{
	static const char *const types[] = { "of no type", "Unigram", "BPE", "WORD", "CHAR" };

	if (m->t->vocab.count == 0)
		return err_set(m->e, ERR_FORMAT, m->what, "is not a SentencePiece model");
	if (m->type != 2)
		return err_set(m->e, ERR_FORMAT, m->what, "a SentencePiece model %s is not supported",
		               types[m->type < 5 ? m->type : 0]);
	if (m->maps)
		return err_set(m->e, ERR_FORMAT, m->what,
		               "a normalizer with a table (precompiled_charsmap) is not supported");
	if (m->suffix || !m->escapes)
		return err_set(m->e, ERR_FORMAT, m->what, "blanks that are not in front of words "
		               "are not supported");
	return 0;
}

static int
set_role(struct model_proto *m, enum tokenizer_role role, uint64_t id)
{
	if (id > INT32_MAX) /* -1 means none; here it has 64 bits */
		return 0;
	/* The names have these ids whether or not they are used; pad has -1. */
	if (id >= m->t->vocab.count)
		return err_set(m->e, ERR_CORRUPT, m->what, "token %llu has a role, but "
		               "there are %zu tokens", (unsigned long long)id, m->t->vocab.count);
	m->t->role[role] = (uint32_t)id;
	return 0;
}

static int
open_proto(struct model_proto *m, const uint8_t *p, size_t n)
{
	struct tokenizer *t = m->t;
	struct step *s;

	if (read_model(m, p, n) < 0 || refuse(m) < 0 || vocab_index(&t->vocab, m->what, m->e) < 0)
		return -1;
	if (set_role(m, TOKENIZER_UNK, m->unk) < 0 || set_role(m, TOKENIZER_BOS, m->bos) < 0 ||
	    set_role(m, TOKENIZER_EOS, m->eos) < 0 || set_role(m, TOKENIZER_PAD, m->pad) < 0)
		return -1;
	s = split_add(&t->split, STEP_METASPACE, NULL, ERR_CORRUPT, m->e);
	if (!s)
		return -1;
	s->first = m->prefix ? FIRST_ALWAYS : FIRST_NEVER;
	s->twice = true;
	if (tokenizer_blanks_begin(t) &&
	    !split_add(&t->split, STEP_CUT_WORDS, NULL, ERR_CORRUPT, m->e))
		return -1;
	t->blank_first = m->prefix;
	t->blanks = true;
	t->joins_unknown = true;
	t->unknown = t->role[TOKENIZER_UNK];
	if (t->role[TOKENIZER_BOS] != TOKEN_NONE &&
	    affix_add(&t->before, t->role[TOKENIZER_BOS], m->what, m->e) < 0)
		return -1;
	tokenizer_find_roles(t);
	return tokenizer_finish(t, m->what, m->e);
}

struct tokenizer *
tokenizer_open_sentencepiece(const void *p, size_t n, const char *what, struct err *e)
{
	struct model_proto m = { .what = what, .e = e, .type = 1, .bos = 1, .eos = 2,
		.pad = UINT64_MAX, .prefix = true, .escapes = true };

	m.t = tokenizer_new(KIND_SCORES, e);
	if (!m.t)
		return NULL;
	if (open_proto(&m, p, n) == 0)
		return m.t;
	tokenizer_free(m.t);
	return NULL;
}
