/* measure: the model that is pruned, at work on the text of --text, so that watchers see its
 * activations (infer/watch.h).
 */
#ifndef CLI_PRUNE_MEASURE_H
#define CLI_PRUNE_MEASURE_H

#include "cli/prune/prune_asked.h"
#include "core/spool.h"
#include "infer/sequence.h"
#include "merge/input.h"
#include "tokenizer/tokenizer.h"

/* All zero is closed. */
struct measure {
	struct spool spool;       /* the tensors */
	struct weights weights;
	struct infer *infer;
	struct sequence *sequence;
	struct tokenizer *tokenizer;
	struct tokens tokens;
};

/* Open the model with the tokens of the text, or without a text with tokens of its vocabulary; at most
 * a->tokens, unless that is 0. 0 or -1; measure_close in any case. */
int measure_open(struct measure *m, struct merge_input *in, const struct prune_asked *a, unsigned jobs,
                 struct err *e);
void measure_close(struct measure *m);

/* Compute with all tokens, in parts of at most 512. 0 or -1. */
int measure_run(struct measure *m, struct err *e);

#endif
