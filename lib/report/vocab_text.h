/* vocab_text: the tokens of a vocabulary, one per line. */
#ifndef REPORT_VOCAB_TEXT_H
#define REPORT_VOCAB_TEXT_H

#include <stdbool.h>

#include "core/buf.h"
#include "tokenizer/tokenizer.h"

/* Appends the line of a token: id, type, score ("-" if the model states none) and escaped text,
 * separated by tabs; with json, an object with id, type, score (if there is one) and text, or
 * bytes in hexadecimal if it is not text. model: the last member of the object; may be NULL. */
void vocab_put(struct buf *to, const struct tokenizer *t, uint32_t id, bool json,
               const char *model);

#endif
