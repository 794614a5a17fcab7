/* perplexity: how well a model predicts a text.
 *
 * It is computed as in llama.cpp, over the parts of generate/parts.h:
 *
 * 	perplexity = exp(mean of -ln(probability))
 * 	error      = perplexity × sqrt((mean of squares - square of mean) / (count - 1))
 */
#ifndef GENERATE_PERPLEXITY_H
#define GENERATE_PERPLEXITY_H

#include <stdint.h>

#include "core/err.h"
#include "infer/sequence.h"
#include "tokenizer/tokenizer.h"

struct perplexity {
	double value, error;
	uint64_t tokens, parts; /* tokens of the text; parts evaluated */
	uint64_t counted;       /* number of probabilities */
};

/* Perplexity of the tokens of a text (tokenizer_encode), with the context of the sequence. A
 * text shorter than two contexts is refused (ERR_INVALID), because its result would be
 * chance. part: receives the value so far after each part, or NULL. 0, or -1 with e filled. */
int perplexity_of(struct sequence *sequence, const struct tokenizer *tokenizer,
                  const struct tokens *text, struct perplexity *p,
                  void (*part)(void *ctx, const struct perplexity *p), void *ctx,
                  struct err *e);

#endif
