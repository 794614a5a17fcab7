#include "kernels/common/search.h"

#include <math.h>

#include "kernels/common/iq4.h"
#include "kernels/ref/grid.h"

/* ---- lanes ---- */

static void
load(struct lanes *l, const float *x, int depth, int count)
{
	int i, j;

	l->depth = depth;
	for (i = 0; i < depth; i++)
		for (j = 0; j < LANES; j++)
			l->x[i][j] = j < count ? number(x[depth * j + i]) : 0;
}

static void
weigh_power(struct lanes *l, const float *importance, const float *power, int count)
{
	float v, w;
	int i, j;

	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			w = j < count ? importance[l->depth * j + i] : 0;
			l->w[i][j] = w * sqrtf(power[j] + v * v);
		}
	}
}

static void
weigh_by(struct lanes *l, const float *importance, int count)
{
	int i, j;

	for (i = 0; i < l->depth; i++)
		for (j = 0; j < LANES; j++)
			l->w[i][j] = j < count ? importance[l->depth * j + i] : 0;
}

static void
weigh_magnitude(struct lanes *l)
{
	int i, j;

	for (i = 0; i < l->depth; i++)
		for (j = 0; j < LANES; j++)
			l->w[i][j] = fabsf(l->x[i][j]);
}

static void
weigh_square(struct lanes *l)
{
	int i, j;

	for (i = 0; i < l->depth; i++)
		for (j = 0; j < LANES; j++)
			l->w[i][j] = l->x[i][j] * l->x[i][j];
}

static void
weigh_root(struct lanes *l)
{
	float root[LANES] = { 0 };
	int i, j;

	for (i = 0; i < l->depth; i++)
		for (j = 0; j < LANES; j++)
			root[j] += l->x[i][j] * l->x[i][j];
	for (j = 0; j < LANES; j++)
		root[j] = sqrtf(root[j] / (float)l->depth);
	for (i = 0; i < l->depth; i++)
		for (j = 0; j < LANES; j++)
			l->w[i][j] = root[j] + fabsf(l->x[i][j]);
}

static void
weight(const struct lanes *l, float *sum)
{
	int i, j;

	for (j = 0; j < LANES; j++)
		sum[j] = 0;
	for (i = 0; i < l->depth; i++)
		for (j = 0; j < LANES; j++)
			sum[j] += l->w[i][j];
}

/* The value of largest magnitude of each lane, the first of several. */
static void
extremes(const struct lanes *l, float *extreme)
{
	float most[LANES] = { 0 };
	float a, v;
	int i, j;

	for (j = 0; j < LANES; j++)
		extreme[j] = 0;
	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			a = fabsf(v);
			extreme[j] = a > most[j] ? v : extreme[j];
			most[j] = a > most[j] ? a : most[j];
		}
	}
}

/* ---- scale ---- */

/* Weighted products of value and code, and of code and code, for the codes that each lane
 * gets from inverse. */
static void
scale_sums(const struct lanes *restrict l, float most, const float *restrict inverse,
           float *restrict xc, float *restrict cc)
{
	float code, v, w;
	int i, j;

	for (j = 0; j < LANES; j++)
		xc[j] = cc[j] = 0;
	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			w = l->w[i][j];
			code = clamp(nearest(inverse[j] * v), -most, most - 1);
			xc[j] += w * v * code;
			cc[j] += w * code * code;
		}
	}
}

/* Take a candidate where it is better than the lane's best so far. The best scale
 * for given codes is xc / cc; it lowers the error by xc² / cc, the gain. */
static void
scale_try(const struct lanes *l, float most, const float *inverse, struct scale_fit *f,
          float *gain)
{
	float xc[LANES], cc[LANES];
	int j;

	scale_sums(l, most, inverse, xc, cc);
	for (j = 0; j < LANES; j++) {
		if (!(cc[j] > 0) || !(xc[j] * xc[j] > gain[j] * cc[j]))
			continue;
		f->inverse[j] = inverse[j];
		f->scale[j] = xc[j] / cc[j];
		gain[j] = f->scale[j] * xc[j];
	}
}

static void
search_scale(const struct lanes *l, int most, struct scale_fit *f)
{
	float extreme[LANES], gain[LANES], inverse[LANES], xc[LANES], cc[LANES];
	int j, step;

	/* The extreme becomes code -most, the code without an opposite. */
	extremes(l, extreme);
	for (j = 0; j < LANES; j++)
		f->inverse[j] = (float)-most / extreme[j];
	scale_sums(l, (float)most, f->inverse, xc, cc);
	for (j = 0; j < LANES; j++) {
		f->scale[j] = cc[j] != 0 ? xc[j] / cc[j] : 0;
		gain[j] = f->scale[j] * xc[j];
	}
	for (step = -9; step <= 9; step++) {
		if (step == 0)
			continue;
		for (j = 0; j < LANES; j++)
			inverse[j] = -((float)most + 0.1f * (float)step) / extreme[j];
		scale_try(l, (float)most, inverse, f, gain);
	}

	/* Silent lanes have divided by a number near zero. Infinite sums give no
	 * scale either. */
	for (j = 0; j < LANES; j++) {
		if (fabsf(extreme[j]) < SILENT)
			f->inverse[j] = f->scale[j] = 0;
		f->scale[j] = number(f->scale[j]);
	}
}

static void
scale_codes(const struct lanes *l, const struct scale_fit *f, const float *d, int most,
            uint8_t *code)
{
	float v;
	int i, j;

	for (j = 0; j < LANES; j++) {
		for (i = 0; i < l->depth; i++) {
			v = d[j] != 0 ? l->x[i][j] / d[j] : f->inverse[j] * l->x[i][j];
			*code++ = d[j] == 0 && f->inverse[j] == 0 ? 0 :
				(uint8_t)(clamp_int(nearest_int(v), -most, most - 1) + most);
		}
	}
}

/* ---- line ---- */

/* The part of a lane that does not depend on the candidate. */
struct line_sums {
	float w[LANES], x[LANES]; /* sums of weights, of weight × value */
	float most[LANES];        /* the largest value */
};

static void
line_begin(const struct lanes *l, struct line_sums *s, float *least)
{
	float v, w;
	int i, j;

	for (j = 0; j < LANES; j++) {
		least[j] = s->most[j] = l->x[0][j];
		s->w[j] = l->w[0][j];
		s->x[j] = l->w[0][j] * l->x[0][j];
	}
	for (i = 1; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			w = l->w[i][j];
			least[j] = v < least[j] ? v : least[j];
			s->most[j] = v > s->most[j] ? v : s->most[j];
			s->w[j] += w;
			s->x[j] += w * v;
		}
	}
	for (j = 0; j < LANES; j++)
		least[j] = least[j] > 0 ? 0 : least[j];
}

static void
line_round(const struct lanes *restrict l, int most, const float *restrict origin,
           const float *restrict inverse, float (*restrict code)[LANES])
{
	float v;
	int i, j;

	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			v = inverse[j] * (l->x[i][j] - origin[j]);
			code[i][j] = clamp((float)nearest_int(v), 0, (float)most);
		}
	}
}

static void
line_errors(const struct lanes *restrict l, float (*restrict code)[LANES],
            const float *restrict scale, const float *restrict offset, bool absolute,
            float *restrict error)
{
	float e[LANES];
	int i, j;

	for (j = 0; j < LANES; j++)
		error[j] = 0;
	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++)
			e[j] = scale[j] * code[i][j] + offset[j] - l->x[i][j];
		if (absolute)
			for (j = 0; j < LANES; j++)
				error[j] += l->w[i][j] * fabsf(e[j]);
		else
			for (j = 0; j < LANES; j++)
				error[j] += l->w[i][j] * (e[j] * e[j]);
	}
}

/* The scale and offset of least squared error for given codes: the normal
 * equations, with the offset held at zero where it would be positive. solved is set
 * for the lanes that have an answer. */
static void
line_solve(const struct lanes *restrict l, const struct line_sums *restrict s,
           float (*restrict code)[LANES], float *restrict scale, float *restrict offset,
           bool *restrict solved)
{
	float c[LANES] = { 0 }, cc[LANES] = { 0 }, xc[LANES] = { 0 };
	float d, wc;
	int i, j;

	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			wc = l->w[i][j] * code[i][j];
			c[j] += wc;
			cc[j] += wc * code[i][j];
			xc[j] += wc * l->x[i][j];
		}
	}
	for (j = 0; j < LANES; j++) {
		d = s->w[j] * cc[j] - c[j] * c[j];
		solved[j] = d > 0;
		scale[j] = (s->w[j] * xc[j] - s->x[j] * c[j]) / d;
		offset[j] = (cc[j] * s->x[j] - c[j] * xc[j]) / d;
		if (offset[j] > 0) {
			offset[j] = 0;
			scale[j] = xc[j] / cc[j];
		}
	}
}

/* Codes with steps steps from the best offset so far to the largest value, and the line
 * through them; they are taken where they are better than the lane's best so far. */
static void
line_try(const struct lanes *l, const struct line_range *r, const struct line_sums *s,
         float steps, struct line_fit *f)
{
	float code[DEPTH][LANES], inverse[LANES], scale[LANES], offset[LANES], error[LANES];
	bool solved[LANES];
	int j;

	for (j = 0; j < LANES; j++)
		inverse[j] = steps / (s->most[j] - f->offset[j]);
	line_round(l, r->most, f->offset, inverse, code);
	line_solve(l, s, code, scale, offset, solved);
	line_errors(l, code, scale, offset, r->absolute, error);
	for (j = 0; j < LANES; j++) {
		if (!solved[j] || !(error[j] < f->error[j]))
			continue;
		f->origin[j] = f->offset[j];
		f->inverse[j] = inverse[j];
		f->scale[j] = scale[j];
		f->offset[j] = offset[j];
		f->error[j] = error[j];
	}
}

static void
search_line(const struct lanes *l, const struct line_range *r, struct line_fit *f)
{
	float code[DEPTH][LANES];
	struct line_sums s;
	int i, j;

	/* The first line goes from the smallest value to the largest. Where these are equal,
	 * or too close to divide by, all codes are 0, and no candidate solves. */
	line_begin(l, &s, f->origin);
	for (j = 0; j < LANES; j++) {
		f->inverse[j] = (float)r->most / (s.most[j] - f->origin[j]);
		f->scale[j] = number(1 / f->inverse[j]);
		f->offset[j] = f->origin[j];
	}
	line_round(l, r->most, f->origin, f->inverse, code);
	line_errors(l, code, f->scale, f->offset, r->absolute, f->error);
	for (i = 0; i <= r->count; i++)
		line_try(l, r, &s, r->first + r->step * (float)i + (float)r->most, f);
}

static void
line_codes(const struct lanes *l, const struct line_fit *f, const float *d,
           const float *offset, int most, uint8_t *code)
{
	float v;
	int i, j;

	for (j = 0; j < LANES; j++) {
		for (i = 0; i < l->depth; i++) {
			if (d[j] != 0)
				v = (l->x[i][j] - offset[j]) / d[j];
			else
				v = f->inverse[j] * (l->x[i][j] - f->origin[j]);
			*code++ = (uint8_t)clamp_int(nearest_int(v), 0, most);
		}
	}
}

/* ---- levels ---- */

static void
level_sums(const struct lanes *restrict l, const float *restrict inverse, float *restrict xq,
     float *restrict qq)
{
	float q, v, w;
	int i, j;

	for (j = 0; j < LANES; j++)
		xq[j] = qq[j] = 0;
	for (i = 0; i < l->depth; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			w = l->w[i][j];
			q = (float)iq4_levels[iq4_code(inverse[j] * v)];
			xq[j] += w * q * v;
			qq[j] += w * q * q;
		}
	}
}

static void
levels(const struct lanes *l, float *scale)
{
	float extreme[LANES], gain[LANES], inverse[LANES], qq[LANES], xq[LANES];
	int j, step;

	extremes(l, extreme);
	for (j = 0; j < LANES; j++)
		inverse[j] = 1 / (-extreme[j] / (float)iq4_levels[0]);
	level_sums(l, inverse, xq, qq);
	for (j = 0; j < LANES; j++) {
		scale[j] = qq[j] > 0 ? xq[j] / qq[j] : 0;
		gain[j] = scale[j] * xq[j];
	}
	for (step = -7; step <= 7; step++) {
		for (j = 0; j < LANES; j++)
			inverse[j] = (float)(step + iq4_levels[0]) / extreme[j];
		level_sums(l, inverse, xq, qq);
		for (j = 0; j < LANES; j++) {
			if (!(qq[j] > 0) || !(xq[j] * xq[j] > gain[j] * qq[j]))
				continue;
			scale[j] = xq[j] / qq[j];
			gain[j] = scale[j] * xq[j];
		}
	}
	for (j = 0; j < LANES; j++)
		scale[j] = fabsf(extreme[j]) < SILENT ? 0 : number(scale[j]);
}

static void
level_codes(const struct lanes *l, const float *inverse, uint8_t *code)
{
	int i, j;

	for (j = 0; j < LANES; j++)
		for (i = 0; i < l->depth; i++)
			*code++ = (uint8_t)iq4_code(inverse[j] * l->x[i][j]);
}

/* ---- descent ---- */

/* The codes of a sub-block of Q3_K: those of search_scale at first, then changed one by
 * one. */
enum { SUB = 16 };

struct descent {
	float code[SUB][LANES]; /* -4 to 3 */
	float xc[LANES], cc[LANES]; /* weighted products: value × code, code × code */
};

static void
descent_begin(struct descent *s, const struct lanes *l, const float *extreme)
{
	float code, inverse[LANES], v, w;
	int i, j;

	for (j = 0; j < LANES; j++) {
		inverse[j] = -4.0f / extreme[j];
		s->xc[j] = s->cc[j] = 0;
	}
	for (i = 0; i < SUB; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			w = l->w[i][j];
			code = clamp(nearest(inverse[j] * v), -4, 3);
			s->xc[j] += w * v * code;
			s->cc[j] += w * code * code;
			s->code[i][j] = code;
		}
	}
}

/* Change value i of lane j where that saves more: the best scale for given codes
 * saves xc² / cc of the squared error. Returns true if it did. */
static bool
descent_step(struct descent *s, float v, float w, int i, int j)
{
	float code = s->code[i][j];
	float xc = s->xc[j] - w * v * code;
	float cc = s->cc[j] - w * code * code;
	float better;

	if (!(xc > 0))
		return false;
	better = (float)clamp_int(nearest_int(v * cc / xc), -4, 3);
	if (better == code)
		return false;
	xc += w * v * better;
	cc += w * better * better;
	if (!(cc > 0) || !(xc * xc * s->cc[j] > s->xc[j] * s->xc[j] * cc))
		return false;
	s->code[i][j] = better;
	s->xc[j] = xc;
	s->cc[j] = cc;
	return true;
}

static void
descend(struct descent *s, const struct lanes *l)
{
	bool changed = true;
	int i, j, pass;

	for (pass = 0; pass < 5 && changed; pass++) {
		changed = false;
		for (i = 0; i < SUB; i++)
			for (j = 0; j < LANES; j++)
				changed |= descent_step(s, l->x[i][j], l->w[i][j], i, j);
	}
}

static void
descent(const struct lanes *l, float *scale, uint8_t *code)
{
	float extreme[LANES];
	struct descent s;
	bool silent;
	int i, j;

	extremes(l, extreme);
	descent_begin(&s, l, extreme);
	descend(&s, l);
	for (j = 0; j < LANES; j++) {
		silent = fabsf(extreme[j]) < SILENT;
		scale[j] = silent || !(s.cc[j] > 0) ? 0 : number(s.xc[j] / s.cc[j]);
		for (i = 0; i < SUB; i++, code++)
			*code = silent ? 0 : (uint8_t)(int)(number(s.code[i][j]) + 4);
	}
}

const struct search search_ref = {
	load, weigh_root, weigh_magnitude, weigh_square, weigh_by, weigh_power, weight,
	search_scale, search_line, scale_codes, line_codes, levels, level_codes, descent,
	steps_search, grid_search, grid_search_again, thirds_search, thirds_search_halves,
	thirds_search_points
};
