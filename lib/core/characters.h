/* characters: what Unicode 15 says of single characters, and composition. This is utf8proc; in the
 * WebAssembly module, tables of a few kilobytes are made from it (core/wasm/characters.c). Patterns
 * have PCRE2's own tables (core/pattern.h).
 *
 * A number that is not a character is unassigned, and its own lower and title case.
 */
#ifndef CORE_CHARACTERS_H
#define CORE_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum character_category {
	CHARACTER_CN,
	CHARACTER_LU, CHARACTER_LL, CHARACTER_LT, CHARACTER_LM, CHARACTER_LO,
	CHARACTER_MN, CHARACTER_MC, CHARACTER_ME,
	CHARACTER_ND, CHARACTER_NL, CHARACTER_NO,
	CHARACTER_PC, CHARACTER_PD, CHARACTER_PS, CHARACTER_PE, CHARACTER_PI, CHARACTER_PF, CHARACTER_PO,
	CHARACTER_SM, CHARACTER_SC, CHARACTER_SK, CHARACTER_SO,
	CHARACTER_ZS, CHARACTER_ZL, CHARACTER_ZP,
	CHARACTER_CC, CHARACTER_CF, CHARACTER_CS, CHARACTER_CO
};

enum character_category character_category(uint32_t c);
unsigned character_class(uint32_t c); /* canonical combining class */
uint32_t character_lower(uint32_t c);
uint32_t character_title(uint32_t c);

/* The decomposition of c, whole: its length in to[]; 0 if c is not a character. U+FDFA is 18
 * characters, the most of all. */
#define CHARACTER_LONGEST 32
size_t character_decompose(uint32_t c, bool compatible, uint32_t to[CHARACTER_LONGEST]);

/* Composes n characters, decomposed and in canonical order, in place. Returns how many are left. */
size_t characters_compose(uint32_t *c, size_t n);

#endif
