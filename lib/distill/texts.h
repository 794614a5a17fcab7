/* texts: what a model learns from, as one row of tokens.
 *
 * A file is one document of UTF-8 text, or JSON lines: an object in each line that is a document, with
 * a text "text", or with two texts "prompt" and "completion", one after the other. Other
 * members are ignored, and so are empty lines and documents. Documents of JSON lines end with EOS if
 * the vocabulary has it, and begin with BOS if the tokenizer adds it.
 *
 * Memory grows with the tokens, which are at most as many as the bytes of the file and its documents
 * together.
 */
#ifndef DISTILL_TEXTS_H
#define DISTILL_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "tokenizer/tokenizer.h"

struct texts {
	struct tokens tokens;
	uint64_t documents;
	uint64_t lost;  /* bytes that no token stands for */
};

/* Whether the name of a file says that it holds JSON lines: ".jsonl" or ".ndjson". */
bool texts_are_lines(const char *path);

/* Check n bytes before a model is opened: ERR_INVALID if they are empty, ERR_CORRUPT if they are not
 * UTF-8 or hold a NUL, with the offset. 0 or -1. */
int texts_check(const void *p, size_t n, const char *name, struct err *e);

/* Append the tokens of n bytes. ERR_CORRUPT with the line for what is not such an object, and ERR_INVALID
 * if the text has no tokens. texts_free in any case. 0 or -1. */
int texts_read(struct texts *t, struct tokenizer *k, bool lines, const void *p, size_t n,
               const char *name, struct err *e);
void texts_free(struct texts *t);

#endif
