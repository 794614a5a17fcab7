/* crc32: CRC-32 as in IEEE 802.3 and zlib (reflected 0xEDB88320). */
#ifndef CORE_CRC32_H
#define CORE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continue crc (0 at the start) over n bytes. */
uint32_t crc32_add(uint32_t crc, const void *p, size_t n);

/* The CRC of A followed by B, from theirs and the length of B. */
uint32_t crc32_join(uint32_t a, uint32_t b, uint64_t b_bytes);

/* Is what was computed what is stored? A fuzzer is let through, to get further. */
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
