/* Coefficients, and the results of a tile. */
#include <math.h>
#include <string.h>

#include "kernels/mixing.h"
#include "merge/angle.h"
#include "merge/blend_parts.h"

#define STRAIGHT 0.9995 /* mergekit: the cosine from which slerp takes a straight line */

/* ---- coefficients ---- */

static double
second_share(const double *weight)
{
	double sum = weight[0] + weight[1];

	return fabs(sum) < 1e-6 ? 0.5 : weight[1] / sum;
}

static void
slerp(const struct blend *b, const double *gram, double *to)
{
	const struct blend_task *t = &b->t;
	bool nu = t->method->weigh == WEIGH_NUSLERP;

	angle_slerp(gram, nu ? second_share(t->model[PARAM_WEIGHT]) : t->value[PARAM_T],
	            t->compat && !nu ? STRAIGHT : 1, to);
}

/* The share of each model in the sum of squares. */
static void
by_energy(struct blend *b)
{
	size_t n = b->t.n, i;
	double sum = 0, values = b->t.values > 0 ? (double)b->t.values : 1;

	for (i = 0; i < n; i++)
		sum += b->gram[i * n + i];
	for (i = 0; i < n; i++)
		b->weight[i] = sum == 0 || (b->t.compat && sum / values < 1e-6)
			? 1 / (double)n : b->gram[i * n + i] / sum;
}

static void
by_columns(struct blend *b)
{
	size_t columns = b->t.rows > 0 ? (size_t)(b->t.values / b->t.rows) : 0, i;

	for (i = 0; i < columns; i++) {
		const double *s = b->columns + 3 * i, gram[4] = { s[0], s[1], s[1], s[2] };

		slerp(b, gram, b->columns + 3 * columns + 2 * i);
	}
}

static void
set_scales(struct blend *b)
{
	double least = b->t.compat ? 1e-7 : 0;
	size_t i;

	for (i = 0; i < b->keep_count; i++) {
		struct blend_keep *k = &b->keep[i];

		if (blend_rescales(&b->t) && k->before > least && k->after > least)
			k->scale = k->before / k->after;
	}
}

static bool
multislerp(struct blend *b)
{
	double weight[ANGLE_MODELS], sum = 0;
	size_t i;

	for (i = 0; i < b->t.n; i++)
		sum += b->t.model[PARAM_WEIGHT][i];
	for (i = 0; i < b->t.n; i++)
		weight[i] = b->t.model[PARAM_WEIGHT][i] /
		            (b->t.value[PARAM_NORMALIZE_WEIGHTS] != 0 ? sum : 1);
	return angle_multislerp(b->gram, b->t.n, weight, b->t.value[PARAM_EPS], b->weight);
}

static bool
weigh(struct blend *b)
{
	const struct blend_task *t = &b->t;
	size_t i;

	switch (t->method->weigh) {
	case WEIGH_GIVEN:
		memcpy(b->weight, t->model[PARAM_WEIGHT], t->n * sizeof *b->weight);
		break;
	case WEIGH_SCALE:
		memcpy(b->weight, t->model[PARAM_SCALE], t->n * sizeof *b->weight);
		break;
	case WEIGH_EQUAL:
		for (i = 0; i < t->n; i++)
			b->weight[i] = 1;
		break;
	case WEIGH_SLERP:
	case WEIGH_NUSLERP:
		if (blend_by_columns(t))
			by_columns(b);
		else if (!blend_by_rows(t))
			slerp(b, b->gram, b->weight);
		break;
	case WEIGH_MULTISLERP:
		return multislerp(b);
	case WEIGH_KARCHER:
		angle_karcher(b->gram, t->n, (unsigned)t->value[PARAM_MAX_ITER], t->value[PARAM_TOL],
		              b->weight);
		break;
	case WEIGH_STOCK:
		if (!blend_by_rows(t))
			angle_stock(b->gram, t->n, b->weight);
		break;
	case WEIGH_ENERGY:
		by_energy(b);
		break;
	}
	return true;
}

bool
blend_weigh(struct blend *b)
{
	bool some = weigh(b);
	size_t i;

	set_scales(b);
	b->weight_sum = 0;
	for (i = 0; i < b->t.n; i++)
		b->weight_sum += b->weight[i];
	return some;
}

/* ---- results ---- */

/* What the sum is divided by. */
static double
divisor(const struct blend *b)
{
	bool given = b->t.method->weigh == WEIGH_GIVEN && b->t.value[PARAM_NORMALIZE] != 0;

	if (!given && b->t.method->weigh != WEIGH_EQUAL)
		return 1;
	return fabs(b->weight_sum) < 1e-8 ? 1 : b->weight_sum;
}

static double
factor(const struct blend *b)
{
	return b->t.method->weigh == WEIGH_GIVEN && b->t.base ? b->t.value[PARAM_LAMBDA] : 1;
}

/* The vectors of a tile, with room for their addresses and scales. */
struct mix {
	struct mixing_of of;
	const float *x[ANGLE_MODELS];
	double scale[ANGLE_MODELS], weight[ANGLE_MODELS];
};

static void
mix_begin(struct mix *m, const struct blend *b, size_t tile, const double *weight)
{
	bool varied = b->t.method->keep == KEEP_VARIED, all = b->t.method->keep == KEEP_ALL;
	size_t k;

	for (k = 0; k < b->t.n; k++) {
		m->x[k] = blend_vector(b, tile, k);
		m->scale[k] = all || varied ? 1 : b->keep[k].scale;
		m->weight[k] = weight[k];
	}
	m->of = (struct mixing_of){ .x = m->x, .vectors = b->t.n, .scale = m->scale,
		.weight = m->weight, .divisor = divisor(b), .factor = factor(b),
		.divide = varied || b->t.value[PARAM_NORMALIZE] != 0,
		.base = b->t.base ? blend_vector(b, tile, b->t.n) : NULL };
}

/* The sum of the vectors by these coefficients. */
static void
mix_sum(struct blend *b, size_t tile, size_t at, size_t n, const double *weight)
{
	struct mix m;
	size_t k;

	mix_begin(&m, b, tile, weight);
	for (k = 0; k < b->t.n; k++)
		m.weight[k] *= m.scale[k];
	mixing->sum(&m.of, at, b->y + tile * b->tile + at, n);
}

/* Only values with the sign of the sum of all are added. */
static void
mix_elected(struct blend *b, size_t tile)
{
	struct mix m;

	mix_begin(&m, b, tile, b->weight);
	mixing->elect(&m.of, 0, b->y + tile * b->tile, b->held[tile].n);
}

/* ---- as mergekit ---- */

static void
compat_elect(const struct blend *b, const float *z, size_t n, float *sum, float *share)
{
	const struct dtype *work = b->t.work;
	bool varied = b->t.method->keep == KEEP_VARIED;
	float vote = 0;
	size_t k;

	for (k = 0; k < n; k++)
		vote += z[k];
	vote = blend_round(work, vote);
	*sum = *share = 0;
	for (k = 0; k < n; k++)
		if (vote >= 0 ? z[k] > 0 : z[k] < 0) {
			float w = blend_round(work, (float)b->weight[k]);

			*sum += varied ? blend_round(work, z[k] * w) : z[k];
			*share += w;
		}
	*sum = blend_round(work, *sum);
	*share = blend_round(work, *share);
	if (varied && *share < 1e-6f)
		*share = 1e-6f;
	if (*share == 0)
		*share = 1;
}

/* One value: each step is rounded to the type of the work, sums over models once. */
static float
compat_value(const struct blend *b, size_t tile, size_t at)
{
	const struct dtype *work = b->t.work;
	bool varied = b->t.method->keep == KEEP_VARIED;
	float z[ANGLE_MODELS], sum = 0, share = 0;
	size_t n = b->t.n, k;

	for (k = 0; k < n; k++) {
		float x = blend_vector(b, tile, k)[at], w = blend_round(work, (float)b->weight[k]);

		if (!varied && b->keep[k].scale != 1)
			x = blend_round(work, x * blend_round(work, (float)b->keep[k].scale));
		z[k] = varied ? x : blend_round(work, x * w);
		sum += z[k];
		share += w;
	}
	sum = blend_round(work, sum);
	share = blend_round(work, share);
	if (b->t.base && fabsf(share) < 1e-8f)
		share = 1;
	if (b->t.method->elect)
		compat_elect(b, z, n, &sum, &share);
	if (varied || b->t.method->weigh == WEIGH_EQUAL || b->t.value[PARAM_NORMALIZE] != 0)
		sum = blend_round(work, sum / share);
	if (!b->t.base)
		return sum;
	if (!varied && b->t.value[PARAM_LAMBDA] != 1)
		sum = blend_round(work, sum * (float)b->t.value[PARAM_LAMBDA]);
	return blend_round(work, blend_vector(b, tile, n)[at] + sum);
}

/* ---- a tile ---- */

static bool
is_compat(const struct blend_task *t)
{
	return t->compat && (t->method->weigh == WEIGH_GIVEN || t->method->weigh == WEIGH_EQUAL ||
	                     t->method->weigh == WEIGH_ENERGY);
}

/* Coefficients of a row from the products of its vectors. */
static void
weigh_row(const struct blend *b, size_t tile, size_t at, size_t n, double *weight)
{
	double gram[ANGLE_MODELS * ANGLE_MODELS];
	size_t i, k, models = b->t.n;

	for (i = 0; i < models; i++)
		for (k = i; k < models; k++)
			gram[i * models + k] = gram[k * models + i] =
				blend_dot(blend_vector(b, tile, i) + at, blend_vector(b, tile, k) + at, n);
	if (b->t.method->weigh == WEIGH_STOCK)
		angle_stock(gram, models, weight);
	else
		slerp(b, gram, weight);
}

static void
mix_rows(struct blend *b, size_t tile)
{
	size_t n = b->held[tile].n, row = (size_t)b->t.row, at;
	double weight[ANGLE_MODELS];

	for (at = 0; at < n; at += row) {
		weigh_row(b, tile, at, row, weight);
		mix_sum(b, tile, at, row, weight);
	}
}

static void
mix_columns(struct blend *b, size_t tile)
{
	const struct blend_tile *h = &b->held[tile];
	const float *x = blend_vector(b, tile, 0), *y = blend_vector(b, tile, 1);
	const float *base = b->t.base ? blend_vector(b, tile, 2) : NULL;
	size_t columns = (size_t)(b->t.values / b->t.rows), at = (size_t)(h->from % columns), i;
	double sum, f = factor(b);

	for (i = 0; i < h->n; i++) {
		const double *w = b->columns + 3 * columns + 2 * at;

		sum = w[0] * x[i] + w[1] * y[i];
		b->y[tile * b->tile + i] = (float)(base ? base[i] + f * sum : f * sum);
		at = at + 1 < columns ? at + 1 : 0;
	}
}

void
blend_mix(struct blend *b, size_t tile)
{
	size_t n = b->held[tile].n, at;

	if (blend_by_rows(&b->t)) {
		mix_rows(b, tile);
		return;
	}
	if (blend_by_columns(&b->t)) {
		mix_columns(b, tile);
		return;
	}
	if (is_compat(&b->t)) {
		for (at = 0; at < n; at++)
			b->y[tile * b->tile + at] = compat_value(b, tile, at);
		return;
	}
	if (b->t.method->elect)
		mix_elected(b, tile);
	else
		mix_sum(b, tile, 0, n, b->weight);
}
