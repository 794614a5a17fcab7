/* svd: the largest singular values of a matrix, with their vectors: D = U S Vᵀ.
 *
 * Large matrices are never in memory: they are read in blocks of rows, as often as needed. A random
 * block of vectors finds the range of the largest values, refined by power iterations (Halko,
 * Martinsson, Tropp: Finding Structure with Randomness, arXiv 0909.4061, algorithm 4.4); what
 * remains is small, and one-sided Jacobi rotations (Hestenes 1958) solve it. A matrix whose
 * smaller side is not larger than the block is solved by rotations alone.
 *
 * All sums are in double precision and in a fixed order; random numbers come from core/philox.h.
 * So the result has the same bits for any number of threads, any CPU and any size of blocks.
 */
#ifndef LINEAR_SVD_H
#define LINEAR_SVD_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* A matrix of rows × columns. read gives n rows from `row` on, one behind the other, and is only
 * called by the thread that calls svd_of, with rows in ascending order in each pass. The same row
 * must have the same values in each pass. 0, or -1 with e filled. */
struct svd_matrix {
	const char *name;         /* for messages */
	size_t rows, columns;     /* at least 1 */
	int (*read)(void *ctx, size_t row, size_t n, float *to, struct err *e);
	void *ctx;
};

struct svd_asked {
	size_t rank;              /* the most values, at least 1 */
	double energy;            /* 0: exactly `rank` values (less if the matrix has fewer); else the
	                           * fewest whose squares are at least this share of all, up to rank */
	unsigned powers;          /* power iterations; 2 is usual. Each reads the matrix twice more */
	uint64_t key;             /* of random numbers: philox_key */
	unsigned jobs;            /* threads */
};

/* Values that are 0 within rounding are not among the results, so the rank of a zero matrix is 0. */
struct svd {
	size_t rows, columns, rank;
	double *s;                /* rank values, the largest first */
	double *u;                /* rank vectors of `rows` values of length 1, one behind the other */
	double *v;                /* rank vectors of `columns` values of length 1 */
	double total;             /* the sum of squares of all values of the matrix; */
	double kept;              /* and of s. The error of the product is √(total - kept) */
};

/* Find them. Memory, besides the result: 8 bytes × (rows + columns + the larger) × L for L = rank + 8,
 * rounded up to a multiple of 8, and a block of rows of at most 8 MiB, or of one row. ERR_INVALID
 * for a value that is not finite. 0, or -1 with e filled; svd_free in any case. */
int svd_of(struct svd *s, const struct svd_matrix *m, const struct svd_asked *asked, struct err *e);
void svd_free(struct svd *s);

/* The share of the squares that the first `rank` values do not hold, as a relative error: 0 to 1. */
double svd_error(const struct svd *s, size_t rank);

/* The same for a whole matrix in memory: columns vectors of `rows` values, one behind the other, with
 * rows at least as many as columns. a becomes U S, and v (columns × columns, the vectors one behind
 * the other) V, in the order of a's columns, not sorted. jobs threads. 0, or -1 with e filled:
 * ERR_INVALID if a value is not finite, ERR_MEMORY. */
int svd_rotate(double *a, size_t rows, size_t columns, double *v, unsigned jobs, struct err *e);

#endif
