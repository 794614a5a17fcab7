/* move: how the values of a tensor of the target lie in tensors of the source.
 *
 * A target is a list of pieces, one after another. A piece is a loop over at most MOVE_DIMS
 * dimensions: value (i, j, …) of the piece is value base + i*stride[0] + j*stride[1] + … of
 * its source. So permuted rows, transposed matrices and stacked experts are all the same.
 *
 * A target repeats its list: in repetition r, each piece begins at base + r*step. With weave,
 * single values of the pieces, which have the same size, follow each other in turn.
 */
#ifndef ADAPT_MOVE_H
#define ADAPT_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"

#define MOVE_DIMS 4
#define MOVE_VALUES ((uint64_t)1 << 20) /* gathered at once, at most */

struct move_piece {
	size_t source;
	uint64_t base, step;
	unsigned n;
	uint64_t count[MOVE_DIMS], stride[MOVE_DIMS];
};

struct move {
	struct move_piece *pieces;
	size_t n;
	uint64_t repeat;
	bool weave;
};

/* A piece of n values in a row from base on. */
struct move_piece move_run(size_t source, uint64_t base, uint64_t n);

/* Merge dimensions that are one run, and drop those of one value. */
void move_simplify(struct move_piece *p);

/* True if the target is its one source, value by value. */
bool move_is_plain(const struct move *m);

/* The number of values that a target is best read at once, for a reader of whole windows: all
 * sources of a window lie close together if the result is at most MOVE_VALUES. 0: its only
 * source need not be read in another order (one piece, whose blocks of this many values stay
 * in their places). */
uint64_t move_block(const struct move *m);

/* True if blocks of the type stay whole. */
bool move_keeps_blocks(const struct move *m, const struct dtype *t);

/* Reads n bytes of a source, from byte `from` on. */
struct move_reader {
	int (*read)(void *ctx, size_t source, uint64_t from, uint8_t *dst, size_t n,
	            struct err *e);
	/* The zeros, at most n bytes, with which a source goes on at byte `from` because they
	 * are not stored; 0: none are known. NULL: never known. */
	uint64_t (*zeros)(void *ctx, size_t source, uint64_t from, uint64_t n);
	void *ctx;
	uint8_t *scratch; /* private: free it at the end */
	size_t scratch_cap;
};

/* Gather n values of type t, from value `first` of the target on, to dst. Both are multiples
 * of the type's block; n is at most MOVE_VALUES. 0 or -1. */
int move_gather(const struct move *m, const struct dtype *t, struct move_reader *in,
                uint64_t first, uint64_t n, uint8_t *dst, struct err *e);

/* The number of values of type t, from value `first` of the target on, whose bytes are known
 * to be zeros. Values of a piece that lie in another order in their source are asked for at
 * once: all that are left of the piece, or else the next `window`. */
uint64_t move_zeros(const struct move *m, const struct dtype *t, struct move_reader *in,
                    uint64_t first, uint64_t window);

#endif
