/* philox: random numbers by a counter: the n-th number of a key can be computed without those
 * before it, so it does not depend on threads, pieces or the order of tensors.
 *
 * Philox4x32-10 of Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3
 * (2011). Number i is word i mod 4 of the block with counter i / 4.
 */
#ifndef CORE_PHILOX_H
#define CORE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/* The four words of a block. */
void philox_block(uint64_t key, const uint32_t counter[4], uint32_t to[4]);

/* Numbers from index `from`, which is a multiple of 4, on. */
void philox_fill(uint64_t key, uint64_t from, uint32_t *to, size_t n);

/* The key of a stream of numbers: a seed, a name, and a number beside it (FNV-1a of 64 bits over
 * the bytes of the two numbers and the name, then the mixing step of SplitMix64). */
uint64_t philox_key(uint64_t seed, const char *name, uint64_t number);

#endif
