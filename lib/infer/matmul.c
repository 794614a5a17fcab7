#include "infer/matmul.h"

#include "core/thread.h"
#include "kernels/kernel.h"

#define ROWS 16    /* of a task */
#define PIECE 4096 /* columns decoded at once: a multiple of every block */

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
	const float *x;
	size_t n;
	float *y;
};

static void
some_rows(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct matrix *w = t->w;
	size_t r, c, k, last = (i + 1) * ROWS < w->rows ? (i + 1) * ROWS : w->rows;
	float piece[PIECE];

	for (r = i * ROWS; r < last; r++) {
		const uint8_t *row = w->data + r * matrix_row_bytes(w);

		for (c = 0; c < w->columns; c += PIECE) {
			size_t m = w->columns - c < PIECE ? w->columns - c : PIECE;

			kernel_decode(w->type, w->head, row + dtype_span(w->type, c), piece, m);
			for (k = 0; k < t->n; k++) {
				float *y = &t->y[k * w->rows + r];
				float sum = matmul_dot(piece, &t->x[k * w->columns + c], m);

				*y = c ? *y + sum : sum;
			}
		}
	}
}

void
matmul(const struct matrix *w, const float *x, size_t n, float *y, unsigned threads)
{
	struct task t = { w, x, n, y };

	thread_for(threads, (w->rows + ROWS - 1) / ROWS, some_rows, &t);
}
