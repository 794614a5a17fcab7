/* lz4_block: LZ4's block format, without the frame that codec_lz4 writes around it, from
 * memory to memory. The block stores neither of its lengths.
 */
#ifndef CODECS_LZ4_BLOCK_H
#define CODECS_LZ4_BLOCK_H

#include <stdint.h>

#include "core/err.h"

#define LZ4_BLOCK_MOST 0x7e000000u /* maximum size of a block's contents */

/* The maximum size of a block of n bytes; n must not exceed LZ4_BLOCK_MOST. */
uint64_t lz4_block_room(uint64_t n);

/* Compresses n bytes at p into a block of at most `room` bytes at `to`. Returns its length,
 * or 0 with e filled. The output is the same for each version of the library. */
uint64_t lz4_block_encode(const uint8_t *p, uint64_t n, uint8_t *to, uint64_t room,
                          struct err *e);

/* Decompresses: 0 if the n bytes are a block of exactly `size` bytes, else -1. */
int lz4_block_decode(const uint8_t *p, uint64_t n, uint8_t *to, uint64_t size);

#endif
