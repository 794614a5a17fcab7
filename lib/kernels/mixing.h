/* mixing: what makes one vector from several, value by value. Each level of the CPU has its own code
 * (kernels/level.h); all give the same bits, except the bits of NaN. Sums are in double precision, in
 * the order of the vectors.
 *
 * The bits of a value are those without its sign: they have the order of magnitudes, with NaN last.
 */
#ifndef KERNELS_MIXING_H
#define KERNELS_MIXING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mixing_of {
	const float *const *x;    /* vectors, */
	size_t vectors;
	const double *scale;      /* what the values of each are multiplied by first; not of sum */
	const double *weight;     /* and their weights */
	double divisor;           /* of sum; 1: none */
	bool divide;              /* of elect: by the sum of the weights that count, if it is not 0 */
	const float *base;        /* is added to the factor times the result; or NULL */
	double factor;
};

struct mixing {
	/* y = n values, a multiple of 32, in blocks of Q8_0 (ref/type_q8_0.c), with a code for value i of
	 * floor(x[i] / d + v), where d is the scale as stored and v = (first + i × by) modulo 2^32 /
	 * 2^32, from 0 up to 1. A block whose scale is not finite decodes to NaN. */
	void (*round8)(const float *x, size_t n, uint32_t first, uint32_t by, uint8_t *y);

	/* x[i] -= base[i] */
	void (*subtract)(float *x, const float *base, size_t n);

	/* x[i] = 0 where the bits are below `from`. */
	void (*keep)(float *x, size_t n, uint32_t from);

	/* The number of values with these bits. */
	uint64_t (*equals)(const float *x, size_t n, uint32_t bits);

	/* Add 1 to to[bits >> shift]; and, for the values with bits >> shift == bin, to
	 * to[bits & (2^shift - 1)]. */
	void (*coarse)(const float *x, size_t n, unsigned shift, uint32_t *to);
	void (*fine)(const float *x, size_t n, unsigned shift, uint32_t bin, uint32_t *to);

	/* y = base + factor × (sum of weight × x) / divisor, from index `at` of all vectors on. */
	void (*sum)(const struct mixing_of *m, size_t at, float *y, size_t n);

	/* The same for values with the sign of the sum of scale × x: the sum of
	 * weight × scale × x over the sum of these weights. */
	void (*elect)(const struct mixing_of *m, size_t at, float *y, size_t n);
};

extern const struct mixing ref_mixing;

/* The functions in use: ref_mixing until level_begin has chosen. */
extern const struct mixing *mixing;

#endif
