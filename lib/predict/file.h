/* file: a model in a file of one of the libraries. */
#ifndef PREDICT_FILE_H
#define PREDICT_FILE_H

#include "core/reader.h"
#include "predict/predict.h"

/* Reads the model that r is at the beginning of, whose name is where. 0, or -1 with e filled; 1 if the
 * file belongs to none of the libraries: r is then at its beginning. As predict_read otherwise. */
int predict_file(struct predictor *m, struct reader *r, const char *where, struct err *e);

#endif
