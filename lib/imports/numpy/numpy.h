/* numpy: arrays of NumPy: a file of one (.npy), an archive of several (.npz), and objects that
 * hold nothing else.
 *
 * .npy    wire/npy.h. The tensor is called "array".
 * .npz    a zip archive, stored or deflated, whose members NAME.npy are such files. The tensors
 *         are called NAME.
 * Objects: the values of an array of type O are a pickle. It is read as data (wire/pickle.h), and
 *         becomes tensors if it consists of dictionaries, lists and tuples of arrays of numbers.
 *         Names are the keys and positions on the way, joined by ".".
 *
 * Shapes are as Python shows them. An array in Fortran's order is turned to rows first.
 * Source: NumPy's documentation (numpy.lib.format); numpy.core.multiarray's __reduce__ for pickles.
 */
#ifndef IMPORTS_NUMPY_NUMPY_H
#define IMPORTS_NUMPY_NUMPY_H

#include "imports/import.h"
#include "wire/npy_pickle.h"
#include "wire/zip.h"

/* Where the values of a tensor come from, if not from the file: place.more[MORE_FROM]. */
enum { FROM_FILE, FROM_MEMBER, FROM_BYTES, FROM_TEXT };

/* Members of place.more. */
enum { MORE_ELEMENT, MORE_SWAP, MORE_FROM, MORE_WHICH };

struct numpy {
	struct import import;
	struct zip zip;
	struct pickle pickle;
	struct spool bytes;       /* of the member or text that is being sent */
	uint64_t inflated;        /* bytes of all members so far */
	uint64_t turned, passed;  /* tensors in Fortran's order; objects that are not arrays */
};

/* Add the tensor of an array whose values begin at x->p, where `bytes` are left. */
int numpy_add(struct numpy *s, const char *name, size_t name_bytes, const struct npy *a,
              struct import_place *x, uint64_t bytes);

/* Add the tensors of a pickle. 0 or -1. */
int numpy_objects(struct numpy *s, const uint8_t *p, uint64_t n);

#endif
