/* near: the points nearest to each rounding, against a slow search. */
#include "kernels/common/near.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread.h"
#include "kernels/common/iq_grid.h"

#include "test.h"

static const struct made {
	enum near_grid which;
	const char *name;
	const uint16_t *point;
	int count, shells;
} grids[] = {
	{ NEAR_IQ1, "IQ1", iq1_grid, 2048, 3 },
	{ NEAR_IQ2_XXS, "IQ2_XXS", iq2_xxs_grid, 256, 2 },
	{ NEAR_IQ2_XS, "IQ2_XS", iq2_xs_grid, 512, 2 },
	{ NEAR_IQ2_S, "IQ2_S", iq2_s_grid, 1024, 1 },
	{ NEAR_IQ3_XXS, "IQ3_XXS", iq3_xxs_grid, 256, 2 },
	{ NEAR_IQ3_S, "IQ3_S", iq3_s_grid, 512, 3 },
};

static int
level_of(const struct grid *g, unsigned packed, int i)
{
	return (int)(packed >> g->bits * i & ((1u << g->bits) - 1));
}

static int
distance(const struct grid *g, unsigned a, unsigned b)
{
	int d, i, sum = 0;

	for (i = 0; i < g->values; i++) {
		d = level_of(g, a, i) - level_of(g, b, i);
		sum += d * d;
	}
	return sum;
}

/* The points of the nearest shells, shell by shell. Returns their number. */
static size_t
slow_list(const struct made *m, const struct grid *g, unsigned packed, uint16_t *list)
{
	int shell, d, least, last = -1, i;
	size_t n = 0;

	for (shell = 0; shell < m->shells; shell++, last = least) {
		for (least = 1000, i = 0; i < m->count; i++) {
			d = distance(g, packed, m->point[i]);
			least = d > last && d < least ? d : least;
		}
		for (i = 0; i < m->count; i++)
			if (distance(g, packed, m->point[i]) == least)
				list[n++] = m->point[i];
	}
	return n;
}

static bool
list_holds(const struct made *m, const struct grid *g, unsigned packed)
{
	struct near_list have = near_list(g, g->place[packed]);
	uint16_t want[2048];
	size_t i, n = slow_list(m, g, packed, want);
	bool same = n == have.count && n <= NEAR_MOST && !memcmp(want, have.point, n * sizeof *want);

	for (i = n; i % NEAR_TOGETHER; i++)
		same &= have.point[i] == want[0];
	return same;
}

/* Every rounding is a point with its number, or has a list; some lists are compared. */
static void
grid_holds(const struct made *m)
{
	const struct grid *g = near_grid(m->which);
	unsigned last = (1u << g->bits * g->values) - 1, packed, points = 0, lists = 0;
	bool whole = true, same = true;
	int i;

	for (packed = 0; packed <= last; packed++) {
		for (i = 0; i < g->values && level_of(g, packed, i) < g->levels; i++)
			;
		if (i < g->values)
			continue;
		if (g->place[packed] < NEAR_LIST) {
			whole &= g->place[packed] < (unsigned)m->count &&
				m->point[g->place[packed]] == packed;
			points++;
		} else if (lists++ % 61 == 0) {
			same &= list_holds(m, g, packed);
		}
	}
	test_ok(whole && points == (unsigned)m->count, "%s: each point has its number", m->name);
	test_ok(same, "%s: lists are the nearest points, by distance", m->name);
}

static const struct grid *seen[4 * 8];

static void
ask(void *ctx, size_t i)
{
	(void)ctx;
	seen[i] = near_grid(NEAR_IQ2_XXS);
	if (seen[i]->place[4] == 0)
		seen[i] = NULL; /* 0 1 0 … has a list or a number above 0, once it is made */
}

int
main(void)
{
	bool same = true;
	size_t i;

	thread_for(4, sizeof seen / sizeof *seen, ask, NULL);
	for (i = 0; i < sizeof seen / sizeof *seen; i++)
		same &= seen[i] && seen[i] == seen[0];
	test_ok(same, "threads that ask at the same time get the same tables");
	for (i = 0; i < sizeof grids / sizeof *grids; i++)
		grid_holds(&grids[i]);
	return test_done();
}
