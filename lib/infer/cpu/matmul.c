#include "infer/cpu/matmul.h"

#include <stdatomic.h>
#include <time.h>

#include "core/thread.h"
#include "infer/cpu/ahead.h"
#include "kernels/kernel.h"

#define ROWS 16   /* of a task, times a whole number */
#define PANEL 64  /* of a task, where there are more tokens */
#define SHARES 4  /* tasks of a thread, where there is one token: it reads far on */
#define LARGE_BYTES (1u << 20) /* of matrices that are worth timing */
#define LESS 4    /* times as small are those of the last quarter: threads end together */

size_t
matrix_row_bytes(const struct matrix *w)
{
	return dtype_span(w->type, w->columns);
}

struct matrix
matrix_rows(const struct matrix *w, size_t first, size_t rows)
{
	struct matrix m = *w;

	m.data += first * matrix_row_bytes(w);
	m.rows = rows;
	return m;
}

void
matrix_row(const struct matrix *w, size_t i, float *y)
{
	kernel_decode(w->type, w->head, w->data + i * matrix_row_bytes(w), y, w->columns);
}

#define LANES 16

float
matmul_dot(const float *a, const float *b, size_t n)
{
	float lane[LANES] = { 0 };
	size_t i, k, half;

	for (i = 0; i + LANES <= n; i += LANES)
		for (k = 0; k < LANES; k++)
			lane[k] += a[i + k] * b[i + k];
	for (k = 0; i < n; i++, k++)
		lane[k] += a[i] * b[i];
	for (half = LANES / 2; half; half /= 2)
		for (k = 0; k < half; k++)
			lane[k] += lane[k + half];
	return lane[0];
}

/* Rows of one product as tasks: large of them of rows each, then others of less. */
struct cut {
	struct product product;
	size_t rows, less, large, tasks;
};

enum { CUTS = 3 }; /* products at a time */

struct task {
	struct cut cut[CUTS];
	size_t tasks;
	struct inputs *in;
	size_t bytes; /* of a row of activations */
};

size_t
matmul_room(const struct matrix *w)
{
	return dot_activation(w->type, w->columns)->bytes(w->columns);
}

static void
one_input(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct inputs *in = t->in;

	const float *x = in->x + i * in->columns;
	uint8_t *to = in->room + i * t->bytes;

	if (in->norm)
		dot_rms_quantize(in->form, x, in->norm, in->eps, to, in->columns);
	else
		dot_quantize(in->form, x, to, in->columns);
}

static void
some_rows(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct cut *c = t->cut;
	const struct matrix *m;
	size_t first, count;

	for (; i >= c->tasks; c++)
		i -= c->tasks;
	m = c->product.w;
	first = i < c->large ? i * c->rows : c->large * c->rows + (i - c->large) * c->less;
	count = i < c->large ? c->rows : c->less;
	count = m->rows - first < count ? m->rows - first : count;
	dot_product(&(struct dot_weights){ m->type, m->head, m->data, m->rows, m->columns,
	                                   m->packed },
	            first, count, t->in->room, t->in->n, c->product.y + first, m->rows);
}

static size_t
whole(size_t rows, size_t parts)
{
	return (rows + parts * ROWS - 1) / (parts * ROWS) * ROWS;
}

/* Of count products, which have all rows together. */
static void
cut(struct task *t, const struct product *p, size_t count, size_t all, unsigned threads)
{
	size_t i, left;

	t->tasks = 0;
	for (i = 0; i < count; i++) {
		struct cut *c = &t->cut[i];

		c->product = p[i];
		c->rows = t->in->n > 1 ? PANEL : whole(all, threads ? SHARES * (size_t)threads : 1);
		c->less = t->in->n > 1 ? PANEL : whole(c->rows, LESS);
		c->large = p[i].w->rows / LESS * (LESS - 1) / c->rows;
		left = p[i].w->rows - c->large * c->rows;
		c->tasks = c->large + (left + c->less - 1) / c->less;
		t->tasks += c->tasks;
	}
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Weights that are more than lies in a cache, with one row of x: they are timed until it is
 * known how far ahead to ask for them. */
static void
run(struct task *t, size_t bytes, unsigned threads)
{
	static struct ahead ahead;
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	static atomic_bool done;
	double began;

	if (t->in->n > 1 || bytes < LARGE_BYTES || done || atomic_flag_test_and_set(&busy)) {
		thread_for(threads, t->tasks, some_rows, t);
		return;
	}
	dot_ahead(ahead_bytes(&ahead));
	began = now();
	thread_for(threads, t->tasks, some_rows, t);
	if (!ahead_done(&ahead))
		ahead_took(&ahead, (now() - began) / (double)bytes);
	dot_ahead(ahead_bytes(&ahead));
	done = ahead_done(&ahead);
	atomic_flag_clear(&busy);
}

void
matmuls(const struct product *p, size_t count, struct inputs *in, unsigned threads)
{
	struct task t = { .in = in };
	size_t all, bytes, some;

	for (; count > 0; count -= some, p += some) {
		const struct activation *form = dot_activation(p->w->type, p->w->columns);

		for (some = all = bytes = 0; some < count && some < CUTS && dot_activation(
			p[some].w->type, p[some].w->columns) == form; some++) {
			all += p[some].w->rows;
			bytes += p[some].w->rows * matrix_row_bytes(p[some].w);
		}
		t.bytes = form->bytes(p->w->columns);
		if (in->form != form) {
			in->form = form;
			thread_for(threads, in->n, one_input, &t);
		}
		cut(&t, p, some, all, threads);
		run(&t, bytes, threads);
	}
}

void
matmul(const struct matrix *w, struct inputs *in, float *y, unsigned threads)
{
	matmuls(&(struct product){ w, y }, 1, in, threads);
}
