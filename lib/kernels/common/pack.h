/* pack: codes of few bits in bytes, in the orders of block types. Internal to kernels. */
#ifndef KERNELS_PACK_H
#define KERNELS_PACK_H

#include <stdint.h>

/* Four bits of 32 codes in 16 bytes: byte i has code i in its low half, and code i + 16 in
 * its high half. */
static inline void
nibbles_pack(const uint8_t *code, uint8_t *y)
{
	int i;

	for (i = 0; i < 16; i++)
		y[i] = (uint8_t)((code[i] & 15) | code[i + 16] << 4);
}

static inline void
nibbles_unpack(const uint8_t *y, uint8_t *code)
{
	int i;

	for (i = 0; i < 16; i++) {
		code[i] = y[i] & 15;
		code[i + 16] = y[i] >> 4;
	}
}

/* Four bits of 256 codes in 128 bytes: code v = 64 g + 32 q + l, with q 0 or 1, is in byte
 * 32 g + l, in the low half for q = 0. */
static inline void
nibbles_pack_256(const uint8_t *code, uint8_t *y)
{
	int g, l;

	for (g = 0; g < 4; g++, code += 64, y += 32)
		for (l = 0; l < 32; l++)
			y[l] = (uint8_t)((code[l] & 15) | code[l + 32] << 4);
}

static inline void
nibbles_unpack_256(const uint8_t *y, uint8_t *code)
{
	int g, l;

	for (g = 0; g < 4; g++, code += 64, y += 32) {
		for (l = 0; l < 32; l++) {
			code[l] = y[l] & 15;
			code[l + 32] = y[l] >> 4;
		}
	}
}

/* Two bits, from bit shift up, of 256 codes in 64 bytes: code v = 128 h + 32 q + l, with
 * 0 <= q < 4, is in bits 2 q and 2 q + 1 of byte 32 h + l. */
static inline void
pairs_pack(const uint8_t *code, int shift, uint8_t *y)
{
	int h, l, q;
	unsigned byte;

	for (h = 0; h < 2; h++, code += 128, y += 32) {
		for (l = 0; l < 32; l++) {
			byte = 0;
			for (q = 0; q < 4; q++)
				byte |= (code[32 * q + l] >> shift & 3u) << 2 * q;
			y[l] = (uint8_t)byte;
		}
	}
}

/* The bits are added to code. */
static inline void
pairs_unpack(const uint8_t *y, int shift, uint8_t *code)
{
	int h, l, q;

	for (h = 0; h < 2; h++, code += 128, y += 32)
		for (q = 0; q < 4; q++)
			for (l = 0; l < 32; l++)
				code[32 * q + l] |= (uint8_t)((y[l] >> 2 * q & 3) << shift);
}

/* Bit shift of 256 codes in 32 bytes: code v = 32 s + l is in bit s of byte l. */
static inline void
bits_pack(const uint8_t *code, int shift, uint8_t *y)
{
	int l, s;
	unsigned byte;

	for (l = 0; l < 32; l++) {
		byte = 0;
		for (s = 0; s < 8; s++)
			byte |= (code[32 * s + l] >> shift & 1u) << s;
		y[l] = (uint8_t)byte;
	}
}

static inline void
bits_unpack(const uint8_t *y, int shift, uint8_t *code)
{
	int l, s;

	for (s = 0; s < 8; s++)
		for (l = 0; l < 32; l++)
			code[32 * s + l] |= (uint8_t)((y[l] >> s & 1) << shift);
}

#endif
