/* search_wide: search_ref.c on vectors of eight lanes, for the files search_avx2.c
 * and its like to include, once each. They say how their CPU does what C has no
 * operator for:
 *
 *     choose(mask, a, b)   a where mask is set, b elsewhere
 *     larger(a, b)         a > b ? a : b, smaller(a, b): a < b ? a : b
 *     root(a)              square roots
 *     turn(r)              transpose eight vectors
 *     level(v)             the level (kernels/blocks/iq4.h) next to v
 *
 * Every operation is the one that search_ref.c does, on the same operands in the
 * same order; read the reasons there.
 */
#include "kernels/search/search.h"

#include <string.h>

typedef float wide __attribute__((vector_size(32)));
typedef int32_t whole __attribute__((vector_size(32)));
_Static_assert(LANES == 8, "a vector holds a value of each lane");

/* A row of struct lanes is aligned, other arrays of lanes need not be. */
typedef float wide_anywhere __attribute__((vector_size(32), aligned(4), may_alias));

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
all(float v)
{
	return (wide){ v, v, v, v, v, v, v, v };
}

static inline whole all_whole(int v)
{
	return (whole){ v, v, v, v, v, v, v, v };
}

static wide choose(whole mask, wide a, wide b);
static wide larger(wide a, wide b);
static wide smaller(wide a, wide b);
static wide root(wide v);
static void turn(wide *r);
static wide level(wide v);

static inline wide
magnitude(wide v)
{
	return (wide)((whole)v & all_whole(0x7fffffff));
}

static inline wide
number_wide(wide v)
{
	return (wide)((whole)v & (v == v));
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
	whole below = v < all_whole(least), above = v > all_whole(most);

	v = (v & ~below) | (all_whole(least) & below);
	return (v & ~above) | (all_whole(most) & above);
}

/* ---- lanes ---- */

static void
load(struct lanes *l, const float *x, int depth, int count)
{
	wide r[LANES];
	int i, j;

	if (count < LANES) {
		search_ref.load(l, x, depth, count);
		return;
	}
	l->depth = depth;
	for (i = 0; i < depth; i += LANES) {
		for (j = 0; j < LANES; j++)
			r[j] = number_wide(get(x + depth * j + i));
		turn(r);
		for (j = 0; j < LANES; j++)
			put(l->x[i + j], r[j]);
	}
}

static void
weigh_root(struct lanes *l)
{
	wide sum = all(0), x;
	int i;

	for (i = 0; i < l->depth; i++) {
		x = get(l->x[i]);
		sum += x * x;
	}
	sum = root(sum / all((float)l->depth));
	for (i = 0; i < l->depth; i++)
		put(l->w[i], sum + magnitude(get(l->x[i])));
}

/* ---- scale ---- */

static inline void
scale_sums(const struct lanes *l, float most, wide inverse, wide *xc, wide *cc)
{
	wide c = all(0), code, v, w, x = all(0);
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i]);
		w = get(l->w[i]);
		code = (inverse * v + all(0x1.8p23f)) - all(0x1.8p23f);
		code = clamp_wide(code, -most, most - 1);
		x += w * v * code;
		c += w * code * code;
	}
	*xc = x;
	*cc = c;
}

static wide
extremes(const struct lanes *l)
{
	wide a, extreme = all(0), most = all(0), v;
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i]);
		a = magnitude(v);
		extreme = choose(a > most, v, extreme);
		most = larger(a, most);
	}
	return extreme;
}

static void
search_scale(const struct lanes *l, int most, struct scale_fit *f)
{
	wide best, cc, extreme = extremes(l), gain, inverse, scale, xc;
	whole better;
	int step;

	best = all((float)-most) / extreme;
	scale_sums(l, (float)most, best, &xc, &cc);
	scale = (wide)((whole)(xc / cc) & (cc != all(0)));
	gain = scale * xc;
	for (step = -9; step <= 9; step++) {
		if (step == 0)
			continue;
		inverse = all(-((float)most + 0.1f * (float)step)) / extreme;
		scale_sums(l, (float)most, inverse, &xc, &cc);
		better = (cc > all(0)) & (xc * xc > gain * cc);
		best = choose(better, inverse, best);
		scale = choose(better, xc / cc, scale);
		gain = choose(better, scale * xc, gain);
	}
	better = ~(magnitude(extreme) < all(SILENT));
	put(f->inverse, (wide)((whole)best & better));
	put(f->scale, number_wide((wide)((whole)scale & better)));
	put(f->gain, gain);
}

/* ---- codes ---- */

/* Bytes of four values lie in each lane of rows[i / 4], the first lowest: lane
 * after lane into code. */
static inline void
put_codes(const whole *rows, int depth, uint8_t *code)
{
	uint32_t lane[DEPTH / 4][LANES];
	int i, j;

	memcpy(lane, rows, (size_t)depth / 4 * sizeof lane[0]);
	for (j = 0; j < LANES; j++)
		for (i = 0; i < depth / 4; i++, code += 4)
			le32_put(code, lane[i][j]);
}

static void
scale_codes(const struct lanes *l, const struct scale_fit *f, const float *d, int most,
            uint8_t *code)
{
	wide inverse = get(f->inverse), step = get(d), v, x;
	whole c, rows[DEPTH / 4], stored = step != all(0);
	whole coded = stored | (inverse != all(0));
	int i;

	for (i = 0; i < l->depth; i++) {
		x = get(l->x[i]);
		v = choose(stored, x / step, inverse * x);
		c = clamp_whole(nearest_whole(v), -most, most - 1) + all_whole(most);
		c &= coded;
		rows[i / 4] = i % 4 ? rows[i / 4] | c << 8 * (i % 4) : c;
	}
	put_codes(rows, l->depth, code);
}

static void
line_codes(const struct lanes *l, const struct line_fit *f, const float *d,
           const float *offset, int most, uint8_t *code)
{
	wide inverse = get(f->inverse), origin = get(f->origin), step = get(d);
	wide shift = get(offset), v, x;
	whole c, rows[DEPTH / 4], stored = step != all(0);
	int i;

	for (i = 0; i < l->depth; i++) {
		x = get(l->x[i]);
		v = choose(stored, (x - shift) / step, inverse * (x - origin));
		c = clamp_whole(nearest_whole(v), 0, most);
		rows[i / 4] = i % 4 ? rows[i / 4] | c << 8 * (i % 4) : c;
	}
	put_codes(rows, l->depth, code);
}

/* ---- line ---- */

static inline void
line_round(const struct lanes *l, int most, wide origin, wide inverse, wide *code)
{
	int i;

	for (i = 0; i < l->depth; i++)
		code[i] = clamp_wide(__builtin_convertvector(
		                     nearest_whole(inverse * (get(l->x[i]) - origin)), wide),
		                     0, (float)most);
}

static inline wide
line_errors(const struct lanes *l, const wide *code, wide scale, wide offset, bool absolute)
{
	wide e, error = all(0);
	int i;

	for (i = 0; i < l->depth; i++) {
		e = scale * code[i] + offset - get(l->x[i]);
		error += get(l->w[i]) * (absolute ? magnitude(e) : e * e);
	}
	return error;
}

/* What of a lane does not depend on the candidate. */
struct line_sums {
	wide w, x, least, most;
};

static void
line_begin(const struct lanes *l, struct line_sums *s)
{
	wide v = get(l->x[0]), w = get(l->w[0]);
	int i;

	s->least = s->most = v;
	s->w = w;
	s->x = w * v;
	for (i = 1; i < l->depth; i++) {
		v = get(l->x[i]);
		w = get(l->w[i]);
		s->least = smaller(v, s->least);
		s->most = larger(v, s->most);
		s->w += w;
		s->x += w * v;
	}
	s->least = (wide)((whole)s->least & ~(s->least > all(0)));
}

static inline whole
line_solve(const struct lanes *l, const struct line_sums *s, const wide *code, wide *scale,
           wide *offset)
{
	wide c = all(0), cc = all(0), d, wc, xc = all(0);
	whole positive;
	int i;

	for (i = 0; i < l->depth; i++) {
		wc = get(l->w[i]) * code[i];
		c += wc;
		cc += wc * code[i];
		xc += wc * get(l->x[i]);
	}
	d = s->w * cc - c * c;
	*scale = (s->w * xc - s->x * c) / d;
	*offset = (cc * s->x - c * xc) / d;
	positive = *offset > all(0);
	*scale = choose(positive, xc / cc, *scale);
	*offset = (wide)((whole)*offset & ~positive);
	return d > all(0);
}

static inline void
search_line_as(const struct lanes *l, const struct line_range *r, bool absolute,
               struct line_fit *f)
{
	wide best_inverse, best_offset, best_scale, code[DEPTH], error, inverse, least_error;
	wide offset, origin, scale;
	struct line_sums s;
	whole better;
	int i;

	line_begin(l, &s);
	origin = best_offset = s.least;
	best_inverse = all((float)r->most) / (s.most - origin);
	best_scale = number_wide(all(1) / best_inverse);
	line_round(l, r->most, origin, best_inverse, code);
	least_error = line_errors(l, code, best_scale, best_offset, absolute);
	for (i = 0; i <= r->count; i++) {
		inverse = all(r->first + r->step * (float)i + (float)r->most) /
			(s.most - best_offset);
		line_round(l, r->most, best_offset, inverse, code);
		better = line_solve(l, &s, code, &scale, &offset);
		error = line_errors(l, code, scale, offset, absolute);
		better &= error < least_error;
		origin = choose(better, best_offset, origin);
		best_inverse = choose(better, inverse, best_inverse);
		best_scale = choose(better, scale, best_scale);
		best_offset = choose(better, offset, best_offset);
		least_error = choose(better, error, least_error);
	}
	put(f->origin, origin);
	put(f->inverse, best_inverse);
	put(f->scale, best_scale);
	put(f->offset, best_offset);
	put(f->error, least_error);
}

static void
search_line(const struct lanes *l, const struct line_range *r, struct line_fit *f)
{
	/* Twice, so that the loops inside need not ask. */
	if (r->absolute)
		search_line_as(l, r, true, f);
	else
		search_line_as(l, r, false, f);
}

/* ---- levels ---- */

static void
level_sums(const struct lanes *l, const float *inverse, float *xq, float *qq)
{
	wide by = get(inverse), q, qs = all(0), v, w, xs = all(0);
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i]);
		w = get(l->w[i]);
		q = level(by * v);
		xs += w * q * v;
		qs += w * q * q;
	}
	put(xq, xs);
	put(qq, qs);
}
