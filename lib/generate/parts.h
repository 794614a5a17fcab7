/* parts: a text cut into parts as llama.cpp cuts it to measure a model, so that numbers can be
 * compared: the parts are as long as the context; a shorter one at the end is left out. The
 * first token of each part is replaced by BOS if the vocabulary adds it. Each part is evaluated
 * by itself, and the probabilities of the tokens in its second half count: those that follow the
 * positions from context / 2 on, except the last one.
 */
#ifndef GENERATE_PARTS_H
#define GENERATE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "infer/sequence.h"
#include "tokenizer/tokenizer.h"

struct parts {
	const uint32_t *text; /* of all parts; not owned */
	size_t context, first; /* tokens of a part; the first position that counts */
	uint32_t bos;         /* replaces the first token of a part; TOKEN_NONE: nothing does */
	uint64_t count;
};

/* A text shorter than two contexts is refused (ERR_INVALID), because its result would be
 * chance; so is a context below four. 0, or -1 with e filled. */
int parts_begin(struct parts *p, size_t context, const struct tokenizer *tokenizer,
                const struct tokens *text, struct err *e);

/* The tokens of part i. */
const uint32_t *parts_tokens(const struct parts *p, uint64_t i);

/* Evaluate the first half of part i, whose logits do not count. The sequence goes on at
 * position p->first. 0, or -1 with e filled. */
int parts_head(const struct parts *p, uint64_t i, struct sequence *s, struct err *e);

#endif
