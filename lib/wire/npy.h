/* npy: NumPy's file of one array; version 1.0 is written, 1.0 to 3.0 are read.
 *
 *     "\x93NUMPY" 1 0        8 bytes
 *     bytes of the header    2 bytes, little-endian; 4 bytes from version 2.0 on
 *     the header             a Python dictionary, spaces, a line feed
 *     the values             row-major and little-endian if written here
 *
 * Everything before the values fills a multiple of 64 bytes. The header has as many
 * spaces as numpy.save writes, so the files are identical.
 * Source: NumPy's description of the format (NEP 1), and numpy.lib.format.
 */
#ifndef WIRE_NPY_H
#define WIRE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* NumPy's name ("<f4") of a plain tensor type ("F32"); NULL if NumPy has no such type. */
const char *npy_type(const char *name);

/* Append the bytes that precede the values. type: from npy_type. dims: outermost
 * first. Sets b->failed if memory runs out. */
void npy_head(struct buf *b, const char *type, unsigned ndim, const uint64_t *dims);

#define NPY_DIMS 32        /* maximum number of dimensions */
#define NPY_HEADER 65536   /* maximum bytes of a header that is read */

/* What a header says of the values. */
struct npy {
	const char *name;  /* of the plain tensor type, "F32"; NULL for objects (pickled) */
	unsigned element;  /* bytes of a value; 0 for objects */
	unsigned swap;     /* bytes of a number whose bytes stand in the other order; 0: none do */
	bool fortran;      /* the first dimension is the innermost one in the file */
	unsigned ndim;
	uint64_t dims[NPY_DIMS]; /* outermost first, as Python shows them */
	size_t at;         /* offset of the values */
};

/* Read the header of the n bytes at p. where: for messages. 0, or -1 with e filled. */
int npy_read(struct npy *a, const uint8_t *p, size_t n, const char *where, struct err *e);

/* Find the type for a description such as "<f4" of n bytes: sets name, element and swap. False if
 * no plain type of tensors is meant. */
bool npy_describe(struct npy *a, const char *p, size_t n);

#endif
