/* method: the words for what an importance matrix or a calibration measures. */
#ifndef CLI_METHOD_H
#define CLI_METHOD_H

#include "core/err.h"

#define METHODS "mse, minmax or percentile"

/* 0 for mean squares (mse, or NULL), or the percentage of a range (generate/importance.h). option: what
 * stands before the names of the two options, as "--"; percentile: the second, or 0. -1 with
 * ERR_USAGE. */
double method_range(const char *option, const char *method, double percentile, struct err *e);

#endif
