/* npy: NumPy's file of one array, version 1.0.
 *
 *     "\x93NUMPY" 1 0        8 bytes
 *     bytes of the header    2 bytes, little-endian
 *     the header             a Python dictionary, spaces, a line feed
 *     the values             row-major here, little-endian
 *
 * Everything before the values fills a multiple of 64 bytes. The header has as many
 * spaces as numpy.save writes, so the files are identical.
 * Source: NumPy's description of the format (NEP 1), and numpy.lib.format.
 */
#ifndef WIRE_NPY_H
#define WIRE_NPY_H

#include <stdint.h>

#include "core/buf.h"

/* NumPy's name ("<f4") of a plain tensor type ("F32"); NULL if NumPy has no such type. */
const char *npy_type(const char *name);

/* Append the bytes that precede the values. type: from npy_type. dims: outermost
 * first. Sets b->failed if memory runs out. */
void npy_head(struct buf *b, const char *type, unsigned ndim, const uint64_t *dims);

#endif
