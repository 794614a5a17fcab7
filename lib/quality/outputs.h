/* outputs: what two models make of the same tokens: a base, and another form of it.
 *
 * Both read a text, and the divergence of their predictions is computed at each of its positions
 * (generate/divergence.h). Then both continue it with the most probable token, until they part.
 */
#ifndef QUALITY_OUTPUTS_H
#define QUALITY_OUTPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "generate/divergence.h"
#include "infer/sequence.h"

/* What came of one text. */
struct output {
	size_t tokens;               /* of the text */
	struct divergence_figures f; /* of its positions: one less than tokens */
	size_t said;                 /* tokens that both continue alike, at most `count` */
	bool parts;                  /* and then part: base says `next[0]`, the model `next[1]` */
	uint32_t next[2];
};

/* Compare the sequences over n tokens, at least one, and over a continuation of at most count
 * tokens. The positions are added to all. Both models must have room for n + count positions. 0,
 * or -1 with e filled: ERR_INVALID for vocabularies of different size. */
int outputs_compare(struct sequence *base, struct sequence *model, const uint32_t *tokens,
                    size_t n, size_t count, struct divergence *all, struct output *to,
                    struct err *e);

/* The drift of hidden states: how far the output of each block of the model is from that of the
 * base, over all tokens of all texts. */
struct layer_drift {
	double dd, aa;        /* sums of squares of the difference, and of the base's */
	double worst;         /* the largest relative distance of a token, */
	size_t worst_at;      /* and its position */
};

/* Add the tokens of a text to drift[blocks of the models]. ERR_INVALID if the models differ in
 * blocks or width. 0 or -1. */
int outputs_layers(struct sequence *base, struct sequence *model, const uint32_t *tokens,
                   size_t n, struct layer_drift *drift, struct err *e);

#endif
