/* prompt: the text that a model continues, and its tokens. */
#ifndef CLI_PROMPT_H
#define CLI_PROMPT_H

#include "core/buf.h"
#include "core/err.h"
#include "tokenizer/tokenizer.h"

#define PROMPT_BYTES (64u << 20) /* maximum */

/* The source of a prompt: one of these, or standard input. */
struct prompt_from {
	const char *text, *file;
	const char *ids; /* token ids (cli/ids.h) */
};
#define OPT_PROMPT(p) \
	ANY_TEXT('p', "prompt", "TEXT", &(p)->text, "continue TEXT"), \
	TEXT('f', "file", "FILE", &(p)->file, "continue the text of FILE"), \
	TEXT(0, "tokens", "IDS", &(p)->ids, "continue these token ids: ID,ID,...")

/* The number of sources that are set. */
int prompt_given(const struct prompt_from *from);

/* Reads the text, or the token ids, before the model is opened. operand names the model:
 * only one of the two can come from standard input ("-"). A line break at the very end of
 * a file is dropped, because editors and echo add it. 0, or -1 with e filled: ERR_USAGE
 * if standard input is a terminal or is the model, or if the list of ids is empty. */
int prompt_take(const struct prompt_from *from, const char *operand, struct buf *text,
                struct tokens *tokens, struct err *e);

/* Appends the tokens of a text, in which the text of a control token stands for the
 * token. An empty text becomes the BOS token; ERR_USAGE if the vocabulary has none. */
int prompt_encode(struct tokenizer *t, const struct buf *text, struct tokens *to,
                  struct err *e);

#endif
