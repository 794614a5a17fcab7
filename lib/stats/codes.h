/* codes: codes in quantized blocks that can be decoded, but that no encoder writes. */
#ifndef STATS_CODES_H
#define STATS_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* Q8_0 and Q8_1 are symmetric: the scale is the largest magnitude over 127, so codes are
 * -127 to 127, and a code of -128 comes from elsewhere (point 34 of the version 2
 * specification's list of 100). Returns how many of the n values at x have it; *first: the
 * index of the first of them. Other types have none. */
size_t codes_below(const struct dtype *t, const uint8_t *x, size_t n, size_t *first);

#endif
