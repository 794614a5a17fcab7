/* wordpiece: cuts a word into the longest token that it begins with, then the longest that the rest
 * begins with, and so on (BERT, 2018). Tokens that begin a word are spelt with U+2581 in front, as in
 * GGUF; those that continue one are not.
 */
#ifndef TOKENIZER_WORDPIECE_H
#define TOKENIZER_WORDPIECE_H

#include "core/buf.h"
#include "core/err.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"

#define WORDPIECE_LONGEST 256 /* the most bytes of a token */

/* Append the ids of a word of n bytes; unknown if no tokens make up the word, or if it has
 * more than limit characters (0: any number). scratch: working memory. */
int wordpiece_encode(const struct vocab *v, const uint8_t *word, size_t n, size_t limit,
                     uint32_t unknown, struct buf *scratch, struct tokens *to,
                     struct err *e);

#endif
