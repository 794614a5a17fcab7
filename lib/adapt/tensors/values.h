/* values: computes the bytes of target tensors, in windows of bounded size. */
#ifndef ADAPT_VALUES_H
#define ADAPT_VALUES_H

#include "adapt/tensors/tensors.h"

struct values {
	struct move_reader in;  /* set by the caller: read and ctx */
	unsigned jobs;          /* threads */

	const struct tensors_row *row; /* of values_begin */
	uint64_t done, all, window;    /* values */
	uint8_t *raw, *out;
	float *x;
	size_t raw_cap, out_cap, x_cap;
};

/* Begin a target. ERR_FORMAT if its type cannot be computed. 0 or -1. */
int values_begin(struct values *v, const struct tensors_row *row, struct err *e);

/* The next bytes of it, valid until the next call; *n is 0 at its end. 0 or -1. */
int values_next(struct values *v, const uint8_t **p, size_t *n, struct err *e);

/* The target bytes of n values whose source bytes are at raw, for readers that have them.
 * out has room for them. 0 or -1. */
int values_convert(struct values *v, const uint8_t *raw, uint64_t n, uint8_t *out,
                   struct err *e);
void values_free(struct values *v);

/* True if the target's bytes are the source's, in whatever order. */
bool values_same(const struct tensors_row *row);

#endif
