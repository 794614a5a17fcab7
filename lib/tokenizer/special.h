/* special: tokens that are looked for in the text itself, before it is cut: control
 * tokens ("<|im_end|>") and those that were added to a vocabulary.
 *
 * The longest are looked for first, in all of the text, then the next; of equals the
 * leftmost wins. So llama.cpp does. The tokenizers library takes the leftmost of all
 * first, which differs only where two tokens overlap without one being in the other.
 */
#ifndef TOKENIZER_SPECIAL_H
#define TOKENIZER_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/work.h"
#include "tokenizer/vocab.h"

#define SPECIAL_LENGTHS 4096 /* different lengths of such tokens, at most */

struct special {
	uint32_t *length;      /* of the tokens: each once, the longest first */
	size_t lengths;
	uint8_t begins[8192];  /* a bit for each two bytes that one begins with */
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

/* Those tokens of v that have the flag TOKEN_ADDED. -1: ERR_MEMORY, ERR_CORRUPT. */
int special_open(struct special *s, const struct vocab *v, const char *what,
                 struct err *e);
void special_free(struct special *s);

/* Cut n bytes of text into fragments, in their order, none of them empty. wanted says
 * which tokens count. -1: ERR_MEMORY, also where that is more work than is left. */
int special_find(const struct special *s, const struct vocab *v, const uint8_t *text,
                 size_t n, bool (*wanted)(const struct token *t, void *ctx), void *ctx,
                 struct fragments *to, struct work *work, struct err *e);

#endif
