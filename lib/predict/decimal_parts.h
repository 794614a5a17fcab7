/* decimal_parts: what the files of decimal.h, its callers with vectors, and its test share. */
#ifndef PREDICT_DECIMAL_PARTS_H
#define PREDICT_DECIMAL_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"

/* The nearest double of mantissa times 10^exponent. False if it is not known which of two that is, or if the
 * power is not one of those that numbers of usual sizes have. */
bool decimal_scale(uint64_t mantissa, int exponent, double *v);

/* decimal_write of a number that is not NaN by the C library: the definition, except that integers below
 * 10^9 have all their digits and no exponent. */
void decimal_write_plain(struct buf *b, double v, bool single);

#endif
