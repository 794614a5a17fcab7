/* importance: how much each column of the weights of a model matters for a text: the sums of
 * squares of the activations that it is multiplied with (quant/imatrix.h).
 *
 * The text is read as in llama.cpp, so that matrices can be compared and merged: its tokens are
 * cut into parts as long as the context, a shorter part at the end is left out, and the first
 * token of each part is replaced by BOS if the vocabulary adds it. Every token of a part counts.
 *
 * Sums are double precision, each in the order of the tokens. They depend on neither threads nor
 * the number of tokens that are evaluated at once. Instead of the mean square, a column can count by
 * its range: the magnitude that a share of its activations does not exceed, found exactly from the
 * largest ones, which are kept. What is added is then the square of the range times the tokens. With `fast`, weights are rounded in another way
 * for every 2048 tokens, counted from the beginning of the text.
 */
#ifndef GENERATE_IMPORTANCE_H
#define GENERATE_IMPORTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "infer/sequence.h"
#include "quant/imatrix.h"
#include "tokenizer/tokenizer.h"

struct importance_options {
	uint64_t first, count; /* parts to leave out, and to read then; 0: all */
	bool output;           /* also the output layer, unless it is the embedding */
	bool fast;             /* round weights to 8 bits (infer/round8.h) */
	double percentile;     /* 0: mean squares; else ranges that hold this percentage, up to 100 */
	unsigned threads;
};

/* Add the sums of a text (tokenizer_encode) to m, which is empty, under the names of weights in
 * GGUF. sequence: one of the model. part: receives the number of finished parts, or NULL. 0, or
 * -1 with e filled: ERR_INVALID for a text that is too short, or activations that are not
 * finite. */
int importance_of(struct infer *model, struct sequence *sequence,
                  const struct tokenizer *tokenizer, const struct tokens *text,
                  const struct importance_options *o, struct imatrix *m,
                  void (*part)(void *ctx, uint64_t done), void *ctx, struct err *e);

/* The parts that the options choose of a text of that many tokens. */
uint64_t importance_parts(const struct infer *model, uint64_t tokens,
                          const struct importance_options *o);

#endif
