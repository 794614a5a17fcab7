/* kernel: arithmetic on runs of tensor values. No I/O, no allocation.
 *
 * The functions in plain C (ref/type_*.c) define every byte that the tools write:
 * IEEE single precision, no contraction (-ffp-contract=off), round to nearest
 * even. A faster variant must give the same bytes.
 *
 * Every input is defined, NaN and infinities too. Block types cannot hold those: a
 * NaN has no magnitude and gets some code; an infinity, or a magnitude whose scale
 * does not fit half precision, makes its block decode to values that are not
 * finite, or its sub-block to zero. quant/convert.h counts both. Any bytes decode
 * to something; where a scale is NaN, so are the values, and which NaN depends on the
 * level.
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

	/* The same for one whole row with an importance for each column: n numbers,
	 * finite, not negative, whose products with x² are finite too. NULL: the type
	 * has only encode. */
	void (*encode_weighted)(const float *x, const float *importance, uint8_t *y,
	                        size_t n);

	/* Decode n values from x into y. n is a multiple of the block; only a type that
	 * runs over the whole tensor may end with part of one. The same holds for
	 * encode. */
	void (*decode)(const uint8_t *x, float *y, size_t n);

	/* A magnitude below holds decodes to a finite value, whatever stands beside it. A
	 * magnitude of loses or more never does. */
	float holds, loses;
};

/* holds and loses of types with scales in half precision: the largest value is
 * that of Q6_K, 65504 × 128 × 32. */
#define KERNEL_HALF_HOLDS 0x1p15f
#define KERNEL_HALF_LOSES 0x1p29f

/* The kernel of a type. NULL: the type can be carried but not computed, or has a
 * head (kernels/whole.h). */
const struct kernel *kernel_for(const struct dtype *t);

/* Add a kernel for a type that has none, a plugin's; *k is copied. Nothing proves that it
 * keeps the promises above. Before threads begin. -1 if the type has one, or no room is
 * left. */
int kernel_add(const struct kernel *k);

/* Compute as that level does, without comparing: for level.h. Not while threads compute. */
struct level;
void kernels_use(const struct level *l);

/* True if values of the type can be decoded, and encoded, with either kind of kernel. */
bool kernel_decodes(const struct dtype *t);
bool kernel_encodes(const struct dtype *t);

/* Decode n values from x, which are whole blocks anywhere in a tensor. head is the head of
 * the tensor; a type without one ignores it. */
void kernel_decode(const struct dtype *t, const uint8_t *head, const uint8_t *x, float *y,
                   size_t n);

#endif
