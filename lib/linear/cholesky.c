#include "linear/cholesky.h"

#include <math.h>

#include "core/num.h"
#include "core/thread.h"
#include "linear/linear_parts.h"

#define ROWS 8 /* of a task */
#define PAIR 2 /* rows at once */

/* Vectors of the compiler: one instruction or several, but the same bits. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef float floats __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* ---- sums ---- */

struct sum {
	double *h;
	size_t n;
	const float *x;
	size_t count;
};

/* LANES columns of PAIR rows: each value adds in the order of the vectors. */
static void
add_lanes(const struct sum *s, size_t row, size_t column)
{
	lanes *to[PAIR], sum[PAIR];
	const float *x = s->x;
	size_t v, r;

	for (r = 0; r < PAIR; r++) {
		to[r] = (lanes *)(void *)(s->h + (row + r) * s->n + column);
		sum[r] = *to[r];
	}
	for (v = 0; v < s->count; v++, x += s->n) {
		lanes y = __builtin_convertvector(*(const floats *)(const void *)(x + column), lanes);

		for (r = 0; r < PAIR; r++)
			sum[r] += (double)x[row + r] * y;
	}
	for (r = 0; r < PAIR; r++)
		*to[r] = sum[r];
}

static void
add_value(const struct sum *s, size_t row, size_t column)
{
	double sum = s->h[row * s->n + column];
	size_t v;

	for (v = 0; v < s->count; v++)
		sum += (double)s->x[v * s->n + row] * (double)s->x[v * s->n + column];
	s->h[row * s->n + column] = sum;
}

/* Rows from a multiple of ROWS on, from the column of the first one on. */
static void
add_rows(void *ctx, size_t task)
{
	const struct sum *s = ctx;
	size_t first = task * ROWS, end = num_min(first + ROWS, s->n), whole = s->n - s->n % LANES, i, k;

	for (i = first; i + PAIR <= end; i += PAIR)
		for (k = first; k < whole; k += LANES)
			add_lanes(s, i, k);
	for (; i < end; i++)
		for (k = first; k < whole; k++)
			add_value(s, i, k);
	for (i = first; i < end; i++)
		for (k = whole < first ? first : whole; k < s->n; k++)
			add_value(s, i, k);
}

void
cholesky_add(double *h, size_t n, const float *x, size_t count, unsigned jobs)
{
	struct sum s = { h, n, x, count };

	thread_for(jobs, (n + ROWS - 1) / ROWS, add_rows, &s);
}

/* ---- the inverse ---- */

struct factor {
	double *h;
	size_t n, j;
};

/* Rows above row j get their value in column j of R, for h = R Rᵀ with R upper triangular. */
static void
factor_rows(void *ctx, size_t task)
{
	const struct factor *f = ctx;
	const double *own = f->h + f->j * f->n + f->j + 1;
	size_t first = task * ROWS, end = num_min(first + ROWS, f->j), i;

	for (i = first; i < end; i++) {
		double *row = f->h + i * f->n + f->j;

		*row = (*row - linear_dot(row + 1, own, f->n - f->j - 1)) / own[-1];
	}
}

static int
factor(double *h, size_t n, const char *name, unsigned jobs, struct err *e)
{
	struct factor f = { h, n, n };

	while (f.j-- > 0) {
		double *d = h + f.j * n + f.j;
		double square = *d - linear_dot(d + 1, d + 1, n - f.j - 1);

		if (!(square > 0) || !isfinite(square))
			return err_set(e, ERR_INVALID, name, "the sums of products of its activations are not "
			               "finite, or depend on each other");
		*d = sqrt(square);
		thread_for(jobs, (f.j + ROWS - 1) / ROWS, factor_rows, &f);
	}
	return 0;
}

/* Row j of the transposed inverse of R, into the lower triangle. The diagonal stays that of R. */
static void
invert_row(void *ctx, size_t task)
{
	const struct factor *f = ctx;
	size_t n = f->n, j = n - 1 - task, i; /* the longest first */
	double *to = f->h + j * n;
	double last = 1 / to[j];

	for (i = j; i-- > 0;) {
		const double *r = f->h + i * n;

		to[i] = -(linear_dot(r + i + 1, to + i + 1, j - i - 1) + r[j] * last) / r[i];
	}
}

int
cholesky_inverse(double *h, size_t n, const char *name, unsigned jobs, struct err *e)
{
	struct factor f = { h, n, 0 };
	size_t i, k;

	if (factor(h, n, name, jobs, e) < 0)
		return -1;
	thread_for(jobs, n, invert_row, &f);
	for (i = 0; i < n; i++) {
		h[i * n + i] = 1 / h[i * n + i];
		for (k = i + 1; k < n; k++)
			h[i * n + k] = h[k * n + i];
	}
	return 0;
}
