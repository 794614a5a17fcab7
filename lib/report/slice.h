/* slice: a part of a tensor, as --slice 0:4,:8 names it.
 *
 * One range for each dimension, outermost first, with commas between: FROM:TO
 * without TO, either of which may be missing, or one INDEX. Dimensions without a
 * range are whole. An end behind the dimension's is that of the dimension.
 */
#ifndef REPORT_SLICE_H
#define REPORT_SLICE_H

#include "core/err.h"
#include "model/tensor.h"

struct slice {
	unsigned ndim;  /* ranges given */
	struct {
		uint64_t from, to;
		bool index; /* which must be there */
	} range[TENSOR_DIMS];
};

/* ERR_USAGE where text is no slice. text NULL: everything. */
int slice_parse(struct slice *s, const char *text, struct err *e);

/* Cut it to the tensor. ERR_USAGE where there are more ranges than dimensions, an
 * index is not there, or nothing is left. */
int slice_fit(struct slice *s, const struct tensor *t, struct err *e);

/* Is any of this row in it: values that differ in the last index only? */
bool slice_has_row(const struct slice *s, const struct tensor *t, uint64_t row);

/* Does the row begin a matrix, of what the slice leaves of a tensor of more than two
 * dimensions? */
bool slice_begins_matrix(const struct slice *s, const struct tensor *t, uint64_t row);

/* The columns: [from, to) of the last index. A scalar has one. */
uint64_t slice_from(const struct slice *s);
uint64_t slice_to(const struct slice *s);

#endif
