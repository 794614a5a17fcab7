#include "kernels/common/near.h"

#include <pthread.h>
#include <string.h>

#include "kernels/common/iq_grid.h"

enum {
	POINTS = 2048,         /* of a grid, at most */
	DISTANCES = 4 * 49 + 1 /* squared, with levels one apart: 8 × 2² or 4 × 7² at most */
};

/* Packed points of 8 values of 3 levels, and of 4 of 8. */
#define PACKED_2 (0xaaaa + 1)
#define PACKED_3 (0xfff + 1)

/* The sizes of all lists are known: tests/unit/t_near.c proves them. */
static uint16_t iq1_list[NEAR_TOGETHER * 22647], iq2_xxs_list[NEAR_TOGETHER * 10071],
	iq2_xs_list[NEAR_TOGETHER * 14410], iq2_s_list[NEAR_TOGETHER * 6286],
	iq3_xxs_list[NEAR_TOGETHER * 3902], iq3_s_list[NEAR_TOGETHER * 3706];
static uint32_t iq1_place[PACKED_2], iq2_xxs_place[PACKED_2], iq2_xs_place[PACKED_2],
	iq2_s_place[PACKED_2], iq3_xxs_place[PACKED_3], iq3_s_place[PACKED_3];

static const struct plan {
	struct grid grid;
	const uint16_t *point;
	int count, shells;
	uint32_t *place;
	uint16_t *list;
	size_t units;
} plans[NEAR_GRIDS] = {
#define PLAN(which, values, bits, levels, shells) { \
	{ values, bits, levels, which##_place, which##_list }, \
	which##_grid, sizeof which##_grid / sizeof *which##_grid, shells, which##_place, \
	which##_list, sizeof which##_list / sizeof *which##_list / NEAR_TOGETHER }
	[NEAR_IQ1] = PLAN(iq1, 8, 2, 3, 3),
	[NEAR_IQ2_XXS] = PLAN(iq2_xxs, 8, 2, 3, 2),
	[NEAR_IQ2_XS] = PLAN(iq2_xs, 8, 2, 3, 2),
	[NEAR_IQ2_S] = PLAN(iq2_s, 8, 2, 3, 1),
	[NEAR_IQ3_XXS] = PLAN(iq3_xxs, 4, 3, 8, 2),
	[NEAR_IQ3_S] = PLAN(iq3_s, 4, 3, 8, 3),
};

/* Squared distances of half a point from each value that half a packed point can have. */
static void
half_distances(const struct grid *g, unsigned half, uint8_t *distance)
{
	unsigned values = (unsigned)g->values / 2, codes = 1u << g->bits, i, v, code;
	unsigned known = 1; /* distances, of the values so far */
	int d;

	distance[0] = 0;
	for (i = 0; i < values; i++, known *= codes) {
		code = half >> (unsigned)g->bits * i & (codes - 1);
		for (v = known * codes; v-- > 0; ) {
			d = (int)(v / known) - (int)code;
			distance[v] = (uint8_t)(distance[v % known] + d * d);
		}
	}
}

/* Write the points of the nearest shells around a packed point, by distance, then number.
 * Returns their number; 0: the point is of the grid. */
static size_t
list_make(const struct plan *p, unsigned packed, uint16_t *list)
{
	unsigned bits = (unsigned)(p->grid.bits * p->grid.values) / 2, mask = (1u << bits) - 1;
	uint8_t low[256], high[256], distance[POINTS];
	size_t at[DISTANCES + 1] = { 0 }, n;
	int d, i, shells = 0;

	half_distances(&p->grid, packed & mask, low);
	half_distances(&p->grid, packed >> bits, high);
	for (i = 0; i < p->count; i++) {
		distance[i] = (uint8_t)(low[p->point[i] & mask] + high[p->point[i] >> bits]);
		at[distance[i] + 1]++;
	}
	if (at[1])
		return 0;
	/* From counts to places in the list. */
	for (d = 0; d < DISTANCES && shells < p->shells; d++) {
		shells += at[d + 1] > 0;
		at[d + 1] += at[d];
	}
	n = at[d];
	for (i = 0; i < p->count; i++)
		if (distance[i] < d)
			list[at[distance[i]]++] = p->point[i];
	return n;
}

/* True if no value of a packed point has a level beyond the last. */
static bool
is_rounding(const struct grid *g, unsigned packed)
{
	int i;

	for (i = 0; i < g->values; i++, packed >>= g->bits)
		if ((int)(packed & ((1u << g->bits) - 1)) >= g->levels)
			return false;
	return true;
}

static void
make(const struct plan *p)
{
	unsigned last = (1u << p->grid.bits * p->grid.values) - 1, packed;
	uint16_t list[POINTS];
	size_t n, unit = 0, units;
	int i;

	for (i = 0; i < p->count; i++)
		p->place[p->point[i]] = (uint32_t)i;
	for (packed = 0; packed <= last; packed++) {
		n = is_rounding(&p->grid, packed) ? list_make(p, packed, list) : 0;
		units = (n + NEAR_TOGETHER - 1) / NEAR_TOGETHER;
		if (n == 0 || units > p->units - unit)
			continue;
		for (i = 0; i < (int)units * NEAR_TOGETHER; i++)
			p->list[unit * NEAR_TOGETHER + (size_t)i] = list[(size_t)i < n ? i : 0];
		p->place[packed] = NEAR_LIST | (uint32_t)unit << 9 | (uint32_t)n;
		unit += units;
	}
}

#define MAKE(id) static void make_##id(void) { make(&plans[id]); }
MAKE(NEAR_IQ1)
MAKE(NEAR_IQ2_XXS)
MAKE(NEAR_IQ2_XS)
MAKE(NEAR_IQ2_S)
MAKE(NEAR_IQ3_XXS)
MAKE(NEAR_IQ3_S)

const struct grid *
near_grid(enum near_grid which)
{
	static pthread_once_t once[NEAR_GRIDS] = {
		PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT,
		PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT
	};
	static void (*const makers[NEAR_GRIDS])(void) = { make_NEAR_IQ1, make_NEAR_IQ2_XXS,
		make_NEAR_IQ2_XS, make_NEAR_IQ2_S, make_NEAR_IQ3_XXS, make_NEAR_IQ3_S };

	pthread_once(&once[which], makers[which]);
	return &plans[which].grid;
}
