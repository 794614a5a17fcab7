/* look: what judging a tensor needs beyond its statistics (stats/stats.h), in the same pass
 * and in constant memory: its rows and columns, its blocks, and a digest of its bytes.
 *
 * A tally fills it: set tally.look before tally_begin, and read it after tally_end. Like those
 * of a tally, the results depend only on the values, not on threads, pieces, CPU or compiler.
 */
#ifndef STATS_LOOK_H
#define STATS_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/tensor.h"
#include "stats/blocks.h"
#include "stats/stats.h"

#define LOOK_ENTRIES 4096          /* of a profile */
#define LOOK_ROW ((uint64_t)1 << 18) /* longer rows are not looked at */
#define LOOK_FAR 8                 /* a line is high or low this many times above or below the
                                    * median */

/* Rows or columns of a matrix. The size of a line is the mean of the magnitudes of its values.
 * Dead: all values are 0; the members from min on are about the others, and 0 if there are
 * none. */
struct look_lines {
	uint64_t count;          /* 0: not looked at */
	uint64_t dead, first_dead;
	double min, max;
	uint64_t at_min, at_max; /* the first lines with these sizes */
	double median;           /* within 1/32 of it */
	uint64_t high, low;      /* lines far from the median (LOOK_FAR) */
	double spread;           /* standard deviation of the binary logarithms of the sizes */

	/* The profile: sizes of the first lines as BF16. 0: dead; infinite or NaN: not finite.
	 * Partners, such as queries and keys of a block, have similar profiles. */
	size_t entries;          /* at most LOOK_ENTRIES */
	const uint16_t *profile;
};

struct look {
	/* The result, of the last tensor. */
	struct look_lines rows, columns;
	struct blocks blocks;    /* see stats/blocks.h */
	uint64_t saturated;      /* F16: magnitudes of 65504, the largest half */
	uint64_t digest[2];      /* equal bytes have equal digests; not safe against an attacker */

	struct look_work *work;  /* NULL in a copy */
};

/* 0, or -1 with E008; look_close in both cases. */
int look_open(struct look *l, struct err *e);
void look_close(struct look *l);

/* A copy of the result, with profiles of at most that many entries, to be freed by free().
 * NULL with E008. look_entries: a number of entries with which the copies of all tensors of a
 * model take at most 24 MiB. */
struct look *look_copy(const struct look *l, size_t entries, struct err *e);
size_t look_entries(size_t tensors);

/* The length of a row of the matrix that a tensor is: its last dimension. Kernels of
 * convolutions, whose last dimension is below 16, are a matrix with a row for each output. */
uint64_t look_row(const struct tensor *t);

/* For a tally. begin: row is the length of a row. chunk: chunk i of the tally has n values, the
 * bytes x, and begins with value at; v gets the values. extremes: the statistics of the same
 * chunk are known. Different chunks may be looked at at the same time. join: all n values of
 * the chunks since the last join are done, beginning with value at. end: all chunks are
 * joined. */
int look_begin(struct look *l, const struct dtype *t, uint64_t values, uint64_t row,
               struct err *e);
void look_chunk(struct look *l, size_t i, uint64_t at, const uint8_t *head, const uint8_t *x,
                size_t n, double v[STATS_CHUNK]);
void look_extremes(struct look *l, size_t i, const uint8_t *x, size_t n, const struct stats *s);
void look_join(struct look *l, unsigned jobs, uint64_t at, size_t n);
void look_end(struct look *l);

#endif
