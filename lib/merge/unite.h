/* unite: the keys of a tokenizer that has the tokens of several (merge/vocabulary.h). */
#ifndef MERGE_UNITE_H
#define MERGE_UNITE_H

#include "merge/word_list.h"

struct unite_added {
	size_t from;              /* in the list of tokenizers */
	uint32_t id;              /* there */
};

struct unite {
	const struct word_list *of;   /* n tokenizers; the tokens of the first come first */
	size_t n;
	const struct unite_added *added; /* the tokens behind them, */
	size_t count;                    /* and their number */
	const uint8_t *types;     /* of all tokens of the result: enum token_kind */
};

/* Put the keys of the result into a model that has those of the first tokenizer. ERR_CORRUPT: two
 * tokens have one text. 0 or -1. */
int unite_keys(const struct unite *u, struct model *keys, struct err *e);

#endif
