#include "kernels/ref/grid.h"

#include <float.h>

#include "kernels/common/near.h"

/* ---- the nearest point ---- */

uint16_t
grid_nearest(const struct grid *g, uint32_t place, const struct grid_group *v)
{
	struct near_list list = near_list(g, place);
	unsigned mask = (1u << g->bits) - 1;
	uint16_t best = list.point[0];
	float d, error, least = FLT_MAX;
	size_t n;
	int i;

	for (n = 0; n < list.count; n++) {
		for (error = 0, i = 0; i < g->values; i++) {
			d = v->scale * v->level[list.point[n] >> g->bits * i & (int)mask];
			d -= v->x[i * LANES];
			error += v->w[i * LANES] * d * d;
		}
		if (error < least) {
			least = error;
			best = list.point[n];
		}
	}
	return best;
}

static const float odd_levels[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };

/* The packed point to which group k of lane j rounds. */
static uint16_t
rounding(const struct grid_lanes *l, const struct grid *g, float inverse, int k, int j)
{
	unsigned packed = 0;
	int code, i;
	float v;

	for (i = 0; i < g->values; i++) {
		v = 0.5f * (inverse * l->l.x[k * g->values + i][j] - 1);
		code = clamp_int(nearest_int(v), 0, g->levels - 1);
		packed |= (unsigned)code << g->bits * i;
	}
	return (uint16_t)packed;
}

/* The point of the grid for group k of lane j. */
static uint16_t
point_at(const struct grid_lanes *l, const struct grid *g, float inverse, float scale, int k,
         int j, uint8_t *off)
{
	uint16_t packed = rounding(l, g, inverse, k, j);
	struct grid_group v = { &l->l.x[k * g->values][j], &l->root[k * g->values][j], scale,
		odd_levels };

	*off = g->place[packed] >= NEAR_LIST;
	return *off ? grid_nearest(g, g->place[packed], &v) : packed;
}

/* ---- scales ---- */

/* Weighted products of value and level, and of level and level, for the points of a lane. */
static void
grid_sums(const struct grid_lanes *l, const struct grid *g, uint16_t (*point)[LANES], int j,
          float *xq, float *qq)
{
	int at, i, k, mask = (1 << g->bits) - 1;
	float q, v, w;

	*xq = *qq = 0;
	for (i = 0; i < l->l.depth; i++) {
		k = i / g->values;
		at = i % g->values * g->bits;
		q = odd_levels[point[k][j] >> at & mask];
		v = l->l.x[i][j];
		w = l->l.w[i][j];
		*xq += w * v * q;
		*qq += w * q * q;
	}
}

static void
grid_lane(const struct grid_lanes *l, const struct grid *g, const struct grid_range *r, int j,
          struct grid_fit *f)
{
	float gain = 0, inverse, qq, xq;
	uint16_t point[GROUPS][LANES];
	int groups = l->l.depth / g->values, i, k;
	uint8_t off[GROUPS];

	for (i = -r->count; i <= r->count; i++) {
		inverse = ((float)(2 * g->levels - 1) + (float)i * r->step) / f->most[j];
		for (k = 0; k < groups; k++)
			point[k][j] = point_at(l, g, inverse, 1 / inverse, k, j, &off[k]);
		grid_sums(l, g, point, j, &xq, &qq);
		if (!(qq > 0) || !(xq * xq > gain * qq))
			continue;
		f->scale[j] = xq / qq;
		gain = f->scale[j] * xq;
		for (k = 0; k < groups; k++) {
			f->point[k][j] = point[k][j];
			f->off[k][j] = off[k];
		}
	}
}

void
grid_search(const struct grid_lanes *l, const struct grid *g, const struct grid_range *r,
            struct grid_fit *f)
{
	int j;

	memset(f->point, 0, sizeof f->point);
	for (j = 0; j < LANES; j++)
		if (f->most[j] > 0)
			grid_lane(l, g, r, j, f);
}

void
grid_search_again(const struct grid_lanes *l, const struct grid *g, uint8_t (*again)[LANES],
                  struct grid_fit *f)
{
	int any, groups = l->l.depth / g->values, j, k;
	float inverse, qq, xq;
	uint8_t off;

	for (j = 0; j < LANES; j++) {
		if (!(f->most[j] > 0) || !(f->scale[j] > 0))
			continue;
		inverse = 1 / f->scale[j];
		for (any = 0, k = 0; k < groups; k++) {
			any |= again[k][j];
			if (again[k][j])
				f->point[k][j] = point_at(l, g, inverse, f->scale[j], k, j, &off);
		}
		if (!any)
			continue;
		grid_sums(l, g, f->point, j, &xq, &qq);
		f->scale[j] = qq > 0 ? xq / qq : f->scale[j];
	}
}

/* ---- steps ---- */

/* Weighted products of value and code, and of code and code. A code that is stored is a byte,
 * so that -1 becomes 255, but its product counted as -1 before. */
struct steps {
	float xc, cc;
	uint8_t code[DEPTH];
};

static int
step_of(float v, int most)
{
	int code = nearest_int(v);

	return code < most ? code : most;
}

/* The weighted squared error of lane j with scale 1 / inverse; stored: codes are bytes. */
static float
steps_error(const struct lanes *l, int j, int most, float inverse, bool stored)
{
	float e, error = 0, scale = 1 / inverse;
	int code, i;

	for (i = 0; i < l->depth; i++) {
		code = stored ? (uint8_t)nearest_int(inverse * l->x[i][j])
			: step_of(inverse * l->x[i][j], most);
		e = l->x[i][j] - scale * (float)code;
		error += l->w[i][j] * e * e;
	}
	return error;
}

/* Change one code where that saves more: as steps_improve of steps.c. */
static bool
steps_change(struct steps *s, float x, float w, int most, uint8_t *code)
{
	float xc = s->xc - w * x * (float)*code;
	float cc = s->cc - w * (float)*code * (float)*code;
	int better;

	if (!(xc > 0) || !(cc > 0))
		return false;
	better = step_of(x * cc / xc, most);
	if (better == *code)
		return false;
	xc += w * x * (float)better;
	cc += w * (float)better * (float)better;
	if (!(xc * xc * s->cc > s->xc * s->xc * cc))
		return false;
	*code = (uint8_t)better;
	s->xc = xc;
	s->cc = cc;
	return true;
}

static float
steps_descend(const struct lanes *l, int j, int most, float inverse)
{
	struct steps s = { 0 };
	bool changed = true;
	int code, i, pass;

	for (i = 0; i < l->depth; i++) {
		code = step_of(inverse * l->x[i][j], most);
		s.code[i] = (uint8_t)code;
		s.xc += l->w[i][j] * l->x[i][j] * (float)code;
		s.cc += l->w[i][j] * (float)code * (float)code;
	}
	for (pass = 0; pass < 5 && changed; pass++)
		for (changed = false, i = 0; i < l->depth; i++)
			changed |= steps_change(&s, l->x[i][j], l->w[i][j], most, &s.code[i]);
	return s.cc > 0 ? s.xc / s.cc : 0;
}

void
steps_search(const struct lanes *l, int most, float *scale)
{
	float best, error, inverse, top, tried;
	int i, j, step;

	for (j = 0; j < LANES; j++) {
		for (top = 0, i = 0; i < l->depth; i++)
			top = l->x[i][j] > top ? l->x[i][j] : top;
		scale[j] = 0;
		if (top < SILENT)
			continue;
		inverse = (float)most / top;
		best = steps_error(l, j, most, inverse, true);
		for (step = -4; step <= 4; step++) {
			tried = (0.1f * (float)step + (float)most) / top;
			error = step == 0 ? best : steps_error(l, j, most, tried, false);
			if (error < best) {
				best = error;
				inverse = tried;
			}
		}
		scale[j] = steps_descend(l, j, most, inverse);
	}
}
