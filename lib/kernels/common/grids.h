/* grids: the points of the IQ types with a byte for each coordinate, as vectors need them:
 * levels without a sign, the first in the lowest byte. Internal to kernels.
 */
#ifndef DOT_GRIDS_H
#define DOT_GRIDS_H

#include <stdint.h>

#include "core/le.h"

/* Points of IQ1 hold eight times the coordinate, since an eighth is added to each level. */
extern uint64_t grid_iq1[2048], grid_iq2_xxs[256], grid_iq2_xs[512], grid_iq2_s[1024];
extern uint32_t grid_iq3_xxs[256], grid_iq3_s[512];

/* Fill the tables, unless they are filled. Call it before threads begin. */
void grids_begin(void);

/* ---- what blocks say ----
 *
 * Each function fills the indexes of the points of 64 values from number 64 × part on: eight,
 * or sixteen for IQ3. It returns the signs of the values, from bit 0 up; a set bit is a
 * minus. For IQ1 it returns the word that has, for each point, a set bit where an eighth is
 * subtracted.
 */

#define GRID_INLINE static inline __attribute__((always_inline))

/* Sign bits for eight bytes of seven bits each. The eighth bit makes the number of set bits
 * even. */
GRID_INLINE uint64_t
grid_signs(uint64_t seven)
{
	uint64_t odd = seven ^ seven >> 4;

	odd ^= odd >> 2;
	odd ^= odd >> 1;
	return seven | (odd & 0x0101010101010101) << 7;
}

/* The same for four times seven bits, from bit 0 up, in each of two words. */
GRID_INLINE uint64_t
grid_signs_of(uint32_t first, uint32_t second)
{
	uint64_t v = first | (uint64_t)second << 32;

	return grid_signs((v & 0x0000007f0000007f) | (v & 0x00003f8000003f80) << 1 |
	                  (v & 0x001fc000001fc000) << 2 | (v & 0x0fe000000fe00000) << 3);
}

GRID_INLINE uint64_t
iq2_xxs_indexes(const uint8_t *x, int part, unsigned *index)
{
	int i;

	x += 2 + 16 * part;
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		index[i] = x[i + i / 4 * 4];
	return grid_signs_of(le32(x + 4), le32(x + 12));
}

GRID_INLINE uint64_t
iq2_s_indexes(const uint8_t *x, int part, unsigned *index)
{
	unsigned high = le16(x + 66 + 2 * part);
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		index[i] = x[2 + 8 * part + i] | (high >> 2 * i & 3) << 8;
	return le64(x + 34 + 8 * part);
}

GRID_INLINE uint64_t
iq3_xxs_indexes(const uint8_t *x, int part, unsigned *index)
{
	int i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		index[i] = x[2 + 16 * part + i];
	return grid_signs_of(le32(x + 66 + 8 * part), le32(x + 70 + 8 * part));
}

GRID_INLINE uint64_t
iq3_s_indexes(const uint8_t *x, int part, unsigned *index)
{
	unsigned high = le16(x + 66 + 2 * part);
	int i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		index[i] = x[2 + 16 * part + i] | (high >> i & 1) << 8;
	return le64(x + 74 + 8 * part);
}

/* The bit of a point is bit 15 + 16 × (point / 4). */
GRID_INLINE uint64_t
iq1_s_indexes(const uint8_t *x, int part, unsigned *index)
{
	uint32_t high = le32(x + 34 + 4 * part);
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		index[i] = x[2 + 8 * part + i] | (high >> (i / 4 * 16 + i % 4 * 3) & 7) << 8;
	return high;
}

/* The bit of a point is bit 3 + 4 × point. */
GRID_INLINE uint64_t
iq1_m_indexes(const uint8_t *x, int part, unsigned *index)
{
	uint32_t high = le32(x + 32 + 4 * part);
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		index[i] = x[8 * part + i] | (high >> 4 * i & 7) << 8;
	return high;
}

/* The scale of a block of IQ1_M, in half precision. */
GRID_INLINE uint16_t
iq1_m_half(const uint8_t *x)
{
	uint64_t v = le64(x + 48);

	return (uint16_t)((v >> 12 & 0xf) | (v >> 24 & 0xf0) | (v >> 36 & 0xf00) |
	                  (v >> 48 & 0xf000));
}

#endif
