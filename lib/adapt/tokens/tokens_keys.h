/* tokens_keys: the tokenizer of a GGUF model, as its keys give it, while files are made from it
 * (tokens_files). For the files tokens*.c only.
 */
#ifndef ADAPT_TOKENS_KEYS_H
#define ADAPT_TOKENS_KEYS_H

#include "adapt/tokens/tokens.h"
#include "tokenizer/pre.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"


enum tokens_role { ROLE_TOKEN_BOS, ROLE_TOKEN_EOS, ROLE_TOKEN_UNK, ROLE_TOKEN_SEP,
                   ROLE_TOKEN_PAD, ROLE_TOKEN_CLS, ROLE_TOKEN_MASK, ROLE_TOKENS };

enum tokens_model { TOKENS_GPT2, TOKENS_SPM, TOKENS_BERT, TOKENS_T5 };

struct tokens_keys {
	const struct subject *s;
	struct err *e;
	enum tokens_model model;
	const struct pre *pre;        /* TOKENS_GPT2 */
	const char *pre_name;         /* owned by the plan; or NULL */
	struct vocab v;               /* with texts indexed; flags: TOKEN_ADDED */
	uint32_t role[ROLE_TOKENS];   /* ids that keys give, or TOKEN_NONE */
	uint32_t bos, eos, unk;       /* the same, or those that hold without a key */
	int add_bos, add_eos, add_sep; /* -1: there is no key */
	bool puts_bos, puts_eos;      /* what encoding does */
	bool prefix, extra, lower;
	bool has_prefix;              /* there is a key */
	int accents;                  /* -1: there is no key, and lower holds */
	const uint8_t *map;           /* the precompiled character map, or NULL */
	size_t map_bytes;

	/* The record of tokens_options: its parts that can be used, or NULL. */
	const json_t *file, *config, *names;
	const json_t **added;         /* for each id its object in added_tokens, or NULL; NULL if
	                               * there is no list */
};

/* Take from the record what agrees with the keys. */
int tokens_keys_take(struct tokens_keys *k, const json_t *origin);

/* Read the keys. 1; 0 if the model has no tokenizer; -1. tokens_keys_close is due in any
 * case. */
int tokens_keys_open(struct tokens_keys *k, const struct subject *s, struct err *e);
void tokens_keys_close(struct tokens_keys *k);

/* Whether an id has no token of its own ("[PAD7]"). */
bool tokens_is_padding(const struct tokens_keys *k, size_t id);

/* The text of a token, as files of a folder spell it: WordPiece marks what continues a word.
 * Terminated, in b. NULL: ERR_MEMORY. */
const char *tokens_spell(const struct tokens_keys *k, size_t id, struct buf *b);

/* Append the text of tokenizer.json. 0 or -1. */
int tokens_write_json(struct tokens_keys *k, struct buf *b);

/* The list of merges in tokenizer.json: those of the keys, or those that give the order of the
 * scores. */
int tokens_write_merges(struct tokens_keys *k, struct buf *b);

/* Whether files list a token as an added one. */
bool tokens_is_added(const struct tokens_keys *k, size_t id);

/* An object of added_tokens or added_tokens_decoder, without the id. New reference. */
json_t *tokens_added(const struct tokens_keys *k, size_t id);

/* The pre_tokenizer of tokenizer.json for a row of patterns. New reference. */
json_t *tokens_patterns(const struct pre *p);

/* The name that tokens_put_keys derives from such a structure, or NULL. */
const char *tokens_derived(const struct subject *s, json_t *pre_tokenizer, bool whole,
                           char name[64]);

#endif
