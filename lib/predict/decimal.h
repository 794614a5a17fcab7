/* decimal: numbers as text, read and written at the speed of the rows of a table.
 */
#ifndef PREDICT_DECIMAL_H
#define PREDICT_DECIMAL_H

#include <stdbool.h>

#include "core/buf.h"

/* Reads the number at *p, which is before end, and moves *p behind it; leaves *p where it is if
 * no number stands there. The value is the nearest double. "nan" and "inf" or "infinity", in any
 * case and with a sign, are numbers as well. Hexadecimal numbers are not. */
double decimal_read(const char **p, const char *end);

/* Appends v with the fewest digits that give the same value back: the same double, or the same
 * float with single. NaN is "nan", infinity "inf". */
void decimal_write(struct buf *b, double v, bool single);

#endif
