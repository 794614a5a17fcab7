/* The nearest rows of training. Distances of LANES rows are computed at once, each in the order of
 * the features, so that they do not depend on how many there are. Of equal distances, the one that
 * comes first in training is nearer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/near.h"
#include "predict/step.h"

#define LANES NEAR_LANES

struct near {
	double d; /* for Euclid the square, for Minkowski the power */
	size_t i;
};

static bool
farther(struct near a, struct near b)
{
	return a.d > b.d || (a.d == b.d && a.i > b.i);
}

/* A heap whose first item is the farthest: x takes the place of that one. */
static void
replace(struct near *heap, size_t n, struct near x)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && farther(heap[child + 1], heap[child]))
			child++;
		if (!farther(heap[child], x))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = x;
}

static int
compare(const void *a, const void *b)
{
	return farther(*(const struct near *)a, *(const struct near *)b) ? 1 : -1;
}

/* ---- distances: t is one row, q LANES rows, feature by feature ---- */

static void
euclid(const double *t, const double *q, size_t n, double *to)
{
	size_t i, l;

	for (i = 0; i < n; i++, q += LANES)
		for (l = 0; l < LANES; l++)
			to[l] += (q[l] - t[i]) * (q[l] - t[i]);
}

static void
manhattan(const double *restrict t, const double *restrict q, size_t n, double *restrict to)
{
	size_t i, l;

	for (i = 0; i < n; i++, q += LANES)
		for (l = 0; l < LANES; l++)
			to[l] += fabs(q[l] - t[i]);
}

static void
chebyshev(const double *restrict t, const double *restrict q, size_t n, double *restrict to)
{
	size_t i, l;

	for (i = 0; i < n; i++, q += LANES)
		for (l = 0; l < LANES; l++) {
			double d = fabs(q[l] - t[i]);

			to[l] = d > to[l] ? d : to[l];
		}
}

static void
minkowski(const double *t, const double *q, size_t n, double p, double *to)
{
	size_t i, l;

	for (i = 0; i < n; i++, q += LANES)
		for (l = 0; l < LANES; l++)
			to[l] += pow(fabs(q[l] - t[i]), p);
}

/* 1 - cosine; a row of zeros has the distance 1 to all. */
static void
cosine(const double *t, const double *q, size_t n, double *to)
{
	double dot[LANES] = { 0 }, square[LANES] = { 0 }, own = 0, both;
	size_t i, l;

	for (i = 0; i < n; i++, q += LANES) {
		own += t[i] * t[i];
		for (l = 0; l < LANES; l++) {
			dot[l] += q[l] * t[i];
			square[l] += q[l] * q[l];
		}
	}
	for (l = 0; l < LANES; l++) {
		both = sqrt(own) * sqrt(square[l]);
		to[l] = 1 - (both > 0 ? dot[l] / both : 0);
	}
}

static void
measure(const struct step *s, const double *t, const double *q, double to[LANES])
{
	memset(to, 0, LANES * sizeof *to);
	switch (s->mode) {
	case STEP_MANHATTAN:
		manhattan(t, q, s->in, to);
		break;
	case STEP_CHEBYSHEV:
		chebyshev(t, q, s->in, to);
		break;
	case STEP_COSINE:
		cosine(t, q, s->in, to);
		break;
	case STEP_MINKOWSKI:
		minkowski(t, q, s->in, s->x, to);
		break;
	default:
		euclid(t, q, s->in, to);
	}
}

/* The distances of up to NEAR_ROWS rows of training from row i on. Returns how many. */
static size_t
measure_some(const struct step *s, const struct near_level *level, size_t i, const double *q,
             double *d)
{
	if (s->mode == STEP_EUCLID && s->n - i >= NEAR_ROWS) {
		level->squares(s->a + i * s->in, s->in, q, d);
		return NEAR_ROWS;
	}
	measure(s, s->a + i * s->in, q, d);
	return 1;
}

/* ---- neighbours ---- */

/* The s->k nearest of each of LANES rows, the nearest first; near: LANES heaps. */
static void
search(const struct step *s, const struct near_level *level, const double *q, struct near *near)
{
	double d[NEAR_ROWS * LANES];
	size_t i, k, l, n;

	for (i = 0; i < LANES * s->k; i++)
		near[i] = (struct near){ (double)INFINITY, SIZE_MAX };
	for (i = 0; i < s->n; i += n) {
		n = measure_some(s, level, i, q, d);
		for (k = 0; k < n; k++)
			for (l = 0; l < LANES; l++) {
				struct near x = { d[k * LANES + l], i + k };

				x.d = isnan(x.d) ? (double)INFINITY : x.d;
				if (farther(near[l * s->k], x))
					replace(near + l * s->k, s->k, x);
			}
	}
	for (l = 0; l < LANES; l++)
		qsort(near + l * s->k, s->k, sizeof *near, compare);
}

/* Distances become weights; a distance of 0 outweighs all others. */
static void
weigh(const struct step *s, struct near *near)
{
	bool zero = near[0].d == 0;
	size_t i;

	for (i = 0; i < s->k; i++) {
		double d = s->mode == STEP_EUCLID ? sqrt(near[i].d)
		           : s->mode == STEP_MINKOWSKI ? pow(near[i].d, 1 / s->x) : near[i].d;

		near[i].d = !s->weigh ? 1 : zero ? d == 0 : 1 / d;
	}
}

static void
vote(const struct step *s, const struct near *near, double *to)
{
	double sum = 0;
	size_t i, j;

	for (i = 0; i < s->k; i++)
		to[s->list[near[i].i]] += near[i].d;
	for (j = 0; j < s->out; j++)
		sum += to[j];
	for (j = 0; j < s->out && sum != 0; j++)
		to[j] /= sum;
}

static void
average(const struct step *s, const struct near *near, double *to)
{
	double sum = 0;
	size_t i, j;

	for (i = 0; i < s->k; i++) {
		sum += near[i].d;
		for (j = 0; j < s->out; j++)
			to[j] += s->b[near[i].i * s->out + j] * near[i].d;
	}
	for (j = 0; j < s->out; j++)
		to[j] /= sum;
}

static int
nearest(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	double *q = mem_array(s->in * LANES, sizeof *q);
	struct near *near = mem_array(s->k * LANES, sizeof *near);
	const struct near_level *level = near_best();
	size_t i, j, l;
	int r = -1;

	if (!q || !near)
		err_memory(e);
	else
		r = step_rows_begin(spare, x->n, s->out, e);
	for (i = 0; r == 0 && i < x->n; i += LANES) {
		size_t lanes = x->n - i < LANES ? x->n - i : LANES;

		for (l = 0; l < lanes; l++)
			for (j = 0; j < s->in; j++)
				q[j * LANES + l] = step_row(x, i + l)[j];
		search(s, level, q, near);
		for (l = 0; l < lanes; l++) {
			weigh(s, near + l * s->k);
			(s->kind == &step_vote ? vote : average)(s, near + l * s->k, step_row(spare, i + l));
		}
	}
	free(q);
	free(near);
	step_rows_swap(x, spare);
	return r;
}

const struct step_kind step_nearest = { "search of neighbours", false, false, nearest };
const struct step_kind step_vote = { "search of neighbours", false, false, nearest };
