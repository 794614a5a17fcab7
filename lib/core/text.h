/* text: escaping for people and terminals, UTF-8, and parsing of numbers. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* The escaping function for all names from files: copies n bytes of s into dst, which has
 * `size` bytes and is always terminated. Control characters, DEL, C1 controls,
 * bidirectional overrides, line separators, tags and invalid UTF-8 become \xNN, a backslash
 * becomes \\, and a truncated text ends in "...". Returns dst. */
char *text_quote(char *dst, size_t size, const char *s, size_t n);

/* The same for a sentence whose names may be escaped already: it does not escape
 * backslashes. */
char *text_sentence(char *dst, size_t size, const char *s);

/* Whether a character can move the cursor, reorder or end the line, or be invisible:
 * control characters with DEL and C1, bidirectional marks and overrides, line and paragraph
 * separators, characters without width, tags. The functions here escape them. */
bool text_dangerous(uint32_t cp);

/* The columns that well-formed text takes on a terminal: two for a wide character, none for
 * a combining one. It works by Unicode blocks, which is exact enough to align tables. */
size_t text_columns(const char *s);

/* Appends untrusted text for a terminal. Escapes what text_quote escapes, except tabs, line
 * breaks, backslashes and the two characters that join letters. */
void text_show(struct buf *to, const void *s, size_t n);

/* True if the n bytes at s are well-formed UTF-8 (RFC 3629: no surrogates, no
 * overlong forms) and, unless allow_nul, hold no NUL. */
bool text_utf8(const void *s, size_t n, bool allow_nul);

/* The length of the UTF-8 sequence at s (n > 0 bytes left), with its code point in *cp; 0 if
 * it is not well-formed. */
size_t text_character(const void *s, size_t n, uint32_t *cp);

/* Stores a code point as UTF-8. A surrogate is stored too, although that is not well-formed. Returns the number of
 * bytes: 1 to 4, or 0 above U+10FFFF. */
size_t text_encode(uint32_t cp, void *to);

/* Appends the bytes of text_encode. */
void text_put(struct buf *b, uint32_t cp);

/* A size with a binary unit: "512 B", "4.4 MiB". Returns dst. */
char *text_size(char *dst, size_t size, uint64_t bytes);

/* The edit distance of a and b, for "did you mean"; texts longer than TEXT_DISTANCE are
 * farther away than any other. */
#define TEXT_DISTANCE 255
size_t text_distance(const char *a, const char *b);

/* Parses the digits at *p and moves *p past them. 0, or -1 if there are none or too many. */
int text_digits(const char **p, uint64_t *v);

/* Parses a whole string as a number: returns 0 with *v in [lo, hi], or -1. */
int text_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *v);

/* The same for a number of bytes. A unit may follow, as in GNU tools and in either case: 2G
 * and 2GiB are 2 * 1024^3, 2GB is 2 * 1000^3; likewise K, M and T; 2B is 2. */
int text_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *v);

/* Parses a decimal number, digits with at most one point. 0, or -1. */
int text_decimal(const char *s, double lo, double hi, double *v);

#endif
