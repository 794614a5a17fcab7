/* numbers: statistics of many numbers at once. Each level of the CPU has its own code
 * (kernels/level.h); all give the same bits.
 *
 * Sums have eight lanes, value i in lane i % 8: an addition need not wait for the one
 * before, and vector instructions keep the order. Lanes are then added as
 * ((0 + 4) + (1 + 5)) + ((2 + 6) + (3 + 7)).
 */
#ifndef KERNELS_NUMBERS_H
#define KERNELS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of n > 0 doubles. */
struct numbers_found {
	bool finite; /* all are finite, and their sum is not NaN; else the members below mean nothing */
	double min, max, sum, squares;
	uint64_t zeros; /* of either sign */
};

/* Of two runs a and b of n > 0 doubles, and of d = b - a. */
struct numbers_pair {
	bool finite; /* the sums of a² and b² are, so all values are too; else the members below
	              * mean nothing */
	double aa, bb, ab, dd; /* sums of products */
	double d, most;        /* sum and maximum of |d| */
	uint64_t equal, within; /* values with d = 0; with |d| of at most the tolerance */
};

struct numbers {
	/* Convert to double precision. */
	void (*widen)(const float *x, double *y, size_t n);

	/* The largest magnitude of n floats, as the bits of a float: 0x7f800000 or more
	 * where one is infinite or NaN. */
	uint32_t (*most)(const float *x, size_t n);

	void (*find)(const double *v, size_t n, struct numbers_found *f);

	/* The sum of (v - from)². */
	double (*deviations)(const double *v, size_t n, double from);

	/* to[i] += |x[i]|. Returns the sum of the |x[i]|: in single precision in 32 lanes,
	 * value i in lane i % 32; in double precision, lanes j, j + 8, j + 16 and j + 24 are added
	 * in this order, and then the eight as above. */
	double (*magnitudes)(const float *x, float *to, size_t n);

	/* to[i] += x[i]², in double precision. */
	void (*squares)(const float *x, double *to, size_t n);

	/* Two sums for each of eight lanes, modulo 2^64, of n bytes, a multiple of 64. Word i of
	 * 64 bits, in the byte order of the CPU, is in lane i % 8. first: of the words; second:
	 * of the values that first has after each word, which depend on the order. */
	void (*checksum)(const uint8_t *x, size_t n, uint64_t first[8], uint64_t second[8]);

	void (*pair)(const double *a, const double *b, size_t n, double tolerance,
	             struct numbers_pair *p);

	/* The same figures of floats, which are converted to double precision first. */
	void (*pair_floats)(const float *a, const float *b, size_t n, double tolerance,
	                    struct numbers_pair *p);

	/* The smallest and the largest of n > 0 finite floats; of equal numbers, such as zeros of
	 * either sign, any. */
	void (*range)(const float *x, size_t n, float *min, float *max);

	/* Add the number of the x[i] with floor(x[i] / width) = low + k to to[k], for each k below
	 * bins, at most 255. by = 1 / width is a power of two and a normal float. The quotients,
	 * which are less than 2^30, are at least low and less than low + 255. */
	void (*count)(const float *x, size_t n, float by, int32_t low, unsigned bins, uint64_t *to);
};

extern const struct numbers ref_numbers;

/* The functions in use: ref_numbers until level_begin has chosen. */
extern const struct numbers *numbers;

#endif
