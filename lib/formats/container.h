/* container: shared by the sources and sinks of containers.
 *
 * A source walks through the plan in the order of flow.h, and a sink sends the body of each
 * item to its destination. Each has its own structure, whose first member is the struct
 * source or struct sink.
 */
#ifndef FORMATS_CONTAINER_H
#define FORMATS_CONTAINER_H

#include "core/buf.h"
#include "core/out.h"
#include "core/spool.h"
#include "model/flow.h"

/* ---- sources ---- */

/* The number of items of each kind sent so far. All zero at the beginning. */
struct container_sent {
	size_t blobs, tensors, provs, signs;
	bool licence;
};

/* Find the next item of the plan: fills in its kind and index, and the bytes of a blob,
 * licence or tensor; the caller fills in the rest. Skips tensors that are not wanted (NULL:
 * all are). False at the end. */
bool container_next(struct container_sent *sent, const struct model *m, const bool *wanted,
                    struct item *item);

/* ---- sinks ---- */

/* The destination of the current item's body. */
struct container_body {
	enum {
		CONTAINER_DROPPED, /* nowhere */
		CONTAINER_OUT,     /* to the file, at once */
		CONTAINER_KEPT,    /* to the end of a spool */
		CONTAINER_LATE     /* to late, after the item's head (late.h) */
	} to;
	struct spool *spool;
	uint64_t *bytes;           /* CONTAINER_KEPT: their number so far */
	struct buf late;
};

/* Keep the body in a spool: *at is its offset there, *bytes becomes its length. */
void container_keep(struct container_body *b, struct spool *spool, uint64_t *at,
                    uint64_t *bytes);

/* Send some bytes of the body to its destination. 0, or -1 with e filled. */
int container_write(struct container_body *b, struct out *o, const uint8_t *p, size_t n,
                    struct err *e);

/* The functions of a sink, one for each kind of item. They return 0, or -1 with e filled. */
struct container_puts {
	const char *title; /* of the format, for the note on what it cannot hold */
	int (*blob)(struct sink *s, const struct item *item, struct err *e);
	int (*licence)(struct sink *s, const struct item *item, struct err *e);
	int (*tensor)(struct sink *s, const struct item *item, struct err *e);
	int (*late)(struct sink *s, const struct item *item, struct err *e); /* prov, sign */
};

/* Call the function for an item. A frame of unknown kind is left out with a note; the caller
 * has set CONTAINER_DROPPED as the destination of its body. */
int container_put(struct sink *s, const struct container_puts *puts,
                  const struct item *item, struct err *e);

/* Allocate a zeroed structure of this many bytes that begins with a struct sink with these
 * functions. Out of memory, it abandons o and returns NULL with e filled. */
void *container_new(size_t bytes, const struct sink_ops *ops, struct out *o,
                    struct err *e);

#endif
