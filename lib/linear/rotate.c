/* One-sided Jacobi rotations: each makes two columns orthogonal. The pairs of a round share no
 * column, so that threads may rotate them at the same time. */
#include "linear/svd.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/thread.h"
#include "linear/linear_parts.h"

#define SWEEPS 64

struct rotation {
	double *a, *v;
	size_t rows, columns;
	double close;             /* the cosine of two columns that count as orthogonal: rounding of a sum */
	size_t players, round;    /* columns, and one that is not there if they are odd in number */
	atomic_bool turned;
};

/* The i-th pair of a round, as in a tournament where all meet once: the last player stays, the others
 * go round. False if one of the pair is not a column. */
static bool
pair(const struct rotation *r, size_t i, size_t *p, size_t *q)
{
	size_t turn = r->players - 1, a, b;

	a = (r->round + i) % turn;
	b = i ? (r->round + turn - i) % turn : turn;
	*p = a < b ? a : b;
	*q = a < b ? b : a;
	return *q < r->columns;
}

static void
turn(double *x, double *y, size_t n, double c, double s)
{
	size_t i;

	for (i = 0; i < n; i++) {
		double at = x[i];

		x[i] = c * at - s * y[i];
		y[i] = s * at + c * y[i];
	}
}

static void
rotate(void *ctx, size_t i)
{
	struct rotation *r = ctx;
	double *x, *y, xx, yy, xy, z, t, c;
	size_t p, q;

	if (!pair(r, i, &p, &q))
		return;
	x = r->a + p * r->rows;
	y = r->a + q * r->rows;
	xx = linear_dot(x, x, r->rows);
	yy = linear_dot(y, y, r->rows);
	xy = linear_dot(x, y, r->rows);
	if (fabs(xy) <= r->close * sqrt(xx) * sqrt(yy))
		return;
	z = (yy - xx) / (2 * xy);
	t = (z < 0 ? -1 : 1) / (fabs(z) + sqrt(1 + z * z));
	c = 1 / sqrt(1 + t * t);
	turn(x, y, r->rows, c, c * t);
	turn(r->v + p * r->columns, r->v + q * r->columns, r->columns, c, c * t);
	atomic_store_explicit(&r->turned, true, memory_order_relaxed);
}

static bool
all_finite(const double *a, size_t n)
{
	size_t i;

	for (i = 0; i < n && isfinite(a[i]); i++)
		;
	return i == n;
}

int
svd_rotate(double *a, size_t rows, size_t columns, double *v, unsigned jobs, struct err *e)
{
	struct rotation r = { .a = a, .v = v, .rows = rows, .columns = columns,
		.close = DBL_EPSILON * (8 + sqrt((double)rows)), .players = columns + columns % 2 };
	size_t i;
	unsigned sweep;

	if (!all_finite(a, rows * columns))
		return err_set(e, ERR_INVALID, NULL, "a value is not finite");
	memset(v, 0, columns * columns * sizeof *v);
	for (i = 0; i < columns; i++)
		v[i * columns + i] = 1;
	for (sweep = 0; sweep < SWEEPS && columns > 1; sweep++) {
		atomic_store(&r.turned, false);
		for (r.round = 0; r.round < r.players - 1; r.round++)
			thread_for(jobs, r.players / 2, rotate, &r);
		if (!atomic_load(&r.turned))
			break;
	}
	return 0;
}
