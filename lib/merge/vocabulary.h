/* vocabulary: models whose tokens differ: the row that each token of the result has in the tables of
 * each model, by the token's text.
 *
 * The result has the tokens of the reference. A model that lacks one of them takes the row of the
 * reference, as mergekit documents it, so its difference there is 0.
 */
#ifndef MERGE_VOCABULARY_H
#define MERGE_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "merge/input.h"

#define VOCABULARY_LACKS UINT32_MAX

struct vocabulary {
	uint32_t tokens;          /* of the result; 0: all models have the same ones */
	uint32_t **row;           /* of each model: the row of each token, or VOCABULARY_LACKS */
	size_t models;
};

/* The tokens of the reference. ERR_INVALID for tokenizers of different kinds, or a model whose
 * tokenizer cannot be read. vocabulary_free in any case. 0 or -1. */
int vocabulary_make(struct vocabulary *v, const struct merge_input *inputs, size_t n,
                    size_t reference, struct err *e);
void vocabulary_free(struct vocabulary *v);

/* Whether a tensor has a row for each token. */
bool vocabulary_is_table(const struct merge_input *in, size_t tensor);

/* The row of a token in a model, or VOCABULARY_LACKS. Rows behind the tokens are those of the
 * reference alone. */
uint32_t vocabulary_row(const struct vocabulary *v, size_t model, size_t reference,
                        uint64_t token);

#endif
