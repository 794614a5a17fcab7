/* matrix: loads an importance matrix (quant/imatrix.h) from a file of either format. */
#ifndef LOAD_MATRIX_H
#define LOAD_MATRIX_H

#include "quant/imatrix.h"

/* Reads path ("-": standard input): its sums and counts. note: receives notes for the user; may
 * be NULL. 0, or -1 with e filled; imatrix_free is due in either case. */
int matrix_load(struct imatrix *m, const char *path, void (*note)(const char *), struct err *e);

#endif
