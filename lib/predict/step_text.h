/* step_text: texts become counts of terms: words or letters, alone or n of them in a row.
 *
 *     text -> lower case -> without accents -> words -> without stop words -> terms of n words
 *          -> column of the vocabulary, or of a hash -> counts
 *
 * Source of the rules: scikit-learn's documentation of CountVectorizer and HashingVectorizer; a letter
 * of a word (\w) is what Python counts as one: letters, digits, other numbers, and '_'. Lower case is
 * that of Unicode, with the final sigma of Greek.
 */
#ifndef PREDICT_STEP_TEXT_H
#define PREDICT_STEP_TEXT_H

#include "core/pattern.h"
#include "predict/step.h"
#include "tokenizer/vocab.h"

enum bag_unit { BAG_WORDS, BAG_LETTERS, BAG_INSIDE }; /* the last: letters inside of words */
enum bag_accents { ACCENTS_STAY, ACCENTS_MARKS, ACCENTS_ASCII }; /* what is taken away */

#define BAG_RANGE 64 /* the longest term, in words or letters */

struct bag {
	enum bag_unit unit;
	bool lower, binary;      /* binary: a count is at most 1 */
	enum bag_accents accents;
	size_t shortest, longest; /* terms: this many words or letters */
	char *pattern;           /* of a word; NULL: two or more letters */
	size_t letters;          /* at least this many letters: a pattern known by its work */
	bool black;              /* words are between white space */
	struct vocab stop;       /* words that are left out */

	struct vocab terms;      /* found by text; the column of term i is column[i] */
	uint32_t *column;
	size_t column_cap;
	size_t hashes;           /* not 0: columns of a hash (MurmurHash3), and no vocabulary */
	bool signs;              /* the hash also gives a sign */
};

struct bag *bag_new(void);
void bag_free(void *w);

/* Sets the pattern of a word, in the syntax of Python. 0, or -1 with e filled. */
int bag_pattern(struct bag *w, const char *text, size_t n, const char *where, struct err *e);

int bag_term(struct bag *w, const void *text, size_t n, uint32_t column, struct err *e);
int bag_stop(struct bag *w, const void *text, size_t n, struct err *e);
/* The words that scikit-learn leaves out of English texts. */
int bag_stop_english(struct bag *w, struct err *e);

/* Ends the building, and makes a step of the words, with `columns` columns. 0 or -1; w is then owned
 * by the step in any case. */
int bag_step(struct bag *w, size_t columns, const char *where, struct step *s, struct err *e);

/* Calls term for each term of a text, in the order of the text for each length. */
struct bag_room;
struct bag_room *bag_room_new(const struct bag *w, struct err *e);
void bag_room_free(struct bag_room *r);
int bag_each(const struct bag *w, struct bag_room *r, const char *p, size_t n,
               int (*term)(void *ctx, const uint8_t *p, size_t n), void *ctx, struct err *e);

uint32_t bag_hash(const uint8_t *p, size_t n, uint32_t seed);

extern const struct step_kind step_words;

#endif
