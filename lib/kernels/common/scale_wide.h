/* scale_wide: the search for a scale, on vectors (search_wide.h). */
#ifndef KERNELS_SCALE_WIDE_H
#define KERNELS_SCALE_WIDE_H

#include "kernels/common/lanes_wide.h"

/* Lanes whose products with inverse are all at least -most - 1/2. */
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
	/* Other lanes have products without that bound, but their scale is 0. */
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

#endif
