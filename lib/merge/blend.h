/* blend: merges one tensor after another by a method, in constant memory.
 *
 * A tensor is read in tiles of BLEND_TILE values (or of whole rows, for methods that look at
 * rows), as often as the method needs: twice to find borders of magnitudes (stats/border.h),
 * once for sums over the tensor, once for the result. Tiles are computed by threads; sums of
 * tiles are added in their order. So the result depends on nothing but the values, the method
 * and the seed. The first error of a reader ends the work.
 */
#ifndef MERGE_BLEND_H
#define MERGE_BLEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "merge/method.h"
#include "model/dtype.h"
#include "stats/border.h"

#define BLEND_TILE 16384
#define BLEND_ROW ((uint64_t)1 << 20) /* values of a row, for methods that look at rows */

/* What becomes of a tensor. Pointers are borrowed until the next blend_begin. */
struct blend_task {
	const struct merge_method *method;
	const char *name;         /* of the tensor: for messages, and the key of random numbers */
	const struct dtype *to;   /* F32, F16, BF16 or another plain type with a kernel */
	size_t n;                 /* models, without a base that only differences need */
	bool base;                /* vectors are differences from model n */
	uint64_t values, row;     /* row: values along the last dimension */
	uint64_t rows;            /* the first dimension; 1 for fewer than two dimensions */
	const double *model[MERGE_PARAMS]; /* n values of each parameter of models, or NULL */
	double value[MERGE_PARAMS]; /* of the other parameters */
	uint64_t seed;

	/* Steps as mergekit takes them; each result is rounded to `work` (F32, F16 or BF16). */
	bool compat;
	const struct dtype *work;

	/* Read n values from `from` on. Any thread may call it. 0, or -1 with errno as
	 * core/range.h says. */
	int (*read)(void *ctx, size_t model, uint64_t from, float *to, size_t n);
	/* Of n values from `from` on, those at the beginning that are known to be 0; NULL: unknown. */
	uint64_t (*zeros)(void *ctx, size_t model, uint64_t from, uint64_t n);
	const char *(*file)(void *ctx, size_t model); /* the name of its file, for messages */
	void *ctx;
};

struct blend_tile;
struct blend_slot;

struct blend {
	unsigned jobs;
	struct blend_task t;
	uint64_t tile;            /* values of a tile */
	size_t tiles, vectors;    /* the tiles that are held, and the vectors of each */
	struct blend_tile *held;
	float *x;                 /* tiles × vectors × tile */
	float *y;                 /* results: tiles × tile */
	uint8_t *bytes;           /* the same in their type */
	uint32_t *order;          /* KEEP_RANKED: four numbers for each value of the tiles */
	size_t held_cap, x_cap, y_cap, bytes_cap, order_cap;

	enum { PASS_COARSE, PASS_FINE, PASS_SUMS, PASS_RESULT } pass;
	uint64_t from;            /* the batch under way: its first value, */
	size_t batch, count;      /* and the number of its values and tiles */

	/* For each model, or for all together (KEEP_VARIED): the values between two borders stay. */
	struct blend_keep {
		struct border top, low;
		bool bounded;     /* else all stay */
		uint64_t top_equals, low_equals; /* before this batch */
		uint64_t key;     /* of random numbers */
		double scale;     /* of what stays */
		double before, after; /* sums of magnitudes */
	} *keep;
	size_t keep_count, keep_cap;
	uint64_t varied;          /* positions whose variance is not 0 */
	bool skips;               /* where all vectors are known to be 0, so is the result */

	/* Histograms: a slot for each thread that counts. */
	struct blend_slot *slots;
	size_t slot_count, slot_cap;
	uint64_t *bins;           /* sums over slots: BORDER_COARSE for each keep */
	size_t bins_cap;

	double *gram, *weight;    /* n × n products; n coefficients, */
	double weight_sum;        /* and their sum */
	size_t gram_cap, weight_cap;
	double *sums;             /* of the tiles: part numbers for each */
	size_t sums_cap, part;
	double *columns;          /* nuslerp of columns: three sums, then two coefficients of each */
	size_t columns_cap;
	atomic_int fault;         /* errno + 1 if reading failed; */
	atomic_size_t fault_model; /* of this model */
};

/* 0 or -1; blend_close in any case. */
int blend_open(struct blend *b, unsigned jobs, struct err *e);
void blend_close(struct blend *b);

/* Begin a tensor: all passes before that of the result. 0 or -1. */
int blend_begin(struct blend *b, const struct blend_task *t, struct err *e);

/* Whether blend_zeros may find zeros. blend_zeros: the number of values that come next and are 0, which
 * blend_next then leaves out. It need not be called. */
bool blend_has_zeros(const struct blend *b);
uint64_t blend_zeros(struct blend *b);

/* The next bytes of the result, until the next call; *n is 0 at its end. 0 or -1. */
int blend_next(struct blend *b, const uint8_t **p, size_t *n, struct err *e);

#endif
