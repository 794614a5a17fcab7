/* prompt: the text that a model begins with, and its tokens. */
#ifndef CLI_RUN_PROMPT_H
#define CLI_RUN_PROMPT_H

#include "core/buf.h"
#include "core/err.h"
#include "model/weights.h"
#include "tokenizer/tokenizer.h"

#define PROMPT_BYTES (64u << 20) /* at most */

/* Where a prompt comes from, if not from standard input: one of these. */
struct prompt_from {
	const char *text, *file;
	const char *ids; /* numbers of tokens (cli/ids.h) */
};

/* How many of them are given. */
int prompt_given(const struct prompt_from *from);

/* Its text, or the tokens that are given, before the model is looked at, which operand
 * names: only one of the two can come by standard input ("-"). A line break at the very
 * end of a file is left out, as editors and echo add it. ERR_USAGE where standard input
 * is a terminal or brings the model, and where ids have no number. 0 or -1. */
int prompt_take(const struct prompt_from *from, const char *operand, struct buf *text,
                struct tokens *tokens, struct err *e);

/* The tokenizer of a model that was loaded, as tokenizer_open gives it. */
struct tokenizer *prompt_tokenizer(const struct weights *w, bool any, struct err *e);

/* Append the tokens of a text, what reads as a control token being one. Where that gives
 * none at all, it is the token that begins a text; ERR_USAGE if the vocabulary has none. */
int prompt_encode(struct tokenizer *t, const struct buf *text, struct tokens *to,
                  struct err *e);

#endif
