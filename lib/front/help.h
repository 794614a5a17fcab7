/* help: what the front prints about itself.
 */
#ifndef FRONT_HELP_H
#define FRONT_HELP_H

#include "core/buf.h"
#include "core/err.h"
#include "front/words.h"

/* Appends the usage and all words by group; those whose tool is not installed are marked. */
void front_help_words(struct buf *b);

/* Appends the usage and options of a word with a plan. */
void front_help_word(struct buf *b, const struct front_word *w);

/* For completions. Words: "WORD<tab>TOOL<tab>purpose" with "-" for a plan, each spelling a
 * line. Options of a word with a plan: "--NAME<tab>ARG<tab>help", each spelling a line; nothing for
 * another word. */
void front_help_words_table(struct buf *b);
void front_help_options_table(struct buf *b, const struct front_word *w);

/* Opens the manual page of a word, or prints the usage of its tool if that is not possible.
 * Does not return if it succeeds. -1 with an error. */
int front_help_page(const struct front_word *w, const char *name, struct err *e);

/* Fills e with ERR_USAGE for a word that does not exist, and similar words as the hint.
 * Returns -1. */
int front_help_unknown(const char *name, struct err *e);

/* The same for an option in the place of a word. */
int front_help_option(const char *name, struct err *e);

#endif
