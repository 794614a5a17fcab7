/* near: squares of Euclidean distances between many rows and four rows of training at a time. A lane is
 * a row and adds in the order of the features, so that all levels of the CPU give the same bits.
 */
#ifndef PREDICT_NEAR_H
#define PREDICT_NEAR_H

#include <stddef.h>

#define NEAR_LANES 8
#define NEAR_ROWS 4

struct near_level {
	const char *name; /* as in APR_CPU */
	/* t: NEAR_ROWS rows of n values; q: NEAR_LANES rows, feature by feature; to: NEAR_ROWS x
	 * NEAR_LANES sums. */
	void (*squares)(const double *t, size_t n, const double *q, double *to);
};

extern const struct near_level near_plain, near_avx2, near_avx512;

/* Level 0 is plain C; NULL: the CPU does not have it. The best one, or the one that APR_CPU names. */
const struct near_level *near_level(unsigned index);
const struct near_level *near_best(void);

#endif
