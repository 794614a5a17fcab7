/* flax: parameters of Flax (.msgpack), MessagePack (wire/msgpack.h): a map of texts to maps and, at
 * its leaves, values. An array is a value of an application:
 *
 *     type 1   an array of three: shape (an array of numbers), name of the type, the bytes in the
 *              order of rows, little-endian
 *     type 2   a complex number of Python: an array of two numbers
 *     type 3   a number of NumPy, as type 1 with an empty shape
 *
 * An array of more than 1 GiB is a map of "__msgpack_chunked_array__": true, "shape": a map of "0",
 * "1", ... to numbers, and "chunks": a map of "0", "1", ... to arrays of one dimension, which follow
 * one another.
 *
 * A tensor has the names of its maps, joined by dots. Numbers, texts and truth values become keys:
 * flax.NAME. Nil is nothing; complex numbers of Python are left out with a note.
 *
 * Flax stores the kernels of layers with inputs before outputs (Dense [in, out], Conv [..., in,
 * out]), the other way around than PyTorch. They stay so, and the key flax.kernel_layout says it.
 *
 * Source: flax/serialization.py.
 */
#ifndef IMPORTS_FLAX_FLAX_H
#define IMPORTS_FLAX_FLAX_H

#include "imports/import.h"
#include "wire/msgpack.h"

struct flax_chunks;

struct flax {
	struct import import;
	struct msgpack in;
	struct buf path;             /* names of the maps around, each with a dot */
	struct flax_chunks *chunks;  /* of all arrays that have them */
	uint64_t keys, key_bytes;    /* of values that became keys */
	uint64_t left_out;           /* complex numbers */
	bool kernels;                /* a tensor is called kernel */
};

/* An array: its type, shape and bytes. */
struct flax_array {
	const struct dtype *type;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS], items;
	const uint8_t *p;
	uint64_t bytes;
};

/* Read the bytes of an array; name: of the tensor. 0 or -1. */
int flax_array(struct flax *s, const char *name, const struct msgpack_token *t,
               struct flax_array *a);

/* Read the rest of a map of chunks, behind its first key, and add the tensor. 0 or -1. */
int flax_chunked(struct flax *s, const char *name, uint64_t keys);
void flax_chunks_free(struct flax *s);

/* Read the key of a map: a text. 0 or -1. */
int flax_key(struct flax *s, struct msgpack_token *t);

#endif
