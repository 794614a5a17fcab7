/* crc32: CRC-32 of IEEE 802.3, as in zlib (reflected polynomial 0xEDB88320). */
#ifndef CORE_CRC32_H
#define CORE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continues crc, which starts as 0, over n bytes. */
uint32_t crc32_add(uint32_t crc, const void *p, size_t n);

/* The CRC of A followed by B, from the CRC of each and the length of B. */
uint32_t crc32_join(uint32_t a, uint32_t b, uint64_t b_bytes);

/* Continues crc over n zeros, in time that grows with the logarithm of n. */
uint32_t crc32_zeros(uint32_t crc, uint64_t n);

/* Four bytes of a message, `after` bytes before its end, XORed with the little-endian bytes of
 * the result, change the message's CRC from `have` to `want`. */
uint32_t crc32_patch(uint32_t have, uint32_t want, uint64_t after);

/* Whether the computed CRC equals the stored one. Always true under a fuzzer, so that it
 * reaches the code behind the check. */
static inline bool
crc32_same(uint32_t computed, uint32_t stored)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	(void)computed;
	(void)stored;
	return true;
#else
	return computed == stored;
#endif
}

#endif
