/* lz4_block: LZ4's block format alone, without the frame around it that codec_lz4 has:
 * one piece of memory into another, with nothing said about either's length.
 */
#ifndef CODECS_LZ4_BLOCK_H
#define CODECS_LZ4_BLOCK_H

#include <stdint.h>

#include "core/err.h"

#define LZ4_BLOCK_MOST 0x7e000000u /* bytes that can become one block */

/* Room that n bytes may take as a block, at most; n is not above LZ4_BLOCK_MOST. */
uint64_t lz4_block_room(uint64_t n);

/* n bytes at p into a block of at most room bytes at to: its length; 0 with e filled.
 * The same bytes of a version of the library. */
uint64_t lz4_block_encode(const uint8_t *p, uint64_t n, uint8_t *to, uint64_t room,
                          struct err *e);

/* Back: 0 if the n bytes are a block of exactly size bytes, else -1. */
int lz4_block_decode(const uint8_t *p, uint64_t n, uint8_t *to, uint64_t size);

#endif
