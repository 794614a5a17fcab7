/* unigram: cuts a word into the tokens whose logarithms of probabilities have the greatest sum (T. Kudo,
 * 2018), by the search that SentencePiece calls optimized: from left to right, and of equal sums the
 * one that was found first, whose last token is the longest, stays.
 *
 * A character that is not a token can also be unknown, for 10 less than the lowest score.
 */
#ifndef TOKENIZER_UNIGRAM_H
#define TOKENIZER_UNIGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "tokenizer/merge.h"
#include "tokenizer/vocab.h"

#define UNIGRAM_UNKNOWN 10  /* an unknown character costs this much more than the lowest score */
#define UNIGRAM_LONGEST 256 /* the most bytes of a token; a character costs as many steps at most */

/* A trie of the tokens, level by level. The children of node i are first[i] … first[i + 1] - 1, in the
 * order of their bytes. */
struct unigram {
	uint32_t *first;
	uint32_t *id;       /* of the token that ends here, or TOKEN_NONE */
	uint8_t *byte;      /* that leads to the node */
	size_t nodes;
	double *score;      /* by id */
	double unknown;
	size_t longest;     /* bytes of the longest token in the trie, at least 4 */
	double *best;       /* scratch: of the ends from here to longest bytes on */
};

/* Index the tokens of v whose kind has its bit set in kinds (1 << TOKEN_NORMAL). score: for each id,
 * allocated, and owned from now on, also if this fails; unknown: of a character that is not a token.
 * -1: ERR_MEMORY; ERR_FORMAT: a token is longer than UNIGRAM_LONGEST. Added tokens may be longer, and
 * are left out. */
int unigram_open(struct unigram *u, const struct vocab *v, unsigned kinds, double *score,
                 double unknown, const char *what, struct err *e);
void unigram_free(struct unigram *u);

/* Cut a word of n bytes. The symbols of w are the tokens; those of TOKEN_NONE are unknown
 * characters. */
int unigram_cut(struct unigram *u, struct word *w, const uint8_t *text, size_t n,
                struct err *e);

#endif
