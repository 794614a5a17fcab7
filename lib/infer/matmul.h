/* matmul: rows of weights of any type times rows of activations. All the time of an
 * evaluation is spent here.
 */
#ifndef INFER_MATMUL_H
#define INFER_MATMUL_H

#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* rows × columns weights in the type's own bytes, row after row. */
struct matrix {
	const struct dtype *type; /* which kernels/kernel.h decodes */
	const uint8_t *head;      /* of the tensor, for types that have one */
	const uint8_t *data;      /* of row 0 */
	size_t rows, columns;     /* columns fill whole blocks */
};

/* Bytes of a row. */
size_t matrix_row_bytes(const struct matrix *w);

/* rows from first on, as a matrix. */
struct matrix matrix_rows(const struct matrix *w, size_t first, size_t rows);

/* Row i in single precision: w->columns values. */
void matrix_row(const struct matrix *w, size_t i, float *y);

/* y[n × rows] = x[n × columns] · Wᵀ: y[t][r] is the product of row r of W with row t of
 * x. Each of them is computed alone and in one order, so that it depends neither on n
 * nor on threads. */
void matmul(const struct matrix *w, const float *x, size_t n, float *y, unsigned threads);

/* The product of two rows of n, in the order that matmul uses for F32. */
float matmul_dot(const float *a, const float *b, size_t n);

#endif
