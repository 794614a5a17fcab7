/* round8: weights rounded to 8 bits, in another way for each part of a text: for those who average
 * over many parts and want speed.
 *
 * Products with F32, F16, BF16 and F8 matrices become those of Q8_0. A code is a weight over the
 * scale of its 32, plus a fraction from 0 up to 1, rounded down. Fractions of neighbours, of rows
 * and of successive turns are spread evenly, so the mean of T turns is nearer to the weight than a
 * step / T, while that of plain Q8_0 stays up to half a step away (kernels/mixing.h).
 */
#ifndef INFER_ROUND8_H
#define INFER_ROUND8_H

#include <stdint.h>

#include "core/err.h"

struct infer;
struct round8;

/* Round the weights for a turn. The first call allocates 1.06 bytes for each of them. Routers and
 * the output layer keep their type, as do rows that blocks of 32 do not fill. For models that were
 * opened without repack and thin. 0, or -1 with e filled (ERR_MEMORY). */
int infer_round8(struct infer *m, uint32_t turn, struct err *e);

/* For infer_close: frees what infer_round8 allocated; NULL is harmless. */
void round8_free(struct round8 *r);

#endif
