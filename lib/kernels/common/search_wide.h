/* search_wide: ref/search.c on vectors. search.c of a level includes it once, after the
 * level's vector.h, which defines what a vector is and the operations that C lacks:
 *
 *     WIDE                 lanes of a vector; LANES is a multiple
 *     wide, whole          vectors of WIDE floats, of WIDE int32_t
 *     all(v), all_whole(v) v in every lane
 *     mask                 true or false for each lane; & and | work
 *     other(m), any(m)     the lanes where m is not set; whether it is set in any
 *     above(a, b)          a > b; reaches: a >= b; equal: a == b
 *     choose(m, a, b)      a where m is set, b elsewhere; choose_whole: of int32_t
 *     keep(m, a)           a where m is set, 0 elsewhere
 *     larger(a, b)         a > b ? a : b, smaller(a, b): a < b ? a : b
 *     larger_whole, smaller_whole
 *     within(a, most)      0 where a is below 0 or the CPU's result of 0 × infinity, most
 *                          where a is above most, a elsewhere
 *     magnitude(a)         without the sign
 *     rounded(a)           to whole numbers, ties to even
 *     root(a)              square roots
 *     turn(r)              transpose WIDE vectors
 *     level_code(v)        the code of the level (kernels/common/iq4.h) nearest to v
 *     level_of(code)       that level
 *     points_at(p)         WIDE numbers of 16 bits at p
 *     pick_4(t, code)      number code & 3 of a table t, which fills a vector again and again
 *     pick_8(t, code)      number code & 7 of a table, which fills two vectors of four
 *     mask_bits(m)         a bit for each lane, the first lowest
 *     least_of(a)          the least of the lanes, if none is NaN
 *
 * Every result has the bits of ref/search.c, from the same operands in the same order;
 * the reasons are there.
 */
#include "kernels/common/grid_wide.h"
#include "kernels/common/lanes_wide.h"
#include "kernels/common/line_wide.h"
#include "kernels/common/scale_wide.h"
#include "kernels/common/thirds_wide.h"

/* ---- levels ---- */

static inline void
level_sums(const struct lanes *l, int at, wide inverse, wide *xq, wide *qq)
{
	wide q, qs = { 0 }, v, wq, xs = { 0 };
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i] + at);
		q = level_of(level_code(inverse * v));
		wq = get(l->w[i] + at) * q;
		xs += wq * v;
		qs += wq * q;
	}
	*xq = xs;
	*qq = qs;
}

static void
levels(const struct lanes *l, float *scale)
{
	wide extreme, inverse, qq, xq;
	struct best b;
	int at, step;

	for (at = 0; at < LANES; at += WIDE) {
		extreme = extremes_at(l, at);
		b.inverse = all(1) / (-extreme / all((float)iq4_levels[0]));
		level_sums(l, at, b.inverse, &xq, &qq);
		b.scale = keep(above(qq, (wide){ 0 }), xq / qq);
		b.gain = b.scale * xq;
		for (step = -7; step <= 7; step++) {
			inverse = all((float)(step + iq4_levels[0])) / extreme;
			level_sums(l, at, inverse, &xq, &qq);
			best_of(&b, inverse, xq, qq);
		}
		b.scale = keep(other(above(all(SILENT), magnitude(extreme))), b.scale);
		put(scale + at, number_wide(b.scale));
	}
}

static void
level_codes(const struct lanes *l, const float *inverse, uint8_t *code)
{
	whole rows[DEPTH / 4];
	wide by;
	int at, i;

	for (at = 0; at < LANES; at += WIDE, code += WIDE * l->depth) {
		by = get(inverse + at);
		for (i = 0; i < l->depth; i++)
			row_add(rows, i, level_code(by * get(l->x[i] + at)));
		put_codes(rows, l->depth, code);
	}
}

/* ---- descent ---- */

enum { SUB = 16 };

struct descent {
	wide code[SUB], xc, cc;
};

static inline void
descent_begin(struct descent *s, const struct lanes *l, int at, wide extreme)
{
	wide code, inverse = all(-4) / extreme, v, w;
	int i;

	s->xc = s->cc = (wide){ 0 };
	for (i = 0; i < SUB; i++) {
		v = get(l->x[i] + at);
		w = get(l->w[i] + at);
		code = rounded(clamp_wide(inverse * v, -4, 3));
		s->xc += w * v * code;
		s->cc += w * code * code;
		s->code[i] = code;
	}
}

/* Change value i of the lanes where that saves more. */
static inline mask
descent_step(struct descent *s, wide v, wide w, int i)
{
	wide better, cc, code = s->code[i], xc;
	mask take;

	xc = s->xc - w * v * code;
	cc = s->cc - w * code * code;
	take = above(xc, (wide){ 0 });
	better = __builtin_convertvector(clamp_whole(nearest_whole(v * cc / xc), -4, 3), wide);
	take &= other(equal(better, code));
	xc += w * v * better;
	cc += w * better * better;
	take &= above(cc, (wide){ 0 });
	take &= above(xc * xc * s->cc, s->xc * s->xc * cc);
	s->code[i] = choose(take, better, code);
	s->xc = choose(take, xc, s->xc);
	s->cc = choose(take, cc, s->cc);
	return take;
}

static inline void
descend(struct descent *s, const struct lanes *l, int at)
{
	bool changed = true;
	int i, pass;

	for (pass = 0; pass < 5 && changed; pass++) {
		changed = false;
		for (i = 0; i < SUB; i++)
			changed |= any(descent_step(s, get(l->x[i] + at), get(l->w[i] + at), i));
	}
}

static void
descent(const struct lanes *l, float *scale, uint8_t *code)
{
	wide extreme, v;
	whole c, rows[SUB / 4];
	struct descent s;
	mask loud;
	int at, i;

	for (at = 0; at < LANES; at += WIDE, code += WIDE * SUB) {
		extreme = extremes_at(l, at);
		descent_begin(&s, l, at, extreme);
		descend(&s, l, at);
		loud = other(above(all(SILENT), magnitude(extreme)));
		v = number_wide(s.xc / s.cc);
		put(scale + at, keep(loud & above(s.cc, (wide){ 0 }), v));
		for (i = 0; i < SUB; i++) {
			v = number_wide(s.code[i]) + all(4);
			c = __builtin_convertvector(v, whole);
			row_add(rows, i, choose_whole(loud, c, (whole){ 0 }));
		}
		put_codes(rows, SUB, code);
	}
}

#define SEARCH_WIDE { \
	load, weigh_root, weigh_magnitude, weigh_square, weigh_by, weigh_power, weight, \
	search_scale, search_line, scale_codes, line_codes, levels, level_codes, descent, \
	steps_search, grid_search, grid_search_again, thirds_search, thirds_search_halves, \
	thirds_search_points \
}
