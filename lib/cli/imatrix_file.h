/* imatrix_file: reads the file of --imatrix. */
#ifndef CLI_IMATRIX_FILE_H
#define CLI_IMATRIX_FILE_H

#include "core/err.h"
#include "quant/imatrix.h"

/* Reads an importance matrix in either format; the newer format is a model and is read as
 * one, so input_prepare must have been called for its path. Enters the sandbox. 0 or -1;
 * imatrix_free in any case. */
int imatrix_file_read(struct imatrix *m, const char *path, struct err *e);

#endif
