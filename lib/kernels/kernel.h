/* kernel: arithmetic on runs of tensor values. No I/O, no allocation.
 *
 * The plain C functions (files *_ref.c) are the definition of every byte that
 * the tools write: IEEE single precision, no contraction (-ffp-contract=off),
 * round to nearest even. A faster variant must give the same bytes.
 *
 * Every input is defined, NaN and infinities too, but block types cannot hold
 * those: a NaN counts as no magnitude and gets some code; an infinity, or a
 * magnitude for which the scale leaves half precision, makes its block decode
 * to what is not finite, or its sub-block to zero. quant/convert.h counts both.
 * Any bytes decode to something; where a scale is NaN, values are, and which of the NaNs
 * depends on the level.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

struct kernel {
	const char *dtype; /* name of the row in model/dtype.h */

	/* Encode n values (a multiple of the block) from x into y. NULL: the type
	 * is only decoded. */
	void (*encode)(const float *x, uint8_t *y, size_t n);

	/* The same for one whole row, whose columns matter as much as importance
	 * says: n numbers, finite, not negative, whose products with x² are finite
	 * too. NULL: encode is all there is. */
	void (*encode_weighted)(const float *x, const float *importance, uint8_t *y,
	                        size_t n);

	/* Decode n values (a multiple of the block, but for the last of a type that
	 * runs over the whole tensor) from x into y. The same goes for encode. */
	void (*decode)(const uint8_t *x, float *y, size_t n);

	/* Values of a magnitude below holds decode to finite ones, whatever stands
	 * beside them. None of a magnitude from loses on is held. */
	float holds, loses;
};

/* What holds and loses are where scales are in half precision: the largest
 * value is that of Q6_K, 65504 × 128 × 32. */
#define KERNEL_HALF_HOLDS 0x1p15f
#define KERNEL_HALF_LOSES 0x1p29f

/* The kernel of a type, or NULL: the type can be carried but not computed, or has a
 * head (kernels/whole.h). */
const struct kernel *kernel_for(const struct dtype *t);

/* One more, copied, of a type that has none: a plugin's, which is not proved to keep
 * what is said above. Before threads begin. -1 if there is one, or no more room. */
int kernel_add(const struct kernel *k);

/* Compute as that level does, without comparing: for level.h. Not while threads compute. */
struct level;
void kernels_use(const struct level *l);

/* Of either kind: can values be read, and written? */
bool kernel_decodes(const struct dtype *t);
bool kernel_encodes(const struct dtype *t);

/* Read n values from x: whole blocks, from anywhere in a tensor whose head is at
 * head. A type without one asks for none. */
void kernel_decode(const struct dtype *t, const uint8_t *head, const uint8_t *x, float *y,
                   size_t n);

#endif
