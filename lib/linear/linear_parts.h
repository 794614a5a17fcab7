/* linear_parts: what the files of svd.h share.
 *
 * A tall matrix of n rows and a multiple of LANES columns has one of two layouts. Columns: one
 * column behind the other. Panels: LANES columns at a time, row by row.
 */
#ifndef LINEAR_LINEAR_PARTS_H
#define LINEAR_LINEAR_PARTS_H

#include <stddef.h>

#define LANES 8

/* The sum of products, value i in lane i % LANES; lanes are then added in pairs. */
double linear_dot(const double *a, const double *b, size_t n);

void linear_columns(const double *panels, double *columns, size_t n, size_t width, unsigned jobs);
void linear_panels(const double *columns, double *panels, size_t n, size_t width, unsigned jobs);

/* Some rows of a matrix D, and two blocks of vectors. */
struct linear_block {
	const float *d;
	size_t rows, count;       /* of the whole matrix */
	size_t from, n;           /* the rows in d */
	size_t width;             /* columns of x and y */
	double *x, *y;            /* panels of `count` and of `rows` rows */
	double *squares;          /* n sums, or NULL */
};

/* y gets the rows of D x; squares: the sum of squares of each row. */
void linear_multiply(const struct linear_block *b, unsigned jobs);

/* x += Dᵀ y for the rows of the block. */
void linear_adjoint(const struct linear_block *b, unsigned jobs);

/* Make columns orthonormal, by two rounds of Gram-Schmidt. Columns that depend on earlier ones
 * become 0. */
void linear_orthonormal(double *columns, size_t n, size_t width, unsigned jobs);

#endif
