/* dense: the values of a sparse tensor at their places and zeros between them, in order, in bounded
 * memory.
 *
 * A dense tensor is a row of slots, and a slot is `run` values. The sparse one is a list of runs,
 * each with the number of its slot, which the owner gives one after the other. They are proved
 * first, all of them. If their slots do not ascend, their numbers are sorted by piece of the output
 * in a spool, 16 bytes for each.
 *
 * Values replace the zeros; runs in one slot are added up, in the order of the list, if the owner has
 * a function for it: see dense_add.
 */
#ifndef IMPORTS_DENSE_H
#define IMPORTS_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/spool.h"

/* The hint to the refusal of a sparse tensor without the option, which several formats share. */
#define DENSE_HINT "apr-unpack --dense makes it dense"

/* Values of all tensors that --dense makes, in bytes: this, and DENSE_COPIES for each of the file. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define DENSE_MORE (UINT64_C(16) << 30)
#else
#define DENSE_MORE (UINT64_C(1) << 16)
#endif
#define DENSE_COPIES 64

/* Adds n bytes of values at `from` to those at `to`. */
typedef void dense_sum(uint8_t *to, const uint8_t *from, size_t n);

/* The sum of values of this type; NULL: values of the type are not added. Integers wrap, BOOL is the
 * disjunction; F16 and BF16 are added in single precision and rounded each time. */
dense_sum *dense_add(const char *type);

struct dense {
	/* Set by the owner. */
	void *owner;
	const char *name;      /* of the tensor, for messages; outlives it */
	uint64_t slots;        /* of the dense tensor */
	uint64_t run;          /* values of a slot; above 0 */
	uint64_t runs;         /* in the list */
	unsigned element;      /* bytes of a value */
	dense_sum *add;        /* NULL: the owner proves that no slot comes twice */
	/* Begin the list again; set the slot of its next run: 0, or -1 with e filled. A slot beyond
	 * `slots` is refused here. */
	void (*rewind)(void *owner);
	int (*next)(void *owner, uint64_t *slot, struct err *e);
	/* Write `count` values of the list, from value `first` of it. */
	void (*values)(void *owner, uint64_t first, uint64_t count, uint8_t *to);
	/* Return the pages of the list to the system; NULL: nothing to do. */
	void (*release)(void *owner);

	/* The rest belongs to dense.c. */
	uint64_t done;         /* values that were written */
	uint64_t per;          /* slots of a piece, or 1 if a slot is longer */
	uint64_t piece;        /* values of a piece at most */
	uint8_t *made, *copy;  /* a piece, and a part of a run */
	uint64_t made_at, made_end; /* the values in it */
	bool sorted;           /* the list is in the order of the pieces */
	uint64_t taken, slot;  /* of the list that is sorted: runs, the slot of the last one */
	bool waits;            /* that one is not used up */
	uint64_t *starts;      /* of each group of `per` slots, in the spool */
	uint64_t groups;
	struct spool spool;
	struct dense_place *places;
};

/* Prove the list. 0, or -1 with e filled. dense_end releases everything in both cases; it may be
 * called twice. */
int dense_begin(struct dense *d, struct err *e);
/* Write the next `count` values, at most those that are left. */
void dense_read(struct dense *d, uint64_t count, uint8_t *to);
void dense_end(struct dense *d);

#endif
