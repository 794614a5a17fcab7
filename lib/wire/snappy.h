/* snappy: decompression of Snappy's raw format, in memory.
 *
 *     varint   bytes of the result, at most 2^32 - 1
 *     parts, whose first byte has a kind in its two low bits:
 *       0      literal: 1 + (byte >> 2) bytes follow; 60 to 63 instead mean that the number of
 *              bytes less one follows in 1 to 4 bytes
 *       1      copy of 4 + (byte >> 2 & 7) bytes; distance: byte >> 5 << 8, plus the next byte
 *       2, 3   copy of 1 + (byte >> 2) bytes; distance: the next 2 or 4 bytes
 *
 * Numbers are little-endian. A copy repeats bytes of the result from `distance` bytes back, and
 * may overlap itself.
 * Source: format_description.txt of Snappy.
 */
#ifndef WIRE_SNAPPY_H
#define WIRE_SNAPPY_H

#include <stddef.h>
#include <stdint.h>

/* The number of bytes that the n bytes at p state for their result. 0, or -1 if they cannot have
 * that many: a part of three bytes gives at most 64. */
int snappy_bytes(const uint8_t *p, size_t n, uint64_t *bytes);

/* Decompresses to exactly this many bytes. 0, or -1 if p is damaged. */
int snappy_decode(const uint8_t *p, size_t n, uint8_t *to, uint64_t bytes);

#endif
