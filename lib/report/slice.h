/* slice: a part of a tensor, such as 0:4,:8.
 *
 * A comma-separated list with one range for each dimension, outermost first: FROM:TO, which
 * excludes TO and may omit either, or one INDEX. Dimensions without a range are whole. TO may
 * exceed the dimension.
 */
#ifndef REPORT_SLICE_H
#define REPORT_SLICE_H

#include "core/err.h"
#include "model/tensor.h"

struct slice {
	unsigned ndim;  /* ranges given */
	struct {
		uint64_t from, to;
		bool index; /* which must exist */
	} range[TENSOR_DIMS];
};

/* Parses text; NULL selects everything. Returns 0, or -1 with ERR_USAGE. */
int slice_parse(struct slice *s, const char *text, struct err *e);

/* Limits it to the dimensions of t. Returns 0; or -1 with ERR_USAGE: more ranges than
 * dimensions, an index out of range, or an empty range. */
int slice_fit(struct slice *s, const struct tensor *t, struct err *e);

/* Whether it selects any value of this row. The values of a row share all indices except
 * the last. */
bool slice_has_row(const struct slice *s, const struct tensor *t, uint64_t row);

/* Whether this row is the first selected one of a matrix, in a tensor of more than two
 * dimensions. */
bool slice_begins_matrix(const struct slice *s, const struct tensor *t, uint64_t row);

/* The columns: [from, to) of the last index. A scalar has one. */
uint64_t slice_from(const struct slice *s);
uint64_t slice_to(const struct slice *s);

#endif
