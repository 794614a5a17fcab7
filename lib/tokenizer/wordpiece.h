/* wordpiece: a word as the longest token that it begins with, the longest that the rest
 * begins with, and so on (BERT, 2018). Tokens that begin a word are spelt with U+2581 in
 * front, as in GGUF; those that go on are not.
 */
#ifndef TOKENIZER_WORDPIECE_H
#define TOKENIZER_WORDPIECE_H

#include "core/buf.h"
#include "core/err.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"

#define WORDPIECE_LONGEST 256 /* bytes of a token, at most */

/* Append the ids of a word of n bytes; unknown, where no tokens make it up, or where it
 * has more than limit characters (0: any number). scratch: space to work in. */
int wordpiece_encode(const struct vocab *v, const uint8_t *word, size_t n, size_t limit,
                     uint32_t unknown, struct buf *scratch, struct tokens *to,
                     struct err *e);

#endif
