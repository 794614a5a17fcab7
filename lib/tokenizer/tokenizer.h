/* tokenizer: text to token ids and back, as the model was trained with.
 *
 * There are four kinds: by the scores of SentencePiece ("llama" in GGUF), by ranked merges of bytes
 * or characters (BPE: "gpt2"), by the longest piece of a word (WordPiece: "bert"), and by the greatest
 * probability (Unigram: "t5"). Ids equal
 * those of llama.cpp for the keys of GGUF, and those of the tokenizers library for tokenizer.json,
 * except for the rows of DEVIATIONS.md.
 *
 * Time is at most n log n for a text of n bytes, even if it is one word of megabytes. A tokenizer is
 * constant except for scratch memory, so one thread uses it at a time.
 */
#ifndef TOKENIZER_TOKENIZER_H
#define TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "model/weights.h"
#include "tokenizer/material.h"

#define TOKEN_NONE UINT32_MAX

struct tokenizer;

struct tokenizer_options {
	/* An unknown pre-tokenizer is a fault; with this, it is noted and the default pattern
	 * is used. */
	bool any;
	/* Receives remarks for the user; or NULL. */
	void (*note)(const char *text);
	/* Open only the tokens, also of a kind that is not supported, and also from a key that is
	 * only a list of texts ("vocab" of .apr files), a vocab.json or a vocab.txt. Such a
	 * tokenizer is for tokenizer_count and tokenizer_row; it does not encode or decode. */
	bool list;
};

/* From the material of a model: the keys of GGUF (tokenizer.ggml.*), else a tokenizer.json,
 * else a tokenizer.model. what: the name of the model, for faults. options may be NULL. NULL
 * with e filled: ERR_FORMAT if there is no vocabulary or its kind, which the fault names, is
 * not supported; ERR_CORRUPT if it contradicts itself. */
struct tokenizer *tokenizer_open(const struct material *m, const char *what,
                                 const struct tokenizer_options *options,
                                 struct err *e);

/* The same from a model whose side files and long values are in memory. */
struct tokenizer *tokenizer_of(const struct weights *w,
                               const struct tokenizer_options *options, struct err *e);

/* From the n bytes of a tokenizer.json (of the tokenizers library). config: the bytes of the
 * tokenizer_config.json beside it, which names BOS and EOS, or NULL. */
struct tokenizer *tokenizer_open_json(const void *text, size_t n, const void *config,
                                      size_t config_bytes, const char *what,
                                      const struct tokenizer_options *options,
                                      struct err *e);

/* From the n bytes of a SentencePiece model (sentencepiece_model.proto). */
struct tokenizer *tokenizer_open_sentencepiece(const void *p, size_t n, const char *what,
                                               const struct tokenizer_options *options,
                                               struct err *e);

void tokenizer_free(struct tokenizer *t);

/* A growable list of ids; all zero is empty. */
struct tokens {
	uint32_t *id;
	size_t n, cap;
};
int tokens_add(struct tokens *list, uint32_t id, struct err *e);
void tokens_free(struct tokens *list);

enum {
	TOKENIZER_BARE = 1,    /* add no tokens before or after the text (BOS, EOS, SEP) */
	TOKENIZER_SPECIAL = 2  /* encode: the text of a control token is that token; decode:
	                        * write the text of control tokens */
};

/* Append the ids of n bytes of any text. 0, or -1 with e filled: ERR_MEMORY, also if the
 * steps that the vocabulary asks for reach the work limit of core/work.h, or make the text
 * too long. */
int tokenizer_encode(struct tokenizer *t, const void *text, size_t n, unsigned flags,
                     struct tokens *to, struct err *e);

/* Bytes of the last tokenizer_encode that no token stands for, not even the unknown token. */
size_t tokenizer_lost(const struct tokenizer *t);

/* Append the text of n ids. ERR_USAGE: an id is not a token. */
int tokenizer_decode(const struct tokenizer *t, const uint32_t *id, size_t n,
                     unsigned flags, struct buf *to, struct err *e);

/* The text of one id, for text that is written token by token. first: nothing has been
 * written before, so a blank that encoding puts in front is removed. The bytes of one
 * character can come in several tokens. id must be a token. */
void tokenizer_piece(const struct tokenizer *t, uint32_t id, bool first, unsigned flags,
                     struct buf *to);

uint32_t tokenizer_count(const struct tokenizer *t);

/* Bytes of the longest token, as the vocabulary spells it: if nothing of a text is dropped or unknown, it
 * has no more for each of its tokens. */
size_t tokenizer_longest(const struct tokenizer *t);

/* The id of a token with a role, or TOKEN_NONE. */
enum tokenizer_role {
	TOKENIZER_BOS, TOKENIZER_EOS, TOKENIZER_EOT, TOKENIZER_UNK, TOKENIZER_SEP,
	TOKENIZER_PAD, TOKENIZER_MASK, TOKENIZER_ROLES
};
uint32_t tokenizer_role(const struct tokenizer *t, enum tokenizer_role role);

/* Whether a text ends with this token: EOS, the end of a turn, and tokens with other names
 * for these ("<|im_end|>", "<|endoftext|>"). */
bool tokenizer_is_end(const struct tokenizer *t, uint32_t id);

/* Whether it is a control token, whose text is not written. */
bool tokenizer_is_control(const struct tokenizer *t, uint32_t id);

/* Whether encoding puts BOS in front. */
bool tokenizer_adds_bos(const struct tokenizer *t);

/* A token as the model states it. */
struct token_row {
	const char *text;  /* n bytes, not terminated */
	size_t n;
	const char *type;  /* "normal", "unknown", "control", "user", "unused" or "byte" */
	bool scored;       /* the model states scores */
	float score;
};

/* Fill the row of a token. */
void tokenizer_row(const struct tokenizer *t, uint32_t id, struct token_row *row);

/* The text of a token as the vocabulary spells it: n bytes, not terminated. */
const char *tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *n);

/* The id of the token that is spelt so, or TOKEN_NONE. */
uint32_t tokenizer_find(const struct tokenizer *t, const char *text, size_t n);

/* "SentencePiece", "BPE", "WordPiece" or "Unigram"; the name of the pre-tokenizer, or NULL. */
const char *tokenizer_kind(const struct tokenizer *t);
const char *tokenizer_pre(const struct tokenizer *t);

#endif
