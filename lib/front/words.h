/* words: the words of the front apr, and what each runs.
 *
 * A word runs one tool, or has a plan: a pipe of several tools that follows from its options
 * (front/plan.h). Its other spellings come from the specifications of the formats and from
 * habit. A word that is not in the table runs the program apr-WORD, if one is installed.
 */
#ifndef FRONT_WORDS_H
#define FRONT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* What the user wants to do; `apr` alone lists the words in this order. */
enum front_group {
	FRONT_CONVERT, FRONT_LOOK, FRONT_JUDGE, FRONT_CHANGE, FRONT_TRUST, FRONT_RUN, FRONT_FETCH,
	FRONT_SETTINGS, FRONT_GROUPS
};

/* An argument that the tool spells differently; now is "" if the tool does not need it. */
struct front_rename {
	const char *was, *now;
};

/* An option that asks for another tool than the word's usual one, or excludes what it adds. */
struct front_turn {
	const char *option, *tool;
};

/* Words with a plan, as bits: rows of options name the words that have them. */
enum {
	FRONT_IS_CONVERT = 1, FRONT_IS_IMPORT = 2, FRONT_IS_EXPORT = 4, FRONT_IS_QUANTIZE = 8,
	FRONT_IS_VALIDATE = 16, FRONT_IS_QA = 32
};

struct front_word {
	const char *name;
	const char *also;      /* other spellings, separated by spaces, or "" */
	enum front_group group;
	const char *tool;      /* the program, or NULL: the word has a plan, or is help */
	const char *purpose;   /* what it does, to follow the word in a list */
	unsigned plan;         /* one of the bits above, or 0 */
	const char *usage;     /* with a plan: its operands */
	const char *adds;      /* the first argument of its usual tool, or NULL */
	const struct front_rename *renames; /* ended by a row without was, or NULL */
	const struct front_turn *turns;     /* ended by a row without option, or NULL */
	bool packs;            /* the tool writes a stream: -o with the suffix of a container
	                        * appends apr-pack */
};

/* All words, ended by a row without name. */
const struct front_word *front_words(void);

/* The word with this name or spelling, or NULL. */
const struct front_word *front_word_find(const char *name);

/* Whether one of the names, which are separated by spaces, has these n characters. */
bool front_spelled(const char *names, const char *name, size_t n);

/* The names of all words, for near_words (core/near.h). */
const char *front_word_spelling(unsigned index);

/* The title of a group: "convert models". */
const char *front_group_title(enum front_group g);

#endif
