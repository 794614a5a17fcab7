/* sp_model: a SentencePiece model, read and written: its pieces, and how it changes a text first.
 *
 * Source: sentencepiece_model.proto. Fields that are not listed here are skipped.
 */
#ifndef TOKENIZER_SP_MODEL_H
#define TOKENIZER_SP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

enum { SP_UNIGRAM = 1, SP_BPE, SP_WORD, SP_CHAR };

#define SP_NONE UINT64_MAX

struct sp_piece {
	const uint8_t *text; /* in the bytes of the model; not terminated */
	size_t bytes;
	float score;         /* never NaN */
	uint8_t kind;        /* enum token_kind (vocab.h) */
};

struct sp_model {
	struct sp_piece *piece;
	size_t n, cap;
	uint64_t type;               /* SP_UNIGRAM, … */
	uint64_t unk, bos, eos, pad; /* ids; a value beyond INT32_MAX means none */
	bool prefix;                 /* put a space in front of a text */
	bool extra;                  /* turn several spaces into one */
	bool escapes;                /* spaces become U+2581 */
	bool suffix;                 /* that space is behind the text */
	const uint8_t *map;          /* the precompiled character map, or NULL */
	size_t map_bytes;
};

/* Read n bytes at p, which must outlive m; what names them in errors. ERR_FORMAT: there is no
 * piece. sp_model_free is due in any case. 0 or -1. */
int sp_model_read(struct sp_model *m, const void *p, size_t n, const char *what,
                  struct err *e);

/* Append the model's bytes. The caller checks buf_ok. */
void sp_model_write(const struct sp_model *m, struct buf *b);

/* Append a piece; the text is not copied. -1: ERR_MEMORY. */
int sp_model_add(struct sp_model *m, struct sp_piece piece, struct err *e);

void sp_model_free(struct sp_model *m);

#endif
