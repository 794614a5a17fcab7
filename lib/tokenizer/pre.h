/* pre: pre-tokenizers by their names in GGUF (tokenizer.ggml.pre), and the patterns with which each
 * cuts text, as published with its models.
 */
#ifndef TOKENIZER_PRE_H
#define TOKENIZER_PRE_H

#include "core/err.h"
#include "tokenizer/split.h"

enum {
	PRE_WHOLE_WORDS = 1, /* a word that is a token is not split */
	PRE_BOS = 2,         /* add BOS, unless the model says otherwise */
	PRE_NO_BOS = 4       /* add no BOS, unless the model says otherwise */
};

#define PRE_PATTERNS 6

struct pre {
	const char *names; /* separated by blanks */
	const char *pattern[PRE_PATTERNS]; /* in order; ended by NULL */
	unsigned flags;
};

/* The pre-tokenizer of that name, or NULL. */
const struct pre *pre_find(const char *name);

/* The row with that index, or NULL. */
const struct pre *pre_row(size_t index);

/* The patterns of ByteLevel's use_regex in the tokenizers library. */
extern const char pre_gpt2[];

/* Append its steps. */
int pre_steps(const struct pre *p, struct split *s, struct err *e);

#endif
