/* cholesky: sums of outer products of vectors, and the root of the inverse of such a matrix.
 *
 * A symmetric matrix of n × n values is stored in rows, and only its upper triangle is read and
 * written. All sums are in double precision and in a fixed order, so results have the same bits for
 * any number of threads and any CPU.
 */
#ifndef LINEAR_CHOLESKY_H
#define LINEAR_CHOLESKY_H

#include <stddef.h>

#include "core/err.h"

/* h += X Xᵀ for `count` vectors of n values, one behind the other; sums are in their order, so they do
 * not depend on how vectors are divided among calls. */
void cholesky_add(double *h, size_t n, const float *x, size_t count, unsigned jobs);

/* h becomes U, upper triangular, with h⁻¹ = Uᵀ U: the Cholesky factor of the inverse. The lower
 * triangle is overwritten. name: of the matrix, for the message. 0, or -1 with ERR_INVALID if h is not
 * positive definite within rounding, or not finite. */
int cholesky_inverse(double *h, size_t n, const char *name, unsigned jobs, struct err *e);

#endif
