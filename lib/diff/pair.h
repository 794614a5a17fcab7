/* pair: how far the values of one tensor are from those of another, value by value.
 *
 * A pair is filled from pieces of at most PAIR_VALUES values, which are then joined in their
 * order, so that the figures depend only on the values: not on threads, CPU or compiler.
 * Values that are not finite are not part of sums; a value that is not finite in one tensor
 * and differs in the other counts as odd.
 */
#ifndef DIFF_PAIR_H
#define DIFF_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/histogram.h"

#define PAIR_VALUES 2048

/* Rows of a piece: of the first and the last one it may hold only a part. Of the others, only
 * the one with the largest sum of d² is kept. */
struct pair_rows {
	uint64_t first, last;
	double first_sum, last_sum;
	double worst;        /* negative: none */
	uint64_t worst_row;
};

/* All zero: no values. d is b - a. */
struct pair {
	uint64_t count;      /* values */
	uint64_t equal, within; /* |d| is 0; is at most the tolerance. NaN equals NaN */
	uint64_t odd;
	double aa, bb, ab, dd, d; /* sums of products, and of |d| */
	double most;         /* the largest |d|, first at: */
	uint64_t most_at;
	struct pair_rows rows;
	struct histogram a, b; /* empty unless wanted */
};

/* Where a piece is, and what is wanted of it. */
struct pair_place {
	uint64_t index, row; /* of the first value in its tensor; the values of a row */
	double tolerance;
	double known;        /* a |d| of an earlier piece, or 0: smaller ones are not looked for */
	bool histograms;
};

/* Fill p from n > 0 values, at most PAIR_VALUES. pair_of may change the values. */
void pair_of(struct pair *p, double *a, double *b, size_t n, const struct pair_place *at);
void pair_of_floats(struct pair *p, const float *x, const float *y, size_t n,
                    const struct pair_place *at);

/* Add what follows. */
void pair_join(struct pair *p, const struct pair *behind);

/* The figures of a whole pair. */
struct drift {
	uint64_t count, equal, within, odd;
	double most, mean;   /* of |d| */
	uint64_t most_at;
	double l2;           /* square root of the sum of d² */
	double rmse;         /* relative: l2 by that of a; infinite if a is 0 and b is not */
	double cosine;       /* of the angle between a and b; 1 if both are 0 */
	double kl;           /* divergence of the histogram of b from that of a, in nats */
	uint64_t worst_row;  /* the first with the largest l2, which is: */
	double worst;
};

/* swapped: p was filled with a and b exchanged. */
void pair_drift(const struct pair *p, bool swapped, struct drift *to);

/* The Kullback-Leibler divergence D(a || b) of two histograms in nats, over the bins that hold
 * both. Half a value is added to each bin, so that no share is 0. 0 if one is empty. */
double pair_divergence(const struct histogram *a, const struct histogram *b);

#endif
