/* thin: matrices of 16-bit values without their zeros, and their products with one row of floats.
 *
 * A row has a u64 for each line of 64 columns, and then the values of all lines:
 *
 *	pairs    32 places of 2 bits, the first lowest, and 32 values: values 2 g and 2 g + 1 are at
 *	         those places of the columns 4 g to 4 g + 3. For rows with at most two values other than
 *	         zero in each four columns; where there are fewer, zeros are stored
 *	bitmap   64 bits, the first column lowest, and a value for each bit that is 1
 *
 * A value is zero if all its bits are 0. Numbers are little-endian, columns past the end are zeros.
 *
 * The product of a row is defined by plain C (kernels/ref/thin.c): there are 32 sums, which begin as
 * 0. The value with number k of those that a line stores (from 0) times the float of its column is
 * added to sum k mod 32, fused, line after line. Then sums k and k + 16 are added, then k and k + 8,
 * + 4, + 2, + 1. Each level gives the same bits; only which NaN a NaN is may differ.
 *
 * What is not stored adds nothing, even if the float of its column is infinite or NaN, where a dense
 * product has 0 × infinity, which is NaN. All else differs from the dense product by its bound.
 */
#ifndef KERNELS_THIN_H
#define KERNELS_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

#define THIN_SLACK 32

enum thin_kind { THIN_NONE, THIN_PAIRS, THIN_BITMAP };

struct thin {
	enum thin_kind kind;
	const struct dtype *type; /* F16 or BF16 */
	size_t rows, columns;
	const uint8_t *data;      /* with THIN_SLACK bytes behind the rows that may be read */
	const uint64_t *starts;   /* rows + 1 offsets in data */
};

/* What rows of a matrix hold, added up: begin with { 0, true, 0 }. */
struct thin_count {
	uint64_t kept; /* values other than zero */
	bool pairs;    /* the rows can be pairs */
	uint64_t all;  /* values */
};
void thin_count(const uint8_t *row, size_t columns, struct thin_count *c);

/* The kind for a matrix with these counts whose products with one row of floats are faster, at the
 * level in use, than dense ones; THIN_NONE: there is none. */
enum thin_kind thin_choose(const struct dtype *t, const struct thin_count *c);

/* Bytes of a row with `kept` values. */
size_t thin_row_bytes(enum thin_kind kind, size_t columns, uint64_t kept);

/* Write a row of that many bytes. */
void thin_put(enum thin_kind kind, const uint8_t *row, size_t columns, uint8_t *to);

/* Write count rows from first on as dense ones, row after row. */
void thin_get(const struct thin *t, size_t first, size_t count, uint8_t *to);

/* y[i] = row first + i times x, of t->columns floats, for i < count; the second in plain C. */
void thin_product(const struct thin *t, size_t first, size_t count, const float *x, float *y);
void thin_product_ref(const struct thin *t, size_t first, size_t count, const float *x, float *y);

#endif
