/* dot: products of rows of weights, of any type that can be read, with rows of
 * activations.
 *
 * Activations are first brought into a form that goes with the type of the weights, for
 * blocks as GGML does, so that results agree with those of programs that use it:
 *
 *	weights                                   activations
 *	F32, types with a head, APR_Q4, Q8_1,
 *	Q8_K, plugins' types                      F32
 *	F16, BF16, F8                             F32, and with DOT_MANY or more I16
 *	Q4_0, Q5_0, Q8_0, IQ4_NL, MXFP4           Q8_0
 *	Q4_1, Q5_1                                Q8_1
 *	Q2_K … Q6_K, IQ1 … IQ4_XS, TQ             Q8_K
 *
 * The numbers are those of these types; how they lie in memory is known here alone, so
 * that vector units can be fed. One form serves all weights with the same activation:
 * queries, keys and values are multiplied by one.
 *
 * The plain C (files *_ref.c) is the definition. Sums of integers are exact in each
 * variant; of floats, only the order of additions differs, so that a product is within
 * DOT_BOUND × (columns / 32 + 16) × the sum of magnitudes of its terms of the plain one,
 * a term being value × activation with both as stored; with DOT_MANY activations or more,
 * which are added in runs of 128, 80 stands for 16. A product does not depend on
 * which rows are asked for together, nor on what other activations stand beside its own;
 * with fewer than DOT_MANY activations it may be another than with more.
 *
 * I16 is for levels that multiply integers of 16 bits faster than floats: of 32 columns,
 * whole numbers below 2^13 that share a factor, which such weights become too. So
 * each of the two is off by up to DOT_ROUND × the largest magnitude among its 32, and zero
 * where that is below DOT_LEAST. On average this is what rounding activations to F16 costs,
 * as GGML does (tests/bench/ROOFLINE.md); other levels take the F32 that stands beside.
 */
#ifndef DOT_DOT_H
#define DOT_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

#define DOT_BOUND 0x1p-23
#define DOT_ROUND 0x1p-13
#define DOT_LEAST 0x1p-100f
#define DOT_MANY 4
#define DOT_ALIGN 64 /* bytes; of each row of activations */

/* A form of activations, compared by address. Rows have a multiple of items values. */
struct activation {
	const char *name; /* as in the table above */
	size_t items;
	/* Bytes of a row of n values, a multiple of DOT_ALIGN. */
	size_t (*bytes)(size_t n);
	/* Plain C of dot_quantize, for values at … at + count - 1 of a row of n, which are
	 * in x[0] … x[count - 1]. */
	void (*quantize)(const float *x, uint8_t *row, size_t n, size_t at, size_t count);
};

/* A matrix of weights: rows of columns values without gaps. */
struct dot_weights {
	const struct dtype *type;
	const uint8_t *head; /* of a type that has one (model/dtype.h), else not used */
	const uint8_t *data; /* aligned or not */
	size_t rows, columns;
	bool packed;         /* rows lie as dot_pack lays them */
};

/* Choose among the variants for the level in use (kernels/level.h), and compare what is
 * chosen with plain C: of a type that differs, note is told, and plain C is used. After
 * level_begin, before threads begin; without it all is plain C. */
void dot_begin(void (*note)(const char *));

/* The form for weights of that type and so many columns. NULL: the type has no
 * arithmetic, or its blocks do not fill rows. */
const struct activation *dot_activation(const struct dtype *t, size_t columns);

/* Bring n values into that form. */
void dot_quantize(const struct activation *form, const float *x, uint8_t *row, size_t n);

/* y[j × leading + i - first] = row i of the weights × row j of the activations, for
 * first <= i < first + count and j < many. Activations lie each after the other, in the
 * form for w, aligned to DOT_ALIGN. */
void dot_product(const struct dot_weights *w, size_t first, size_t count, const uint8_t *a,
                 size_t many, float *y, size_t leading);

/* With one row of activations, weights are asked for so many bytes ahead of what is
 * multiplied, in each place that a thread reads at; 0: what the CPU asks for by itself is all.
 * Products do not depend on it. */
void dot_ahead(size_t bytes);

/* The same in one pass with the norm before it: of values x[i] × weight[i] × r, r being
 * dot_rms(x, n, epsilon) = 1 / sqrt(mean of squares of x + epsilon). */
float dot_rms(const float *x, size_t n, float epsilon);
void dot_rms_quantize(const struct activation *form, const float *x, const float *weight,
                      float epsilon, uint8_t *row, size_t n);

/* Weights may be packed: sixteen rows side by side as the vector unit of the level in use
 * wants them, in as many bytes as they had, so that row 16 i begins where it did. Products
 * are then of whole sixteens of rows, within the same bound; with DOT_MANY activations or
 * more they have the same bits as without. A level that is chosen later does not know
 * them.
 *
 * Is there a packing for that type and shape? */
#define DOT_PACKED 16
bool dot_packs(const struct dtype *t, size_t rows, size_t columns);

/* Pack the rows first to first + count, multiples of DOT_PACKED, of w, which are not, to
 * where the first of them is to lie. */
void dot_pack(const struct dot_weights *w, size_t first, size_t count, uint8_t *to);

#endif
