/* values: computes the bytes of target tensors, in windows of bounded size. */
#ifndef ADAPT_VALUES_H
#define ADAPT_VALUES_H

#include "adapt/tensors/tensors.h"

struct values {
	struct move_reader in;  /* set by the caller: read and ctx */
	unsigned jobs;          /* threads */

	const struct tensors_row *row; /* of values_begin */
	uint64_t done, all, window;    /* values */
	bool keeps_zeros;              /* sources of zero bytes give a target of zero bytes */
	uint8_t *raw, *out;
	float *x;
	size_t raw_cap, out_cap, x_cap;
};

/* Begin a target. ERR_FORMAT if its type cannot be computed. 0 or -1. */
int values_begin(struct values *v, const struct tensors_row *row, struct err *e);

/* The next bytes of it, valid until the next call; *n is 0 at its end. 0 or -1. */
int values_next(struct values *v, const uint8_t **p, size_t *n, struct err *e);

/* The sources have gaps: windows become smaller, so that fewer zeros are computed around the
 * values between them. Call it right after values_begin. */
void values_expect_gaps(struct values *v);

/* Leaves out windows whose sources are known to be zeros, and returns the number of the
 * target's bytes, which are zeros too. */
uint64_t values_zeros(struct values *v);

/* The same for a reader that has n bytes of zeros of the source, not yet read: *n becomes the
 * number of those that are left. */
uint64_t values_skip(struct values *v, uint64_t *n);

/* The target bytes of n values whose source bytes are at raw, for readers that have them.
 * out has room for them. 0 or -1. */
int values_convert(struct values *v, const uint8_t *raw, uint64_t n, uint8_t *out,
                   struct err *e);
void values_free(struct values *v);

/* True if the target's bytes are the source's, in whatever order. */
bool values_same(const struct tensors_row *row);

#endif
