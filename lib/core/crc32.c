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
