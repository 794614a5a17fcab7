/* grid_wide: ref/grid.c on vectors. Sub-blocks are lanes, except where a list of points is
 * searched: there the points are.
 */
#ifndef KERNELS_GRID_WIDE_H
#define KERNELS_GRID_WIDE_H

#include <float.h>

#include "kernels/common/lanes_wide.h"
#include "kernels/common/near.h"

#define WIDE_INLINE static inline __attribute__((always_inline))

/* ---- the nearest point ---- */

/* A number for each code: TABLE vectors hold eight of them, or four, repeated. */
enum { TABLE = WIDE < 8 ? 8 / WIDE : 1 };

struct table {
	wide part[TABLE];
};

/* The numbers by the low bits of code: two for points of eight values, three for those of
 * four. */
WIDE_INLINE wide
pick(bool eight, const struct table *t, whole code)
{
	return eight ? pick_4(t->part, code) : pick_8(t->part, code);
}

WIDE_INLINE struct table
table_of(bool eight, const float *number)
{
	float all_of[TABLE * WIDE];
	struct table t;
	int i;

	for (i = 0; i < TABLE * WIDE; i++)
		all_of[i] = number[i % (eight ? 4 : 8)];
	memcpy(&t, all_of, sizeof t);
	return t;
}

/* The errors of points; term[i] is what a code of value i costs. */
WIDE_INLINE wide
errors(bool eight, const struct table *term, whole points)
{
	const int values = eight ? 8 : 4;
	wide sum = pick(eight, term, points);
	int i;

#pragma GCC unroll 8
	for (i = 1; i < values; i++)
		sum += pick(eight, term + i, points >> (eight ? 2 : 3) * i);
	return sum;
}

/* The first of the least errors, by lane, of lists that fill several vectors: the vector
 * where each lane had its least. */
WIDE_INLINE size_t
first_of(wide least, whole vector)
{
	unsigned lanes = mask_bits(equal(least, all(least_of(least))));
	int32_t in[WIDE];
	size_t best = SIZE_MAX, i;

	memcpy(in, &vector, sizeof in);
	for (; lanes; lanes &= lanes - 1) {
		i = (size_t)__builtin_ctz(lanes);
		i += (size_t)in[i] * WIDE;
		best = i < best ? i : best;
	}
	return best;
}

/* As grid_nearest of ref/grid.c, for values and weights at x and w, i × LANES; product: scale
 * × level. */
WIDE_INLINE uint16_t
nearest_point(bool eight, const struct grid *g, uint32_t place, const float *x, const float *w,
              const struct table *product)
{
	struct near_list list = near_list(g, place);
	struct table term[8];
	wide d, error, least = all(FLT_MAX);
	whole vector = { 0 };
	mask less;
	int i, part, values = eight ? 8 : 4;
	size_t n;

#pragma GCC unroll 8
	for (i = 0; i < values; i++) {
		for (part = 0; part < TABLE; part++) {
			d = product->part[part] - all(x[i * LANES]);
			term[i].part[part] = all(w[i * LANES]) * d * d;
		}
	}
	for (n = 0; n < list.count; n += WIDE) {
		error = errors(eight, term, points_at(list.point + n));
		less = above(least, error);
		least = choose(less, error, least);
		vector = choose_whole(less, all_whole((int)(n / WIDE)), vector);
	}
	if (list.count <= WIDE)
		return list.point[__builtin_ctz(mask_bits(equal(least, all(least_of(least)))))];
	return list.point[first_of(least, vector)];
}

/* ---- roundings ---- */

static const float odd_levels[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };

/* A packed point for each lane; a point that is not the rounding has bit 16. */
#define POINT_OFF 0x10000

/* The packed points to which the groups of WIDE lanes round. */
WIDE_INLINE void
round_groups(bool eight, const struct grid_lanes *l, int at, wide inverse, whole *point)
{
	int bits = eight ? 2 : 3, i, k, last = eight ? 2 : 7, values = eight ? 8 : 4;
	whole packed;
	wide v;

	for (k = 0; k < l->l.depth / values; k++) {
		packed = (whole){ 0 };
#pragma GCC unroll 8
		for (i = 0; i < values; i++) {
			v = all(0.5f) * (inverse * get(l->l.x[k * values + i] + at) - all(1));
			packed |= clamp_whole(nearest_whole(v), 0, last) << bits * i;
		}
		point[k] = packed;
	}
}

/* Weighted products of value and level, and of level and level. wv: weight × value. */
WIDE_INLINE void
point_sums(bool eight, const struct grid_lanes *l, int at, const wide *wv, const whole *point,
           wide *xq, wide *qq)
{
	int bits = eight ? 2 : 3, i, k, values = eight ? 8 : 4;
	const struct table level = table_of(eight, odd_levels);
	wide q, qs = { 0 }, xs = { 0 };

	for (k = 0; k < l->l.depth / values; k++) {
#pragma GCC unroll 8
		for (i = 0; i < values; i++) {
			q = pick(eight, &level, point[k] >> bits * i);
			xs += wv[k * values + i] * q;
			qs += get(l->l.w[k * values + i] + at) * q * q;
		}
	}
	*xq = xs;
	*qq = qs;
}

/* ---- candidates ---- */

/* Candidates of WIDE lanes: packed points by candidate, group and lane. */
enum { CANDIDATES = 31 };

struct candidates {
	int32_t point[CANDIDATES][GROUPS][WIDE];
	float scale[CANDIDATES][WIDE];
	wide inverse[CANDIDATES];
	int count;
};

/* Replace the roundings of a group of a lane that are not points of the grid. */
WIDE_INLINE void
replace(bool eight, const struct grid_lanes *l, const struct grid *g, int at, int k, int j,
        struct candidates *c)
{
	const struct table level = table_of(eight, odd_levels);
	int first = k * (eight ? 8 : 4), i, part;
	struct table product;
	uint32_t place;

	for (i = 0; i < c->count; i++) {
		place = g->place[c->point[i][k][j]];
		if (place < NEAR_LIST)
			continue;
		for (part = 0; part < TABLE; part++)
			product.part[part] = all(c->scale[i][j]) * level.part[part];
		c->point[i][k][j] = POINT_OFF | nearest_point(eight, g, place,
			&l->l.x[first][at + j], &l->root[first][at + j], &product);
	}
}

WIDE_INLINE void
round_candidates(bool eight, const struct grid_lanes *l, const struct grid *g,
                 const struct grid_range *r, int at, wide most, struct candidates *c)
{
	whole point[GROUPS];
	float top = eight ? 5 : 15;
	int i, j, k, groups = l->l.depth / (eight ? 8 : 4);
	unsigned lanes = mask_bits(above(most, all(0)));

	c->count = 2 * r->count + 1;
	for (i = 0; i < c->count; i++) {
		c->inverse[i] = all(top + (float)(i - r->count) * r->step) / most;
		put(c->scale[i], all(1) / c->inverse[i]);
		round_groups(eight, l, at, c->inverse[i], point);
		memcpy(c->point[i], point, sizeof *point * (size_t)groups);
	}
	for (j = 0; j < WIDE; j++)
		for (k = 0; k < groups && lanes >> j & 1; k++)
			replace(eight, l, g, at, k, j, c);
}

WIDE_INLINE void
grid_at(bool eight, const struct grid_lanes *l, const struct grid *g,
        const struct grid_range *r, int at, struct grid_fit *f)
{
	whole best[GROUPS] = { 0 }, found = { 0 }, point[GROUPS];
	wide most = get(f->most + at), qq, wv[DEPTH], xq;
	int i, j, k, groups = l->l.depth / (eight ? 8 : 4);
	struct best b = { .scale = get(f->scale + at) };
	struct candidates c;
	mask better;

	round_candidates(eight, l, g, r, at, most, &c);
	products_at(&l->l, at, wv);
	for (i = 0; i < c.count; i++) {
		memcpy(point, c.point[i], sizeof *point * (size_t)groups);
		point_sums(eight, l, at, wv, point, &xq, &qq);
		better = above(qq, all(0)) & above(xq * xq, b.gain * qq) & above(most, all(0));
		b.scale = choose(better, xq / qq, b.scale);
		b.gain = choose(better, b.scale * xq, b.gain);
		found = choose_whole(better, all_whole(1), found);
		for (k = 0; k < groups; k++)
			best[k] = choose_whole(better, point[k], best[k]);
	}
	put(f->scale + at, b.scale);
	for (k = 0; k < groups; k++) {
		for (j = 0; j < WIDE; j++) {
			f->point[k][at + j] = (uint16_t)best[k][j];
			f->off[k][at + j] = found[j] ? (best[k][j] & POINT_OFF) != 0
				: f->off[k][at + j];
		}
	}
}

static void
grid_search(const struct grid_lanes *l, const struct grid *g, const struct grid_range *r,
            struct grid_fit *f)
{
	int at;

	for (at = 0; at < LANES; at += WIDE) {
		if (g->values == 8)
			grid_at(true, l, g, r, at, f);
		else
			grid_at(false, l, g, r, at, f);
	}
}

/* ---- again ---- */

WIDE_INLINE void
again_at(bool eight, const struct grid_lanes *l, const struct grid *g,
         uint8_t (*again)[LANES], int at, struct grid_fit *f)
{
	int i, j, k, groups = l->l.depth / (eight ? 8 : 4), first, part;
	const struct table level = table_of(eight, odd_levels);
	wide scale = get(f->scale + at), qq, wv[DEPTH], xq;
	whole any_again = { 0 }, point[GROUPS], rounded_to[GROUPS];
	struct table product;
	uint32_t place;

	round_groups(eight, l, at, all(1) / scale, rounded_to);
	for (k = 0; k < groups; k++) {
		first = k * (eight ? 8 : 4);
		for (j = 0; j < WIDE; j++) {
			point[k][j] = f->point[k][at + j];
			if (!again[k][at + j] || !(scale[j] > 0) || !(f->most[at + j] > 0))
				continue;
			any_again[j] = 1;
			point[k][j] = rounded_to[k][j];
			place = g->place[point[k][j]];
			if (place < NEAR_LIST)
				continue;
			for (part = 0; part < TABLE; part++)
				product.part[part] = all(scale[j]) * level.part[part];
			point[k][j] = nearest_point(eight, g, place, &l->l.x[first][at + j],
			                            &l->root[first][at + j], &product);
		}
	}
	products_at(&l->l, at, wv);
	point_sums(eight, l, at, wv, point, &xq, &qq);
	for (j = 0; j < WIDE; j++) {
		f->scale[at + j] = any_again[j] && qq[j] > 0 ? xq[j] / qq[j] : scale[j];
		for (i = 0; i < groups; i++)
			f->point[i][at + j] = (uint16_t)point[i][j];
	}
}

static void
grid_search_again(const struct grid_lanes *l, const struct grid *g, uint8_t (*again)[LANES],
                  struct grid_fit *f)
{
	int at;

	for (at = 0; at < LANES; at += WIDE) {
		if (g->values == 8)
			again_at(true, l, g, again, at, f);
		else
			again_at(false, l, g, again, at, f);
	}
}

/* ---- steps ---- */

static inline whole
step_of(wide v, int most)
{
	return smaller_whole(all_whole(most), nearest_whole(v));
}

/* Errors with scale 1 / inverse; stored: codes are bytes. */
static inline wide
steps_error(const struct lanes *l, int at, int most, wide inverse, bool stored)
{
	wide e, error = { 0 }, scale = all(1) / inverse, v;
	whole code;
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i] + at);
		code = stored ? nearest_whole(inverse * v) & all_whole(255)
			: step_of(inverse * v, most);
		e = v - scale * __builtin_convertvector(code, wide);
		error += get(l->w[i] + at) * e * e;
	}
	return error;
}

struct steps_lanes {
	wide code[DEPTH], xc, cc; /* codes are bytes */
};

/* Change code i of the lanes where that saves more. */
static inline mask
steps_change(struct steps_lanes *s, wide v, wide w, int most, int i)
{
	wide better, cc, code = s->code[i], xc;
	whole to;
	mask take;

	xc = s->xc - w * v * code;
	cc = s->cc - w * code * code;
	take = above(xc, all(0)) & above(cc, all(0));
	to = step_of(v * cc / xc, most);
	better = __builtin_convertvector(to, wide);
	take &= other(equal(better, code));
	xc += w * v * better;
	cc += w * better * better;
	take &= above(xc * xc * s->cc, s->xc * s->xc * cc);
	s->code[i] = choose(take, __builtin_convertvector(to & all_whole(255), wide), code);
	s->xc = choose(take, xc, s->xc);
	s->cc = choose(take, cc, s->cc);
	return take;
}

static inline wide
steps_descend(const struct lanes *l, int at, int most, wide inverse)
{
	struct steps_lanes s = { .xc = { 0 } };
	bool changed = true;
	wide c, v, w;
	whole code;
	int i, pass;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i] + at);
		w = get(l->w[i] + at);
		code = step_of(inverse * v, most);
		c = __builtin_convertvector(code, wide);
		s.code[i] = __builtin_convertvector(code & all_whole(255), wide);
		s.xc += w * v * c;
		s.cc += w * c * c;
	}
	for (pass = 0; pass < 5 && changed; pass++)
		for (changed = false, i = 0; i < l->depth; i++)
			changed |= any(steps_change(&s, get(l->x[i] + at), get(l->w[i] + at),
			                            most, i));
	return keep(above(s.cc, all(0)), s.xc / s.cc);
}

static void
steps_search(const struct lanes *l, int most, float *scale)
{
	wide best, error, inverse, top, tried;
	int at, i, step;
	mask less;

	for (at = 0; at < LANES; at += WIDE) {
		for (top = all(0), i = 0; i < l->depth; i++)
			top = larger(get(l->x[i] + at), top);
		inverse = all((float)most) / top;
		best = steps_error(l, at, most, inverse, true);
		for (step = -4; step <= 4; step++) {
			if (step == 0)
				continue;
			tried = all(0.1f * (float)step + (float)most) / top;
			error = steps_error(l, at, most, tried, false);
			less = above(best, error);
			best = choose(less, error, best);
			inverse = choose(less, tried, inverse);
		}
		put(scale + at, keep(other(above(all(SILENT), top)),
		                     steps_descend(l, at, most, inverse)));
	}
}

#endif
