/* grams: what lists of n-grams have in common, ARPA's (arpa.c) and those of counts (markov.c).
 */
#ifndef PREDICT_GRAMS_H
#define PREDICT_GRAMS_H

#include "predict/predict.h"

#define GRAMS_ORDER 16      /* words of an n-gram, at most */
#define GRAMS_UNKNOWN -100. /* log10 of a word that is not in the list, as KenLM has it */

/* The next word of a text, between ASCII white space; *p goes behind it. Its bytes, 0: there is none. */
size_t grams_word(const char **p, const char *end, const char **word);

/* A number from 0 to 1 that depends on the key and the index. */
double grams_chance(uint64_t key, uint64_t index);

/* Appends a line by chance, of a list of counts. 1; 0: s is none; -1: memory has run out. */
int markov_generate(const struct step *s, uint64_t key, struct buf *to);

#endif
