/* cosines: how much each layer of a model changes hidden states.
 *
 * Source: Men et al. 2024, "ShortGPT: Layers in Large Language Models are More Redundant Than You
 * Expect", section 2.2.
 */
#ifndef GENERATE_COSINES_H
#define GENERATE_COSINES_H

#include "core/err.h"
#include "infer/sequence.h"
#include "tokenizer/tokenizer.h"

/* The cosine between input and output of each layer, in the mean over the tokens of a text, which is
 * read in parts of the model's context: infer_blocks numbers. 0 or -1. */
int cosines_of(struct sequence *s, const struct tokens *text, double *cosines, struct err *e);

#endif
