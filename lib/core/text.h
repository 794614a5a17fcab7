/* text: what a person sees, and whether bytes are text at all. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* The one escaping function for names from files: copies n bytes of s into
 * dst (size bytes, always terminated), writing control characters, DEL, C1
 * controls, bidirectional overrides, line separators, tags and invalid UTF-8 as \xNN,
 * a backslash as \\, and ending in "..." where it was cut. Returns dst. */
char *text_quote(char *dst, size_t size, const char *s, size_t n);

/* The same for a whole sentence, in which names may be quoted already:
 * backslashes stay as they are. */
char *text_sentence(char *dst, size_t size, const char *s);

/* Could this character move the cursor, reorder the line, end it, or hide? Control
 * characters with DEL and C1, bidirectional marks and overrides, line and paragraph
 * separators, what has no width, tags. The functions here escape these. */
bool text_dangerous(uint32_t cp);

/* Columns that a well-formed text takes on a terminal: two for a wide character, none for
 * a combining one (blocks of Unicode; near enough to align a table). */
size_t text_columns(const char *s);

/* Append text of others as a terminal may show it: what text_quote escapes is escaped, but
 * for tabs, line breaks, backslashes and the two characters that join letters. */
void text_show(struct buf *to, const void *s, size_t n);

/* True if the n bytes at s are well-formed UTF-8 (RFC 3629: no surrogates, no
 * overlong forms) and, unless allow_nul, hold no NUL. */
bool text_utf8(const void *s, size_t n, bool allow_nul);

/* The bytes of the well-formed UTF-8 sequence at s (n > 0 bytes left), its code point
 * in *cp; 0 if it is not well-formed. */
size_t text_character(const void *s, size_t n, uint32_t *cp);

/* A size with a binary unit: "512 B", "4.4 MiB". Returns dst. */
char *text_size(char *dst, size_t size, uint64_t bytes);

/* How many letters must be changed, added or dropped to make b of a; what is longer
 * than TEXT_DISTANCE letters is farther than anything. For "did you mean". */
#define TEXT_DISTANCE 255
size_t text_distance(const char *a, const char *b);

/* Digits at *p, which moves behind them: 0, or -1 where there are none or too many. */
int text_digits(const char **p, uint64_t *v);

/* Whole-string number parsing: returns 0 and *v in [lo, hi], or -1. */
int text_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *v);

/* The same for a number of bytes. A unit may follow, in either case, as GNU's tools have
 * them: 2G and 2GiB are 2 * 1024^3, 2GB is 2 * 1000^3; K, M and T alike; 2B is 2. */
int text_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *v);

/* A decimal number, digits with one point or none: 0, or -1. */
int text_decimal(const char *s, double lo, double hi, double *v);

#endif
