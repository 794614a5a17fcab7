/* grams: what lists of n-grams have in common, ARPA's (arpa.c) and those of counts (markov.c).
 */
#ifndef PREDICT_GRAMS_H
#define PREDICT_GRAMS_H

#include "predict/predict.h"
#include "tokenizer/vocab.h"

#define GRAMS_ORDER 16      /* words of an n-gram, at most */
#define GRAMS_UNKNOWN -100. /* log10 of a word that is not in the list, as KenLM has it */

/* A list of ARPA's: n-grams with the logarithm of their probability. */
struct gram_list {
	struct vocab texts;   /* the words of an n-gram, with one space between them; shorter ones first */
	struct buf log, back; /* doubles, for each n-gram */
	size_t order;
	size_t words;         /* of length 1, the first of the texts */
	bool begins, ends, knows_unknown;
};

/* log10 P of a text, words with the end, unknown words. more: struct gram_list, freed by grams_free. */
extern const struct step_kind step_grams;
void grams_free(void *p);

/* Prepares a list whose n-grams have been added: two of the same words are an error. 0 or -1. */
int grams_index(struct gram_list *g, const char *where, struct err *e);

/* The next word of a text, between ASCII white space; *p goes behind it. Its bytes, 0: there is none. */
size_t grams_word(const char **p, const char *end, const char **word);

/* A number from 0 to 1 that depends on the key and the index. */
double grams_chance(uint64_t key, uint64_t index);

/* Appends a line by chance, of a list of counts. 1; 0: s is none; -1: memory has run out. */
int markov_generate(const struct step *s, uint64_t key, struct buf *to);

#endif
