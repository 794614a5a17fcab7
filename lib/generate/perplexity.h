/* perplexity: how much a text surprises a model.
 *
 * As llama.cpp does it, so that numbers can be compared: the text's tokens are cut into
 * parts as long as the context, of which the last, if it is shorter, is left out. The
 * first token of each is replaced by the begin-of-text token, where the vocabulary adds
 * one. Each part is evaluated by itself; what is counted is the probability of each token
 * in its second half, but for the last: tokens from context / 2 + 1 on.
 *
 *	perplexity = exp(mean of -ln(probability))
 *	error      = perplexity × sqrt((mean of squares - square of mean) / (count - 1))
 */
#ifndef GENERATE_PERPLEXITY_H
#define GENERATE_PERPLEXITY_H

#include <stdint.h>

#include "core/err.h"
#include "infer/sequence.h"
#include "tokenizer/tokenizer.h"

struct perplexity {
	double value, error;
	uint64_t tokens, parts; /* of the text; that were evaluated */
	uint64_t counted;       /* probabilities */
};

/* Of a text's tokens, as tokenizer_encode gives them; context is that of the sequence. Fewer
 * than two contexts are refused (ERR_INVALID), as what they tell is chance. part, or
 * NULL: told the value so far after each part. 0, or -1 with e filled. */
int perplexity_of(struct sequence *sequence, const struct tokenizer *tokenizer,
                  const struct tokens *text, struct perplexity *p,
                  void (*part)(void *ctx, const struct perplexity *p), void *ctx,
                  struct err *e);

#endif
