/* Products of a matrix and a block of vectors. Each sum has one lane for each vector, and adds in
 * the order of rows or columns. */
#include "linear/linear_parts.h"

#include <math.h>
#include <string.h>

#include "core/num.h"
#include "core/thread.h"

/* Vectors of the compiler: one instruction or several, but the same bits. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

#define PAIR 2    /* rows at once: their chains of additions overlap */
#define STRIPE 64 /* columns of a task */
#define DEPTH 64  /* rows that a task transposes at once: 32 KiB of stack */

static inline const lanes *
panel(const double *x, size_t n, size_t p)
{
	return (const lanes *)(const void *)(x + p * n * LANES);
}

static inline lanes *
panel_at(double *x, size_t n, size_t p)
{
	return (lanes *)(void *)(x + p * n * LANES);
}

double
linear_dot(const double *a, const double *b, size_t n)
{
	double lane[LANES] = { 0 };
	size_t i, k;

	for (i = 0; i + LANES <= n; i += LANES)
		for (k = 0; k < LANES; k++)
			lane[k] += a[i + k] * b[i + k];
	for (k = 0; i + k < n; k++)
		lane[k] += a[i + k] * b[i + k];
	return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
	       ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* ---- layouts ---- */

struct turn {
	const double *from;
	double *to;
	size_t n;
};

static void
to_columns(void *ctx, size_t p)
{
	const struct turn *t = ctx;
	const double *from = t->from + p * t->n * LANES;
	double *to = t->to + p * t->n * LANES;
	size_t i, k;

	for (i = 0; i < t->n; i++)
		for (k = 0; k < LANES; k++)
			to[k * t->n + i] = from[i * LANES + k];
}

static void
to_panels(void *ctx, size_t p)
{
	const struct turn *t = ctx;
	const double *from = t->from + p * t->n * LANES;
	double *to = t->to + p * t->n * LANES;
	size_t i, k;

	for (i = 0; i < t->n; i++)
		for (k = 0; k < LANES; k++)
			to[i * LANES + k] = from[k * t->n + i];
}

void
linear_columns(const double *panels, double *columns, size_t n, size_t width, unsigned jobs)
{
	struct turn t = { panels, columns, n };

	thread_for(jobs, width / LANES, to_columns, &t);
}

void
linear_panels(const double *columns, double *panels, size_t n, size_t width, unsigned jobs)
{
	struct turn t = { columns, panels, n };

	thread_for(jobs, width / LANES, to_panels, &t);
}

/* ---- D x ---- */

static double
row_squares(const float *d, size_t n)
{
	double lane[LANES] = { 0 };
	size_t i, k;

	for (i = 0; i + LANES <= n; i += LANES)
		for (k = 0; k < LANES; k++)
			lane[k] += (double)d[i + k] * d[i + k];
	for (k = 0; i + k < n; k++)
		lane[k] += (double)d[i + k] * d[i + k];
	return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
	       ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

static void
multiply_one(const struct linear_block *b, size_t row)
{
	const float *d = b->d + row * b->count;
	size_t p, j;

	for (p = 0; p < b->width / LANES; p++) {
		const lanes *x = panel(b->x, b->count, p);
		lanes sum = { 0 };

		for (j = 0; j < b->count; j++)
			sum += (double)d[j] * x[j];
		panel_at(b->y, b->rows, p)[b->from + row] = sum;
	}
}

static void
multiply_pair(const struct linear_block *b, size_t row)
{
	const float *d = b->d + row * b->count, *f = d + b->count;
	size_t p, j;

	for (p = 0; p < b->width / LANES; p++) {
		const lanes *x = panel(b->x, b->count, p);
		lanes one = { 0 }, two = { 0 };
		lanes *y = panel_at(b->y, b->rows, p) + b->from + row;

		for (j = 0; j < b->count; j++) {
			one += (double)d[j] * x[j];
			two += (double)f[j] * x[j];
		}
		y[0] = one;
		y[1] = two;
	}
}

static void
multiply_rows(void *ctx, size_t i)
{
	const struct linear_block *b = ctx;
	size_t row = i * PAIR, k, n = b->n - row < PAIR ? b->n - row : PAIR;

	if (n == PAIR)
		multiply_pair(b, row);
	else
		multiply_one(b, row);
	for (k = 0; b->squares && k < n; k++)
		b->squares[row + k] = row_squares(b->d + (row + k) * b->count, b->count);
}

void
linear_multiply(const struct linear_block *b, unsigned jobs)
{
	struct linear_block task = *b;

	thread_for(jobs, (b->n + PAIR - 1) / PAIR, multiply_rows, &task);
}

/* ---- Dᵀ y ---- */

static void
adjoint_some(const struct linear_block *b, size_t at, size_t n, size_t row, size_t depth)
{
	double turned[STRIPE][DEPTH];
	size_t i, j, p;

	for (i = 0; i < depth; i++)
		for (j = 0; j < n; j++)
			turned[j][i] = b->d[(row + i) * b->count + at + j];
	for (p = 0; p < b->width / LANES; p++) {
		const lanes *y = panel(b->y, b->rows, p) + b->from + row;
		lanes *x = panel_at(b->x, b->count, p) + at;

		for (j = 0; j + PAIR <= n; j += PAIR) {
			lanes one = x[j], two = x[j + 1];

			for (i = 0; i < depth; i++) {
				one += turned[j][i] * y[i];
				two += turned[j + 1][i] * y[i];
			}
			x[j] = one;
			x[j + 1] = two;
		}
		for (; j < n; j++)
			for (i = 0; i < depth; i++)
				x[j] += turned[j][i] * y[i];
	}
}

static void
adjoint_stripe(void *ctx, size_t i)
{
	const struct linear_block *b = ctx;
	size_t at = i * STRIPE, n = num_min(b->count - at, STRIPE), row;

	for (row = 0; row < b->n; row += DEPTH)
		adjoint_some(b, at, n, row, num_min(b->n - row, DEPTH));
}

void
linear_adjoint(const struct linear_block *b, unsigned jobs)
{
	struct linear_block task = *b;

	thread_for(jobs, (b->count + STRIPE - 1) / STRIPE, adjoint_stripe, &task);
}

/* ---- orthonormal columns ---- */

#define DEPENDS 1e-13 /* what is left of a column that depends on others, by its length before */

struct project {
	double *columns;
	size_t n, k;              /* column k is done; the later ones lose their part along it */
};

static void
project(void *ctx, size_t i)
{
	const struct project *p = ctx;
	const double *q = p->columns + p->k * p->n;
	double *c = p->columns + (p->k + 1 + i) * p->n, along = linear_dot(q, c, p->n);
	size_t j;

	for (j = 0; j < p->n; j++)
		c[j] -= along * q[j];
}

static void
scale(double *c, size_t n, double by)
{
	size_t i;

	for (i = 0; i < n; i++)
		c[i] *= by;
}

/* Scale the columns to length 1, so that what a column loses shows as its length. */
static void
normal(void *ctx, size_t i)
{
	const struct project *p = ctx;
	double *c = p->columns + i * p->n, length = sqrt(linear_dot(c, c, p->n));

	scale(c, p->n, length > 0 ? 1 / length : 0);
}

void
linear_orthonormal(double *columns, size_t n, size_t width, unsigned jobs)
{
	struct project p = { columns, n, 0 };
	unsigned round;

	for (round = 0; round < 2; round++) {
		thread_for(jobs, width, normal, &p);
		for (p.k = 0; p.k < width; p.k++) {
			double *c = columns + p.k * n, length = sqrt(linear_dot(c, c, n));

			if (length < DEPENDS) {
				memset(c, 0, n * sizeof *c);
				continue;
			}
			scale(c, n, 1 / length);
			thread_for(jobs, width - p.k - 1, project, &p);
		}
	}
}
