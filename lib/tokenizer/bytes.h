/* bytes: the letters that stand for bytes in byte-level vocabularies (GPT-2, 2019). A printable
 * byte stands for itself, as a character of Latin-1; the other bytes are, in order, U+0100 and up.
 */
#ifndef TOKENIZER_BYTES_H
#define TOKENIZER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* The letter of a byte: one or two bytes of UTF-8. Returns their number. */
size_t byte_letter(uint8_t byte, uint8_t letter[2]);

/* Append to b the bytes that n bytes of letters stand for. false, and nothing is appended, if
 * a letter stands for no byte. */
bool bytes_of_letters(const uint8_t *s, size_t n, struct buf *b);

#endif
