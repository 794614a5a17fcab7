/* npy_pickle: arrays of NumPy inside a pickle (wire/pickle.h). Nothing is called: these calls have a
 * meaning, which the owner of the pickle gives to their names.
 *
 *     _reconstruct(ndarray, (0,), b'b') with the state (1, SHAPE, DTYPE, FORTRAN, BYTES)
 *     dtype(CODE, …) with the state (3, ORDER, …)
 *     _codecs.encode(TEXT, 'latin1')          bytes of Python 2
 *
 * Source: numpy.core.multiarray's __reduce__, numpy._core since NumPy 2.
 */
#ifndef WIRE_NPY_PICKLE_H
#define WIRE_NPY_PICKLE_H

#include "wire/npy.h"
#include "wire/pickle.h"

/* The owner's numbers of the functions. */
struct npy_calls {
	int reconstruct, dtype, encode;
};

struct npy_pickle {
	struct npy npy;      /* at is unused; name is NULL for objects, and dims are then set alone */
	pickle_ref values;   /* bytes, a text, or for objects the list of them */
	bool letters;        /* a text whose letters below U+0100 are the bytes */
	const uint8_t *p;    /* of the bytes or the text, in the pickle */
	size_t n;
	uint64_t bytes;      /* of all values; fewer than n for a text */
};

/* Read a call of _reconstruct. where: for messages. 0, or -1 with e filled: ERR_FORMAT for a type
 * that no plain type of tensors is, ERR_CORRUPT for what NumPy does not write. */
int npy_unpickle(struct npy_pickle *a, const struct pickle *k, pickle_ref r,
                 const struct npy_calls *calls, const char *where, struct err *e);

/* Write the bytes that the next letters of a text stand for: at most `most` of them, from *at,
 * which moves behind them. Returns their number. */
size_t npy_letters(const uint8_t *p, size_t n, size_t *at, uint8_t *to, size_t most);

#endif
