/* matmul: rows of weights of any type times rows of activations. All the time of an
 * evaluation is spent here.
 */
#ifndef CPU_MATMUL_H
#define CPU_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dot.h"
#include "model/dtype.h"

/* rows × columns weights in the type's own bytes, row after row, or packed. */
struct matrix {
	const struct dtype *type; /* which kernels/kernel.h decodes */
	const uint8_t *head;      /* of the tensor, for types that have one */
	const uint8_t *data;      /* of row 0 */
	size_t rows, columns;     /* columns fill whole blocks */
	bool packed;              /* as dot_pack lays them: only products know them */
};

/* Bytes of a row. */
size_t matrix_row_bytes(const struct matrix *w);

/* rows from first on, as a matrix. */
struct matrix matrix_rows(const struct matrix *w, size_t first, size_t rows);

/* Row i in single precision: w->columns values. */
void matrix_row(const struct matrix *w, size_t i, float *y);

/* x[n × columns], the rows that matrices are multiplied with, and what they were brought
 * into for the last of them (kernels/dot.h). */
struct inputs {
	const float *x;
	const float *norm; /* NULL, or RMS-norm each row first: its weights; */
	float eps;         /* both in one pass (dot_rms_quantize) */
	size_t n, columns;
	uint8_t *room;                 /* for n rows of any form, aligned to DOT_ALIGN */
	const struct activation *form; /* in room now; NULL: none */
};

/* Bytes of room that a row takes for products with w. */
size_t matmul_room(const struct matrix *w);

/* y[n × rows] = x · Wᵀ: y[t][r] is the product of row r of W with row t of x. Each of
 * them is computed in one order, so that it depends neither on what other rows are
 * there nor on threads; below DOT_MANY rows of x that is another order than above. */
void matmul(const struct matrix *w, struct inputs *in, float *y, unsigned threads);

/* One of several products with the same rows of x. */
struct product {
	const struct matrix *w;
	float *y;
};

/* All of them, in one loop over the tasks of all: threads wait for each other once. Matrices
 * have the same columns. */
void matmuls(const struct product *p, size_t count, struct inputs *in, unsigned threads);

/* The product of two rows of n. */
float matmul_dot(const float *a, const float *b, size_t n);

#endif
