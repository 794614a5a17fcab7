/* num: checked arithmetic on values that come from a file or a stream.
 *
 * Each function stores the result and returns 0, or returns -1 and stores nothing if the
 * result does not fit into 64 bits. Sizes, counts and offsets from files are added,
 * multiplied and rounded only by these functions.
 */
#ifndef CORE_NUM_H
#define CORE_NUM_H

#include <stdbool.h>
#include <stdint.h>

__attribute__((warn_unused_result)) static inline int
num_add(uint64_t a, uint64_t b, uint64_t *sum)
{
	uint64_t r;

	if (__builtin_add_overflow(a, b, &r))
		return -1;
	*sum = r;
	return 0;
}

__attribute__((warn_unused_result)) static inline int
num_mul(uint64_t a, uint64_t b, uint64_t *product)
{
	uint64_t r;

	if (__builtin_mul_overflow(a, b, &r))
		return -1;
	*product = r;
	return 0;
}

static inline bool
num_power_of_two(uint64_t a)
{
	return a && !(a & (a - 1));
}

/* Rounds a up to a multiple of align, which must be a power of two. */
__attribute__((warn_unused_result)) static inline int
num_align(uint64_t a, uint64_t align, uint64_t *up)
{
	uint64_t r;

	if (num_add(a, align - 1, &r))
		return -1;
	*up = r & ~(align - 1);
	return 0;
}

static inline uint64_t
num_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif
