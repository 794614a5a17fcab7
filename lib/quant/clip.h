/* clip: the range of a block for types whose encoder takes the largest magnitude unchanged: of some
 * ranges, the one whose result has the least squared error, each value weighted by the importance of its
 * column. Values beyond the range become its ends. The whole range is the first candidate and wins ties,
 * so that no block gets worse.
 *
 * The bytes are those of the type's own encoder for values within the range, and the same on every CPU.
 */
#ifndef QUANT_CLIP_H
#define QUANT_CLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* Whether blocks of the type have a range to choose: not floats, not types with one scale for a whole
 * tensor, and not those whose encoder searches by importance itself. */
bool clip_encodes(const struct dtype *t);

/* Encode n values, whole blocks, as kernel.h does with importance. */
void clip_encode(const struct dtype *t, const float *x, const float *importance, uint8_t *y, size_t n);

#endif
