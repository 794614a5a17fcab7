/* container: what the sources and sinks of containers do alike.
 *
 * A source walks through the plan in the order of flow.h, and a sink sends each item to
 * where its body goes. Both keep their own structure, whose first member is the struct
 * source or struct sink.
 */
#ifndef FORMATS_CONTAINER_H
#define FORMATS_CONTAINER_H

#include "core/buf.h"
#include "core/out.h"
#include "core/spool.h"
#include "model/flow.h"

/* ---- sources ---- */

/* How many items of each kind have been sent. Zeros at the beginning. */
struct container_sent {
	size_t blobs, tensors, provs, signs;
	bool licence;
};

/* The next item by the plan: its kind and index, and the bytes of a blob, licence or
 * tensor; the caller fills in the rest. Tensors that wanted (NULL: all are) excludes are
 * passed over. False at the end. */
bool container_next(struct container_sent *sent, const struct model *m, const bool *wanted,
                    struct item *item);

/* ---- sinks ---- */

/* Where the body of the current item goes. */
struct container_body {
	enum {
		CONTAINER_DROPPED, /* nowhere */
		CONTAINER_OUT,     /* to the file, at once */
		CONTAINER_KEPT,    /* to the end of a spool */
		CONTAINER_LATE     /* to late, behind the item's head (late.h) */
	} to;
	struct spool *spool;
	uint64_t *bytes;           /* CONTAINER_KEPT: how many, so far */
	struct buf late;
};

/* Keep the body in a spool; *at is where it begins, *bytes becomes its length. */
void container_keep(struct container_body *b, struct spool *spool, uint64_t *at,
                    uint64_t *bytes);

/* Some bytes of the body. 0, or -1 with e filled. */
int container_write(struct container_body *b, struct out *o, const uint8_t *p, size_t n,
                    struct err *e);

/* What a sink does when an item comes. 0, or -1 with e filled. */
struct container_puts {
	const char *title; /* of the format, for the note on what it cannot hold */
	int (*blob)(struct sink *s, const struct item *item, struct err *e);
	int (*licence)(struct sink *s, const struct item *item, struct err *e);
	int (*tensor)(struct sink *s, const struct item *item, struct err *e);
	int (*late)(struct sink *s, const struct item *item, struct err *e); /* prov, sign */
};

/* Call one of them. A frame of unknown kind is left out with a note, so the body of the
 * item must have been set to be dropped. */
int container_put(struct sink *s, const struct container_puts *puts,
                  const struct item *item, struct err *e);

/* A structure of that many bytes, zeroed, that begins with a struct sink with these
 * functions. NULL (out of memory) with e filled: then o has been abandoned. */
void *container_new(size_t bytes, const struct sink_ops *ops, struct out *o,
                    struct err *e);

#endif
