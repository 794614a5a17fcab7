/* charsmap: the precompiled character map of SentencePiece: rules that replace the beginning of a
 * text, in a double-array trie.
 *
 * Layout (normalizer.cc of SentencePiece, Darts-clone), little-endian:
 *   0  u32      bytes of the units, a multiple of 4
 *   4  u32[]    units
 *      text[]   replacements, each ended by NUL
 *
 * A unit of a node, from the lowest bit: 8 label (the byte that leads to it), 1 has a value, 1 the
 * offset is in units of 256, 21 offset, 1 zero. The unit of a value has the highest bit set and holds
 * an offset in the replacements. The child of node i for byte c is i ^ offset(i) ^ c, and exists if its
 * label is c; the value of node i is at i ^ offset(i).
 */
#ifndef TOKENIZER_CHARSMAP_H
#define TOKENIZER_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/work.h"

struct charsmap {
	uint8_t *bytes;       /* owned; NULL: no rule */
	uint32_t units;
	const char *text;     /* the replacements; the last one is ended too */
	size_t text_bytes;
};

/* Copy a map of n bytes, and prove that each value lies inside. what names the map in errors.
 * ERR_CORRUPT. */
int charsmap_open(struct charsmap *m, const void *p, size_t n, const char *what,
                  struct err *e);
/* The same proofs alone. 0 or -1. */
int charsmap_check(const void *p, size_t n, const char *what, struct err *e);

void charsmap_free(struct charsmap *m);

/* Append n bytes of text as the map changes them: at each place the longest rule applies; else the
 * character stays, and a byte that is not UTF-8 becomes U+FFFD. ERR_MEMORY: the work limit is
 * reached. */
int charsmap_run(const struct charsmap *m, const uint8_t *text, size_t n, struct buf *to,
                 struct work *work, struct err *e);

#endif
