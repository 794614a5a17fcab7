/* convert: runs of values from one tensor type to another, through F32.
 *
 * The bytes written depend only on the values (and their importance), not on
 * how a tensor is cut into runs nor on the number of threads. The same holds for
 * the error sums if each run except the last of a tensor is a multiple of
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

/* convert_open fills this. Afterwards it is read-only, except for members that the caller
 * sets. Nothing to release.
 *
 * For a type with a head (model/dtype.h), runs are of the bytes behind the head. The
 * caller sets head_in before the first run; convert_most and convert_head set head_out. */
struct convert {
	const char *object; /* borrowed: the tensor's name, for messages */
	const struct dtype *from, *to;
	const struct kernel *target;          /* NULL where bytes are copied */
	const struct whole *whole;            /* or the target is such a type */
	uint8_t head_in[DTYPE_HEAD], head_out[DTYPE_HEAD];
	uint64_t padding; /* set before a last run: places in its last blocks without a value */
	unsigned jobs;
	bool check;
	bool clips;       /* set before convert_weigh: importance chooses ranges (quant/clip.h) for types
	                   * that have no search */
	const float *importance; /* borrowed, one weight a column; NULL: none */
	size_t columns;          /* values of a row, with importance */
};

/* Sums over all values converted since they were zeroed. A copy adds nothing, since it
 * changes no value. The second part is filled only with check, and covers the values that
 * are finite before and after. */
struct convert_stats {
	uint64_t values;
	uint64_t nonfinite; /* NaN or infinite in the source */
	uint64_t overflow;  /* finite in the source, too large for the target */
	uint64_t first;     /* for these two: the index of the first, if there is one */

	uint64_t checked;   /* values in the sums below */
	double error2;      /* sum of (y - x)^2 */
	double x2, y2, xy;  /* sums of x^2, y^2, x·y */
	double error_max;   /* the largest |y - x| */
};

/* Prepare a conversion on up to jobs threads. Equal types are copied, whatever they
 * are. Returns 0, or -1 with ERR_FORMAT where a type cannot be computed. */
int convert_open(struct convert *c, const char *object, const struct dtype *from,
                 const struct dtype *to, unsigned jobs, bool check, struct err *e);

/* From now on, encode by importance: one weight for each of the columns of a
 * row (as in kernels/kernel.h), which the caller keeps until the next call. Runs are then
 * whole rows. Matrices of one tensor may differ in importance: call again where
 * the next begins. NULL: without importance. Returns true if the target uses it; other
 * types are encoded as before. */
bool convert_weigh(struct convert *c, const float *importance, size_t columns);

/* The number of values that are converted, and whose errors are added up, at a time. */
size_t convert_chunk(const struct convert *c);

/* The bytes that x_bytes of the source become. Returns 0, or -1 with
 * ERR_CORRUPT if x_bytes is not whole blocks of the source, ERR_INVALID if the
 * values are not whole blocks of the target, or not whole rows where those are needed, or if
 * the target is only encoded by importance and there is none. */
int convert_size(const struct convert *c, uint64_t x_bytes, uint64_t *y_bytes,
                 struct err *e);

/* Convert x_bytes from x to y, which has room for y_bytes: exactly the result of
 * convert_size, else ERR_CORRUPT. x and y do not overlap. Adds to *s.
 * Rows with importance of more than CONVERT_CHUNK columns allocate memory, one buffer a
 * thread. Returns 0 or -1. */
int convert_run(const struct convert *c, const uint8_t *x, uint64_t x_bytes,
                uint8_t *y, uint64_t y_bytes, struct convert_stats *s, struct err *e);

/* ERR_INVALID if a run had values that the target cannot hold: NaN, infinite or too large. 0 or -1. */
int convert_held(const struct convert *c, const struct convert_stats *s, struct err *e);

/* The largest finite magnitude in a run of the source, or most if that is larger. */
float convert_most(const struct convert *c, const uint8_t *x, uint64_t x_bytes,
                   float most);

/* Set the target's head, if it has one, for values up to most. */
void convert_head(struct convert *c, float most);

/* Add the sums of the run that follows. */
void convert_stats_add(struct convert_stats *sum, const struct convert_stats *s);

/* Figures from the sums: 0 where nothing was checked; cosine is 1 where both sides
 * are zero, 0 where one is. */
double convert_rmse(const struct convert_stats *s);
double convert_relative(const struct convert_stats *s); /* sqrt(error2 / x2) */
double convert_cosine(const struct convert_stats *s);

#endif
