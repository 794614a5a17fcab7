/* grids: the points of the IQ types, a byte for each coordinate, as vectors want them:
 * levels without a sign, the first in the lowest byte. Internal to this folder.
 */
#ifndef DOT_GRIDS_H
#define DOT_GRIDS_H

#include <stdint.h>

/* Of IQ1 eight times the coordinate: an eighth is what is added to a level. */
extern uint64_t grid_iq1[2048], grid_iq2_xxs[256], grid_iq2_xs[512], grid_iq2_s[1024];
extern uint32_t grid_iq3_xxs[256], grid_iq3_s[512];

/* Fill them, if they are not. Before threads begin. */
void grids_begin(void);

/* Of eight bytes, seven bits of each set by those of low and high from bit 0 up: the
 * eighth bit makes the number of set bits even. */
static inline uint64_t
grid_signs(uint64_t seven)
{
	uint64_t odd = seven ^ seven >> 4;

	odd ^= odd >> 2;
	odd ^= odd >> 1;
	return seven | (odd & 0x0101010101010101) << 7;
}

/* Four times seven bits of each of two words, from bit 0 up, as signs of 64 values. */
static inline uint64_t
grid_signs_of(uint32_t first, uint32_t second)
{
	uint64_t v = first | (uint64_t)second << 32;

	return grid_signs((v & 0x0000007f0000007f) | (v & 0x00003f8000003f80) << 1 |
	                  (v & 0x001fc000001fc000) << 2 | (v & 0x0fe000000fe00000) << 3);
}

#endif
