/* thirds_wide: ref/thirds.c on vectors.
 */
#ifndef KERNELS_THIRDS_WIDE_H
#define KERNELS_THIRDS_WIDE_H

#include "kernels/common/grid_wide.h"

#define EIGHTH 0.125f

/* The best split of each lane so far. */
struct split {
	wide gain, scale;
	whole first, last, shift;
};

static inline void
split_begin(struct split *s)
{
	*s = (struct split){ .gain = all(-FLT_MAX), .shift = all_whole(-1) };
}

static inline void
split_take(struct split *s, wide xq, wide qq, int first, int last, int shift)
{
	mask better = above(qq, all(0)) & above(xq * xq, s->gain * qq);

	if (!any(better))
		return;
	s->scale = choose(better, xq / qq, s->scale);
	s->gain = choose(better, s->scale * xq, s->gain);
	s->first = choose_whole(better, all_whole(first), s->first);
	s->last = choose_whole(better, all_whole(last), s->last);
	s->shift = choose_whole(better, all_whole(shift), s->shift);
}

static inline void
split_end(const struct split *s, int at, struct thirds_fit *f)
{
	put(f->scale + at, s->scale);
	memcpy(f->first + at, &s->first, sizeof s->first);
	memcpy(f->last + at, &s->last, sizeof s->last);
	memcpy(f->shift + at, &s->shift, sizeof s->shift);
}

/* ---- one shift ---- */

/* Sums up to each value, and the parts of the last third: those with 1/8 added, and with 1/8
 * subtracted. */
struct totals {
	wide x[DEPTH + 1], w[DEPTH + 1];
	wide end_x[2][DEPTH + 1], end_w[2][DEPTH + 1];
};

static inline void
totals_make(struct totals *t, const struct thirds_lanes *l, int at)
{
	wide end[2] = { all(1 + EIGHTH), all(1 - EIGHTH) }, w;
	int down, i;

	t->x[0] = t->w[0] = (wide){ 0 };
	for (i = 0; i < l->depth; i++) {
		w = get(l->w[i] + at);
		t->x[i + 1] = t->x[i] + w * get(l->x[i] + at);
		t->w[i + 1] = t->w[i] + w;
	}
	for (i = 0; i <= l->depth; i++) {
		for (down = 0; down < 2; down++) {
			t->end_x[down][i] = (t->x[l->depth] - t->x[i]) * end[down];
			t->end_w[down][i] = (t->w[l->depth] - t->w[i]) * end[down] * end[down];
		}
	}
}

/* The middle level has opposite signs for the two shifts. */
static void
thirds_search(const struct thirds_lanes *l, struct thirds_fit *f)
{
	const wide middle = all(EIGHTH), up = all(-1 + EIGHTH), down = all(-1 - EIGHTH);
	wide w, w_down, w_up, x, x_down, x_up;
	struct totals t;
	struct split s;
	int at, a, b;

	for (at = 0; at < LANES; at += WIDE) {
		totals_make(&t, l, at);
		split_begin(&s);
		for (a = 0; a <= l->depth; a++) {
			x_up = t.x[a] * up;
			x_down = t.x[a] * down;
			w_up = t.w[a] * up * up;
			w_down = t.w[a] * down * down;
			for (b = a; b <= l->depth; b++) {
				x = (t.x[b] - t.x[a]) * middle;
				w = (t.w[b] - t.w[a]) * middle * middle;
				split_take(&s, x_up + x + t.end_x[0][b], w_up + w + t.end_w[0][b],
				           a, b, 0);
				split_take(&s, x_down - x + t.end_x[1][b],
				           w_down + w + t.end_w[1][b], a, b, 3);
			}
		}
		split_end(&s, at, f);
	}
}

/* ---- a shift for each half ---- */

enum { HALVES = 16 }; /* values of a lane */

/* Products of value and level, and of level and level, for the four pairs of shifts. */
struct pairs {
	wide xq[4], qq[4];
};

/* What value i adds with each code. */
struct halves_terms {
	struct pairs of[3][HALVES];
};

static inline void
halves_term(const struct thirds_lanes *l, int at, int i, int code, struct pairs *p)
{
	wide level[2], q[2], second, v = get(l->x[i] + at), w = get(l->w[i] + at), x[2];
	mask late;
	int down, j, pair;

	for (j = 0; j < WIDE; j++)
		second[j] = l->second[i][at + j];
	late = above(second, all(0));
	level[0] = all((float)(code - 1) + EIGHTH);
	level[1] = all((float)(code - 1) - EIGHTH);
	for (down = 0; down < 2; down++) {
		x[down] = w * level[down] * v;
		q[down] = w * level[down] * level[down];
	}
	for (pair = 0; pair < 4; pair++) {
		p->xq[pair] = choose(late, x[pair & 1], x[pair >> 1]);
		p->qq[pair] = choose(late, q[pair & 1], q[pair >> 1]);
	}
}

static inline void
pairs_add(struct pairs *sum, const struct pairs *p)
{
	int pair;

#pragma GCC unroll 4
	for (pair = 0; pair < 4; pair++) {
		sum->xq[pair] += p->xq[pair];
		sum->qq[pair] += p->qq[pair];
	}
}

static void
thirds_search_halves(const struct thirds_lanes *l, struct thirds_fit *f)
{
	struct pairs before, begun, sum;
	struct halves_terms t;
	struct split s;
	int a, at, b, i, pair;

	for (at = 0; at < LANES; at += WIDE) {
		for (i = 0; i < 3 * HALVES; i++)
			halves_term(l, at, i % HALVES, i / HALVES, &t.of[i / HALVES][i % HALVES]);
		split_begin(&s);
		before = (struct pairs){ .xq = { { 0 } } };
		for (a = 0; a <= HALVES; a++) {
			if (a > 0)
				pairs_add(&before, &t.of[0][a - 1]);
			begun = before;
			for (b = a; b <= HALVES; b++) {
				if (b > a)
					pairs_add(&begun, &t.of[1][b - 1]);
				sum = begun;
				for (i = b; i < HALVES; i++)
					pairs_add(&sum, &t.of[2][i]);
				for (pair = 0; pair < 4; pair++)
					split_take(&s, sum.xq[pair], sum.qq[pair], a, b, pair);
			}
		}
		split_end(&s, at, f);
	}
}

static void
thirds_search_points(const struct lanes *l, const struct grid *g, const float *scale,
                     uint8_t (*down)[LANES], uint16_t (*point)[LANES])
{
	static const float levels[2][4] = {
		{ -1 + EIGHTH, EIGHTH, 1 + EIGHTH }, { -1 - EIGHTH, -EIGHTH, 1 - EIGHTH }
	};
	struct table product;
	uint32_t place;
	int j, k, part;

	for (j = 0; j < LANES; j++) {
		for (k = 0; k < l->depth / 8; k++) {
			place = g->place[point[k][j]];
			if (place < NEAR_LIST)
				continue;
			product = table_of(true, levels[down[k][j]]);
			for (part = 0; part < TABLE; part++)
				product.part[part] *= all(scale[j]);
			point[k][j] = nearest_point(true, g, place, &l->x[8 * k][j],
			                            &l->w[8 * k][j], &product);
		}
	}
}

#endif
