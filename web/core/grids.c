/* grids: the points of lib/kernels/common/iq_grid.c, which the small module contains as sets: a bit for each
 * possible point, which compress to a third. The words are made when the module starts. iq_grid.h, which declares them
 * constant, is not included.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/common/grids.inc"

#define EIGHTS 6561 // points of eight coordinates below 3
#define FOURS 4096  // of four below 8

uint16_t iq1_grid[2048], iq2_xxs_grid[256], iq2_xs_grid[512], iq2_s_grid[1024], iq3_xxs_grid[256],
	iq3_s_grid[512];

/* Two bits for each coordinate of the point of that number. */
static uint16_t
word_of(unsigned number)
{
	unsigned word = 0, i;

	for (i = 0; i < 16; i += 2, number /= 3)
		word |= number % 3 << i;
	return (uint16_t)word;
}

static void
fill(uint16_t *to, const uint8_t *set, bool eights)
{
	unsigned i, n = eights ? EIGHTS : FOURS;

	for (i = 0; i < n; i++)
		if (set[i / 8] >> i % 8 & 1)
			*to++ = eights ? word_of(i) : (uint16_t)i;
}

__attribute__((constructor)) static void
fill_all(void)
{
	fill(iq1_grid, iq1_set, true);
	fill(iq2_xxs_grid, iq2_xxs_set, true);
	fill(iq2_xs_grid, iq2_xs_set, true);
	fill(iq2_s_grid, iq2_s_set, true);
	fill(iq3_xxs_grid, iq3_xxs_set, false);
	fill(iq3_s_grid, iq3_s_set, false);
}
