/* special: finds tokens in the text before it is cut: control tokens ("<|im_end|>") and those added
 * to a vocabulary.
 *
 * The longest tokens are found first, in all of the text, then shorter ones; of equal length, the
 * leftmost wins. llama.cpp does the same. The tokenizers library takes the leftmost token first,
 * which differs only if two tokens overlap and neither contains the other.
 */
#ifndef TOKENIZER_SPECIAL_H
#define TOKENIZER_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/work.h"
#include "tokenizer/vocab.h"

#define SPECIAL_LENGTHS 4096 /* the most lengths of such tokens */

struct special {
	uint32_t *length;      /* lengths of the tokens, each once, the longest first */
	size_t lengths;
	uint8_t begins[8192];  /* a bit for each pair of bytes that begins a token */
	bool single[256];      /* tokens of one byte */
};

/* A part of a text: a token, or bytes that are still to be cut. */
struct fragment {
	uint32_t from, to;     /* bytes of the text */
	uint32_t id;           /* or TOKEN_NONE */
};

struct fragments {
	struct fragment *p;
	size_t n, cap;
};

/* Index the tokens of v with the flag TOKEN_ADDED. -1: ERR_MEMORY, ERR_CORRUPT. */
int special_open(struct special *s, const struct vocab *v, const char *what,
                 struct err *e);
void special_free(struct special *s);

/* Cut n bytes of text into fragments, in order, none of them empty. wanted: which tokens
 * count. -1: ERR_MEMORY, also if the work limit is reached. */
int special_find(const struct special *s, const struct vocab *v, const uint8_t *text,
                 size_t n, bool (*wanted)(const struct token *t, void *ctx), void *ctx,
                 struct fragments *to, struct work *work, struct err *e);

#endif
