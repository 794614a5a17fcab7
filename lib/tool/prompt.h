/* prompt: the text that a model begins with, and its tokens. */
#ifndef TOOL_PROMPT_H
#define TOOL_PROMPT_H

#include "core/buf.h"
#include "core/err.h"
#include "model/weights.h"
#include "tokenizer/tokenizer.h"

#define PROMPT_BYTES (64u << 20) /* at most */

/* All of a file, "-" being standard input; a line break at its very end is left out, as
 * editors and echo add it. A terminal is asked for no text: ERR_USAGE. 0 or -1. */
int prompt_read(const char *path, struct buf *text, struct err *e);

/* The tokenizer of a model that was loaded, as tokenizer_open gives it. */
struct tokenizer *prompt_tokenizer(const struct weights *w, bool any, struct err *e);

/* Append the tokens of a text, what reads as a control token being one. Where that gives
 * none at all, it is the token that begins a text; ERR_USAGE if the vocabulary has none. */
int prompt_encode(struct tokenizer *t, const struct buf *text, struct tokens *to,
                  struct err *e);

#endif
