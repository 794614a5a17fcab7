/* block: the parts of a block of each type: where scales and codes lie, for readers of bytes.
 * The kernels (lib/kernels/ref) define what the parts mean.
 *
 * Source: ggml's block layouts.
 */
#ifndef MODEL_BLOCK_H
#define MODEL_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

enum block_kind {
	BLOCK_F16, BLOCK_F32,
	BLOCK_I8, BLOCK_I16, BLOCK_U16,
	BLOCK_POWER,   /* a byte: the exponent of a power of two, 127 is 1 */
	BLOCK_HALVES,  /* four bits each, the low half of a byte first */
	BLOCK_SIXES,   /* Q4_K and Q5_K: eight scales and eight minima of six bits */
	BLOCK_THREES,  /* Q3_K: 16 scales of six bits, 32 is 0 */
	BLOCK_BITS     /* bytes whose bits only the kernel can read */
};

struct block_part {
	const char *name;  /* "d", "scales"; NULL ends a list */
	enum block_kind kind;
	uint16_t offset, bytes;
};

/* The parts of a block in the order of their bytes, or NULL: a value is a block, or the layout
 * is not known. */
const struct block_part *block_parts(const struct dtype *t);

#endif
