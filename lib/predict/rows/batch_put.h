/* batch_put: predictions in the form of the rows. */
#ifndef PREDICT_BATCH_PUT_H
#define PREDICT_BATCH_PUT_H

#include "predict/rows/batch.h"

/* The number of columns of an answer. */
size_t batch_columns(const struct batch *b);

/* The numbers that are computed for a row, before links. */
size_t batch_numbers(const struct batch *b);

void batch_put_header(const struct batch *b, struct buf *o);

/* The answer for one row. linked: room for predict_room values. */
void batch_put_row(const struct batch *b, struct buf *o, const double *scores,
                   const uint32_t *leaves, double *linked);

/* A row whose values are mostly zero: as libsvm writes it, without a label. */
void batch_put_sparse(const struct batch *b, struct buf *o, const struct step_rows *x, size_t i);

/* The same for an array of NumPy, whose header has the number of rows. Labels are integers if all of
 * them can be, else texts of the longest one's length. */
void batch_npy_header(struct batch *b, struct buf *o);
void batch_npy_row(const struct batch *b, struct buf *o, const double *scores,
                   const uint32_t *leaves, double *linked);

#endif
