/* convert: runs of values from one tensor type to another, through F32.
 *
 * The bytes written depend on the values alone (and their importance), not on
 * how a tensor is cut into runs nor on the number of threads. The same holds for
 * the error sums if each run but the last of a tensor is a multiple of
 * convert_chunk() values: they are added up chunk by chunk, in order.
 */
#ifndef QUANT_CONVERT_H
#define QUANT_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"

#define CONVERT_CHUNK 4096 /* values at a time; a multiple of every block */

struct kernel;
struct whole;

/* Filled by convert_open, read-only afterwards but for what is the caller's to set.
 * Nothing to release.
 *
 * A type with a head (model/dtype.h): runs are of what follows it. The caller sets
 * head_in before the first; convert_most and convert_head set head_out. */
struct convert {
	const char *object; /* borrowed: the tensor's name, for faults */
	const struct dtype *from, *to;
	const struct kernel *target;          /* NULL where bytes are copied */
	const struct whole *whole;            /* or the target is of this kind */
	uint8_t head_in[DTYPE_HEAD], head_out[DTYPE_HEAD];
	uint64_t padding; /* set before a last run: places in its blocks without value */
	unsigned jobs;
	bool check;
	const float *importance; /* borrowed, one weight a column; NULL: none */
	size_t columns;          /* of a row, with importance */
};

/* Sums over everything converted since they were zeroed. A copy adds nothing:
 * it changes no value. The second part is filled only with check, and covers
 * the values that are finite before and after. */
struct convert_stats {
	uint64_t values;
	uint64_t nonfinite; /* NaN or infinite as they came */
	uint64_t overflow;  /* finite as they came, too large as written */
	uint64_t first;     /* of these two: the index of the first, if there is one */

	uint64_t checked;   /* values in what follows */
	double error2;      /* sum of (y - x)^2 */
	double x2, y2, xy;  /* sums of x^2, y^2, x·y */
	double error_max;   /* the largest |y - x| */
};

/* Prepare a conversion on up to jobs threads. Equal types copy, whatever they
 * are. Returns 0, or -1 with ERR_FORMAT where a type cannot be computed. */
int convert_open(struct convert *c, const char *object, const struct dtype *from,
                 const struct dtype *to, unsigned jobs, bool check, struct err *e);

/* From here on, encode by importance: one weight for each of the columns of a
 * row (as kernels/kernel.h wants them), kept until the next call. Runs are then
 * whole rows. Matrices of one tensor may differ in importance: call again where
 * the next begins. NULL: by none. Returns whether the target makes use of it; a
 * type that cannot is encoded as ever. */
bool convert_weigh(struct convert *c, const float *importance, size_t columns);

/* The values that are converted, and their errors added up, at a time. */
size_t convert_chunk(const struct convert *c);

/* The bytes that x_bytes of the source become. Returns 0, or -1 with
 * ERR_CORRUPT if x_bytes is not whole blocks of the source, ERR_INVALID if the
 * values are not whole blocks of the target, or rows where those are needed. */
int convert_size(const struct convert *c, uint64_t x_bytes, uint64_t *y_bytes,
                 struct err *e);

/* Convert x_bytes from x to y, which has room for y_bytes: exactly what
 * convert_size says, else ERR_CORRUPT. x and y do not overlap. Adds to *s.
 * Rows of importance beyond CONVERT_CHUNK columns take memory, one a thread.
 * Returns 0 or -1. */
int convert_run(const struct convert *c, const uint8_t *x, uint64_t x_bytes,
                uint8_t *y, uint64_t y_bytes, struct convert_stats *s, struct err *e);

/* The largest finite magnitude in a run of the source, if it is above most. */
float convert_most(const struct convert *c, const uint8_t *x, uint64_t x_bytes,
                   float most);

/* Let the target's head be that for values up to most, where it has one. */
void convert_head(struct convert *c, float most);

/* Sums of what was converted next. */
void convert_stats_add(struct convert_stats *sum, const struct convert_stats *s);

/* What the sums mean. 0 where nothing was checked; cosine is 1 where both sides
 * are zero, 0 where one is. */
double convert_rmse(const struct convert_stats *s);
double convert_relative(const struct convert_stats *s); /* sqrt(error2 / x2) */
double convert_cosine(const struct convert_stats *s);

#endif
