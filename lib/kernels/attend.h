/* attend: what attention does with a run of positions, and the gate of a feed-forward
 * layer, on vectors.
 *
 * Each number is made by one order of additions, the same at every level of the CPU; but
 * at all but plain C multiplications are fused with them. What is made is in single
 * precision.
 *
 * Keys come in columns of ATTEND_LANES positions: columns[d × ATTEND_LANES + i] is value d
 * of position i.
 */
#ifndef DOT_ATTEND_H
#define DOT_ATTEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTEND_LANES 32
#define ATTEND_RUN 64   /* positions, at most */
#define ATTEND_BLOCK 32 /* values that share a scale in Q8_0 */

enum attend_kind { ATTEND_F32, ATTEND_F16, ATTEND_Q8_0 };

/* Numbers as they are kept. Keys: the columns of a group of ATTEND_LANES positions are
 * stride columns after those of the one before, value d × ATTEND_LANES + i of a group being
 * code × scale[d / ATTEND_BLOCK × ATTEND_LANES + i]. Values: rows are stride values apart,
 * value d of a row being code × scale[d / ATTEND_BLOCK]. Of other kinds than Q8_0 there are
 * no scales. */
struct attend_rows {
	enum attend_kind kind;
	const uint8_t *p;
	size_t stride;
	const float *scale;
	size_t scale_stride; /* in scales, of a group or row */
};

struct attend {
	/* Numbers of codes: n columns, of which position i has the scale scale[i]; and n values
	 * of a row, a scale for each ATTEND_BLOCK of them, the last of which may be cut. */
	void (*columns)(const int8_t *code, const float scale[ATTEND_LANES], size_t n, float *y);
	void (*row)(const int8_t *code, const float *scale, size_t n, float *y);

	/* score[j][i] = query j · key i, for count queries of width values, and groups times
	 * ATTEND_LANES keys. more: what is there is added to. */
	void (*scores)(const float *const *q, size_t count, const struct attend_rows *keys,
	               size_t width, size_t groups, bool more, float (*score)[ATTEND_RUN]);

	/* Scores low to high, times scale, within a soft cap unless that is 0 (cap × tanh(x /
	 * cap)); the others become -INFINITY. Returns the largest of them and of most. NaN
	 * stays, and is never the largest. */
	float (*soften)(float score[ATTEND_RUN], size_t low, size_t high, float scale, float cap,
	                float most);

	/* x = e^(x - most) for groups × ATTEND_LANES scores, and the sum of all. What is below
	 * e^-87 is zero, so is -INFINITY; what is no number stays so. */
	float (*weigh)(float x[ATTEND_RUN], size_t groups, float most);

	/* a[j][d] += sum over low <= i < high of weight[j][i] × value d of row i, for j < count
	 * and d < width. */
	void (*add)(float *const *a, const float *const *weight, size_t count,
	            const struct attend_rows *values, size_t low, size_t high, size_t width);

	/* a = a × by */
	void (*scale)(float *a, float by, size_t width);

	/* y = y × x / (1 + e^-x) */
	void (*gate)(const float *x, float *y, size_t n);
};

/* Those of the level in use (kernels/dot.h). */
const struct attend *attend_now(void);

#endif
