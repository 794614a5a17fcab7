/* lanes: SHA-256 of several messages at once.
 *
 * Each round of SHA-256 needs the result of the round before, so a single message keeps a
 * CPU's units idle half of the time. Two kernels hash several messages side by side: two by
 * the SHA instructions of x86-64, or eight as the elements of AVX-512 vectors. Digests are
 * those of crypto/digest.h, whatever the number of lanes.
 */
#ifndef CRYPTO_LANES_H
#define CRYPTO_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/range.h"
#include "crypto/digest.h"

#define LANES_BLOCK 64 /* bytes of a block of SHA-256 */
#define LANES_MOST 8

/* A message lies in memory or in a file. */
struct lanes_message {
	const uint8_t *p;   /* NULL: read from range instead, */
	struct range range; /* at its start */
	uint64_t bytes;
	struct digest digest; /* the result */
	int fault; /* 0; errno + 1 if it could not be read (range_read); LANES_MEMORY */
};
#define LANES_MEMORY (-1)

/* The number of messages that this CPU hashes best at once: 8, 2 or 1. The first call
 * decides: it compares each kernel with crypto/digest.h, and times 8 against 2. APR_CPU=ref
 * forbids both kernels; any other level below avx512 forbids 8. */
unsigned lanes_count(void);

/* Hash n messages of any lengths. Any thread may call it; it uses 80 KiB of stack. */
void lanes_hash(struct lanes_message *m, size_t n);

/* The same with a given number of lanes, which lanes_run allows: for tests and benchmarks. */
void lanes_hash_by(unsigned lanes, struct lanes_message *m, size_t n);

/* After lanes_count: true if this number of lanes works here. */
bool lanes_run(unsigned lanes);

/* The kernels: n blocks of each message. h[i] are the words A to H of message i (FIPS 180-4,
 * section 6.2). */
void lanes_blocks_shani(uint32_t h[2][8], const uint8_t *const p[2], size_t n);
void lanes_blocks_avx512(uint32_t h[8][8], const uint8_t *const p[8], size_t n);

/* The constants of the 64 rounds: FIPS 180-4, section 4.2.2. */
extern const uint32_t lanes_k[64];

#endif
