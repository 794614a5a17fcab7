/* pattern_syntax: the syntax of patterns from files. Such patterns are untrusted, so only
 * this subset of PCRE2's syntax is accepted, which covers the tokenizers of published
 * models. The meaning is that of Oniguruma with Ruby syntax, which the tokenizers library
 * uses for these patterns.
 *
 *     abc  .  |            characters, any but a newline, alternatives
 *     (...) (?:...)        groups; nothing is captured
 *     (?i:...) (?-i:...)   case-insensitive or not; (?i) only at the start
 *     (?=...) (?!...) (?<=...) (?<!...)   lookahead and lookbehind
 *     * + ? {n} {n,} {n,m} {,m}           greedy repeats, up to 1000; lazy with ?
 *     *+ ++ ?+             possessive repeats. As in Oniguruma, x{2}+ is (?:x{2})+ and
 *                          x{2}? is (?:x{2})?
 *     [...] [^...]         classes of characters, ranges, escapes and [:alpha:] etc.;
 *                          a class that is not negated may hold others: [ab[cd]]
 *     ^ $                  start and end of a line
 *     \A \z \Z \b \B       start and end of the text, boundaries of words
 *     \d \D \s \S \w \W \p{...} \P{...} \p{^...} \pL   classes of Unicode
 *     \t \n \r \f \e \a \x{...} \xHH (up to 7F) \uHHHH   characters
 *     \ and a character that is neither a letter nor a digit: that character
 *
 * Not supported: \C, \K, \G, \R, \X, back references, recursion, conditions, verbs,
 * callouts, comments, atomic and named groups, and intersections of classes. A pattern has
 * at most PATTERN_LONGEST bytes, at most PATTERN_DEEPEST nested groups, and a width of at
 * most PATTERN_WIDEST.
 */
#ifndef CORE_PATTERN_SYNTAX_H
#define CORE_PATTERN_SYNTAX_H

#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define PATTERN_LONGEST 8192
#define PATTERN_DEEPEST 32
#define PATTERN_WIDEST 8192
#define PATTERN_REPEATS 1000

/* Callouts in the translated pattern count its work. A part that can match in more than
 * one way is followed by a callout; a part that repeats is preceded by another one. The work
 * between two callouts is at most the pattern's width plus the characters between MARK and
 * RUN. */
enum pattern_callout {
	PATTERN_MARK = 1, /* an alternative was taken, or a repeat begins here */
	PATTERN_RUN       /* the repeat ends here */
};

/* Translates a pattern to PCRE2's syntax (UTF, UCP, MULTILINE) with callouts and appends it
 * to `to`, in one pass. *width is the maximum number of characters that the pattern
 * compares, with each repeat at its minimum and the alternatives added up.
 *
 * Returns 0, or -1: ERR_FORMAT for syntax outside the list above, which the message names
 * with its position, else an error of the given code. The error's object is the pattern. */
int pattern_translate(const char *text, enum err_code code, struct buf *to,
                      uint32_t *width, struct err *e);

#endif
