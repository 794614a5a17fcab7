/* pattern_syntax: the patterns that a file may bring. They come from whoever made the
 * file, so that only a stated part of what PCRE2 knows is let through: what the
 * tokenizers of published models are made of. Meanings are those of Oniguruma with its
 * Ruby syntax, for which the tokenizers library reads such patterns.
 *
 *     abc  .  |            characters, any but a newline, alternatives
 *     (...) (?:...)        groups; nothing is captured
 *     (?i:...) (?-i:...)   whether small and capital letters are the same; (?i) where the
 *                          pattern begins
 *     (?=...) (?!...) (?<=...) (?<!...)   what follows, and what stands before
 *     * + ? {n} {n,} {n,m} {,m}           repeats, up to 1000; with ? as few as possible
 *     *+ ++ ?+             as many as possible, nothing given back. As in Oniguruma,
 *                          x{2}+ is (?:x{2})+, and x{2}? is (?:x{2})?
 *     [...] [^...]         classes: characters, ranges, escapes, [:alpha:] and the like,
 *                          and in a class that is not negated within it, [ab[cd]]
 *     ^ $                  where a line begins and ends
 *     \A \z \Z \b \B       where the text begins and ends, and words
 *     \d \D \s \S \w \W \p{...} \P{...} \p{^...} \pL   classes of Unicode
 *     \t \n \r \f \e \a \x{...} \xHH (up to 7F) \uHHHH   characters
 *     \ and another character that is neither letter nor digit: itself
 *
 * So there is no \C, \K, \G, \R or \X, no back reference, recursion, condition, verb,
 * callout or comment, no group that is atomic or has a name, no intersection of classes.
 * Not more than PATTERN_LONGEST bytes, groups in not more than PATTERN_DEEPEST others,
 * and not wider than PATTERN_WIDEST.
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

/* The callouts that the written pattern has. Where a part of a pattern can take more than
 * one way, what comes behind it is entered through a callout; so is what comes behind a
 * part that repeats, with another one before that part. The work between two of them is
 * not more than the pattern's width and the characters between MARK and RUN. */
enum pattern_callout {
	PATTERN_MARK = 1, /* another way, or: characters are counted from here */
	PATTERN_RUN       /* they are counted to here */
};

/* Read a pattern and append it as PCRE2 reads it (UTF, UCP, MULTILINE), with callouts.
 * One walk, in time linear in its length but for what is put in. *width: how many
 * characters it compares at most, without what repeats more often than it must; the
 * alternatives one after another.
 *
 * -1: ERR_FORMAT for what is not in the list above, which the fault names with its
 * place, else a fault of the given code. The fault's object is the pattern. */
int pattern_translate(const char *text, enum err_code code, struct buf *to,
                      uint32_t *width, struct err *e);

#endif
