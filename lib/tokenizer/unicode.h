/* unicode: the properties and forms of characters, by the tables of core/characters.h. */
#ifndef TOKENIZER_UNICODE_H
#define TOKENIZER_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

/* Append n bytes of valid UTF-8 in a normal form. Linear in n, even if a base has any number
 * of marks. */
int unicode_normalize(const uint8_t *s, size_t n, enum unicode_form form, struct buf *to,
                      struct err *e);

/* Append the lower case of a character, which is two characters for U+0130. */
void unicode_put_lower(uint32_t c, struct buf *to);
void unicode_put_title(uint32_t c, struct buf *to); /* as the first letter of a word */

bool unicode_is_space(uint32_t c);       /* White_Space */
bool unicode_is_letter(uint32_t c);      /* L */
bool unicode_is_number(uint32_t c);      /* N */
bool unicode_is_lower(uint32_t c);       /* Ll */
bool unicode_is_upper(uint32_t c);       /* Lu, Lt */
bool unicode_is_mark(uint32_t c);        /* M */
bool unicode_combines(uint32_t c);       /* a mark that normal forms put in order: its class is not 0 */
bool unicode_is_accent(uint32_t c);      /* Mn: a mark without width */
bool unicode_is_other(uint32_t c);       /* C: control, format, unassigned */

#endif
