/* cut: small values become zero. */
#ifndef CLI_SPARSE_CUT_H
#define CLI_SPARSE_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* Whether --threshold changes tensors of this type: F16, BF16, F32 and F64. */
bool cut_changes(const struct dtype *t);

/* Sets each of n values of the type at p to +0 if its magnitude is at most threshold, which is
 * above 0. NaN stays. */
void cut_values(const struct dtype *t, double threshold, uint8_t *p, size_t n);

#endif
