#include "prune/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/range.h"
#include "core/thread.h"
#include "linear/cholesky.h"
#include "prune/choose.h"

#define RAW 8 /* the most bytes of a value */

struct update {
	const struct prune_how *how;
	const char *name;
	size_t rows, columns;
	double *w;                /* rows × columns */
	double *u;                /* columns × columns */
	size_t at, n;             /* the block of columns */
	float *rank, *mask;       /* rows × UPDATE_BLOCK; mask: 0 for a value that goes */
};

/* ---- memory ---- */

static int
load(struct update *s, struct merge_input *in, size_t tensor, struct err *e)
{
	float *x = mem_array(s->columns, sizeof *x);
	uint8_t *raw = mem_array(s->columns, RAW);
	size_t i, k;
	int r = x && raw ? 0 : err_memory(e);

	for (i = 0; r == 0 && i < s->rows; i++) {
		if (merge_input_values(in, tensor, (uint64_t)i * s->columns, x, s->columns, raw) < 0)
			r = range_fail(in->name, e);
		for (k = 0; r == 0 && k < s->columns; k++) {
			s->w[i * s->columns + k] = (double)x[k];
			if (!isfinite(x[k]))
				r = err_set(e, ERR_INVALID, s->name, "has values that are not finite");
		}
	}
	free(x);
	free(raw);
	return r;
}

static int
open(struct update *s, const struct prune_plan *p, size_t tensor, struct err *e)
{
	const struct tensor *t = p->out.tensors[tensor];

	s->how = &p->how;
	s->name = tensor_name(t);
	s->rows = (size_t)tensor_dims(t)[0];
	s->columns = (size_t)tensor_dims(t)[1];
	s->w = mem_array(s->rows, s->columns * sizeof *s->w);
	s->u = mem_array(s->columns, s->columns * sizeof *s->u);
	s->rank = mem_array(s->rows, UPDATE_BLOCK * sizeof *s->rank);
	s->mask = mem_array(s->rows, UPDATE_BLOCK * sizeof *s->mask);
	return s->w && s->u && s->rank && s->mask ? 0 : err_memory(e);
}

static void
close_update(struct update *s)
{
	free(s->w);
	free(s->u);
	free(s->rank);
	free(s->mask);
}

/* ---- the Hessian ---- */

static int
invert(struct update *s, const char *input, unsigned jobs, struct err *e)
{
	size_t n = s->columns, i;
	double mean = 0;

	if (s->how->hessian(s->how->hessian_ctx, input, s->u, n, e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		mean += s->u[i * n + i];
	mean /= (double)n;
	if (!(mean > 0) || !isfinite(mean))
		return err_set(e, ERR_INVALID, s->name, "its activations are all 0, or not finite");
	for (i = 0; i < n; i++)
		s->u[i * n + i] += UPDATE_DAMP * mean;
	return cholesky_inverse(s->u, n, s->name, jobs, e);
}

/* ---- scores and masks ---- */

static float
score(const struct update *s, size_t row, size_t column)
{
	double v = s->w[row * s->columns + column] / s->u[column * s->columns + column];

	return (float)(v * v);
}

static void
rank_row(void *ctx, size_t row)
{
	struct update *s = ctx;
	float *rank = s->rank + row * s->n, *mask = s->mask + row * s->n;
	size_t k;

	for (k = 0; k < s->n; k++) {
		rank[k] = score(s, row, s->at + k);
		mask[k] = 1;
	}
	choose_rank(rank, NULL, rank, s->n);
}

/* The number of the first columns of `rows` rows that go up to column `end`. */
static uint64_t
gone(const struct update *s, size_t rows, size_t end)
{
	return choose_count(s->how->share, (uint64_t)rows * end);
}

static void
choose_share(struct update *s, unsigned jobs)
{
	size_t end = s->at + s->n, i;

	thread_for(jobs, s->rows, rank_row, s);
	if (s->how->scope == SCOPE_TENSOR)
		choose_row(s->rank, s->mask, s->rows * s->n,
		           (size_t)(gone(s, s->rows, end) - gone(s, s->rows, s->at)));
	else
		for (i = 0; i < s->rows; i++)
			choose_row(s->rank + i * s->n, s->mask + i * s->n, s->n,
			           (size_t)(gone(s, 1, end) - gone(s, 1, s->at)));
}

/* The group that begins at column k of the block. */
static void
choose_group(const struct update *s, size_t row, size_t k)
{
	float *rank = s->rank + row * s->n + k, *mask = s->mask + row * s->n + k;
	unsigned i;

	for (i = 0; i < s->how->of; i++) {
		rank[i] = score(s, row, s->at + k + i);
		mask[i] = 1;
	}
	choose_rank(rank, NULL, rank, s->how->of);
	choose_groups(rank, mask, s->how->of, s->how->keep, s->how->of);
}

/* ---- the update ---- */

static void
update_row(void *ctx, size_t row)
{
	const struct update *s = ctx;
	double *w = s->w + row * s->columns;
	size_t k, j, i;

	for (k = 0; k < s->n; k++) {
		const double *u = s->u + (s->at + k) * s->columns;
		double error;

		j = s->at + k;
		if (s->how->rule == PRUNE_GROUPS && k % s->how->of == 0)
			choose_group(s, row, k);
		if (s->mask[row * s->n + k] > 0)
			continue;
		error = w[j] / u[j];
		w[j] = 0;
		for (i = j + 1; i < s->columns; i++)
			w[i] -= error * u[i];
	}
}

static void
update_blocks(struct update *s, unsigned jobs)
{
	size_t most = UPDATE_BLOCK;

	if (s->how->rule == PRUNE_GROUPS)
		most -= most % s->how->of;
	for (s->at = 0; s->at < s->columns; s->at += s->n) {
		s->n = s->columns - s->at < most ? s->columns - s->at : most;
		if (s->how->rule == PRUNE_SHARE)
			choose_share(s, jobs);
		thread_for(jobs, s->rows, update_row, s);
	}
}

static float *
result(const struct update *s, struct err *e)
{
	size_t n = s->rows * s->columns, i;
	float *to = mem_array(n, sizeof *to);

	if (!to)
		err_memory(e);
	for (i = 0; to && i < n; i++) {
		to[i] = (float)s->w[i];
		if (!isfinite(to[i])) {
			err_set(e, ERR_INVALID, s->name, "its values would not be finite");
			free(to);
			return NULL;
		}
	}
	return to;
}

float *
update_matrix(const struct prune_plan *p, size_t tensor, unsigned jobs, struct err *e)
{
	struct update s = { .n = 0 };
	float *to = NULL;

	if (open(&s, p, tensor, e) == 0 && load(&s, p->in, p->rows[tensor].from, e) == 0 &&
	    invert(&s, p->rows[tensor].input, jobs, e) == 0) {
		update_blocks(&s, jobs);
		to = result(&s, e);
	}
	close_update(&s);
	return to;
}
