/* attend: what attention does with a run of positions, and the gate of a feed-forward
 * layer, on vectors of sixteen.
 *
 * Each number is made by one order of additions, and no multiplication is fused with
 * them, so that every level of the CPU gives the bits of plain C. All that is stored is
 * in single precision.
 */
#ifndef DOT_ATTEND_H
#define DOT_ATTEND_H

#include <stddef.h>

#define ATTEND_RUN 16 /* positions */

struct attend {
	/* Keys of n <= ATTEND_RUN positions, of width values each, to columns: turned[d ×
	 * ATTEND_RUN + i] is value d of position i, zero from n on. */
	void (*turn)(const float *keys, size_t n, size_t width, float *turned);

	/* score[j][i] = query j · key i, for count queries of width values, each after the
	 * other. */
	void (*scores)(const float *q, size_t count, const float *turned, size_t width,
	               float (*score)[ATTEND_RUN]);

	/* x = e^(x - most), and the sum of all. What is below e^-87 is zero, so what is not
	 * seen has a score of -INFINITY; what is no number stays so. */
	float (*weigh)(float x[ATTEND_RUN], float most);

	/* a = a × scale + sum over i < n of weight[i] × value i; values and a have width. */
	void (*add)(float *a, float scale, const float *weight, const float *values, size_t n,
	            size_t width);

	/* y = y × x / (1 + e^-x) */
	void (*gate)(const float *x, float *y, size_t n);
};

/* Those of the level in use (kernels/dot/dot.h). */
const struct attend *attend_now(void);

#endif
