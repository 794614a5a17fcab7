/* extremes: the range that holds a share of the values of a column: the magnitude of rank
 * ceil(P / 100 × n) from below, of n values (nearest rank; P = 100: the largest). It is exact, as the
 * largest `depth` magnitudes are kept, in a heap whose root is the smallest of them.
 */
#ifndef GENERATE_EXTREMES_H
#define GENERATE_EXTREMES_H

#include <stddef.h>
#include <stdint.h>

/* The magnitudes to keep of at most n values. */
size_t extremes_depth(uint64_t n, double percentile);

/* Add the magnitude of x; one that is not finite counts as infinite. kept: depth of them, all zero at
 * first. */
void extremes_add(float *kept, size_t depth, float x);

/* The range of n values, n at most that of extremes_depth; 0 if there are none. Sorts kept, to which
 * nothing may be added then. */
float extremes_range(float *kept, size_t depth, uint64_t n, double percentile);

#endif
