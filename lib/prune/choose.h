/* choose: which values of a row or a group become zero.
 *
 * A value goes by its score: its magnitude, or magnitude times the norm of its input
 * (Sun et al. 2023, "A Simple and Effective Pruning Approach for Large Language Models",
 * section 3). Scores are compared as ranks: a rank has the bits of a float without sign, and the
 * smallest score has the highest rank. So "the k highest ranks, of equal ones the first" is one
 * rule for rows (here) and for tensors in two passes (stats/border.h). A score that is NaN has
 * the lowest rank.
 */
#ifndef PRUNE_CHOOSE_H
#define PRUNE_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct prune_list;

#define CHOOSE_OF 32 /* the maximum M of N:M */

/* share · n, rounded to the nearest integer, and halves up. share is 0 to 1. */
uint64_t choose_count(double share, uint64_t n);

/* The ranks of n values. norm: of their columns, or NULL for 1 each. */
void choose_rank(const float *x, const float *norm, float *rank, size_t n);

/* Set the k of n values with the highest ranks to zero. */
void choose_row(const float *rank, float *x, size_t n, size_t k);

/* The same in each run of `of` values, which divides n and is at most CHOOSE_OF: `keep` of
 * them stay. */
void choose_groups(const float *rank, float *x, size_t n, unsigned keep, unsigned of);

/* The n - gone of n heads or neurons with the highest scores, ascending; of equal ones, the last
 * stay. A score is the sum of `each` columns. 0, or -1 with e filled; to is the caller's to free. */
int choose_kept(const double *columns, uint64_t n, uint64_t each, uint64_t gone,
                struct prune_list *to, struct err *e);

#endif
