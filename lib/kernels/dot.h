/* dot: products of rows of weights, of any type that can be decoded, with rows of
 * activations.
 *
 * Activations are first brought into a form that suits the type of the weights. For blocks
 * the form is that of GGML, so that results agree with programs that use it:
 *
 *	weights                                   activations
 *	F32, types with a head, APR_Q4, Q8_1,
 *	Q8_K, plugins' types                      F32
 *	F16, BF16, F8                             F32, and with DOT_MANY or more I16
 *	Q4_0, Q5_0, Q8_0, IQ4_NL, MXFP4           Q8_0
 *	Q4_1, Q5_1                                Q8_1
 *	Q2_K … Q6_K, IQ1 … IQ4_XS, TQ             Q8_K
 *
 * A form has the numbers of the type of that name, but its own layout in memory, which
 * feeds vector units (kernels/common/rows.h). All weights that meet the same activations
 * share one form: queries, keys and values are computed from one row.
 *
 * Plain C (kernels/ref/rows.c) is the definition. Sums of integers are exact at every level.
 * Sums of floats differ only in the order of additions: a product differs from that of
 * plain C by at most DOT_BOUND × (columns / 32 + 16) × the sum of magnitudes of its terms,
 * where a term is value × activation, both as stored. With DOT_MANY activations or more,
 * which are added in runs of 128, the 16 becomes 80. A product does not depend on the rows
 * that are computed together with it, nor on the other activations; but its last bits may
 * differ between fewer than DOT_MANY activations and more. In WebAssembly, blocks have the
 * bits of plain C.
 *
 * I16 is for levels that multiply integers of 16 bits faster than floats. 32 columns are
 * integers below 2^13 with a common factor, and weights of these types are rounded in the
 * same way. So each of the two is off by up to DOT_ROUND × the largest magnitude among its
 * 32, and zero where that is below DOT_LEAST. The average error is that of rounding
 * activations to F16, as GGML does (tests/bench/ROOFLINE.md). Other levels use the F32
 * values of the same row.
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

/* A form of activations, compared by address. The length of a row is a multiple of items. */
struct activation {
	const char *name; /* as in the table above */
	size_t items;
	/* Bytes of a row of n values, a multiple of DOT_ALIGN. */
	size_t (*bytes)(size_t n);
	/* Plain C of dot_quantize for count values from number at on, of a row of n; x[0] is
	 * value number at. */
	void (*quantize)(const float *x, uint8_t *row, size_t n, size_t at, size_t count);
};

/* A matrix of weights: rows of columns values without gaps. */
struct dot_weights {
	const struct dtype *type;
	const uint8_t *head; /* for types that have one (model/dtype.h), else unused */
	const uint8_t *data; /* may be unaligned */
	size_t rows, columns;
	bool packed;         /* rows are laid out by dot_pack */
};

/* Choose products for the level in use (kernels/level.h), and compare them with plain C. If
 * a type differs, note gets a message and plain C is used for all. Call it after
 * level_begin and before threads begin; until then all is plain C. */
void dot_begin(void (*note)(const char *));

/* The form for weights of that type with that many columns. NULL: the type cannot be
 * computed, or its blocks do not fill rows. */
const struct activation *dot_activation(const struct dtype *t, size_t columns);

/* Bring n values into a form. */
void dot_quantize(const struct activation *form, const float *x, uint8_t *row, size_t n);

/* y[j × leading + i - first] = row i of the weights × row j of the activations, for
 * first <= i < first + count and j < many. Rows of activations are contiguous, in the form
 * for w, and aligned to DOT_ALIGN. */
void dot_product(const struct dot_weights *w, size_t first, size_t count, const uint8_t *a,
                 size_t many, float *y, size_t leading);

/* Set how many bytes ahead weights are prefetched, in each stream that a thread reads, for
 * products with one row of activations; 0: leave it to the CPU. Products do not depend on
 * it. */
void dot_ahead(size_t bytes);

/* dot_quantize of the normalized values x[i] × weight[i] × r in one pass, where r =
 * dot_rms(x, n, epsilon) = 1 / sqrt(mean of squares of x + epsilon). */
float dot_rms(const float *x, size_t n, float epsilon);
void dot_rms_quantize(const struct activation *form, const float *x, const float *weight,
                      float epsilon, uint8_t *row, size_t n);

/* Weights can be packed: sixteen rows side by side, as the vector unit of the level in use
 * needs them, in as many bytes as before, so that row 16 i begins where it did. Products
 * are then computed for whole sixteens of rows, within the same bound; with DOT_MANY
 * activations or more they have the same bits as without packing. Packed weights are only
 * for the level that was in use when they were packed. Sixteen rows are 256 columns of each, then
 * the next 256.
 *
 * dot_packs is true if that type and shape can be packed. */
#define DOT_PACKED 16
bool dot_packs(const struct dtype *t, size_t rows, size_t columns);

/* Pack rows first to first + count of w, both multiples of DOT_PACKED; w is not packed. to
 * is where row first is stored. */
void dot_pack(const struct dot_weights *w, size_t first, size_t count, uint8_t *to);

#endif
