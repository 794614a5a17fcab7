/* values: the numbers in a tensor's bytes, for every type that can be decoded:
 * types with a kernel, and plain types that need none: integers, BOOL
 * (anything but 0 is 1) and F64. All little-endian.
 */
#ifndef STATS_VALUES_H
#define STATS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* True if values of this type can be decoded; the functions below take no other type. */
bool values_known(const struct dtype *t);

/* Decode n values from x: whole blocks, except the last of a tensor. head is that of the
 * tensor, if its type has one. Exact, except for integers beyond 2^53. */
void values_double(const struct dtype *t, const uint8_t *head, const uint8_t *x,
                   double *y, size_t n);

/* The same to single precision, which is exact for all types of up to 24 bits.
 * Returns how many values were rounded, or became infinite. */
size_t values_float(const struct dtype *t, const uint8_t *head, const uint8_t *x,
                    float *y, size_t n);

/* The text of value i of x, decoded before as y: an integer in full, any other
 * number with the digits that reading it back exactly takes. Returns dst. */
#define VALUES_TEXT 40
char *values_text(const struct dtype *t, const uint8_t *x, double y, size_t i,
                  char dst[VALUES_TEXT]);

/* The text of a number; single: single precision is enough to read it back. */
char *values_number(double v, bool single, char dst[VALUES_TEXT]);

#endif
