/* npy: NumPy's file of one array, version 1.0.
 *
 *     "\x93NUMPY" 1 0        8 bytes
 *     bytes of the header    2 bytes, little-endian
 *     the header             a Python dictionary, blanks, a line feed
 *     the values             row-major here, little-endian
 *
 * All in front of the values is a multiple of 64 bytes, with the blanks that
 * numpy.save leaves, so that the bytes are those it would write.
 * Source: NumPy's description of the format (NEP 1), and numpy.lib.format.
 */
#ifndef FORMATS_NPY_H
#define FORMATS_NPY_H

#include <stdint.h>

#include "core/buf.h"
#include "model/dtype.h"

/* NumPy's name of a plain type, "<f4"; NULL where NumPy has no such type. */
const char *npy_type(const struct dtype *t);

/* Append what stands before the values. dims: outermost first. */
void npy_head(struct buf *b, const char *type, unsigned ndim, const uint64_t *dims);

#endif
