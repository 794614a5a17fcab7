#include "linear/svd.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/philox.h"
#include "core/thread.h"
#include "linear/linear_parts.h"

#define MORE 8                    /* vectors beyond the rank that is asked for */
#define FIRST 8                   /* the rank that is tried first for a share of the squares */
#define BLOCK ((size_t)2 << 20)   /* values of a block of rows */
#define ROWS 256                  /* rows of a block */
#define NOTHING 1e-13             /* a value this small, by the largest one, is 0 */

struct work {
	const struct svd_matrix *m;
	const struct svd_asked *o;
	struct svd *s;
	size_t width;             /* vectors, a multiple of LANES */
	size_t block;             /* rows */
	float *d;                 /* of a block */
	double *squares;
	double *x, *y;            /* panels of `columns` and of `rows` rows */
	double *c;                /* columns of the larger of both */
	double *turned;           /* width × width */
	double *length;           /* of each column of the small matrix, */
	size_t *order;            /* and their order by length */
};

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void
work_free(struct work *w)
{
	free(w->d);
	free(w->squares);
	free(w->x);
	free(w->y);
	free(w->c);
	free(w->turned);
	free(w->length);
	free(w->order);
}

/* n × width doubles. */
static double *
tall(size_t n, size_t width)
{
	uint64_t size;

	return num_mul(n, width, &size) < 0 ? NULL : mem_array(size, sizeof(double));
}

static int
work_open(struct work *w, struct err *e)
{
	const struct svd_matrix *m = w->m;

	w->block = larger(1, num_min(num_min(BLOCK / m->columns, ROWS), m->rows));
	w->d = mem_array(w->block * m->columns, sizeof *w->d);
	w->squares = mem_array(w->block, sizeof *w->squares);
	return w->d && w->squares ? 0 : err_memory(e);
}

/* Room for `width` vectors. */
static int
work_widen(struct work *w, size_t width, struct err *e)
{
	const struct svd_matrix *m = w->m;

	free(w->x);
	free(w->y);
	free(w->c);
	free(w->turned);
	free(w->length);
	free(w->order);
	w->width = width;
	w->x = tall(m->columns, width);
	w->y = tall(m->rows, width);
	w->c = tall(larger(m->rows, m->columns), width);
	w->turned = tall(width, width);
	w->length = mem_array(width, sizeof *w->length);
	w->order = mem_array(width, sizeof *w->order);
	return w->x && w->y && w->c && w->turned && w->length && w->order ? 0 : err_memory(e);
}

/* ---- passes over the matrix ---- */

enum pass { PASS_MULTIPLY, PASS_ADJOINT, PASS_COPY, PASS_TURN };

/* The rows of a block as vectors: a matrix with fewer rows than columns is solved turned. */
static void
copy(const struct work *w, const struct linear_block *b, bool turned)
{
	size_t i, j;

	for (i = 0; i < b->n; i++)
		for (j = 0; j < b->count; j++)
			if (turned)
				w->c[(b->from + i) * b->count + j] = b->d[i * b->count + j];
			else
				w->c[j * b->rows + b->from + i] = b->d[i * b->count + j];
}

static int
not_finite(const struct svd_matrix *m, const struct linear_block *b, struct err *e)
{
	size_t i;

	for (i = 0; i < b->n * b->count; i++)
		if (!isfinite(b->d[i]))
			return err_set(e, ERR_INVALID, m->name, "value %zu of row %zu is not finite",
			               i % b->count, b->from + i / b->count);
	return 0;
}

static int
pass_block(struct work *w, struct linear_block *b, enum pass pass, struct err *e)
{
	if (w->m->read(w->m->ctx, b->from, b->n, w->d, e) < 0 || not_finite(w->m, b, e) < 0)
		return -1;
	if (pass == PASS_MULTIPLY)
		linear_multiply(b, w->o->jobs);
	else if (pass == PASS_ADJOINT)
		linear_adjoint(b, w->o->jobs);
	else
		copy(w, b, pass == PASS_TURN);
	return 0;
}

/* The squares are added in the first pass only. */
static int
run(struct work *w, enum pass pass, bool first, struct err *e)
{
	struct linear_block b = { .d = w->d, .rows = w->m->rows, .count = w->m->columns,
		.width = w->width, .x = w->x, .y = w->y, .squares = first ? w->squares : NULL };
	size_t i;

	for (b.from = 0; b.from < b.rows; b.from += b.n) {
		b.n = num_min(w->block, b.rows - b.from);
		if (pass_block(w, &b, pass, e) < 0)
			return -1;
		for (i = 0; first && i < b.n; i++)
			w->s->total += w->squares[i];
	}
	return 0;
}

static int
multiply(struct work *w, bool first, struct err *e)
{
	if (run(w, PASS_MULTIPLY, first, e) < 0)
		return -1;
	linear_columns(w->y, w->c, w->m->rows, w->width, w->o->jobs);
	linear_orthonormal(w->c, w->m->rows, w->width, w->o->jobs);
	linear_panels(w->c, w->y, w->m->rows, w->width, w->o->jobs);
	return 0;
}

static int
adjoint(struct work *w, struct err *e)
{
	memset(w->x, 0, w->m->columns * w->width * sizeof *w->x);
	if (run(w, PASS_ADJOINT, false, e) < 0)
		return -1;
	linear_columns(w->x, w->c, w->m->columns, w->width, w->o->jobs);
	return 0;
}

/* ---- results ---- */

/* Sort the columns of the small problem by length, the lower index first among equals. */
static void
sort(struct work *w, size_t n, size_t rows)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		w->length[i] = sqrt(linear_dot(w->c + i * rows, w->c + i * rows, rows));
	for (i = 0; i < n; i++) {
		for (k = i; k > 0 && w->length[w->order[k - 1]] < w->length[i]; k--)
			w->order[k] = w->order[k - 1];
		w->order[k] = i;
	}
}

/* The values to keep: rank of them, or those that hold the share. False if the share needs more than
 * the n that are known, and more are allowed. */
static bool
choose(struct work *w, size_t n, size_t most)
{
	struct svd *s = w->s;
	double wanted = w->o->energy * s->total;
	size_t i;

	s->kept = 0;
	for (i = 0; i < n && i < most; i++) {
		double value = w->length[w->order[i]];

		if (value <= NOTHING * w->length[w->order[0]])
			break;
		if (w->o->energy > 0 && s->kept >= wanted)
			break;
		s->kept += value * value;
	}
	s->rank = i;
	return w->o->energy <= 0 || s->kept >= wanted || i < n;
}

/* to: the columns of c at their places in the order, with length 1. */
static void
take(const struct work *w, double *to, size_t rows)
{
	size_t k, i;

	for (k = 0; k < w->s->rank; k++) {
		const double *from = w->c + w->order[k] * rows;
		double length = w->length[w->order[k]];

		for (i = 0; i < rows; i++)
			to[k * rows + i] = from[i] / length;
	}
}

/* to: the columns of the rotation at their places. */
static void
take_turned(const struct work *w, double *to, size_t n)
{
	size_t k;

	for (k = 0; k < w->s->rank; k++)
		memcpy(to + k * n, w->turned + w->order[k] * n, n * sizeof *to);
}

/* u = Q P: a sum of the vectors of the range for each of the results. */
static void
combine(void *ctx, size_t k)
{
	const struct work *w = ctx;
	const double *p = w->turned + w->order[k] * w->width;
	size_t rows = w->m->rows, i, q;
	double *u = w->s->u + k * rows;

	for (q = 0; q < w->width; q++)
		for (i = 0; i < rows; i++)
			u[i] += p[q] * w->y[(q / LANES * rows + i) * LANES + q % LANES];
}

static int
results(struct work *w, struct err *e)
{
	struct svd *s = w->s;
	size_t k;

	s->s = mem_array(s->rank, sizeof *s->s);
	s->u = tall(s->rank, s->rows);
	s->v = tall(s->rank, s->columns);
	if (!s->s || !s->u || !s->v)
		return err_memory(e);
	for (k = 0; k < s->rank; k++)
		s->s[k] = w->length[w->order[k]];
	return 0;
}

/* ---- the two ways ---- */

/* By rotations alone. */
static int
exact(struct work *w, size_t most, struct err *e)
{
	struct svd *s = w->s;
	bool wide = s->rows < s->columns;
	size_t n = wide ? s->rows : s->columns, rows = wide ? s->columns : s->rows, i;

	if (work_widen(w, n, e) < 0 || run(w, wide ? PASS_TURN : PASS_COPY, false, e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		s->total += linear_dot(w->c + i * rows, w->c + i * rows, rows);
	if (svd_rotate(w->c, rows, n, w->turned, w->o->jobs, e) < 0)
		return -1;
	sort(w, n, rows);
	choose(w, n, most);
	if (results(w, e) < 0)
		return -1;
	take(w, wide ? s->v : s->u, rows);
	take_turned(w, wide ? s->u : s->v, n);
	return 0;
}

/* Random vectors, evenly distributed between -1 and 1. */
static void
begin(struct work *w)
{
	size_t n = w->m->columns * w->width, i, j, k;
	uint32_t word[64];

	for (i = 0; i < n; i += k) {
		k = num_min(n - i, sizeof word / sizeof *word);
		philox_fill(w->o->key, i, word, k);
		for (j = 0; j < k; j++)
			w->x[i + j] = ((double)word[j] - 2147483647.5) / 2147483648.0;
	}
}

static int
range(struct work *w, bool first, struct err *e)
{
	unsigned i;

	begin(w);
	if (multiply(w, first, e) < 0)
		return -1;
	if (w->s->total == 0)
		return 0;
	for (i = 0; i < w->o->powers; i++) {
		if (adjoint(w, e) < 0)
			return -1;
		linear_orthonormal(w->c, w->m->columns, w->width, w->o->jobs);
		linear_panels(w->c, w->x, w->m->columns, w->width, w->o->jobs);
		if (multiply(w, false, e) < 0)
			return -1;
	}
	return adjoint(w, e);
}

/* By a random block of vectors, which holds `rank` values. *done: choose. */
static int
random_block(struct work *w, size_t width, size_t most, bool *done, struct err *e)
{
	struct svd *s = w->s;
	bool first = w->width == 0;

	if (work_widen(w, width, e) < 0 || range(w, first, e) < 0)
		return -1;
	if (s->total == 0) { /* nothing but zeros */
		*done = true;
		return results(w, e);
	}
	if (svd_rotate(w->c, s->columns, width, w->turned, w->o->jobs, e) < 0)
		return -1;
	sort(w, width, s->columns);
	*done = choose(w, width - MORE, most) || width - MORE >= most;
	if (!*done)
		return 0;
	if (results(w, e) < 0)
		return -1;
	take(w, s->v, s->columns);
	thread_for(w->o->jobs, s->rank, combine, w);
	return 0;
}

static int
solve(struct work *w, struct err *e)
{
	size_t side = num_min(w->m->rows, w->m->columns), most = num_min(w->o->rank, side), width;
	size_t rank = w->o->energy > 0 ? num_min(most, FIRST) : most;
	bool done = false;

	if (work_open(w, e) < 0)
		return -1;
	for (; !done; rank = num_min(rank * 2, most)) {
		width = (rank + MORE + LANES - 1) / LANES * LANES;
		if (width >= side) {
			w->s->total = 0;
			return exact(w, most, e);
		}
		if (random_block(w, width, most, &done, e) < 0)
			return -1;
	}
	return 0;
}

int
svd_of(struct svd *s, const struct svd_matrix *m, const struct svd_asked *asked, struct err *e)
{
	struct work w = { .m = m, .o = asked, .s = s };

	*s = (struct svd){ .rows = m->rows, .columns = m->columns };
	solve(&w, e);
	work_free(&w);
	return e->code == ERR_NONE ? 0 : -1;
}

void
svd_free(struct svd *s)
{
	free(s->s);
	free(s->u);
	free(s->v);
	*s = (struct svd){ .rank = 0 };
}

double
svd_error(const struct svd *s, size_t rank)
{
	double left = s->total;
	size_t i;

	for (i = 0; i < rank && i < s->rank; i++)
		left -= s->s[i] * s->s[i];
	return left > 0 && s->total > 0 ? sqrt(left / s->total) : 0;
}
