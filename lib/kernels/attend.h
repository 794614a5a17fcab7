/* attend: the arithmetic of attention over a run of positions, and the gate of a
 * feed-forward layer, on vectors.
 *
 * Additions have the same order at every level of the CPU. All levels but plain C fuse
 * them with multiplications, except in WebAssembly, which has no such instruction. Results
 * are single precision.
 *
 * Keys are stored in columns of ATTEND_LANES positions: columns[d × ATTEND_LANES + i] is
 * value d of position i.
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

/* Keys or values as the cache stores them.
 * Keys: groups of ATTEND_LANES positions are stride columns apart; value d of position i of
 * a group is code[d × ATTEND_LANES + i] × scale[d / ATTEND_BLOCK × ATTEND_LANES + i].
 * Values: rows are stride values apart; value d of a row is code[d] ×
 * scale[d / ATTEND_BLOCK]. Only Q8_0 has scales. */
struct attend_rows {
	enum attend_kind kind;
	const uint8_t *p;
	size_t stride;
	const float *scale;
	size_t scale_stride; /* in scales, from one group or row to the next */
};

struct attend {
	/* Decode codes to floats: n columns, where position i has the scale scale[i]; and n values
	 * of a row, with a scale for each ATTEND_BLOCK of them; the last block may be short. */
	void (*columns)(const int8_t *code, const float scale[ATTEND_LANES], size_t n, float *y);
	void (*row)(const int8_t *code, const float *scale, size_t n, float *y);

	/* score[j][i] = query j · key i, for count queries of width values and groups ×
	 * ATTEND_LANES keys; with more, the product is added to the score. */
	void (*scores)(const float *const *q, size_t count, const struct attend_rows *keys,
	               size_t width, size_t groups, bool more, float (*score)[ATTEND_RUN]);

	/* Multiply scores low to high - 1 by scale and apply a soft cap, cap × tanh(x / cap),
	 * unless cap is 0; set all others to -INFINITY. Returns the maximum of the scores and of
	 * most. A NaN stays, and is never the maximum. */
	float (*soften)(float score[ATTEND_RUN], size_t low, size_t high, float scale, float cap,
	                float most);

	/* x = e^(x - most) for groups × ATTEND_LANES scores; returns their sum. The result is zero
	 * below e^-87 and for -INFINITY. NaN stays NaN. */
	float (*weigh)(float x[ATTEND_RUN], size_t groups, float most);

	/* a[j][d] += the sum over low <= i < high of weight[j][i] × value d of row i, for j < count
	 * and d < width. */
	void (*add)(float *const *a, const float *const *weight, size_t count,
	            const struct attend_rows *values, size_t low, size_t high, size_t width);

	/* a = a × by */
	void (*scale)(float *a, float by, size_t width);

	/* y = y × x / (1 + e^-x) */
	void (*gate)(const float *x, float *y, size_t n);
};

/* The functions of the level in use. */
const struct attend *attend_now(void);

#endif
