/* markov: n-grams as counts, which score texts: the payload MarkovModel of APR version 1 (markov.c has
 * the formula).
 */
#ifndef PREDICT_MARKOV_H
#define PREDICT_MARKOV_H

#include "predict/predict.h"

/* n texts one after another, and the u64 lengths of each. */
struct markov_texts {
	const uint8_t *text, *lengths;
	size_t bytes, n;
};

/* The columns of the payload. For each context its text and how many words follow it (u64 sizes); for
 * each of these, context after context, its text and u32 count. */
struct markov_counts {
	uint64_t order;
	struct markov_texts contexts, nexts;
	const uint8_t *sizes, *counts;
};

/* Adds the step and what else the model is. 0, or -1 with e filled. */
int markov_read(struct predictor *m, const struct markov_counts *c, const char *where, struct err *e);

#endif
