/* decimal_parts: what the files of decimal.h and its test share. */
#ifndef PREDICT_DECIMAL_PARTS_H
#define PREDICT_DECIMAL_PARTS_H

#include <stdbool.h>

#include "core/buf.h"

/* decimal_write of a number that is not NaN by the C library: the definition, except that integers below
 * 10^9 have all their digits and no exponent. */
void decimal_write_plain(struct buf *b, double v, bool single);

#endif
