/* prompts: a file of prompts, in one of two forms:
 *
 * 	lines        each line is a prompt, as it stands; empty lines are skipped
 * 	JSON lines   if the first character is "{": each line is an object with the member "prompt",
 * 	             a text, or "tokens", a list of token ids; "kind", if given, is "text"; other
 * 	             members are ignored
 */
#ifndef QUALITY_PROMPTS_H
#define QUALITY_PROMPTS_H

#include <stddef.h>

#include "core/err.h"
#include "tokenizer/tokenizer.h"

#define PROMPTS_MOST 4096 /* prompts of a file */

struct prompt_line {
	char *text;        /* NULL: given as */
	struct tokens ids; /* at least one */
	size_t line;       /* of the file, from 1 */
};

struct prompts {
	struct prompt_line *item;
	size_t n, cap;
};

/* Append the prompts of n bytes, which may be hostile. name is that of the file. 0, or -1 with e
 * filled: ERR_CORRUPT; ERR_FORMAT for another kind; prompts_free is due in any case. */
int prompts_parse(struct prompts *p, const void *text, size_t n, const char *name,
                  struct err *e);

/* Append a prompt. */
int prompts_add(struct prompts *p, const char *text, size_t n, size_t line, struct err *e);
void prompts_free(struct prompts *p);

#endif
