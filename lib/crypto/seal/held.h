/* held: the first items of a model, set aside until all that is not sealed has come
 * and the mac over it is known: in memory, beyond some MiB in an unlinked file
 * (core/spool.h). Only what is public, or sealed, is put here.
 */
#ifndef CRYPTO_SEAL_HELD_H
#define CRYPTO_SEAL_HELD_H

#include "core/spool.h"
#include "model/flow.h"

/* Blobs and licence: items without a head. All zero is empty. */
struct held {
	struct spool spool;
	struct held_item {
		struct item item;
		uint64_t at;      /* of its body in the spool */
		uint64_t bytes;
	} *items;
	size_t n, cap;
	size_t next;          /* to be taken out */
	uint64_t taken;       /* of its body */
	uint8_t *piece;       /* owned */
};

/* Set aside: an item, and then its body. 0, or -1. */
int held_put(struct held *h, const struct item *item, struct err *e);
int held_write(struct held *h, const void *p, size_t n, struct err *e);

/* Take out again, in order: 1 and the item, or 0 at the end; then its body: *n = 0 when
 * that has ended. */
int held_next(struct held *h, struct item *item);
int held_read(struct held *h, const uint8_t **p, size_t *n, struct err *e);
void held_free(struct held *h);

#endif
