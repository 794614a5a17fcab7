/* histogram: how values are distributed, in one pass and without knowing their
 * range in advance.
 *
 * Bins are 2^exponent wide and begin at multiples of that, so that two bins of one
 * width are exactly one of the next. The width is the smallest power of two with
 * which HISTOGRAM_BINS bins hold everything. So counts are exact, and the result
 * depends neither on the order of the values nor on how they were divided.
 */
#ifndef STATS_HISTOGRAM_H
#define STATS_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BINS 32

struct histogram {
	int exponent;
	int64_t low;     /* the first bin begins at low × 2^exponent */
	unsigned bins;   /* 0: empty; else the first and the last bin are not empty */
	uint64_t count[HISTOGRAM_BINS];
};

/* Fill h, whatever it held, with n > 0 finite values from min to max, which
 * both occur. */
void histogram_fill(struct histogram *h, const double *v, size_t n, double min,
                    double max);

/* The same of n > 0 finite floats. */
void histogram_fill_floats(struct histogram *h, const float *v, size_t n);

/* Add the counts of another. */
void histogram_join(struct histogram *h, const struct histogram *more);

/* Where bin i begins, and bin i - 1 ends; infinite beyond double precision. */
double histogram_edge(const struct histogram *h, unsigned i);

#endif
