/* vocabulary: models whose tokens differ: the tokens of the result, and the row that each has in the
 * tables of each model, by the token's text.
 *
 * The tokens of the result are
 *   MERGE_TOKENS_BASE   those of the reference;
 *   MERGE_TOKENS_OF     those of the model that the recipe names, with all keys of its tokenizer;
 *   MERGE_TOKENS_UNION  those of the reference with their ids, then of each model in the order of the
 *                       recipe those that are still missing, in the order of their ids. Texts that are
 *                       empty, and places without a token ("[PAD7]"), are not added.
 * A united token has the type of the first model that has it, unless that is normal or unused and a
 * later model states control or user-defined. It has the score of the first; with Unigram, at least
 * the lowest one of the reference, which prices unknown characters. Merges are those of the
 * reference, then of each model those that are missing, in their order, if both sides and the result
 * are tokens. All other keys, the special ids too, are those of the reference.
 *
 * A model that lacks a token takes for it
 *   what the recipe's rule for the token says (which also replaces rows if it says `force`); else
 *   the row of the base, if there is a base and it has the token; else
 *   the mean of the rows of all models that have it, as mergekit documents it; else zeros.
 * With MERGE_TOKENS_BASE and without a base it takes the row of the reference.
 */
#ifndef MERGE_VOCABULARY_H
#define MERGE_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "merge/input.h"
#include "merge/recipe.h"
#include "merge/word_list.h"

#define VOCABULARY_LACKS UINT32_MAX

struct vocabulary {
	uint32_t tokens;          /* of the result; 0: all models have the same ones */
	uint32_t **row;           /* of each model: the row of each token, or VOCABULARY_LACKS */
	size_t models, reference;
	bool replaced;            /* the tokenizer is not that of the reference: words has it, and the
	                           * tables have a row for each token and no more */
	bool foreign;             /* its ids are not those of the reference */
	const uint32_t *moved;    /* of each of `before` old tokens its id, or VOCABULARY_LACKS; NULL:
	                           * the ids of the reference are not followed */
	size_t before;
	uint32_t nowhere;         /* tokens that no model has a row for */
	struct word_list words;
	struct vocabulary_rule {
		uint32_t token, row;  /* of the result; of the model */
		const struct merge_token *asked;
	} *rules;                 /* sorted by token */
	size_t rule_count;
};

/* inputs: one for each model of the recipe. ERR_INVALID for tokenizers of different kinds, a model whose
 * tokenizer cannot be read, a rule for a token that does not exist, and a result that is not a
 * tokenizer. vocabulary_free in any case. 0 or -1. */
int vocabulary_make(struct vocabulary *v, const struct merge_recipe *r,
                    const struct merge_input *inputs, size_t reference, struct err *e);
void vocabulary_free(struct vocabulary *v);

/* Whether a tensor has a row for each token. */
bool vocabulary_is_table(const struct merge_input *in, size_t tensor);

/* The row of a token in a model, or VOCABULARY_LACKS. If the tokenizer is that of the reference, rows
 * behind the tokens are those of the reference alone. */
uint32_t vocabulary_row(const struct vocabulary *v, size_t model, uint64_t token);

/* The rule of a token, or NULL. */
const struct vocabulary_rule *vocabulary_rule(const struct vocabulary *v, uint64_t token);

#endif
