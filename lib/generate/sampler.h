/* sampler: the choice of the next token.
 *
 * These steps come in this order, and each leaves candidates to the next:
 *
 * 	repeat_penalty  logits of the last SAMPLER_LAST tokens are divided by it (multiplied if
 * 	                they are negative)
 * 	top_k           keep the k most probable; 0: all
 * 	top_p           keep the fewest most probable ones that together have that probability
 * 	min_p           keep those at least that fraction as probable as the most probable
 * 	temperature     logits are divided by it; 0: take the most probable token, and skip the
 * 	                steps from top_k on
 *
 * Equal logits are ordered by token id, lower first. The token is then drawn by the next number of
 * generate/chance.h: it is the first candidate, in order of probability, at which the running sum
 * of probabilities exceeds the number. Sums are in double precision and in this order, so the same
 * logits and seed give the same tokens.
 *
 * Source: the sampler chain of llama.cpp; top-p is Holtzman and others, "The curious case of neural
 * text degeneration", 2020; the penalty is Keskar and others, "CTRL", 2019.
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
/* Greedy; the other values apply once there is a temperature. */
#define SAMPLER_DEFAULT { 0, 0.95, 0.05, 1, 40, 0 }

struct sampler {
	struct sampler_options options;
	struct chance chance;
	size_t n;           /* size of the vocabulary */
	float *logits;      /* with the penalty */
	struct candidate *candidates;
};

/* n: size of the vocabulary, at least 1. 0, or -1 (memory); sampler_free is due in any case. */
int sampler_open(struct sampler *s, const struct sampler_options *options, size_t n,
                 struct err *e);
void sampler_free(struct sampler *s);

/* The token that follows the count tokens. Logits are finite. */
uint32_t sampler_next(struct sampler *s, const float *logits, const uint32_t *tokens,
                      size_t count);

/* The natural logarithm of the probability of a token, given n logits. */
double sampler_logprob(const float *logits, size_t n, uint32_t token);

#endif
