/* merge: a word's symbols joined in pairs, the best pair first, until none is left: byte
 * pair encoding by ranks (R. Sennrich and others, 2016), and SentencePiece's by scores.
 * A heap of candidates makes it n log n for a word of n bytes.
 */
#ifndef TOKENIZER_MERGE_H
#define TOKENIZER_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "tokenizer/vocab.h"

struct merge_rule {
	uint32_t left, right; /* ids; left is TOKEN_NONE where the slot is free */
	uint32_t rank, to;    /* lower ranks first; the id of both together */
};

/* Which pairs may be joined: those in the table, or, where there is none, those that
 * together are a token, the one with the highest score first. Of equals the leftmost. */
struct merges {
	struct merge_rule *slot; /* hash table, a power of two of them, or NULL */
	size_t slots;
	uint64_t seed;
	const struct vocab *vocab;
};

/* Room for count rules, then each: the first of two rules for a pair holds. */
int merges_open(struct merges *m, size_t count, struct err *e);
void merges_add(struct merges *m, uint32_t left, uint32_t right, uint32_t rank,
                uint32_t to);
void merges_free(struct merges *m);

/* Scratch space for a word; all zero is empty. A symbol is known by its first byte: id
 * there, and its length, there and at its last byte. */
struct word {
	uint32_t *id, *length;
	size_t cap, cap_id;
	struct candidate { uint32_t key, at, bytes, to; } *heap;
	size_t count, cap_heap;
};

/* Room for the symbols of n bytes, which the caller then sets in their order. */
int word_open(struct word *w, size_t n, struct err *e);
static inline void
word_symbol(struct word *w, size_t at, size_t bytes, uint32_t id)
{
	w->id[at] = id;
	w->length[at] = w->length[at + bytes - 1] = (uint32_t)bytes;
}
void word_free(struct word *w);

/* Join what can be joined in the word, whose text is the n bytes at text. */
int word_merge(struct word *w, const struct merges *m, const uint8_t *text, size_t n,
               struct err *e);

#endif
