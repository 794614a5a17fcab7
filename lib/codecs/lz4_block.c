#include "codecs/lz4_block.h"

#include <lz4.h>

uint64_t
lz4_block_room(uint64_t n)
{
	return (uint64_t)LZ4_compressBound((int)n);
}

uint64_t
lz4_block_encode(const uint8_t *p, uint64_t n, uint8_t *to, uint64_t room, struct err *e)
{
	int r = 0;

	if (n <= LZ4_BLOCK_MOST)
		r = LZ4_compress_default((const char *)p, (char *)to, (int)n,
		                         room > INT32_MAX ? INT32_MAX : (int)room);
	if (r <= 0)
		err_set(e, ERR_MEMORY, NULL, "lz4 cannot compress");
	return r > 0 ? (uint64_t)r : 0;
}

int
lz4_block_decode(const uint8_t *p, uint64_t n, uint8_t *to, uint64_t size)
{
	if (n > INT32_MAX || size > INT32_MAX)
		return -1;
	return LZ4_decompress_safe((const char *)p, (char *)to, (int)n, (int)size) ==
	       (int)size ? 0 : -1;
}
