/* crc32c: CRC-32C (Castagnoli: reflected polynomial 0x82F63B78), and the masked form in which
 * LevelDB and TensorFlow store it.
 */
#ifndef CORE_CRC32C_H
#define CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues crc, which starts as 0, over n bytes. */
uint32_t crc32c_add(uint32_t crc, const void *p, size_t n);

/* The stored form: rotated right by 15 bits, plus a constant. So a checksum of bytes that contain
 * checksums keeps its strength. */
static inline uint32_t
crc32c_mask(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
