/* blocks: what blocks of quantized types contain that can be decoded, but that no encoder
 * writes, or that shows lost values.
 *
 * Source: GGML's reference encoders. The table in blocks.c has a row for each type:
 *   scale     is finite: a half, a float (Q8_K), a power of two (MXFP4: 255 is NaN)
 *   sign      the scale is not negative, as a largest magnitude or a range over a positive
 *             number; nor is the minimum of Q2_K, Q4_K and Q5_K. Q4_0, Q5_0, Q3_K, Q6_K, Q8_K,
 *             IQ4_NL and IQ4_XS have scales of either sign
 *   zero      if the scale is 0, so are the codes. Values too small for a scale in half
 *             precision are lost in such a block. Not for Q5_0, Q3_K, Q6_K, Q8_K and the IQ
 *             types, where more than one code may stand for 0
 *   words     TQ1_0: a byte holds five numbers of three values in 243 ways; TQ2_0: code 3
 *             does not occur; BOOL: 0 and 1. In the IQ types, all words of grids and signs
 *             occur: the eighth sign follows from the others. For Q8_0 and Q8_1 see
 *             stats/codes.h
 */
#ifndef STATS_BLOCKS_H
#define STATS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

struct blocks {
	uint64_t count;     /* blocks of a type with a row; else 0 */
	uint64_t not_finite; /* scales or minima that are infinite or NaN */
	uint64_t negative;  /* scales that no encoder makes negative */
	uint64_t zero;      /* blocks whose scale is 0, but whose codes are not */
	uint64_t saturated; /* scales of 65504, the largest half */
	uint64_t words;     /* code words that no encoder makes */
	uint64_t first;     /* the first block with one of these; UINT64_MAX: none has */
};
#define BLOCKS_INIT { .first = UINT64_MAX }

/* The row of a type; NULL: nothing is known of its blocks. */
const struct blocks_row *blocks_row(const struct dtype *t);

/* Blocks in bytes at x, from block `at` of the tensor on. r: the row of the type. */
void blocks_of(const struct blocks_row *r, const struct dtype *t, const uint8_t *x, size_t bytes,
               uint64_t at, struct blocks *b);

/* Add what follows. */
void blocks_join(struct blocks *b, const struct blocks *behind);

#endif
