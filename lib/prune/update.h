/* update: the values of a matrix that stay make up for those that go.
 *
 * Source: Frantar and Alistarh 2023, "SparseGPT: Massive Language Models Can Be Accurately Pruned in
 * One-Shot", algorithm 1. H is the sum of x xᵀ over the activations x that the matrix is multiplied
 * with, plus 1 % of the mean of its diagonal; U is the upper triangular factor of its inverse. From
 * the first column to the last, a value w that goes has the score (w / U[j][j])², and takes w /
 * U[j][j] times row j of U from the values after it.
 *
 * A share is taken of each UPDATE_BLOCK columns, of all rows together (SCOPE_TENSOR) or of each
 * (SCOPE_ROW), so that the whole has exactly choose_count zeros; N:M of each group. Arithmetic is in
 * double precision, and scores are rounded to single precision; of equal scores the first in rows
 * goes. The result does not depend on threads.
 */
#ifndef PRUNE_UPDATE_H
#define PRUNE_UPDATE_H

#include "prune/plan.h"

#define UPDATE_BLOCK 128
#define UPDATE_DAMP 0.01

/* The values of a tensor with its zeros: a new array, the caller's to free. Memory: 12 bytes for each
 * value, and 8 for the square of its columns. NULL with e filled: ERR_INVALID if a value is not
 * finite. */
float *update_matrix(const struct prune_plan *p, size_t tensor, unsigned jobs, struct err *e);

#endif
