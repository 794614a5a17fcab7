/* canary: what a model said to some prompts when it was known to be good, so that another form of
 * it (quantized, converted, pruned) can be held against that later.
 *
 * For each prompt it has the token ids, the text that the model continues it with when the most
 * probable token is always taken, and for each position of prompt and continuation the most
 * probable next tokens with their probabilities. Greedy text of two correct programs parts where
 * two tokens are about equally probable; so only ids and probabilities are judged, over the
 * recorded tokens, and the text illustrates.
 *
 * As a file it is one JSON object, documented in apr-canary(1).
 */
#ifndef QUALITY_CANARY_H
#define QUALITY_CANARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "tokenizer/tokenizer.h"

#define CANARY_VERSION 1
#define CANARY_KIND "text"        /* others may follow: "audio" */

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define CANARY_BYTES (16u << 20)  /* of a file, at most */
#define CANARY_POSITIONS (1u << 16) /* of all prompts, at most */
#else
#define CANARY_BYTES (1u << 16)
#define CANARY_POSITIONS 256u
#endif
#define CANARY_TOP_MOST 64
#define CANARY_TOP 5              /* the default */

struct canary_prompt {
	char *text;               /* of the prompt; NULL: it was given as token ids */
	struct tokens ids;        /* the prompt, at least one token, then the continuation */
	size_t prompt;            /* tokens of the prompt */
	bool ended;               /* the token that ends a text followed the last one */
	char *made;               /* text of the continuation */
	char logits[65];          /* SHA-256 of all logits in single precision, little-endian */
	uint32_t *top;            /* ids.n × canary->top: after each token the most probable ones, */
	float *p;                 /* and their probabilities, the greatest first */
};

struct canary {
	/* The conditions. A text is NULL and a number 0 if the file does not state it. */
	char *made_by;            /* "apr-canary 0.1.0" */
	char *architecture;
	char *root;               /* 64 hexadecimal digits: of the content (crypto/content.h) */
	char *level;              /* of the CPU */
	uint64_t vocabulary;      /* tokens; always known */
	uint64_t seed;            /* of the sampler, which greedy text does not use */

	uint64_t count;           /* the most tokens of a continuation */
	uint64_t top;             /* tokens of each position, 1 to CANARY_TOP_MOST */
	struct canary_prompt *prompts;
	size_t n, cap;
};

/* Read a canary of n bytes, which may be hostile. c is uninitialized. ERR_CORRUPT: malformed or
 * contradictory; ERR_VERSION, ERR_FORMAT: of another version or kind; ERR_MEMORY: beyond the
 * limits above. what names the file. 0, or -1 with e filled; canary_free is due in any case. */
int canary_parse(struct canary *c, const void *text, size_t n, const char *what, struct err *e);

/* Append the file. b->failed if memory ran out. */
void canary_write(const struct canary *c, struct buf *b);

/* Append an empty prompt; NULL with e filled. */
struct canary_prompt *canary_add(struct canary *c, struct err *e);
void canary_free(struct canary *c);

#endif
