/* sampler: which token comes next.
 *
 * In this order, each step leaving candidates to the next:
 *
 *	repeat_penalty  logits of tokens among the last SAMPLER_LAST are divided by it
 *	                (multiplied, where they are below zero)
 *	top_k           the k most probable; 0: all
 *	top_p           of these the fewest that have that much of their probability
 *	min_p           those at least that fraction as probable as the most probable
 *	temperature     logits are divided by it; 0: the most probable token, and the
 *	                steps from top_k on are not done
 *
 * Of equal logits that of the lower token comes first. Then one is drawn by the next
 * number of generate/chance.h: candidates in the order of their probability, the first whose
 * sum of probabilities exceeds the number. Sums are in double precision and in this
 * order, so that the same logits and the same seed give the same tokens.
 *
 * Source: the chain of llama.cpp's samplers; top-p is Holtzman and others, "The curious
 * case of neural text degeneration", 2020; the penalty is Keskar and others, "CTRL", 2019.
 */
#ifndef GENERATE_SAMPLER_H
#define GENERATE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "generate/chance.h"

#define SAMPLER_LAST 64

struct sampler_options {
	double temperature, top_p, min_p, repeat_penalty;
	uint64_t top_k, seed;
};
/* Greedy; the others are what counts once there is a temperature. */
#define SAMPLER_DEFAULT { 0, 0.95, 0.05, 1, 40, 0 }

struct sampler {
	struct sampler_options options;
	struct chance chance;
	size_t n;           /* of the vocabulary */
	float *logits;      /* after the penalty */
	struct candidate *candidates;
};

/* n: tokens of the vocabulary, at least 1. 0 or -1 (memory); sampler_free is due in any
 * case. */
int sampler_open(struct sampler *s, const struct sampler_options *options, size_t n,
                 struct err *e);
void sampler_free(struct sampler *s);

/* The token that follows count tokens. logits are finite. */
uint32_t sampler_next(struct sampler *s, const float *logits, const uint32_t *tokens,
                      size_t count);

/* The natural logarithm of the probability that n logits give a token. */
double sampler_logprob(const float *logits, size_t n, uint32_t token);

#endif
