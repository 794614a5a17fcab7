/* take: the rows and columns of a tensor that stay, in constant memory.
 *
 * Rows keep their bytes. So do columns, if whole blocks of the type stay; else the row is decoded,
 * and what stays of it encoded again.
 */
#ifndef PRUNE_TAKE_H
#define PRUNE_TAKE_H

#include "prune/plan.h"
#include "quant/convert.h"

struct take {
	struct merge_input *in;
	const struct dtype *type;
	size_t tensor;            /* of the input */
	const struct prune_list *kept_rows, *kept_columns;
	uint64_t rows, next;      /* of the result */
	size_t row_bytes, kept_bytes, columns; /* of a row: bytes before and after, values before */
	bool whole;               /* blocks stay whole */
	size_t batch;             /* rows at a time */
	uint8_t *raw, *bytes;
	float *x, *kept;
	size_t raw_cap, bytes_cap, x_cap, kept_cap;
	struct convert convert;
};

/* Whether the columns that stay are whole blocks of the type. kept: NULL for all. */
bool take_keeps_blocks(const struct prune_list *kept, const struct dtype *t);

/* Begin a tensor of the result. 0 or -1; take_close in any case. */
int take_begin(struct take *t, const struct prune_plan *p, size_t tensor, unsigned jobs,
               struct err *e);

/* The next bytes of the result, until the next call; *n is 0 at its end. 0 or -1. */
int take_next(struct take *t, const uint8_t **p, size_t *n, struct err *e);

void take_close(struct take *t);

#endif
