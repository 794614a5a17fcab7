/* pair: SHA-256 of two messages at once. Each round of SHA-256 waits for the one before,
 * so that a CPU's own instructions for it are idle half of the time; a second message
 * fills the gaps. What comes out is what crypto/digest.h gives for each.
 */
#ifndef CRYPTO_PAIR_H
#define CRYPTO_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/digest.h"

#define PAIR_BLOCK 64 /* messages are of so many bytes, or a multiple */

struct sha256_pair {
	uint32_t h[2][8];
	uint64_t bytes; /* of each message, so far */
};

/* Does it pay here? Where it does not, the functions below may not be called. The first
 * call, which must return before another thread calls, finds out what the CPU has, and
 * compares both ways; APR_CPU=ref forbids it. */
bool sha256_pair_pays(void);

/* n bytes of each, a multiple of PAIR_BLOCK. */
void sha256_pair_start(struct sha256_pair *h);
void sha256_pair_add(struct sha256_pair *h, const void *a, const void *b, size_t n);
void sha256_pair_finish(struct sha256_pair *h, struct digest *a, struct digest *b);

/* For pair.c: n blocks of each message, by instructions of the CPU. Words of h are A to H
 * of FIPS 180-4, section 6.2. */
void pair_blocks_shani(uint32_t h[2][8], const uint8_t *a, const uint8_t *b, size_t n);

#endif
