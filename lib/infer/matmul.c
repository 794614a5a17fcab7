#include "infer/matmul.h"

#include "core/thread.h"
#include "kernels/kernel.h"

#define ROWS 16   /* of a task, times a whole number */
#define PANEL 64  /* of a task, where there are more tokens */
#define SHARES 4  /* tasks of a thread, where there is one token: it reads far on */

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

struct task {
	const struct matrix *w;
	struct inputs *in;
	float *y;
	size_t bytes; /* of a row of activations */
	size_t rows;  /* of a task */
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
	const struct dot_weights w = { t->w->type, t->w->head, t->w->data, t->w->rows,
		t->w->columns, t->w->packed };
	size_t first = i * t->rows, left = w.rows - first;
	size_t count = left < t->rows ? left : t->rows;

	dot_product(&w, first, count, t->in->room, t->in->n, t->y + first, w.rows);
}

void
matmul(const struct matrix *w, struct inputs *in, float *y, unsigned threads)
{
	const struct activation *form = dot_activation(w->type, w->columns);
	struct task t = { w, in, y, form->bytes(w->columns), PANEL };
	size_t tasks = threads ? SHARES * (size_t)threads : 1;

	if (in->form != form) {
		in->form = form;
		thread_for(threads, in->n, one_input, &t);
	}
	if (in->n == 1)
		t.rows = (w->rows + tasks * ROWS - 1) / (tasks * ROWS) * ROWS;
	thread_for(threads, (w->rows + t.rows - 1) / t.rows, some_rows, &t);
}
