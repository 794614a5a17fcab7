#include <float.h>

#include "kernels/common/near.h"
#include "kernels/ref/grid.h"

#define EIGHTH 0.125f

/* Levels by code, with 1/8 added and subtracted. */
static const float levels[2][3] = {
	{ -1 + EIGHTH, EIGHTH, 1 + EIGHTH },
	{ -1 - EIGHTH, -EIGHTH, 1 - EIGHTH },
};

/* A split of a lane, and its gain: the best scale xq / qq saves xq² / qq of the squared
 * error. */
struct split {
	float gain;
	int first, last;
};

/* Take the split where it is better than the lane's best so far. */
static void
take(struct thirds_fit *f, struct split *s, int j, int shift, float xq, float qq)
{
	if (!(qq > 0) || !(xq * xq > s->gain * qq))
		return;
	f->scale[j] = xq / qq;
	s->gain = f->scale[j] * xq;
	f->first[j] = s->first;
	f->last[j] = s->last;
	f->shift[j] = shift;
}

/* ---- one shift ---- */

/* Sums of products, and of weights, up to each value. */
struct totals {
	float x[DEPTH + 1], w[DEPTH + 1];
	int depth;
};

/* The products of a split: value × level, and level × level. */
static void
split_sums(const struct totals *t, const struct split *s, const float *level, float *xq,
           float *qq)
{
	int a = s->first, b = s->last, end = t->depth;

	*xq = t->x[a] * level[0] + (t->x[b] - t->x[a]) * level[1] +
		(t->x[end] - t->x[b]) * level[2];
	*qq = t->w[a] * level[0] * level[0] + (t->w[b] - t->w[a]) * level[1] * level[1] +
		(t->w[end] - t->w[b]) * level[2] * level[2];
}

static void
thirds_lane(const struct thirds_lanes *l, int j, struct thirds_fit *f)
{
	struct totals t = { .depth = l->depth };
	struct split s = { .gain = -FLT_MAX };
	float qq, xq;
	int i;

	for (i = 0; i < l->depth; i++) {
		t.x[i + 1] = t.x[i] + l->w[i][j] * l->x[i][j];
		t.w[i + 1] = t.w[i] + l->w[i][j];
	}
	for (s.first = 0; s.first <= l->depth; s.first++) {
		for (s.last = s.first; s.last <= l->depth; s.last++) {
			split_sums(&t, &s, levels[0], &xq, &qq);
			take(f, &s, j, 0, xq, qq);
			split_sums(&t, &s, levels[1], &xq, &qq);
			take(f, &s, j, 3, xq, qq);
		}
	}
}

void
thirds_search(const struct thirds_lanes *l, struct thirds_fit *f)
{
	int j;

	for (j = 0; j < LANES; j++) {
		f->scale[j] = 0;
		f->shift[j] = -1;
		thirds_lane(l, j, f);
	}
}

/* ---- a shift for each half ---- */

/* Products of a split for the four pairs of shifts. */
struct sums {
	float xq[4], qq[4];
};

/* Add value i of lane j with the level of a code. Bit 1 of a pair is the shift of the first
 * half, bit 0 that of the second. */
static void
sums_add(struct sums *s, const struct thirds_lanes *l, int i, int j, int code)
{
	float x = l->x[i][j], w = l->w[i][j], level;
	int pair;

	for (pair = 0; pair < 4; pair++) {
		level = levels[l->second[i][j] ? pair & 1 : pair >> 1][code];
		s->xq[pair] += w * level * x;
		s->qq[pair] += w * level * level;
	}
}

/* The splits of lane j whose first third ends before value s->first; before: the products of
 * that third. */
static void
halves_from(const struct thirds_lanes *l, int j, const struct sums *before, struct split *s,
            struct thirds_fit *f)
{
	struct sums all, begun = *before;
	int i, pair;

	for (s->last = s->first; s->last <= l->depth; s->last++) {
		if (s->last > s->first)
			sums_add(&begun, l, s->last - 1, j, 1);
		all = begun;
		for (i = s->last; i < l->depth; i++)
			sums_add(&all, l, i, j, 2);
		for (pair = 0; pair < 4; pair++)
			take(f, s, j, pair, all.xq[pair], all.qq[pair]);
	}
}

void
thirds_search_halves(const struct thirds_lanes *l, struct thirds_fit *f)
{
	struct sums before;
	struct split s;
	int j;

	for (j = 0; j < LANES; j++) {
		f->scale[j] = 0;
		f->shift[j] = -1;
		s = (struct split){ .gain = -FLT_MAX };
		before = (struct sums){ { 0 }, { 0 } };
		for (; s.first <= l->depth; s.first++) {
			if (s.first > 0)
				sums_add(&before, l, s.first - 1, j, 0);
			halves_from(l, j, &before, &s, f);
		}
	}
}

void
thirds_search_points(const struct lanes *l, const struct grid *g, const float *scale,
                     uint8_t (*down)[LANES], uint16_t (*point)[LANES])
{
	uint32_t place;
	int j, k;

	for (j = 0; j < LANES; j++) {
		for (k = 0; k < l->depth / g->values; k++) {
			place = g->place[point[k][j]];
			if (place < NEAR_LIST)
				continue;
			point[k][j] = grid_nearest(g, place, &(struct grid_group){
				&l->x[k * g->values][j], &l->w[k * g->values][j], scale[j],
				levels[down[k][j]] });
		}
	}
}
