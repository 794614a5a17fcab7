/* line_wide: the search for a scale and an offset, on vectors (search_wide.h). */
#ifndef KERNELS_LINE_WIDE_H
#define KERNELS_LINE_WIDE_H

#include "kernels/common/lanes_wide.h"

/* The part of a lane that does not depend on the candidate. */
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

/* Lanes whose products are all in the range where nearest_int is the nearest whole number.
 * Products lie between those of the smallest and of the largest value. Where both are NaN,
 * the others are NaN or 0, and either has code 0. */
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

/* Codes of a candidate, and weighted sums: of the codes, of their squares, and of code ×
 * value. */
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
		/* Two copies, so that the loop inside has no branch. */
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

#endif
