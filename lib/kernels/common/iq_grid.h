/* iq_grid: the points that indexes of the IQ types stand for. Internal to kernels.
 *
 * Coordinates are numbers of levels. Levels are even for IQ1 (-1, 0, 1) and IQ3_S
 * (1, 3, … 15), and nearly so for IQ2 (8, 25, 43) and IQ3_XXS (4, 12, … 62).
 */
#ifndef KERNELS_IQ_GRID_H
#define KERNELS_IQ_GRID_H

#include <stdint.h>

/* Eight coordinates of two bits; no coordinate is 3. */
extern const uint16_t iq1_grid[2048];
extern const uint16_t iq2_xxs_grid[256], iq2_xs_grid[512], iq2_s_grid[1024];

/* Four coordinates of three bits. */
extern const uint16_t iq3_xxs_grid[256], iq3_s_grid[512];

/* The signs of eight values, from the first seven; a set bit is a minus. The number of
 * minuses is even. */
static inline unsigned
iq_signs(unsigned seven)
{
	unsigned odd = seven ^ seven >> 4;

	odd ^= odd >> 2;
	odd ^= odd >> 1;
	return seven | (odd & 1) << 7;
}

#endif
