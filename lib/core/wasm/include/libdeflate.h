/* libdeflate's CRC-32 by zlib, which fills its tables when it is first asked, instead of having 8 KB of them
 * in the module, and is faster without instructions for it. */
#ifndef CORE_WASM_LIBDEFLATE_H
#define CORE_WASM_LIBDEFLATE_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

static inline uint32_t
libdeflate_crc32(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}

#endif
