/* private: what a tokenizer is made of, for the files of this room. Opening fills it in;
 * encoding and decoding do not ask where it came from. */
#ifndef TOKENIZER_PRIVATE_H
#define TOKENIZER_PRIVATE_H

#include "tokenizer/merge.h"
#include "tokenizer/normal.h"
#include "tokenizer/special.h"
#include "tokenizer/split.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"

enum tokenizer_kind { KIND_SCORES, KIND_RANKS, KIND_WORDPIECE };

/* What is put before the ids of a text, or behind them. */
#define AFFIX_IDS 16
struct affix {
	uint32_t id[AFFIX_IDS];
	size_t n;
};

struct tokenizer {
	enum tokenizer_kind kind;
	struct vocab vocab;
	struct special special;
	struct normal normal;     /* what is done to text first */
	struct split split;
	struct merges merges;
	uint32_t role[TOKENIZER_ROLES];
	struct affix before, behind;
	char *pre;                /* name of the pre-tokenizer, or NULL */

	/* Symbols of a word: its bytes (then tokens are spelt in the letters that stand
	 * for bytes, bytes.h), or its characters. */
	bool of_bytes;
	uint32_t byte[256];       /* the token of a byte, or TOKEN_NONE */
	uint32_t unknown;         /* what stands for text without a token, or TOKEN_NONE */
	bool whole_words;         /* a word that is a token is not taken apart */
	bool joins_unknown;       /* unknown characters in a row are one unknown token */
	size_t word_limit;        /* WordPiece: of a word's characters; more are unknown */

	/* Decoding. */
	bool blank_first;         /* a blank in front of the text was put there */
	bool blanks;              /* U+2581 is a blank */
	bool tidies;              /* WordPiece: no blank before punctuation and endings */

	struct word word;         /* scratch */
	struct pieces pieces;
	struct buf text, phantom;
	size_t lost;
};

/* From GGUF's keys. */
struct tokenizer *tokenizer_open_keys(const struct material *m, const char *what,
                                      const struct tokenizer_options *options,
                                      struct err *e);

/* An empty tokenizer. */
struct tokenizer *tokenizer_new(enum tokenizer_kind kind, struct err *e);

/* All tokens are there: index them, find ends and special tokens, prove the rest. what
 * names the vocabulary in faults. */
int tokenizer_finish(struct tokenizer *t, const char *what, struct err *e);

/* Tokens are bytes: what each writes, and the token of each byte. After vocab_index. */
int tokenizer_use_bytes(struct tokenizer *t, struct err *e);

/* Rule number rank: "left right", in the spelling of the vocabulary. */
int tokenizer_add_merge(struct tokenizer *t, const void *left, size_t left_bytes,
                        const void *right, size_t right_bytes, uint32_t rank,
                        const char *what, struct err *e);

/* The roles that tokens have by what they are called. */
void tokenizer_find_roles(struct tokenizer *t);

/* Is U+2581 in no token but at its beginning? Then words can be cut before it. */
bool tokenizer_blanks_begin(const struct tokenizer *t);

/* The steps of BERT: what is text, lower case, accents; words and punctuation. */
int tokenizer_bert_normal(struct tokenizer *t, bool clean, bool chinese, bool accents,
                          bool lower, struct err *e);
int tokenizer_bert_split(struct tokenizer *t, struct err *e);

int affix_add(struct affix *a, uint32_t id, const char *what, struct err *e);

#endif
