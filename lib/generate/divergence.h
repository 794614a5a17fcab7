/* divergence: how far the predictions of a model are from those of another one, the base, for
 * example of a quantized model from those of the original.
 *
 * Both models get the same tokens. At each position that counts, P is the distribution of the
 * next token by the base, Q that by the model, and t the token that follows in the text. The
 * figures are those of llama.cpp's --kl-divergence:
 *
 * 	perplexity    exp(mean of -ln Q(t)), and of -ln P(t) for the base
 * 	kl            mean of sum over i of P(i) × (ln P(i) - ln Q(i)): 0 for equal distributions
 * 	same_top      share of the positions where P and Q have the same most probable token
 * 	dp            mean of Q(t) - P(t)
 * 	dp_rms        square root of the mean of its square
 *
 * llama.cpp stores ln P in steps of 1/65535 of a range of at most 16; here P is exact.
 * The second number of each figure is its standard error, for n positions
 * sqrt((mean of squares - square of mean) / (n - 1)); errors of functions of two means follow by
 * propagation, with the covariance of the two.
 */
#ifndef GENERATE_DIVERGENCE_H
#define GENERATE_DIVERGENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/spool.h"
#include "infer/sequence.h"
#include "tokenizer/tokenizer.h"

/* What has been added so far. All zero is empty. */
struct divergence {
	uint64_t count;    /* positions */
	uint64_t same_top;
	double nll[2], nll_squares[2], nll_product; /* -ln of the probability of t: the model's,
	                    * the base's; sums */
	double kl_sum, kl_squares;
	double dp_sum, dp_squares, dp_fourths;
	float *kl, *dp;    /* of each position; sorted by divergence_figures */
	size_t kl_cap, dp_cap;
};

struct estimate {
	double value, error;
};

/* The shares of positions whose value is at most that of the entry: quantile[0] is the maximum,
 * the last one the minimum. */
#define DIVERGENCE_QUANTILES 13
extern const float divergence_shares[DIVERGENCE_QUANTILES];
enum { DIVERGENCE_MAX = 0, DIVERGENCE_99 = 2, DIVERGENCE_MEDIAN = 6 }; /* places in it */

struct divergence_figures {
	uint64_t count;
	struct estimate perplexity, base; /* of the model, of the base */
	struct estimate ln_ratio, ratio, difference; /* model / base; model - base */
	double correlation;    /* of the logarithms */
	struct estimate kl, dp, dp_rms, same_top; /* same_top: a share, 0 to 1 */
	double kl_quantile[DIVERGENCE_QUANTILES], dp_quantile[DIVERGENCE_QUANTILES];
};

/* Add a position: the logits of both, n each and all finite, and the token that follows, below
 * n. 0 or -1 (memory). */
int divergence_add(struct divergence *d, const float *base, const float *logits, size_t n,
                   uint32_t next, struct err *e);

/* Add the positions of one to another. 0 or -1 (memory). */
int divergence_join(struct divergence *to, const struct divergence *from, struct err *e);

/* The figures of what has been added; all 0 if that is nothing. */
void divergence_figures(struct divergence *d, struct divergence_figures *f);
void divergence_free(struct divergence *d);

/* Evaluate the tokens from first to n - 2 with both sequences, which have been evaluated up to
 * first, and add these positions. Few rows of logits are in memory at a time. Vocabularies of
 * different size are ERR_INVALID. 0, or -1 with e filled. */
int divergence_pair(struct divergence *d, struct sequence *base, struct sequence *model,
                    const uint32_t *tokens, size_t n, size_t first, struct err *e);

/* Add the parts (generate/parts.h) of a text, for the context of the model. part: is called
 * after each part, or NULL. 0, or -1 with e filled. */
int divergence_text(struct divergence *d, struct sequence *base, struct sequence *model,
                    const struct tokenizer *tokenizer, const struct tokens *text,
                    void (*part)(void *ctx, uint64_t done, uint64_t all), void *ctx,
                    struct err *e);

/* The logits of a base on a text, for the comparison with several models: in memory or an
 * unlinked file (core/spool.h). All zero except most is empty. */
struct divergence_kept {
	uint64_t most;       /* bytes: a text with more logits is not kept */
	bool whole;          /* all logits of the text are here */
	size_t vocabulary;
	struct spool logits; /* of the positions that count, in their order */
};

/* The same figures as those of divergence_text. The first call evaluates the base and keeps its
 * logits; base may be NULL once they are whole. Each call has the same text and context. */
int divergence_again(struct divergence *d, struct divergence_kept *kept, struct sequence *base,
                     struct sequence *model, const struct tokenizer *tokenizer,
                     const struct tokens *text, struct err *e);
void divergence_kept_free(struct divergence_kept *kept);

#endif
