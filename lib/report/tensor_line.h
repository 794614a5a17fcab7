/* tensor_line: one line of a list of tensors, with the place of the tensor in its file. */
#ifndef REPORT_TENSOR_LINE_H
#define REPORT_TENSOR_LINE_H

#include "core/buf.h"
#include "core/json.h"
#include "model/tensor.h"
#include "report/table.h"

#define LINE_SCATTERED UINT64_MAX /* the tensor does not lie in one piece, or in no file */

struct tensor_line {
	const struct tensor *t;
	uint64_t offset;    /* in its file, or LINE_SCATTERED */
	const char *codec;  /* that compressed it; NULL: it is not compressed */
	uint64_t stored;    /* bytes of a compressed tensor */
	const char *file;   /* of a model in several files; NULL: there is only one */
};

/* The line as an object: name, dtype, shape, offset (or null), bytes; stored_bytes and
 * compression, or file, if it has them. A new reference, or NULL (no memory). */
json_t *tensor_line_json(const struct tensor_line *x);

/* Appends the line as text, in the columns of a table. */
void tensor_line_put(struct buf *b, const struct tensor_line *x, const struct table *table);

#endif
