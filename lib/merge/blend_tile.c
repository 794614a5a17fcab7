/* The values of a tile: reading, differences, dropping, sums. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/philox.h"
#include "kernels/mixing.h"
#include "merge/blend_parts.h"

#define RUN 1024 /* random numbers at a time; a multiple of 4 */

/* ---- questions about a task ---- */

bool
blend_by_rows(const struct blend_task *t)
{
	if (t->method->weigh == WEIGH_STOCK)
		return t->value[PARAM_FILTER_WISE] != 0;
	return t->method->weigh == WEIGH_NUSLERP && t->value[PARAM_FLATTEN] == 0 &&
	       (t->value[PARAM_ROW_WISE] == 0 || t->rows <= 1);
}

bool
blend_by_columns(const struct blend_task *t)
{
	return t->method->weigh == WEIGH_NUSLERP && t->value[PARAM_FLATTEN] == 0 &&
	       t->value[PARAM_ROW_WISE] != 0 && t->rows > 1;
}

bool
blend_rescales(const struct blend_task *t)
{
	bool random = t->method->keep == KEEP_RANDOM || t->method->keep == KEEP_RANKED;

	return t->method->keep != KEEP_ALL && t->method->keep != KEEP_VARIED &&
	       t->value[PARAM_RESCALE] != 0 && (t->compat || !random);
}

static bool
is_f32(const struct dtype *work)
{
	return work->bytes == 4;
}

float
blend_round(const struct dtype *work, float v)
{
	if (is_f32(work))
		return v;
	return work->name[0] == 'B' ? half_bf16_f32(half_f32_bf16(v)) : half_f16_f32(half_f32_f16(v));
}

/* ---- reading ---- */

static int
read_vector(struct blend *b, size_t tile, size_t vector)
{
	const struct blend_tile *h = &b->held[tile];
	float *x = blend_vector(b, tile, vector);
	size_t i;

	errno = 0;
	if (b->t.read(b->t.ctx, vector, h->from, x, h->n) < 0) {
		atomic_store(&b->fault_model, vector);
		atomic_store(&b->fault, errno + 1);
		return -1;
	}
	for (i = 0; b->t.compat && !is_f32(b->t.work) && i < h->n; i++)
		x[i] = blend_round(b->t.work, x[i]);
	return 0;
}

static void
subtract(const struct blend *b, float *x, const float *base, size_t n)
{
	size_t i;

	mixing->subtract(x, base, n);
	for (i = 0; b->t.compat && !is_f32(b->t.work) && i < n; i++)
		x[i] = blend_round(b->t.work, x[i]);
}

/* ---- dropping at random ---- */

/* A number below this, of 2^32, keeps a value. */
static uint64_t
chance(double probability)
{
	return (uint64_t)(probability * 0x1p32);
}

static void
drop_random(const struct blend_tile *h, float *x, uint64_t key, double density)
{
	uint64_t keeps = chance(density);
	uint32_t random[RUN];
	size_t i, k, n;

	for (i = 0; density < 1 && i < h->n; i += n) {
		n = h->n - i < RUN ? h->n - i : RUN;
		philox_fill(key, h->from + i, random, n);
		for (k = 0; k < n; k++)
			x[i + k] = random[k] < keeps ? x[i + k] : 0;
	}
}

/* Sort the numbers 0 to n - 1 by magnitude, the smallest first; among equals, the later first.
 * Returns them; keys, from and to have room for n each. */
static const uint32_t *
rank(const float *x, size_t n, uint32_t *from, uint32_t *to)
{
	uint32_t count[2048], *swap, shift;
	size_t i, sum, k;

	for (i = 0; i < n; i++)
		from[i] = (uint32_t)(n - 1 - i);
	for (shift = 0; shift < 33; shift += 11) {
		memset(count, 0, sizeof count);
		for (i = 0; i < n; i++)
			count[border_bits(x[i]) >> shift & 2047]++;
		for (sum = 0, i = 0; i < 2048; i++) {
			k = count[i];
			count[i] = (uint32_t)sum;
			sum += k;
		}
		for (i = 0; i < n; i++)
			to[count[border_bits(x[from[i]]) >> shift & 2047]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	return from;
}

/* DELLA: the probabilities of a row rise by rank from density - epsilon to density + epsilon. */
static void
drop_ranked(struct blend *b, size_t tile, size_t model, float *x)
{
	const struct blend_tile *h = &b->held[tile];
	double density = b->t.model[PARAM_DENSITY][model], epsilon = b->t.model[PARAM_EPSILON][model];
	bool rescale = b->t.value[PARAM_RESCALE] != 0 && !b->t.compat;
	size_t row = (size_t)b->t.row, i, k, at;
	uint32_t *order = b->order + 4 * tile * b->tile, *random = order + 2 * row;
	const uint32_t *ranked;

	if (density >= 1)
		return;
	if (density <= 0) {
		memset(x, 0, h->n * sizeof *x);
		return;
	}
	for (i = 0; i < h->n; i += row) {
		uint64_t first = (h->from + i) / 4 * 4;
		size_t skip = (size_t)(h->from + i - first);

		ranked = rank(x + i, row, order, order + row);
		philox_fill(b->keep[model].key, first, random, skip + row);
		for (k = 0; k < row; k++) {
			double p = density - epsilon +
			           2 * epsilon * (row > 1 ? (double)k / (double)(row - 1) : 0.5);

			at = ranked[k];
			x[i + at] = random[skip + at] >= chance(p) ? 0 :
			            rescale ? (float)(x[i + at] / p) : x[i + at];
		}
	}
}

/* ---- variance ---- */

static void
vary(struct blend *b, size_t tile)
{
	float *y = b->y + tile * b->tile;
	size_t n = b->t.n, i, k;

	for (i = 0; i < b->held[tile].n; i++) {
		double sum = 0, square = 0, d;

		for (k = 0; k < n; k++)
			sum += blend_vector(b, tile, k)[i];
		for (k = 0; k < n; k++) {
			d = blend_vector(b, tile, k)[i] - sum / (double)n;
			square += d * d;
		}
		y[i] = (float)(square / (double)n);
	}
}

/* ---- sums ---- */

double
blend_dot(const float *x, const float *y, size_t n)
{
	double sum[8] = { 0 };
	size_t i, k;

	for (i = 0; i + 8 <= n; i += 8)
		for (k = 0; k < 8; k++)
			sum[k] += (double)x[i + k] * y[i + k];
	for (k = 0; i + k < n; k++)
		sum[k] += (double)x[i + k] * y[i + k];
	return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

static double
magnitudes(const float *x, size_t n)
{
	double sum[8] = { 0 };
	size_t i, k;

	for (i = 0; i + 8 <= n; i += 8)
		for (k = 0; k < 8; k++)
			sum[k] += fabsf(x[i + k]);
	for (k = 0; i + k < n; k++)
		sum[k] += fabsf(x[i + k]);
	return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

size_t
blend_sums_size(const struct blend *b)
{
	return b->t.n * (blend_rescales(&b->t) ? 2 : b->t.n) + 1;
}

void
blend_sum(struct blend *b, size_t tile)
{
	double *sums = b->sums + tile * b->part;
	size_t n = b->t.n, count = b->held[tile].n, i, k;

	for (i = 0; i < n; i++) {
		const float *x = blend_vector(b, tile, i);

		if (blend_rescales(&b->t)) {
			sums[n + i] = magnitudes(x, count);
			continue;
		}
		for (k = i; k < n && (k == i || b->t.method->weigh != WEIGH_ENERGY); k++)
			sums[i * n + k] = blend_dot(x, blend_vector(b, tile, k), count);
	}
}

/* The sums of each column of two vectors, row after row. */
static void
add_columns(struct blend *b, size_t tile)
{
	const struct blend_tile *h = &b->held[tile];
	const float *x = blend_vector(b, tile, 0), *y = blend_vector(b, tile, 1);
	size_t columns = (size_t)(b->t.values / b->t.rows), at = (size_t)(h->from % columns), i;

	for (i = 0; i < h->n; i++) {
		double *sum = b->columns + 3 * at;

		sum[0] += (double)x[i] * x[i];
		sum[1] += (double)x[i] * y[i];
		sum[2] += (double)y[i] * y[i];
		at = at + 1 < columns ? at + 1 : 0;
	}
}

void
blend_add(struct blend *b, size_t tile)
{
	const double *sums = b->sums + tile * b->part;
	size_t n = b->t.n, i, k;

	if (blend_by_columns(&b->t)) {
		add_columns(b, tile);
		return;
	}
	for (i = 0; i < n; i++) {
		if (blend_rescales(&b->t)) {
			b->keep[i].before += sums[i];
			b->keep[i].after += sums[n + i];
			continue;
		}
		for (k = i; k < n && (k == i || b->t.method->weigh != WEIGH_ENERGY); k++)
			b->gram[i * n + k] = b->gram[k * n + i] += sums[i * n + k];
	}
}

/* ---- steps of a tile ---- */

static void
drop_by_chance(struct blend *b, size_t tile, size_t model)
{
	float *x = blend_vector(b, tile, model);

	if (b->t.method->keep == KEEP_RANDOM)
		drop_random(&b->held[tile], x, b->keep[model].key, b->t.model[PARAM_DENSITY][model]);
	if (b->t.method->keep == KEEP_RANKED)
		drop_ranked(b, tile, model, x);
}

void
blend_load(struct blend *b, size_t tile)
{
	size_t n = b->t.n, count = b->held[tile].n, i;

	for (i = 0; i < b->vectors; i++)
		if (read_vector(b, tile, i) < 0)
			return;
	for (i = 0; i < n; i++) {
		float *x = blend_vector(b, tile, i);

		if (b->t.base)
			subtract(b, x, blend_vector(b, tile, n), count);
		if (b->pass == PASS_SUMS && blend_rescales(&b->t))
			b->sums[tile * b->part + i] = magnitudes(x, count);
		drop_by_chance(b, tile, i);
	}
	if (b->t.method->keep == KEEP_VARIED && b->keep[0].low.rank < b->t.values &&
	    b->t.value[PARAM_SELECT_TOPK] < 1)
		vary(b, tile);
}

/* One keep of a tile; equals: the numbers of equal values before the next one. */
static void
drop_one_by_one(struct blend *b, size_t tile, size_t model, uint64_t top, uint64_t low)
{
	const struct blend_keep *keep = &b->keep[model];
	bool varied = b->t.method->keep == KEEP_VARIED;
	const float *by = varied ? b->y + tile * b->tile : blend_vector(b, tile, model);
	float *x = blend_vector(b, tile, model);
	size_t k, m;

	for (k = 0; k < b->held[tile].n; k++) {
		uint32_t bits = border_bits(by[k]);
		bool over = border_above(&keep->top, bits, &top);

		if (border_above(&keep->low, bits, &low) && !over)
			continue;
		x[k] = 0;
		for (m = 1; varied && m < b->t.n; m++)
			blend_vector(b, tile, m)[k] = 0;
	}
}

void
blend_drop(struct blend *b, size_t tile)
{
	const struct blend_tile *h = &b->held[tile];
	uint32_t from;
	size_t i;

	for (i = 0; i < b->keep_count; i++) {
		const struct blend_keep *keep = &b->keep[i];
		uint64_t top = h->equals[i][0], low = h->equals[i][1];

		if (!keep->bounded)
			continue;
		if (b->t.method->keep == KEEP_LARGEST &&
		    border_plain(&keep->low, low, h->equals[i][2], &from))
			mixing->keep(blend_vector(b, tile, i), h->n, from);
		else
			drop_one_by_one(b, tile, i, top, low);
	}
}
