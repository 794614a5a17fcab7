#include "core/crc32.h"

#include <libdeflate.h>
#include <zlib.h>

uint32_t
crc32_add(uint32_t crc, const void *p, size_t n)
{
	/* The library takes a null pointer, which an empty buffer has, as a request to
	 * start over. */
	return n ? libdeflate_crc32(crc, p, n) : crc;
}

uint32_t
crc32_join(uint32_t a, uint32_t b, uint64_t b_bytes)
{
	return (uint32_t)crc32_combine(a, b, (z_off_t)b_bytes);
}

uint32_t
crc32_zeros(uint32_t crc, uint64_t n)
{
	static const uint8_t zero[1];
	uint32_t run = crc32_add(0, zero, sizeof zero);
	uint64_t bytes = 1;

	/* run is the CRC of a power of two of zeros. */
	for (; n > 0; n >>= 1) {
		if (n & 1)
			crc = crc32_join(crc, run, bytes);
		if (n > 1) {
			run = crc32_join(run, run, bytes);
			bytes *= 2;
		}
	}
	return crc;
}

uint32_t
crc32_patch(uint32_t have, uint32_t want, uint64_t after)
{
	static const uint8_t zero[4];
	uint32_t none = crc32_join(crc32_add(0, zero, sizeof zero), 0, after);
	uint32_t column[32] = { 0 }, of[32], left = have ^ want, bits = 0;
	unsigned i, k;

	/* A CRC is linear: the difference that each bit makes, brought into triangular form. The
	 * polynomial has a constant term, so the differences are independent. */
	for (i = 0; i < 32; i++) {
		uint8_t p[4] = { 0 };
		uint32_t v, source = UINT32_C(1) << i;

		p[i / 8] = (uint8_t)(1u << i % 8);
		v = crc32_join(crc32_add(0, p, sizeof p), 0, after) ^ none;
		while (v && column[k = 31 - (unsigned)__builtin_clz(v)]) {
			v ^= column[k];
			source ^= of[k];
		}
		if (v) {
			k = 31 - (unsigned)__builtin_clz(v);
			column[k] = v;
			of[k] = source;
		}
	}
	while (left && column[k = 31 - (unsigned)__builtin_clz(left)]) {
		left ^= column[k];
		bits ^= of[k];
	}
	return bits;
}
