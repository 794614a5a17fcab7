#include "tokenizer/sp_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tokenizer/vocab.h"
#include "wire/protobuf.h"

/* Numbers of the fields. */
enum { MODEL_PIECE = 1, MODEL_TRAINER, MODEL_NORMALIZER };
enum { PIECE_TEXT = 1, PIECE_SCORE, PIECE_KIND };
enum { TRAINER_TYPE = 3, TRAINER_SUFFIX = 24, TRAINER_FALLBACK = 35, TRAINER_UNK = 40,
       TRAINER_BOS, TRAINER_EOS, TRAINER_PAD };
enum { NORMALIZER_NAME = 1, NORMALIZER_MAP, NORMALIZER_PREFIX, NORMALIZER_EXTRA,
       NORMALIZER_ESCAPES };

/* ---- reading ---- */

struct reading {
	struct sp_model *m;
	const char *what;
	struct err *e;
};

int
sp_model_add(struct sp_model *m, struct sp_piece piece, struct err *e)
{
	if (m->n == m->cap && mem_grow(&m->piece, &m->cap, m->n + 1, sizeof *m->piece) < 0)
		return err_memory(e);
	m->piece[m->n++] = piece;
	return 0;
}

static int
read_piece(struct reading *r, const uint8_t *p, size_t n)
{
	struct sp_piece piece = { .text = p, .kind = TOKEN_NORMAL };
	struct protobuf message;
	struct protobuf_field f;
	uint64_t kind = TOKEN_NORMAL;
	uint32_t bits;
	int got;

	protobuf_open(&message, p, n, r->what, r->e);
	while ((got = protobuf_next(&message, &f)) > 0)
		if (f.number == PIECE_TEXT && f.form == PROTOBUF_BYTES) {
			piece.text = f.p;
			piece.bytes = (size_t)f.value;
		} else if (f.number == PIECE_SCORE && f.form == PROTOBUF_4) {
			bits = (uint32_t)f.value;
			memcpy(&piece.score, &bits, sizeof bits);
		} else if (f.number == PIECE_KIND && f.form == PROTOBUF_VARINT) {
			kind = f.value;
		}
	if (got < 0)
		return -1;
	if (kind < TOKEN_NORMAL || kind > TOKEN_BYTE || isnan(piece.score))
		return err_set(r->e, ERR_CORRUPT, r->what, "piece %zu is of no known type, or its "
		               "score not a number", r->m->n);
	piece.kind = (uint8_t)kind;
	return sp_model_add(r->m, piece, r->e);
}

static void
take_trainer(struct sp_model *m, const struct protobuf_field *f)
{
	if (f->form != PROTOBUF_VARINT)
		return;
	switch (f->number) {
	case TRAINER_TYPE: m->type = f->value; break;
	case TRAINER_SUFFIX: m->suffix = f->value; break;
	case TRAINER_UNK: m->unk = f->value; break;
	case TRAINER_BOS: m->bos = f->value; break;
	case TRAINER_EOS: m->eos = f->value; break;
	case TRAINER_PAD: m->pad = f->value; break;
	}
}

static void
take_normalizer(struct sp_model *m, const struct protobuf_field *f)
{
	if (f->number == NORMALIZER_MAP && f->form == PROTOBUF_BYTES) {
		m->map = f->value ? f->p : NULL;
		m->map_bytes = (size_t)f->value;
	}
	if (f->form != PROTOBUF_VARINT)
		return;
	switch (f->number) {
	case NORMALIZER_PREFIX: m->prefix = f->value; break;
	case NORMALIZER_EXTRA: m->extra = f->value; break;
	case NORMALIZER_ESCAPES: m->escapes = f->value; break;
	}
}

static int
read_spec(struct reading *r, const uint8_t *p, size_t n, bool trainer)
{
	struct protobuf message;
	struct protobuf_field f;
	int got;

	protobuf_open(&message, p, n, r->what, r->e);
	while ((got = protobuf_next(&message, &f)) > 0)
		if (trainer)
			take_trainer(r->m, &f);
		else
			take_normalizer(r->m, &f);
	return got;
}

int
sp_model_read(struct sp_model *m, const void *p, size_t n, const char *what, struct err *e)
{
	struct reading r = { .m = m, .what = what, .e = e };
	struct protobuf message;
	struct protobuf_field f;
	int got;

	*m = (struct sp_model){ .type = SP_UNIGRAM, .bos = 1, .eos = 2, .pad = SP_NONE,
		.prefix = true, .extra = true, .escapes = true };
	protobuf_open(&message, p, n, what, e);
	while ((got = protobuf_next(&message, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES || f.number > MODEL_NORMALIZER)
			continue;
		if ((f.number == MODEL_PIECE
		         ? read_piece(&r, f.p, (size_t)f.value)
		         : read_spec(&r, f.p, (size_t)f.value, f.number == MODEL_TRAINER)) < 0)
			return -1;
	}
	if (got == 0 && m->n == 0)
		return err_set(e, ERR_FORMAT, what, "is not a SentencePiece model");
	return got;
}

void
sp_model_free(struct sp_model *m)
{
	free(m->piece);
	*m = (struct sp_model){ 0 };
}

/* ---- writing ---- */

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static void
put_number(struct buf *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3 | PROTOBUF_VARINT);
	put_varint(b, v);
}

static void
put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
	put_varint(b, field << 3 | PROTOBUF_BYTES);
	put_varint(b, n);
	buf_put(b, p, n);
}

static void
put_piece(const struct sp_piece *piece, struct buf *scratch, struct buf *b)
{
	uint32_t bits;

	buf_clear(scratch);
	put_bytes(scratch, PIECE_TEXT, piece->text, piece->bytes);
	memcpy(&bits, &piece->score, sizeof bits);
	put_varint(scratch, PIECE_SCORE << 3 | PROTOBUF_4);
	buf_u32(scratch, bits);
	if (piece->kind != TOKEN_NORMAL)
		put_number(scratch, PIECE_KIND, piece->kind);
	put_bytes(b, MODEL_PIECE, scratch->p, scratch->n);
}

static void
put_trainer(const struct sp_model *m, bool fallback, struct buf *b)
{
	put_number(b, TRAINER_TYPE, m->type);
	if (m->suffix)
		put_number(b, TRAINER_SUFFIX, 1);
	if (fallback)
		put_number(b, TRAINER_FALLBACK, 1);
	put_number(b, TRAINER_UNK, m->unk);
	put_number(b, TRAINER_BOS, m->bos);
	put_number(b, TRAINER_EOS, m->eos);
	put_number(b, TRAINER_PAD, m->pad);
}

void
sp_model_write(const struct sp_model *m, struct buf *b)
{
	struct buf scratch = { 0 };
	bool fallback = false;
	size_t i;

	for (i = 0; i < m->n; i++) {
		put_piece(&m->piece[i], &scratch, b);
		fallback = fallback || m->piece[i].kind == TOKEN_BYTE;
	}
	buf_clear(&scratch);
	put_trainer(m, fallback, &scratch);
	put_bytes(b, MODEL_TRAINER, scratch.p, scratch.n);
	buf_clear(&scratch);
	put_bytes(&scratch, NORMALIZER_NAME, m->map ? "user_defined" : "identity",
	          m->map ? 12 : 8);
	if (m->map)
		put_bytes(&scratch, NORMALIZER_MAP, m->map, m->map_bytes);
	put_number(&scratch, NORMALIZER_PREFIX, m->prefix);
	put_number(&scratch, NORMALIZER_EXTRA, m->extra);
	put_number(&scratch, NORMALIZER_ESCAPES, m->escapes);
	put_bytes(b, MODEL_NORMALIZER, scratch.p, scratch.n);
	b->failed = b->failed || !buf_ok(&scratch);
	buf_free(&scratch);
}
