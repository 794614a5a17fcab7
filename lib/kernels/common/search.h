/* search: fits of scale and offset, which block quantizers share. Internal to kernels.
 *
 * GGML finds the scale of a sub-block by trial: it takes a number of candidates
 * around the obvious one, rounds the values to codes by each, solves for the
 * scale (and offset) of least weighted squared error for those codes, and keeps
 * the best. Here sixteen sub-blocks are searched side by side, one a lane. Lanes
 * never mix, and each adds its terms in the order of its values, so vector code
 * that handles many lanes at once gives the same bits. ref/search.c is the
 * definition; search_wide.h is the same on vectors of 4, 8 or 16 lanes, which
 * search.c of each level compiles.
 *
 * Written from the formulas of GGML's reference quantizers. The bytes are
 * theirs; the order of operations in every sum and product matters.
 */
#ifndef KERNELS_SEARCH_H
#define KERNELS_SEARCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"

enum { LANES = 16, DEPTH = 32 };

#define SILENT 1e-15f /* a largest magnitude below this counts as zero */

/* Up to LANES sub-blocks, transposed: value i of sub-block j is x[i][j]. An error
 * e of it costs w × e². Lanes without a sub-block are zero. */
struct lanes {
	_Alignas(64) float x[DEPTH][LANES];
	float w[DEPTH][LANES];
	int depth; /* values of a sub-block: 16 or 32 */
};

/* ---- numbers ---- */

/* A NaN is encoded like zero. */
static inline float
number(float v)
{
	return v == v ? v : 0;
}

/* The nearest whole number, ties to even: 1.5 × 2^23 leaves no bits for a
 * fraction. Exact below 2^22. */
static inline float
nearest(float v)
{
	return (v + 0x1.8p23f) - 0x1.8p23f;
}

/* The same as an integer, for any v. From 2^22 on the result has no relation to
 * v, but is always the same: the low bits of the sum, as GGML reads them. NaN
 * gives 0. */
static inline int
nearest_int(float v)
{
	uint32_t u;

	v = number(v) + 0x1.8p23f;
	memcpy(&u, &v, sizeof u);
	return (int)(u & 0x7fffff) - 0x400000;
}

static inline float
clamp(float v, float least, float most)
{
	v = v < least ? least : v;
	return v > most ? most : v;
}

static inline int
clamp_int(int v, int least, int most)
{
	v = v < least ? least : v;
	return v > most ? most : v;
}

/* The value of largest magnitude, the first of several; 0 if there is none. Its magnitude has a
 * variable of its own, because clang 19 may drop an fabsf of the value itself. */
static inline float
extreme_of(const float *x, int n)
{
	float value = 0, most = 0, a;
	int i;

	for (i = 0; i < n; i++) {
		a = fabsf(x[i]);
		value = a > most ? x[i] : value;
		most = a > most ? a : most;
	}
	return value;
}

/* Store in half precision; all NaNs become the same one. */
static inline void
half_put(uint8_t *y, float v)
{
	le16_put(y, v == v ? half_f32_f16(v) : 0x7e00);
}

/* ---- lanes ---- */

static inline void
lanes_set(float *v, float value)
{
	int j;

	for (j = 0; j < LANES; j++)
		v[j] = value;
}

/* The sum of the squares of x, in order. */
float squares(const float *x, size_t n);

/* ---- scale: x ≈ scale × code, -most <= code < most ---- */

struct scale_fit {
	float inverse[LANES]; /* code = x × inverse, rounded; 0: silent lane */
	float scale[LANES];   /* 0 for a silent lane */
};

/* ---- line: x ≈ scale × code + offset, 0 <= code <= most, offset <= 0 ---- */

/* Candidate i, 0 <= i <= count, has most + first + step × i steps from the best
 * offset so far to the largest value. */
struct line_range {
	int most;
	float first, step;
	int count;
	bool absolute; /* candidates are compared by absolute, not squared error */
};

struct line_fit {
	float origin[LANES];  /* codes of the search are nearest_int of */
	float inverse[LANES]; /* inverse × (x - origin) */
	float scale[LANES];
	float offset[LANES];
	float error[LANES];
};

/* ---- points of a grid (kernels/common/near.h): x ≈ scale × level ---- */

#define GROUPS 8 /* of a sub-block, at most: those values are a point of the grid */

struct grid;

/* Sub-blocks whose signs stand elsewhere, and the roots of their weights: the error e of a
 * value, where a point is chosen, costs root × e². Levels are 1, 3, 5 and so on. */
struct grid_lanes {
	struct lanes l;
	_Alignas(64) float root[DEPTH][LANES];
};

/* Candidates from -count to count: candidate i gives most the level top + step × i, where top
 * is the last level. */
struct grid_range {
	float step;
	int count;
};

struct grid_fit {
	float most[LANES];             /* set before; 0: a silent lane, whose results are undefined */
	float scale[LANES];            /* set before: that of a lane where no candidate is better
	                                * than none */
	uint16_t point[GROUPS][LANES]; /* packed; 0 in such a lane */
	uint8_t off[GROUPS][LANES];    /* 1: the values round to another point at that scale; the
	                                * caller sets what it is in such a lane */
};

/* ---- thirds: x ≈ scale × (level ± 1/8), levels -1, 0, 1 ---- */

/* Lanes whose values are sorted: products of weight and value, and weights. shift of a value
 * is the sign of its 1/8: that of the lane, or of its half of the lane. */
struct thirds_lanes {
	_Alignas(64) float x[DEPTH][LANES];
	float w[DEPTH][LANES];
	uint8_t second[DEPTH][LANES]; /* 1: the value is of the second half */
	int depth;
};

struct thirds_fit {
	float scale[LANES]; /* may be negative */
	int first[LANES];   /* values before it have level -1 */
	int last[LANES];    /* from it on, level 1 */
	int shift[LANES];   /* bit 1, bit 0: 1/8 is subtracted in the first, the second half;
	                     * -1: no split has a scale */
};

/* ---- what a level of the CPU does in its own way ---- */

struct search {
	/* Fill x from count sub-blocks of depth values each, one after another. */
	void (*load)(struct lanes *l, const float *x, int depth, int count);

	/* Fill w, the weights:
	 * |x| + the root of the mean square of the lane; |x|; x²; importance; and
	 * importance × sqrt(power + x²), where power is a mean square of each
	 * lane's surroundings, which keeps small values in play. importance has one
	 * number for each value, in the order of values. */
	void (*weigh_root)(struct lanes *l);
	void (*weigh_magnitude)(struct lanes *l);
	void (*weigh_square)(struct lanes *l);
	void (*weigh_by)(struct lanes *l, const float *importance, int count);
	void (*weigh_power)(struct lanes *l, const float *importance, const float *power,
	                    int count);

	/* The sum of the weights of each lane. */
	void (*weight)(const struct lanes *l, float *sum);

	void (*scale)(const struct lanes *l, int most, struct scale_fit *f);
	void (*line)(const struct lanes *l, const struct line_range *r, struct line_fit *f);

	/* Codes, plus most, of each lane against its scale d as stored: depth
	 * of them, lane after lane. Where d is zero any code decodes to zero; like the
	 * reference, this leaves the codes of the search, and code 0 for a silent
	 * lane. */
	void (*scale_codes)(const struct lanes *l, const struct scale_fit *f,
	                    const float *d, int most, uint8_t *code);

	/* Codes against scale d and offset as they are stored; where d is zero, those
	 * of the search. */
	void (*line_codes)(const struct lanes *l, const struct line_fit *f, const float *d,
	                   const float *offset, int most, uint8_t *code);

	/* The scales that bring the levels (kernels/common/iq4.h) nearest to the
	 * values, by trial; 0 for a silent lane. And the codes of the levels nearest to
	 * inverse × value. */
	void (*levels)(const struct lanes *l, float *scale);
	void (*level_codes)(const struct lanes *l, const float *inverse, uint8_t *code);

	/* The scales of Q3_K's search, which goes code by code, and codes plus 4, 0
	 * for a silent lane. Lanes are 16 deep. */
	void (*descent)(const struct lanes *l, float *scale, uint8_t *code);

	/* As search_steps, of lanes whose values may be negative; the scales alone. A code below
	 * 0 counts as GGML's, which is 256 more once it is stored. */
	void (*steps)(const struct lanes *l, int most, float *scale);

	/* The candidate whose points lower the error most, with its best scale. */
	void (*grid)(const struct grid_lanes *l, const struct grid *g,
	             const struct grid_range *r, struct grid_fit *f);

	/* Points of the groups that again names, at the lane's scale, where it is above 0; then
	 * the best scale for all points of such a lane. */
	void (*grid_again)(const struct grid_lanes *l, const struct grid *g,
	                   uint8_t (*again)[LANES], struct grid_fit *f);

	/* The split of sorted values into three levels, with its best scale. */
	void (*thirds)(const struct thirds_lanes *l, struct thirds_fit *f);

	/* The same with a sign of 1/8 for each half of a lane. */
	void (*thirds_halves)(const struct thirds_lanes *l, struct thirds_fit *f);

	/* In place of each packed point that is not of the grid, the nearest one that is, by
	 * weighted error. Levels are -1, 0, 1, plus 1/8 or, where down is 1, minus 1/8. */
	void (*thirds_points)(const struct lanes *l, const struct grid *g, const float *scale,
	                      uint8_t (*down)[LANES], uint16_t (*point)[LANES]);
};

extern const struct search search_ref;

/* The searches in use: search_ref until level_begin has chosen. */
extern const struct search *search;

/* ---- steps: the scales of a super-block, x >= 0, 0 <= code <= most ---- */

/* Codes for n values with weights w. Returns the scale; x ≈ scale × code. */
float search_steps(const float *x, const float *w, int n, int most, uint8_t *code);

#endif
