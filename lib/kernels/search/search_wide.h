/* search_wide: search_ref.c on vectors, for search_avx2.c and its like to include,
 * once each, behind a file that says what a vector is and how its CPU does what C
 * has no operator for:
 *
 *     WIDE                 lanes of a vector; LANES is a multiple
 *     wide, whole          as many floats, as many int32_t
 *     all(v), all_whole(v) v in every lane
 *     mask                 a yes or no for each; & | work
 *     other(m), any(m)     where m is not set; is it set anywhere
 *     above(a, b)          a > b; reaches: a >= b; equal: a == b
 *     choose(m, a, b)      a where m is set, b elsewhere; choose_whole: of int32_t
 *     keep(m, a)           a where m is set, 0 elsewhere
 *     larger(a, b)         a > b ? a : b, smaller(a, b): a < b ? a : b
 *     larger_whole, smaller_whole
 *     within(a, most)      0 where a is below 0 or what the CPU answers to 0 × infinity,
 *                          most where it is above, a elsewhere
 *     magnitude(a)         without the sign
 *     rounded(a)           to whole numbers, ties to even
 *     root(a)              square roots
 *     turn(r)              transpose WIDE vectors
 *     level_code(v)        the code of the level (kernels/blocks/iq4.h) next to v
 *     level_of(code)       that level
 *
 * Every result is the one that search_ref.c has, of the same operands in the same
 * order; read the reasons there.
 */
#include "kernels/search/search.h"

#include <string.h>

_Static_assert(LANES % WIDE == 0, "vectors hold the lanes");

/* A row of struct lanes is aligned, other arrays of lanes need not be. */
typedef float wide_anywhere __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));

static inline wide
get(const float *p)
{
	return *(const wide_anywhere *)p;
}

static inline void
put(float *p, wide v)
{
	*(wide_anywhere *)p = v;
}

static inline wide
number_wide(wide v)
{
	return keep(equal(v, v), v);
}

static inline wide
clamp_wide(wide v, float least, float most)
{
	return smaller(all(most), larger(all(least), v));
}

static inline whole
nearest_whole(wide v)
{
	whole u = (whole)(number_wide(v) + all(0x1.8p23f));

	return (u & all_whole(0x7fffff)) - all_whole(0x400000);
}

static inline whole
clamp_whole(whole v, int least, int most)
{
	return smaller_whole(all_whole(most), larger_whole(all_whole(least), v));
}

/* ---- lanes ---- */

/* The rows from lane at on, of what lies sub-block after sub-block. */
static inline void
rows_turn(float (*row)[LANES], const float *x, int depth, int count, int at, bool numbers)
{
	wide r[WIDE];
	int i, j;

	for (i = 0; i < depth; i += WIDE) {
		for (j = 0; j < WIDE; j++) {
			r[j] = at + j < count ? get(x + depth * (at + j) + i) : (wide){ 0 };
			r[j] = numbers ? number_wide(r[j]) : r[j];
		}
		turn(r);
		for (j = 0; j < WIDE; j++)
			put(row[i + j] + at, r[j]);
	}
}

static void
load(struct lanes *l, const float *x, int depth, int count)
{
	int at;

	l->depth = depth;
	for (at = 0; at < LANES; at += WIDE)
		rows_turn(l->x, x, depth, count, at, true);
}

static inline void
root_at(struct lanes *l, int at)
{
	wide sum = { 0 }, x;
	int i;

	for (i = 0; i < l->depth; i++) {
		x = get(l->x[i] + at);
		sum += x * x;
	}
	sum = root(sum / all((float)l->depth));
	for (i = 0; i < l->depth; i++)
		put(l->w[i] + at, sum + magnitude(get(l->x[i] + at)));
}

static void
weigh_root(struct lanes *l)
{
	int at;

	for (at = 0; at < LANES; at += WIDE)
		root_at(l, at);
}

static void
weigh_magnitude(struct lanes *l)
{
	int at, i;

	for (i = 0; i < l->depth; i++)
		for (at = 0; at < LANES; at += WIDE)
			put(l->w[i] + at, magnitude(get(l->x[i] + at)));
}

static void
weigh_square(struct lanes *l)
{
	wide v;
	int at, i;

	for (i = 0; i < l->depth; i++) {
		for (at = 0; at < LANES; at += WIDE) {
			v = get(l->x[i] + at);
			put(l->w[i] + at, v * v);
		}
	}
}

static void
weigh_by(struct lanes *l, const float *importance, int count)
{
	int at;

	for (at = 0; at < LANES; at += WIDE)
		rows_turn(l->w, importance, l->depth, count, at, false);
}

static void
weigh_power(struct lanes *l, const float *importance, const float *power, int count)
{
	wide v;
	int at, i;

	weigh_by(l, importance, count);
	for (i = 0; i < l->depth; i++) {
		for (at = 0; at < LANES; at += WIDE) {
			v = get(l->x[i] + at);
			put(l->w[i] + at, get(l->w[i] + at) * root(get(power + at) + v * v));
		}
	}
}

static void
weight(const struct lanes *l, float *sum)
{
	wide s;
	int at, i;

	for (at = 0; at < LANES; at += WIDE) {
		s = (wide){ 0 };
		for (i = 0; i < l->depth; i++)
			s += get(l->w[i] + at);
		put(sum + at, s);
	}
}

static inline wide
extremes_at(const struct lanes *l, int at)
{
	wide a, extreme = { 0 }, most = { 0 }, v;
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i] + at);
		a = magnitude(v);
		extreme = choose(above(a, most), v, extreme);
		most = larger(a, most);
	}
	return extreme;
}

/* Weight × value, which a candidate multiplies by codes. */
static inline void
products_at(const struct lanes *l, int at, wide *wv)
{
	int i;

	for (i = 0; i < l->depth; i++)
		wv[i] = get(l->w[i] + at) * get(l->x[i] + at);
}

/* The best of the candidates for a scale so far, and what it gains. */
struct best {
	wide inverse, scale, gain;
};

static inline void
best_of(struct best *b, wide inverse, wide xc, wide cc)
{
	mask better = above(cc, (wide){ 0 }) & above(xc * xc, b->gain * cc);

	b->inverse = choose(better, inverse, b->inverse);
	b->scale = choose(better, xc / cc, b->scale);
	b->gain = choose(better, b->scale * xc, b->gain);
}

/* ---- scale ---- */

/* Bounded: no product with inverse is below -most - 1/2. */
static inline void
scale_sums(const struct lanes *l, int at, const wide *wv, float most, wide inverse,
           bool bounded, wide *xc, wide *cc)
{
	wide c = { 0 }, code, x = { 0 };
	int i;

	for (i = 0; i < l->depth; i++) {
		code = smaller(all(most - 1), inverse * get(l->x[i] + at));
		if (!bounded)
			code = larger(all(-most), code);
		code = rounded(code);
		x += wv[i] * code;
		c += get(l->w[i] + at) * code * code;
	}
	*xc = x;
	*cc = c;
}

static inline void
scale_at(const struct lanes *l, int at, int most, struct scale_fit *f)
{
	wide cc, extreme = extremes_at(l, at), inverse, wv[DEPTH], xc;
	struct best b;
	mask loud;
	int step;

	products_at(l, at, wv);
	b.inverse = all((float)-most) / extreme;
	scale_sums(l, at, wv, (float)most, b.inverse, true, &xc, &cc);
	b.scale = keep(other(equal(cc, (wide){ 0 })), xc / cc);
	b.gain = b.scale * xc;
	for (step = -9; step <= 9; step++) {
		if (step == 0)
			continue;
		inverse = all(-((float)most + 0.1f * (float)step)) / extreme;
		if (step < 5)
			scale_sums(l, at, wv, (float)most, inverse, true, &xc, &cc);
		else
			scale_sums(l, at, wv, (float)most, inverse, false, &xc, &cc);
		best_of(&b, inverse, xc, cc);
	}
	/* Others have products that are not bounded, but no scale either. */
	loud = other(above(all(SILENT), magnitude(extreme)));
	put(f->inverse + at, keep(loud, b.inverse));
	put(f->scale + at, number_wide(keep(loud, b.scale)));
}

static void
search_scale(const struct lanes *l, int most, struct scale_fit *f)
{
	int at;

	for (at = 0; at < LANES; at += WIDE)
		scale_at(l, at, most, f);
}

/* ---- codes ---- */

/* Bytes of four values lie in each lane of rows[i / 4], the first lowest: lane
 * after lane into code. */
static inline void
put_codes(const whole *rows, int depth, uint8_t *code)
{
	uint32_t lane[DEPTH / 4][WIDE];
	int i, j;

	memcpy(lane, rows, (size_t)depth / 4 * sizeof lane[0]);
	for (j = 0; j < WIDE; j++)
		for (i = 0; i < depth / 4; i++, code += 4)
			le32_put(code, lane[i][j]);
}

static inline void
row_add(whole *rows, int i, whole code)
{
	rows[i / 4] = i % 4 ? rows[i / 4] | code << 8 * (i % 4) : code;
}

static void
scale_codes(const struct lanes *l, const struct scale_fit *f, const float *d, int most,
            uint8_t *code)
{
	wide inverse, step, v, x;
	whole c, rows[DEPTH / 4];
	mask coded, stored;
	int at, i;

	for (at = 0; at < LANES; at += WIDE, code += WIDE * l->depth) {
		inverse = get(f->inverse + at);
		step = get(d + at);
		stored = other(equal(step, (wide){ 0 }));
		coded = stored | other(equal(inverse, (wide){ 0 }));
		for (i = 0; i < l->depth; i++) {
			x = get(l->x[i] + at);
			v = choose(stored, x / step, inverse * x);
			c = clamp_whole(nearest_whole(v), -most, most - 1) + all_whole(most);
			row_add(rows, i, choose_whole(coded, c, (whole){ 0 }));
		}
		put_codes(rows, l->depth, code);
	}
}

static void
line_codes(const struct lanes *l, const struct line_fit *f, const float *d,
           const float *offset, int most, uint8_t *code)
{
	wide inverse, origin, shift, step, v, x;
	whole rows[DEPTH / 4];
	mask stored;
	int at, i;

	for (at = 0; at < LANES; at += WIDE, code += WIDE * l->depth) {
		inverse = get(f->inverse + at);
		origin = get(f->origin + at);
		shift = get(offset + at);
		step = get(d + at);
		stored = other(equal(step, (wide){ 0 }));
		for (i = 0; i < l->depth; i++) {
			x = get(l->x[i] + at);
			v = choose(stored, (x - shift) / step, inverse * (x - origin));
			row_add(rows, i, clamp_whole(nearest_whole(v), 0, most));
		}
		put_codes(rows, l->depth, code);
	}
}

/* ---- line ---- */

/* What of a lane does not depend on the candidate. */
struct line_sums {
	wide w, x, least, most;
};

static inline void
line_begin(const struct lanes *l, int at, struct line_sums *s)
{
	wide v = get(l->x[0] + at), w = get(l->w[0] + at);
	int i;

	s->least = s->most = v;
	s->w = w;
	s->x = w * v;
	for (i = 1; i < l->depth; i++) {
		v = get(l->x[i] + at);
		w = get(l->w[i] + at);
		s->least = smaller(v, s->least);
		s->most = larger(v, s->most);
		s->w += w;
		s->x += w * v;
	}
	s->least = keep(other(above(s->least, (wide){ 0 })), s->least);
}

/* Are all products of a candidate in the range where nearest_int is the nearest whole
 * number? They lie between those of the least value and of the largest. Where both
 * are NaN, the others are NaN or 0: code 0, either way. */
static inline bool
line_tame(const struct line_sums *s, wide origin, wide inverse)
{
	wide low = inverse * (s->least - origin), high = inverse * (s->most - origin);
	mask tame = above(all(0x1p22f), magnitude(low)) & above(all(0x1p22f), magnitude(high));

	return !any(other(tame | (other(equal(low, low)) & other(equal(high, high)))));
}

static inline wide
line_code(wide v, float most, bool tame)
{
	if (tame)
		return rounded(within(v, most));
	return clamp_wide(__builtin_convertvector(nearest_whole(v), wide), 0, most);
}

/* Codes of a candidate, and of them the weighted sums: of codes, of their squares, of
 * code × value. */
struct line_code_sums {
	wide c, cc, xc;
};

static inline void
line_round(const struct lanes *l, int at, float most, wide origin, wide inverse, bool tame,
           wide *code, struct line_code_sums *t)
{
	wide c = { 0 }, cc = { 0 }, q, v, wc, xc = { 0 };
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i] + at);
		code[i] = q = line_code(inverse * (v - origin), most, tame);
		wc = get(l->w[i] + at) * q;
		c += wc;
		cc += wc * q;
		xc += wc * v;
	}
	t->c = c;
	t->cc = cc;
	t->xc = xc;
}

static inline wide
line_errors(const struct lanes *l, int at, const wide *code, wide scale, wide offset,
            bool absolute)
{
	wide e, error = { 0 };
	int i;

	for (i = 0; i < l->depth; i++) {
		e = scale * code[i] + offset - get(l->x[i] + at);
		error += get(l->w[i] + at) * (absolute ? magnitude(e) : e * e);
	}
	return error;
}

static inline mask
line_solve(const struct line_sums *s, const struct line_code_sums *t, wide *scale,
           wide *offset)
{
	wide d = s->w * t->cc - t->c * t->c;
	mask positive;

	*scale = (s->w * t->xc - s->x * t->c) / d;
	*offset = (t->cc * s->x - t->c * t->xc) / d;
	positive = above(*offset, (wide){ 0 });
	*scale = choose(positive, t->xc / t->cc, *scale);
	*offset = keep(other(positive), *offset);
	return above(d, (wide){ 0 });
}

static inline void
line_at(const struct lanes *l, int at, const struct line_range *r, bool absolute,
        struct line_fit *f)
{
	wide best_inverse, best_offset, best_scale, code[DEPTH], error, inverse, least_error;
	wide offset, origin, scale;
	float most = (float)r->most;
	struct line_code_sums t;
	struct line_sums s;
	mask better;
	int i;

	line_begin(l, at, &s);
	origin = best_offset = s.least;
	best_inverse = all(most) / (s.most - origin);
	best_scale = number_wide(all(1) / best_inverse);
	line_round(l, at, most, origin, best_inverse, false, code, &t);
	least_error = line_errors(l, at, code, best_scale, best_offset, absolute);
	for (i = 0; i <= r->count; i++) {
		inverse = all(r->first + r->step * (float)i + (float)r->most) /
			(s.most - best_offset);
		/* Twice, so that the loop inside need not ask. */
		if (line_tame(&s, best_offset, inverse))
			line_round(l, at, most, best_offset, inverse, true, code, &t);
		else
			line_round(l, at, most, best_offset, inverse, false, code, &t);
		better = line_solve(&s, &t, &scale, &offset);
		error = line_errors(l, at, code, scale, offset, absolute);
		better &= above(least_error, error);
		origin = choose(better, best_offset, origin);
		best_inverse = choose(better, inverse, best_inverse);
		best_scale = choose(better, scale, best_scale);
		best_offset = choose(better, offset, best_offset);
		least_error = choose(better, error, least_error);
	}
	put(f->origin + at, origin);
	put(f->inverse + at, best_inverse);
	put(f->scale + at, best_scale);
	put(f->offset + at, best_offset);
	put(f->error + at, least_error);
}

static void
search_line(const struct lanes *l, const struct line_range *r, struct line_fit *f)
{
	int at;

	for (at = 0; at < LANES; at += WIDE) {
		if (r->absolute)
			line_at(l, at, r, true, f);
		else
			line_at(l, at, r, false, f);
	}
}

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

/* Value i of each lane, where that saves more. */
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
	search_scale, search_line, scale_codes, line_codes, levels, level_codes, descent \
}
