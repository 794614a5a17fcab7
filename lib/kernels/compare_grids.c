#include <string.h>

#include "kernels/common/iq_grid.h"
#include "kernels/common/near.h"
#include "kernels/common/search.h"
#include "kernels/compare.h"

enum { LIST = 20, PACKED = 0xaaab };

/* A made-up grid: two of three packed points have the same list. */
struct made {
	struct grid grid;
	uint32_t place[PACKED];
	uint16_t list[2 * NEAR_TOGETHER];
};

static void
grid_make(struct made *m, int values)
{
	const uint16_t *point = values == 8 ? iq2_s_grid : iq3_s_grid;
	uint32_t i;

	m->grid = (struct grid){ values, values == 8 ? 2 : 3, values == 8 ? 3 : 8, m->place,
		m->list };
	for (i = 0; i < PACKED; i++)
		m->place[i] = i % 3 ? NEAR_LIST | LIST : i;
	for (i = 0; i < 2 * NEAR_TOGETHER; i++)
		m->list[i] = point[i < LIST ? 25 * i : 0];
}

/* 0 to 1. */
static float
some(uint32_t *last)
{
	return (float)(next_random(last) >> 8) * 0x1p-24f;
}

/* The last lane is silent. */
static void
lanes_make(struct grid_lanes *l, struct grid_fit *f, int values)
{
	uint32_t last = 88675123;
	int i, j;

	memset(l, 0, sizeof *l);
	memset(f, 0, sizeof *f);
	l->l.depth = 2 * values;
	for (i = 0; i < l->l.depth; i++) {
		for (j = 0; j < LANES - 1; j++) {
			l->l.x[i][j] = some(&last) - (i == j ? 1 : 0);
			l->l.w[i][j] = some(&last);
			l->root[i][j] = some(&last);
			if (l->l.x[i][j] > f->most[j])
				f->most[j] = l->l.x[i][j];
		}
	}
}

/* The searches of the level for both kinds of points, with two candidates beside the first. */
static bool
points_agree(const struct level *l, int values)
{
	static struct made made;
	const struct grid_range range = { 0.1f, 1 };
	uint8_t again[GROUPS][LANES];
	float have[LANES], want[LANES];
	struct grid_fit f, g;
	struct grid_lanes x;
	bool same;

	grid_make(&made, values);
	lanes_make(&x, &f, values);
	g = f;
	search_ref.steps(&x.l, 4, want);
	l->search->steps(&x.l, 4, have);
	search_ref.grid(&x, &made.grid, &range, &f);
	l->search->grid(&x, &made.grid, &range, &g);
	same = !memcmp(have, want, sizeof want) && !memcmp(&f, &g, sizeof f);
	memset(again, 1, sizeof again);
	search_ref.grid_again(&x, &made.grid, again, &f);
	l->search->grid_again(&x, &made.grid, again, &g);
	return same && !memcmp(&f, &g, sizeof f);
}

/* Values that ascend, in both halves. */
static void
thirds_make(struct thirds_lanes *l, int depth)
{
	uint32_t last = 521288629;
	int i, j;

	memset(l, 0, sizeof *l);
	l->depth = depth;
	for (i = 0; i < depth; i++) {
		for (j = 0; j < LANES; j++) {
			l->x[i][j] = (i ? l->x[i - 1][j] : -2) + some(&last) * 4 / (float)depth;
			l->w[i][j] = some(&last);
			l->second[i][j] = next_random(&last) & 1;
		}
	}
}

static bool
thirds_agree(const struct level *l)
{
	static struct made made;
	uint16_t have[2][LANES], want[2][LANES];
	uint8_t down[DEPTH / 8][LANES] = { { 0, 1 } };
	struct thirds_fit f, g;
	struct thirds_lanes x;
	struct lanes lanes = { .depth = 16 };
	bool same;
	int j;

	thirds_make(&x, 32);
	search_ref.thirds(&x, &f);
	l->search->thirds(&x, &g);
	same = !memcmp(&f, &g, sizeof f);
	thirds_make(&x, 16);
	search_ref.thirds_halves(&x, &f);
	l->search->thirds_halves(&x, &g);
	same &= !memcmp(&f, &g, sizeof f);
	grid_make(&made, 8);
	memcpy(lanes.x, x.x, sizeof x.x);
	memcpy(lanes.w, x.w, sizeof x.w);
	for (j = 0; j < LANES; j++)
		want[0][j] = want[1][j] = have[0][j] = have[1][j] = 1;
	search_ref.thirds_points(&lanes, &made.grid, f.scale, down, want);
	l->search->thirds_points(&lanes, &made.grid, f.scale, down, have);
	return same && !memcmp(have, want, sizeof want);
}

bool
grids_agree(const struct level *l)
{
	return points_agree(l, 8) && points_agree(l, 4) && thirds_agree(l);
}
