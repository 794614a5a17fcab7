/* importance_text: the entries of an importance matrix as lines of text, and as JSON. */
#ifndef REPORT_IMPORTANCE_TEXT_H
#define REPORT_IMPORTANCE_TEXT_H

#include "core/buf.h"
#include "quant/imatrix.h"

/* Appends a head and one line for each entry: matrices, columns, the count of each matrix (the
 * largest), the mean and the largest mean square of a column, the share of columns that are zero,
 * and how evenly the squares are distributed: their entropy, of that of equal ones. m: sums. */
void importance_put(struct buf *b, const struct imatrix *m);

/* Appends an object for each entry, one on a line. */
void importance_put_json(struct buf *b, const struct imatrix *m);

#endif
