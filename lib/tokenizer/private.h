/* private: the parts of a tokenizer, for the files of this room. Opening fills them in; encoding and
 * decoding do not depend on the form that they came in.
 */
#ifndef TOKENIZER_PRIVATE_H
#define TOKENIZER_PRIVATE_H

#include "tokenizer/merge.h"
#include "tokenizer/normal.h"
#include "tokenizer/special.h"
#include "tokenizer/split.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"

enum tokenizer_kind { KIND_SCORES, KIND_RANKS, KIND_WORDPIECE, KIND_UNIGRAM };

/* The tokens put before the ids of a text, or after them. */
#define AFFIX_IDS 16
struct affix {
	uint32_t id[AFFIX_IDS];
	size_t n;
};

struct tokenizer {
	enum tokenizer_kind kind;
	struct vocab vocab;
	bool scored;              /* its tokens have scores */
	struct special special;
	struct normal normal;     /* changes the text first */
	struct split split;
	struct merges merges;
	struct unigram unigram;
	uint32_t role[TOKENIZER_ROLES];
	struct affix before, behind;
	char *pre;                /* name of the pre-tokenizer, or NULL */

	/* The symbols of a word are its bytes (tokens are then spelt in the letters that
	 * stand for bytes, bytes.h) or its characters. */
	bool of_bytes;
	uint32_t byte[256];       /* the token of a byte, or TOKEN_NONE */
	uint32_t unknown;         /* stands for text without a token, or TOKEN_NONE */
	bool whole_words;         /* a word that is a token is not split */
	bool joins_unknown;       /* unknown characters in a row are one unknown token, */
	bool joins_words;         /* also those of two words */
	size_t word_limit;        /* WordPiece: a word of more characters is unknown */

	/* Decoding. */
	bool blank_first;         /* the blank in front of the text was added by encoding */
	bool blanks;              /* U+2581 is written as a blank */
	bool tidies;              /* WordPiece: no blank before punctuation and endings */

	struct word word;         /* scratch */
	struct pieces pieces;
	struct buf text, phantom;
	size_t lost;
};

/* From the keys of GGUF. */
struct tokenizer *tokenizer_open_keys(const struct material *m, const char *what,
                                      const struct tokenizer_options *options,
                                      struct err *e);

/* Only the tokens (options->list), from the keys of GGUF or from another key that lists them. NULL
 * with e empty if the model lacks the key. */
struct tokenizer *tokenizer_list_keys(const struct material *m, const char *what,
                                      const struct tokenizer_options *options,
                                      struct err *e);

/* An empty tokenizer. */
struct tokenizer *tokenizer_new(enum tokenizer_kind kind, struct err *e);

/* After the last token: index the vocabulary, find ends and special tokens, prove the rest.
 * what names the vocabulary in faults. */
int tokenizer_finish(struct tokenizer *t, const char *what, struct err *e);

/* Tokens are bytes: set what each token writes, and the token of each byte. After
 * vocab_index. */
int tokenizer_use_bytes(struct tokenizer *t, struct err *e);

/* Rule number rank: "left right", as the vocabulary spells them. */
int tokenizer_add_merge(struct tokenizer *t, const void *left, size_t left_bytes,
                        const void *right, size_t right_bytes, uint32_t rank,
                        const char *what, struct err *e);

/* Before tokenizer_finish: prepare the choice of tokens by Unigram. score: by id, owned from now on;
 * kinds: of the tokens that a text can become (1 << TOKEN_NORMAL); unknown: the score of a character
 * that is not a token. */
int tokenizer_use_unigram(struct tokenizer *t, unsigned kinds, double *score, double unknown,
                          const char *what, struct err *e);

/* The same by the scores of the vocabulary in single precision, as GGUF and SentencePiece have
 * them. */
int tokenizer_use_scores(struct tokenizer *t, unsigned kinds, const char *what,
                         struct err *e);

/* Give roles to tokens by their names. */
void tokenizer_find_roles(struct tokenizer *t);

/* Whether U+2581 occurs only at the beginning of tokens, so that words can be cut before it. */
bool tokenizer_blanks_begin(const struct tokenizer *t);

/* The steps of BERT: clean text, lower case, accents; words and punctuation. */
int tokenizer_bert_normal(struct tokenizer *t, bool clean, bool chinese, bool accents,
                          bool lower, struct err *e);
int tokenizer_bert_split(struct tokenizer *t, struct err *e);

int affix_add(struct affix *a, uint32_t id, const char *what, struct err *e);

#endif
