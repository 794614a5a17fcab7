/* merge: joins the symbols of a word in pairs, the best pair first, until no pair is left: byte pair
 * encoding by ranks (R. Sennrich and others, 2016), and that of SentencePiece by scores. A heap of
 * candidates makes it n log n for a word of n bytes.
 */
#ifndef TOKENIZER_MERGE_H
#define TOKENIZER_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "tokenizer/vocab.h"

struct merge_rule {
	uint32_t left, right; /* ids; left is TOKEN_NONE in a free slot */
	uint32_t rank, to;    /* lower ranks come first; the id of the joined symbol */
};

/* The pairs that may be joined: those in the table; without a table, all pairs that together
 * are a token, the highest score first. Of equal pairs, the leftmost comes first. */
struct merges {
	struct merge_rule *slot; /* hash table of a power of two slots, or NULL */
	size_t slots;
	uint64_t seed;
	const struct vocab *vocab;
};

/* Make room for count rules, then add each. The first of two rules for a pair holds. */
int merges_open(struct merges *m, size_t count, struct err *e);
void merges_add(struct merges *m, uint32_t left, uint32_t right, uint32_t rank,
                uint32_t to);
void merges_free(struct merges *m);

/* Scratch memory for a word; all zero is empty. A symbol is known by its first byte: its id
 * is there, its length is there and at its last byte. */
struct word {
	uint32_t *id, *length;
	size_t cap, cap_id;
	struct candidate { uint32_t key, at, bytes, to; } *heap;
	size_t count, cap_heap;
};

/* Make room for the symbols of n bytes, which the caller then sets in order. */
int word_open(struct word *w, size_t n, struct err *e);
static inline void
word_symbol(struct word *w, size_t at, size_t bytes, uint32_t id)
{
	w->id[at] = id;
	w->length[at] = w->length[at + bytes - 1] = (uint32_t)bytes;
}
void word_free(struct word *w);

/* Join all pairs of the word, whose text is the n bytes at text. */
int word_merge(struct word *w, const struct merges *m, const uint8_t *text, size_t n,
               struct err *e);

#endif
