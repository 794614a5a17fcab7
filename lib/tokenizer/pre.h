/* pre: pre-tokenizers by the names that GGUF has for them (tokenizer.ggml.pre), and the
 * patterns with which each cuts text, as published with its models. */
#ifndef TOKENIZER_PRE_H
#define TOKENIZER_PRE_H

#include "core/err.h"
#include "tokenizer/split.h"

enum {
	PRE_WHOLE_WORDS = 1, /* a word that is a token is not taken apart */
	PRE_BOS = 2,         /* bos in front, where the model does not say */
	PRE_NO_BOS = 4       /* there is no bos, where the model does not say */
};

#define PRE_PATTERNS 6

struct pre {
	const char *names; /* with blanks between them */
	const char *pattern[PRE_PATTERNS]; /* in their order; the first NULL ends them */
	unsigned flags;
};

/* The pre-tokenizer of that name, or NULL. */
const struct pre *pre_find(const char *name);

/* What the tokenizers library does for ByteLevel's use_regex. */
extern const char pre_gpt2[];

/* Append its steps. */
int pre_steps(const struct pre *p, struct split *s, struct err *e);

#endif
