/* tokens: a vocabulary without the tokens that nobody uses.
 *
 * These stay: the tokens that are used; all that are not normal (control, user-defined, unknown,
 * bytes) or have a role by a key such as tokenizer.ggml.bos_token_id; of byte-level BPE the tokens of
 * one letter; and those from which these are made: of BPE both sides of each merge whose result stays,
 * of SentencePiece both sides of each way to cut a text into two tokens or characters; of Unigram the
 * token of the lowest score, which prices unknown characters. A text whose tokens all stay so becomes
 * the same pieces: each choice that was made is still there, and none is new.
 *
 * Ids are given anew in the old order. Lists with an item for each token, merges, ids in keys, the
 * embeddings and the rows of the output matrix follow; rows behind the last token go.
 */
#ifndef PRUNE_TOKENS_H
#define PRUNE_TOKENS_H

#include "prune/plan.h"

/* Take the tokens that how.used does not mark. ERR_INVALID for a model without a tokenizer, or whose
 * tables do not have a row for each token. 0 or -1. */
int prune_tokens(struct prune_plan *p, struct err *e);

#endif
