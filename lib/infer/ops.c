#include "infer/ops.h"

#include "kernels/kernel.h"
#include "kernels/thin.h"

size_t
matrix_row_bytes(const struct matrix *w)
{
	return dtype_span(w->type, w->columns);
}

size_t
matrix_bytes(const struct matrix *w)
{
	return w->thin ? (size_t)w->thin->starts[w->rows] : w->rows * matrix_row_bytes(w);
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
