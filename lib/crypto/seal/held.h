/* held: the first items of a model, kept until all unsealed items have come and the mac
 * over them is known. They are kept in memory, and beyond some MiB in an unlinked file
 * (core/spool.h). Plaintext of sealed items is never put here.
 */
#ifndef CRYPTO_SEAL_HELD_H
#define CRYPTO_SEAL_HELD_H

#include "core/spool.h"
#include "model/flow.h"

/* Blobs and the licence, which have no head. All zero is empty. */
struct held {
	struct spool spool;
	struct held_item {
		struct item item;
		uint64_t at;      /* of its body in the spool */
		uint64_t bytes;
	} *items;
	size_t n, cap;
	size_t next;          /* item to take out */
	uint64_t taken;       /* of its body */
	uint8_t *piece;       /* owned */
};

/* Put in an item, then its body. 0, or -1. */
int held_put(struct held *h, const struct item *item, struct err *e);
int held_write(struct held *h, const void *p, size_t n, struct err *e);

/* Take out the items in order: 1 and an item, or 0 at the end. Then its body: *n is 0 at its
 * end. */
int held_next(struct held *h, struct item *item);
int held_read(struct held *h, const uint8_t **p, size_t *n, struct err *e);
void held_free(struct held *h);

#endif
