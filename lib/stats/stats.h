/* stats: statistics of many numbers, in one pass.
 *
 * Sums are made of fixed runs of STATS_CHUNK values, in double precision and a
 * fixed order, and added run by run in their order, so that the result depends
 * only on the values: not on threads, pieces, CPU or compiler.
 */
#ifndef STATS_STATS_H
#define STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

#define STATS_CHUNK 2048 /* values; a multiple of every block */
#define STATS_NONE UINT64_MAX

/* min, max and the members below them count only finite values. STATS_INIT: no values
 * yet. */
struct stats {
	uint64_t count, nan, inf;
	uint64_t zeros;     /* of either sign */
	uint64_t first;     /* index of the first that is not finite, or STATS_NONE */
	bool first_is_nan;
	uint64_t below;     /* codes of -128 (stats/codes.h) */
	uint64_t first_below; /* index of the first, or STATS_NONE */
	double min, max;    /* 0 if there is no finite value */
	double sum;
	double squares;     /* sum of x² */
	double deviations;  /* sum of (x - mean)² */
};
#define STATS_INIT { .first = STATS_NONE, .first_below = STATS_NONE }

struct histogram;

/* Statistics of the n values (at most STATS_CHUNK, as in stats/values.h); the first one has
 * the index at: what the codes say, and what the values say. The latter closes the gaps of values
 * that are not finite, in v. h: NULL, or an empty histogram to fill. */
void stats_of_codes(const struct dtype *t, const uint8_t *x, size_t n, uint64_t at,
                    struct stats *s);
void stats_of_values(double *v, size_t n, uint64_t at, struct stats *s,
                     struct histogram *h);

/* Add the statistics of values that follow. */
void stats_join(struct stats *s, const struct stats *behind);

uint64_t stats_finite(const struct stats *s);

/* Only if there are finite values; infinite or NaN where sums leave double
 * precision. The standard deviation is that of the values themselves (divided by
 * their number). */
double stats_mean(const struct stats *s);
double stats_std(const struct stats *s);
double stats_l2(const struct stats *s);

#endif
