/* mask: sets values of a tensor to zero, in constant memory.
 *
 * A tensor is read in tiles of whole rows. Rows and groups within rows are decided as they are read;
 * the border of a tensor, a layer or a model takes two passes before (stats/border.h). Tiles are
 * computed by threads, and what was decided does not depend on them.
 */
#ifndef PRUNE_MASK_H
#define PRUNE_MASK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "prune/plan.h"
#include "quant/convert.h"

struct mask {
	struct prune_plan *p;
	unsigned jobs;
	size_t tensor;            /* under way, */
	const struct prune_row *row; /* its row, */
	uint64_t columns, rows;   /* and its shape as one matrix */
	uint64_t at;              /* the next row */

	float *ready;             /* how.update: its values in the result */
	size_t tile_rows, tiles;  /* rows of a tile, tiles of a batch */
	float *x, *rank;          /* values of a batch */
	uint8_t *raw, *bytes;     /* the same as they are stored, and in the result */
	size_t x_cap, rank_cap, raw_cap, bytes_cap;
	uint64_t *equals;         /* of each tile: values at the border, then those before it */
	uint64_t *zeros, *lost;   /* of each tile */
	size_t equals_cap, zeros_cap, lost_cap;

	uint64_t from;            /* the batch: its first row, */
	size_t batch_rows, count; /* and its number of rows and tiles */
	enum { MASK_COARSE, MASK_FINE, MASK_RESULT } pass;
	uint32_t *slots;          /* histograms, one for each thread */
	uint64_t *bins;           /* their sum */
	size_t slots_cap, bins_cap;
	struct convert convert;
	atomic_int fault;         /* errno + 1 if reading failed */
};

/* Begin a tensor that is pruned; its group gets its border. 0 or -1; mask_close in any case. */
int mask_begin(struct mask *m, struct prune_plan *p, size_t tensor, unsigned jobs, struct err *e);

/* The next bytes of the result, until the next call; *n is 0 at its end. 0 or -1. */
int mask_next(struct mask *m, const uint8_t **p, size_t *n, struct err *e);

void mask_close(struct mask *m);

#endif
