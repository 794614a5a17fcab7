/* bytes: the letters that stand for bytes in byte-level vocabularies (GPT-2, 2019). A
 * byte that can be seen stands for itself as a character of Latin-1; the others are, in
 * their order, U+0100 and those that follow.
 */
#ifndef TOKENIZER_BYTES_H
#define TOKENIZER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* The letter of a byte, one or two bytes of UTF-8; returns how many. */
size_t byte_letter(uint8_t byte, uint8_t letter[2]);

/* The bytes for which n bytes of letters stand, appended to b. false, and nothing
 * appended, if one of them stands for none. */
bool bytes_of_letters(const uint8_t *s, size_t n, struct buf *b);

#endif
