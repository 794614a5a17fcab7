/* tokens_folder: the tokenizer of a model folder while its files are read (tokens_put_keys). For
 * the files tokens*.c only.
 */
#ifndef ADAPT_TOKENS_FOLDER_H
#define ADAPT_TOKENS_FOLDER_H

#include "adapt/tokens/tokens.h"

#define TOKENS_KEY "tokenizer.ggml."
#define TOKENS_HOLES 65536 /* the most ids without a token */
#define TOKENS_BLANK "\xe2\x96\x81" /* U+2581 */
#define TOKENS_PRE_MEMBER "gguf_pre" /* in tokenizer_config.json: a name that the structure
                                      * of tokenizer.json does not give */

/* Names of the pre-tokenizer of WordPiece, and of vocabularies with scores. */
#define TOKENS_PRE_WORDS "jina-v2-en"
#define TOKENS_PRE_SCORES "default"

/* What differs between architectures. */
enum {
	TOKENS_LLAMA = 1 << 0,      /* add_prefix_space becomes a key; rules of two releases */
	TOKENS_NO_PREFIX = 1 << 1,  /* add_space_prefix is false */
	TOKENS_NO_BOS = 1 << 2,     /* add_bos_token is false unless the files say otherwise */
	TOKENS_UNIGRAM = 1 << 3,    /* scores are those of Unigram */
	TOKENS_SHIFTED = 1 << 4,    /* ids of fairseq: XLM-RoBERTa */
	TOKENS_TYPES = 1 << 5,      /* type_vocab_size becomes a key */
	TOKENS_JSON_FIRST = 1 << 6, /* tokenizer.json holds if tokenizer.model is there too */
	TOKENS_EIGHTS = 1 << 7,     /* padded to a multiple of eight */
	TOKENS_ALL_ADDED = 1 << 8,  /* added tokens of tokenizer.json count beside tokenizer.model,
	                             * and none of them is special by its looks */
	TOKENS_PAD_0_UNK_1 = 1 << 9 /* padding and unknown tokens have these ids */
};

/* The kinds of vocabularies, by the files that hold them. */
enum tokens_kind {
	TOKENS_NONE,
	TOKENS_BYTES,      /* BPE of bytes: tokenizer.json, or vocab.json and merges.txt */
	TOKENS_WORDS,      /* WordPiece: tokenizer.json, or vocab.txt */
	TOKENS_FALLBACK,   /* SentencePiece's BPE in tokenizer.json */
	TOKENS_LIST,       /* Unigram in tokenizer.json */
	TOKENS_PIECES      /* a SentencePiece model */
};

#define TOKENS_SCORE_ADDED -1000.0f    /* of added tokens in vocabularies with scores */
#define TOKENS_SCORE_PADDING -10000.0f /* of ids without a token */

struct tokens_token {
	size_t text;    /* offset in the pool */
	uint32_t bytes;
	float score;
	uint8_t kind;   /* enum token_kind; 0: no token has this id (padding) */
};

struct tokens_folder {
	const struct subject *s;
	const struct tokens_options *o;
	struct model *out;
	struct err *e;
	json_t *file;   /* tokenizer.json, or NULL */
	json_t *config; /* tokenizer_config.json, or NULL */
	json_t *map;    /* special_tokens_map.json, or NULL */
	json_t *named;  /* an object: its members are the texts that these two give a role */
	unsigned flags; /* of its architecture */
	enum tokens_kind kind;
	char pre[64];   /* the name of its pre-tokenizer, if a table gives it */

	struct tokens_token *token;
	size_t count, cap;
	bool beyond;    /* a note says that added tokens are beyond these */
	struct buf pool;

	/* Of Unigram. */
	bool prefix, extra;
	struct buf character_map;
};

/* Find the kind; read the vocabulary, padded to its size. 0 or -1. */
int tokens_find_kind(struct tokens_folder *f);
int tokens_read_vocabulary(struct tokens_folder *f); /* from JSON */
int tokens_read_pieces(struct tokens_folder *f);     /* from a SentencePiece model */
int tokens_read_list(struct tokens_folder *f);       /* Unigram from JSON */

/* Make room for the ids of a vocabulary with `have` ids: vocab_size of config.json, or the
 * rows of the embeddings. what: the file, for errors. If fewer ids fit, ERR_CORRUPT, or a
 * note if they may be dropped. */
int tokens_open(struct tokens_folder *f, size_t have, bool drops, const char *what);
int tokens_set(struct tokens_folder *f, size_t id, const char *text, size_t n, uint8_t kind,
               float score);

/* Set an added token: one with control's kind, or a user-defined one whose U+2581 become
 * spaces. */
int tokens_set_added(struct tokens_folder *f, size_t id, const char *text, size_t n,
                     bool control, float score);

/* Whether the text of an added token is that of a control token, though nothing says so. */
bool tokens_look_special(const char *text, size_t n);

/* The id that a text of added_tokens.json or added_tokens_decoder has: a number, or its
 * digits. ERR_CORRUPT: it is neither. */
int tokens_id(const json_t *v, const char *what, uint64_t *id, struct err *e);

/* Fill named. 0 or -1. */
int tokens_name(struct tokens_folder *f);

/* Whether tokenizer_config.json or special_tokens_map.json gives a role to a text. */
bool tokens_named(const struct tokens_folder *f, const char *text);

/* The key merges. */
int tokens_put_merges(struct tokens_folder *f);

/* Special ids, what is added to texts, chat templates and normalizers. */
int tokens_put_special(struct tokens_folder *f);
int tokens_put_template(struct tokens_folder *f);

/* Append one key, or change its value. */
int tokens_put_text(struct tokens_folder *f, const char *key, const char *text, size_t n);
int tokens_put_bool(struct tokens_folder *f, const char *key, bool v);
int tokens_put_u32(struct tokens_folder *f, const char *key, uint32_t v);

/* The name of the folder's pre-tokenizer, or NULL with e filled (ERR_FORMAT). It lives as
 * long as f and its options. */
const char *tokens_pre(struct tokens_folder *f);

#endif
