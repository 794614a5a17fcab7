/* training: the arithmetic of models that learn, in single precision.
 *
 * Every level of the CPU gives the same bits. A product adds in one order at each level, with fused
 * multiplication and addition (C11's fmaf): vectors hold neighbouring results, not terms of a sum. Other
 * sums have TRAINING_LANES partial sums, which are added as a tree; there, and wherever a formula does
 * not need it, nothing is fused. Plain C defines all this; a level is compared with it before it is used.
 *
 * Pointers need no alignment. Arrays of one call do not overlap unless they are the same.
 */
#ifndef KERNELS_TRAINING_H
#define KERNELS_TRAINING_H

#include <stdbool.h>
#include <stddef.h>

#define TRAINING_PANEL 32 /* columns of a packed matrix that lie together */
#define TRAINING_LANES 16

/* The values of a packed matrix of k rows and n columns. */
#define TRAINING_PACKED(k, n) (((n) + TRAINING_PANEL - 1) / TRAINING_PANEL * TRAINING_PANEL * (k))

/* c = a b, or c += a b if `add`: c[i][j] = fma(a[i][k-1], b[k-1][j], … fma(a[i][0], b[0][j], start)), where
 * start is 0 or what c was. So a sum in parts has the bits of the whole. */
struct training_product {
	const float *a;           /* value (i, p) is a[i × a_row + p × a_column] */
	size_t a_row, a_column;
	const float *b;           /* packed: columns from a multiple of TRAINING_PANEL on */
	size_t b_depth;           /* rows of the matrix that was packed, at least k */
	float *c;                 /* value (i, j) is c[i × c_row + j] */
	size_t c_row;
	size_t m, n, k;
	bool add;
};

/* What a row of logits loses. */
struct training_loss {
	double hard, soft;        /* train/train.h has the formulas; soft without T² */
};

struct training_aim {
	size_t target;
	float hard, soft;         /* factors of the two gradients */
	float cooler;             /* 1 / temperature */
};

/* A step of AdamW for one parameter: g = gradient × clip, then
 *	first  = beta1 × first + (1 - beta1) × g
 *	second = beta2 × second + (1 - beta2) × g × g
 *	value  = value - (rate × first / (sqrt(second) × scale + eps) + decay × value)
 */
struct training_step {
	float clip, beta1, rest1, beta2, rest2, rate, scale, eps, decay;
};

struct training {
	/* Pack panels first to first + count - 1 of a matrix of k × n; value (p, j) is
	 * b[p × row + j × column], where row or column is 1. Panel number i has k rows of TRAINING_PANEL
	 * values, and zeros beyond column n; it goes to to[i × k × TRAINING_PANEL]. */
	void (*pack)(const float *b, size_t row, size_t column, size_t k, size_t n, size_t first,
	             size_t count, float *to);
	void (*multiply)(const struct training_product *p);

	/* y += x; y[i] += bias[i] for each of `rows` rows; sum[j] += x of each row, row after row. */
	void (*add)(float *y, const float *x, size_t n);
	void (*bias)(float *y, size_t stride, size_t rows, const float *bias, size_t n);
	void (*columns)(const float *x, size_t stride, size_t rows, size_t n, float *sum);

	/* mean = Σ x / n, or 0 unless centered; factor = 1 / sqrt(Σ (x - mean)² / n + eps) */
	void (*moments)(const float *x, size_t n, bool centered, float eps, float *mean,
	                float *factor);
	/* y = (x - mean) × factor × weight + bias; bias may be NULL */
	void (*norm)(const float *x, size_t n, float mean, float factor, const float *weight,
	             const float *bias, float *y);
	/* With u = (x - mean) × factor and g = dy × weight:
	 * dx = factor × (g - [centered] Σ g / n - u × Σ g u / n), which is added if `add`. dx may be dy. */
	void (*norm_back)(const float *x, size_t n, float mean, float factor, bool centered,
	                  const float *weight, const float *dy, float *dx, bool add);
	/* dweight += dy × u, for rows of n values; mean and factor have one value for each. */
	void (*norm_gain)(const float *x, const float *dy, size_t stride, size_t rows, size_t n,
	                  const float *mean, const float *factor, float *dweight);

	/* Rotary positions of `heads` heads of `head` values each: the first rot values of each are
	 * rotated, pairs i and i + rot/2 (halves) or 2i and 2i + 1; back: by the negative angles. */
	void (*rotate)(float *x, size_t heads, size_t head, size_t rot, bool halves, bool back,
	               const float *cosines, const float *sines);

	/* y = silu(g) × u; and back: y as before, and the gradients of g and u for dy take their places.
	 * silu(x) = x / (1 + e^-x) */
	void (*gate)(const float *g, const float *u, float *y, size_t n);
	void (*gate_back)(float *g, float *u, const float *dy, float *y, size_t n);
	/* The same for y = gelu(u) = u/2 × (1 + tanh(sqrt(2/π) (u + 0.044715 u³))). */
	void (*gelu)(const float *u, float *y, size_t n);
	void (*gelu_back)(float *u, const float *dy, float *y, size_t n);

	/* x = e^(x × scale - most) × factor, where most is the maximum of x × scale and factor makes the
	 * sum 1; again: with the same most and factor; back: dp = p × (dp - Σ p dp) × scale. */
	void (*softmax)(float *x, size_t n, float scale, float *most, float *factor);
	void (*softmax_again)(float *x, size_t n, float scale, float most, float factor);
	void (*softmax_back)(const float *p, float *dp, size_t n, float scale);

	/* The losses of n logits z; y: those of the teacher, or NULL. With gradient, z becomes it:
	 * hard × (softmax(z) - [target]) + soft × (softmax(z × cooler) - softmax(y × cooler)). */
	void (*loss)(float *z, const float *y, size_t n, const struct training_aim *aim, bool gradient,
	             struct training_loss *loss);

	/* Σ x², in double precision; INFINITY or NaN if a value is. */
	double (*squares)(const float *x, size_t n);
	void (*adam)(const struct training_step *s, float *value, float *gradient, float *first,
	             float *second, size_t n);
};

#include "kernels/level.h"
#define TRAINING_DECLARE(name) extern const struct training training_##name;
LEVELS(TRAINING_DECLARE)
extern const struct training training_ref;
#undef TRAINING_DECLARE

/* The functions for the level in use (level_begin comes first). They are compared with plain C when first
 * asked for at a level; if one differs, plain C is what comes back, and note gets a message. note may be
 * NULL. Call it before threads compute. */
const struct training *training_now(void (*note)(const char *));

/* The name of a function that differs from plain C; NULL: none. */
const char *training_differs(const struct training *t);

#endif
