/* drop: the layers that change the hidden states least. */
#ifndef CLI_PRUNE_DROP_H
#define CLI_PRUNE_DROP_H

#include "cli/prune/prune_asked.h"
#include "merge/input.h"

/* Measure the layers of a model with the text, or without one with tokens of its vocabulary, and put
 * the numbers of the --drop layers whose input and output have the highest cosine, in the mean over
 * tokens, into a->layers. Prints the figures of all layers as a note. 0 or -1.
 * Source: Men et al. 2024, "ShortGPT: Layers in Large Language Models are More Redundant Than You
 * Expect", section 2.2. */
int drop_choose(struct prune_asked *a, struct merge_input *in, unsigned jobs, struct err *e);

#endif
