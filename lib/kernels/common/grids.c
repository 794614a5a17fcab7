#include "kernels/common/grids.h"

#include <stdbool.h>

#include "kernels/common/iq_grid.h"

uint64_t grid_iq1[2048], grid_iq2_xxs[256], grid_iq2_xs[512], grid_iq2_s[1024];
uint32_t grid_iq3_xxs[256], grid_iq3_s[512];

/* A byte for each of the count coordinates of a point, which are packed in bits each. */
static uint64_t
point(unsigned packed, int bits, int count, const uint8_t *levels)
{
	uint64_t v = 0;
	int j;

	for (j = count - 1; j >= 0; j--)
		v = v << 8 | levels[packed >> bits * j & ((1u << bits) - 1)];
	return v;
}

static void
eights(const uint16_t *grid, int count, const uint8_t *levels, uint64_t *y)
{
	int i;

	for (i = 0; i < count; i++)
		y[i] = point(grid[i], 2, 8, levels);
}

static void
fours(const uint16_t *grid, int count, const uint8_t *levels, uint32_t *y)
{
	int i;

	for (i = 0; i < count; i++)
		y[i] = (uint32_t)point(grid[i], 3, 4, levels);
}

void
grids_begin(void)
{
	static const uint8_t iq1[4] = { 0, 8, 16, 24 }, iq2[4] = { 8, 25, 43, 0 };
	static const uint8_t iq3_xxs[8] = { 4, 12, 20, 28, 36, 44, 52, 62 };
	static const uint8_t iq3_s[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };
	static bool done;

	if (done)
		return;
	eights(iq1_grid, 2048, iq1, grid_iq1);
	eights(iq2_xxs_grid, 256, iq2, grid_iq2_xxs);
	eights(iq2_xs_grid, 512, iq2, grid_iq2_xs);
	eights(iq2_s_grid, 1024, iq2, grid_iq2_s);
	fours(iq3_xxs_grid, 256, iq3_xxs, grid_iq3_xxs);
	fours(iq3_s_grid, 512, iq3_s, grid_iq3_s);
	done = true;
}
