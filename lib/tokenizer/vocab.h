/* vocab: the tokens of a vocabulary, and the search for a token by its text.
 */
#ifndef TOKENIZER_VOCAB_H
#define TOKENIZER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* The type of a token: the numbers of GGUF and SentencePiece. */
enum token_kind {
	TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE
};

enum {
	TOKEN_END = 1,        /* ends a text */
	TOKEN_STRIP_LEFT = 2, /* takes the white space before it */
	TOKEN_STRIP_RIGHT = 4,
	TOKEN_WORD = 8,       /* is a token only if no letter or digit touches it */
	TOKEN_ADDED = 16      /* is searched in the text before anything else */
};

struct token {
	size_t text;          /* offset of its text, as the vocabulary spells it */
	size_t piece;         /* offset of the bytes that it writes */
	uint32_t text_bytes, piece_bytes;
	float score;
	uint8_t kind, flags;
};

struct vocab {
	struct token *token;
	size_t count, cap;
	struct buf pool;      /* texts and pieces */
	uint32_t *slot;       /* hash table of ids, with a power of two slots */
	size_t slots;
	uint64_t seed;        /* of the hash, so that nobody can prepare texts that collide */
	size_t longest;       /* bytes of the longest text */
};

/* Append a token; its id is v->count before the call. -1: ERR_MEMORY. */
int vocab_add(struct vocab *v, const void *text, size_t n, enum token_kind kind,
              float score, struct err *e);

/* Index all tokens, after the last one. An empty text is never found. Two tokens with the
 * same text are a fault. */
int vocab_index(struct vocab *v, const char *what, struct err *e);

/* The id of the token with this text, or TOKEN_NONE. */
uint32_t vocab_find(const struct vocab *v, const void *text, size_t n);

/* Let token i write p; else it writes its text. */
int vocab_set_piece(struct vocab *v, uint32_t i, const void *p, size_t n, struct err *e);

static inline const uint8_t *
vocab_text(const struct vocab *v, uint32_t i)
{
	return v->pool.p + v->token[i].text;
}

void vocab_free(struct vocab *v);

/* A seed of hashes. */
uint64_t hash_seed(void);

#endif
