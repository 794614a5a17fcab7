/* tokenizer: text to token ids and back, as the model was trained with.
 *
 * Three ways to cut text are known: by the scores of SentencePiece ("llama" in GGUF),
 * by ranked merges of bytes or characters (BPE: "gpt2"), by the longest piece of a word
 * (WordPiece: "bert"). Ids equal those of llama.cpp for GGUF keys, and those of the
 * tokenizers library for tokenizer.json, but for what DEVIATIONS.md tells.
 *
 * Time is that of the text's length times its logarithm at most, also for a word of
 * megabytes. A tokenizer is read only, but for scratch space: one thread uses it at a
 * time.
 */
#ifndef TOKENIZER_TOKENIZER_H
#define TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "tokenizer/material.h"

#define TOKEN_NONE UINT32_MAX

struct tokenizer;

struct tokenizer_options {
	/* A pre-tokenizer that is not known is a fault. With this it is noted, and the
	 * default pattern used. */
	bool any;
	/* Told what a person should hear. May be NULL. */
	void (*note)(const char *text);
};

/* From what came with a model: GGUF's keys (tokenizer.ggml.*), else a tokenizer.json,
 * else a tokenizer.model. what: the model's name, for faults. options may be NULL.
 * ERR_FORMAT: no vocabulary is there, or of a kind that is not read, which the fault
 * names; ERR_CORRUPT: it contradicts itself. NULL then. */
struct tokenizer *tokenizer_open(const struct material *m, const char *what,
                                 const struct tokenizer_options *options,
                                 struct err *e);

/* From n bytes of a file tokenizer.json (of the tokenizers library). config: those of
 * a tokenizer_config.json beside it, which names bos and eos, or NULL. */
struct tokenizer *tokenizer_open_json(const void *text, size_t n, const void *config,
                                      size_t config_bytes, const char *what,
                                      const struct tokenizer_options *options,
                                      struct err *e);

/* From n bytes of a SentencePiece model (sentencepiece_model.proto). */
struct tokenizer *tokenizer_open_sentencepiece(const void *p, size_t n, const char *what,
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
	TOKENIZER_BARE = 1,    /* add no tokens before and behind (bos, eos, sep) */
	TOKENIZER_SPECIAL = 2  /* encode: what reads as a control token is one;
	                        * decode: the text of control tokens too */
};

/* Append the ids of n bytes of text, of whatever kind. 0, or -1: ERR_MEMORY, also where
 * what the vocabulary's file asks to be done takes more steps than core/work.h allows for a
 * text, or makes it too long. */
int tokenizer_encode(struct tokenizer *t, const void *text, size_t n, unsigned flags,
                     struct tokens *to, struct err *e);

/* Bytes of the last tokenizer_encode for which the vocabulary has no token, not even
 * one for what is unknown: they are in none of its ids. */
size_t tokenizer_lost(const struct tokenizer *t);

/* Append the text of n ids. An id that is no token: ERR_USAGE. */
int tokenizer_decode(const struct tokenizer *t, const uint32_t *id, size_t n,
                     unsigned flags, struct buf *to, struct err *e);

/* The text of one id among others, for text that is made token by token: first is
 * whether nothing was written before it (where a blank was put in front of the text,
 * it is taken away). The bytes of a character can come in several tokens. id: of a
 * token. */
void tokenizer_piece(const struct tokenizer *t, uint32_t id, bool first, unsigned flags,
                     struct buf *to);

uint32_t tokenizer_count(const struct tokenizer *t);

/* The id of a token with a part of its own, or TOKEN_NONE. */
enum tokenizer_role {
	TOKENIZER_BOS, TOKENIZER_EOS, TOKENIZER_EOT, TOKENIZER_UNK, TOKENIZER_SEP,
	TOKENIZER_PAD, TOKENIZER_MASK, TOKENIZER_ROLES
};
uint32_t tokenizer_role(const struct tokenizer *t, enum tokenizer_role role);

/* Does text end with this token? So do eos, the end of a turn, and what models call
 * them otherwise ("<|im_end|>", "<|endoftext|>"). */
bool tokenizer_is_end(const struct tokenizer *t, uint32_t id);

/* Is it a control token, whose text is not written? */
bool tokenizer_is_control(const struct tokenizer *t, uint32_t id);

/* Does encoding put bos in front? */
bool tokenizer_adds_bos(const struct tokenizer *t);

/* The token's text as the vocabulary spells it: n bytes, not terminated. */
const char *tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *n);

/* The id of a token that is spelt so, or TOKEN_NONE. */
uint32_t tokenizer_find(const struct tokenizer *t, const char *text, size_t n);

/* "SentencePiece", "BPE" or "WordPiece"; the name of the pre-tokenizer, or NULL. */
const char *tokenizer_kind(const struct tokenizer *t);
const char *tokenizer_pre(const struct tokenizer *t);

#endif
