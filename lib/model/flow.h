/* flow: a model in motion.
 *
 * A source is a plan and, after it, items in this order: skey, blobs, licence,
 * tensors, prov, sign. A sink takes the same. The stream, and every container,
 * is a source or a sink, so that each tool is the flow of one into the other.
 * A run proves what no source need prove by itself: that a value which travels
 * in a blob is exactly one value of its key's type.
 */
#ifndef MODEL_FLOW_H
#define MODEL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/out.h"
#include "core/range.h"
#include "model/model.h"

enum item_kind {
	ITEM_BLOB,    /* body: its bytes */
	ITEM_LICENCE, /* body: the block's bytes */
	ITEM_TENSOR,  /* body: tensor_bytes of it */
	ITEM_PROV,    /* head: JSON text; no body */
	ITEM_SIGN,    /* head: JSON text; body: digests */
	ITEM_OTHER,   /* a frame that may be passed on unread: kind, head, body */
	ITEM_SKEY     /* of a sealed model, before all others: head: JSON text; no body */
};

struct item {
	enum item_kind kind;
	size_t index;       /* blob, tensor, prov, sign: number in the plan */
	char frame[5];      /* ITEM_OTHER: its four letters */
	const char *head;   /* PROV, SIGN, OTHER: JSON text, head_bytes of it; */
	size_t head_bytes;  /* the source's until its next call */
	uint64_t bytes;     /* of the body */
	const struct range *place; /* a tensor: its bytes also lie there, as they are, in a
	                     * file that many threads may read; NULL: they do not. The
	                     * source's until its next call */
	bool same;          /* set by a flow's item hook: the body goes on as it is, and is
	                     * not shown to data */
};

/* Is this item of the plan sealed? Then its body is what item_sizes says, chunk and
 * tag in turn, and it has no head. */
bool item_is_sealed(const struct model *m, enum item_kind kind, size_t index);

/* The head and the body that the plan announces for an item; for ITEM_OTHER, of
 * which it knows nothing, zeros. A size that overflows is UINT64_MAX. */
void item_sizes(const struct model *m, enum item_kind kind, size_t index,
                uint64_t *head, uint64_t *body);

/* Pull side. next: 1 and an item, 0 at the proved end, -1 on a fault; it may
 * only be called when the body before is used up. read: some bytes of the body
 * (the source's until its next call), *n = 0 when the body has ended and its
 * checksum held. */
struct source {
	struct model *plan;
	const struct source_ops *ops;
	const char *name;   /* file, for messages */
	const bool *wanted; /* of tensors: a source may leave out where it is false, and
	                     * what says nothing else; NULL: all are */
	/* CRC-32 of what has been read of the body, where the source computes it; NULL:
	 * it does not. */
	const uint32_t *crc;
	/* Told what a person should hear but no script depends on. May be NULL. */
	void (*note)(const char *text);
	bool sealed_too;    /* set by who runs it, and can do with a sealed model */
	bool verified;      /* set by who had the (only) signature checked: a record of it
	                     * says what it was, and not what it claims to be */
};

struct source_ops {
	int (*next)(struct source *s, struct item *item, struct err *e);
	int (*read)(struct source *s, const uint8_t **p, size_t *n, struct err *e);
	void (*close)(struct source *s);
	/* Nothing of this tensor has been read: does it lie in the file as it is, and
	 * where? If so, read still comes after it, and gives what the source has to check
	 * of it, or nothing. NULL: never. */
	bool (*lies)(struct source *s, uint64_t *offset);
	/* read, and the same bytes have been put to o (reader_share). NULL: the source
	 * cannot do that better than its caller. */
	int (*share)(struct source *s, struct out *o, const uint8_t **p, size_t *n,
	             struct err *e);
};

/* Push side. begin: the plan, which must outlive the sink; refuses what the
 * sink cannot hold, before a byte is written. Then for each item put, write
 * (as often as needed), put_end; end makes the result final. close frees; what
 * is unfinished then is undone. */
struct sink {
	const struct sink_ops *ops;
	bool places; /* set by who knows that the other side has the source's file open */
	void (*note)(const char *text);
	bool sealed_too;    /* it can hold a sealed model */
};

struct sink_ops {
	int (*begin)(struct sink *s, const struct model *plan, struct err *e);
	int (*put)(struct sink *s, const struct item *item, struct err *e);
	int (*write)(struct sink *s, const uint8_t *p, size_t n, struct err *e);
	int (*put_end)(struct sink *s, struct err *e);
	int (*end)(struct sink *s, struct err *e);
	void (*close)(struct sink *s);
	/* The output to which the bytes of this body may be put as they are; NULL: they
	 * must be written. Each piece that was put is announced afterwards; crc: that of
	 * the body up to there, where it is known already, else NULL. direct itself is NULL
	 * where a sink has nothing of the kind. */
	struct out *(*direct)(struct sink *s);
	void (*passed)(struct sink *s, const uint8_t *p, size_t n, const uint32_t *crc);
	/* In place of put, write and put_end, with places set: a tensor lies in the
	 * source's file from that offset on. */
	int (*place)(struct sink *s, const struct item *item, uint64_t offset,
	             struct err *e);
};

int source_next(struct source *s, struct item *item, struct err *e);
int source_read(struct source *s, const uint8_t **p, size_t *n, struct err *e);
/* Read all that is left: only then is a model from a pipe known to be whole. 0 or -1. */
int source_finish(struct source *s, struct err *e);
void source_close(struct source *s);

int sink_begin(struct sink *s, const struct model *plan, struct err *e);
int sink_put(struct sink *s, const struct item *item, struct err *e);
int sink_write(struct sink *s, const uint8_t *p, size_t n, struct err *e);
int sink_put_end(struct sink *s, struct err *e);
int sink_end(struct sink *s, struct err *e);
void sink_close(struct sink *s);

/* Tell a person what became of n things, if there are any: "WHAT: N". */
void sink_tell(const struct sink *s, const char *what, uint64_t n);

/* What happens between a source and a sink. Every hook may be NULL: then the
 * thing just flows on. */
struct flow {
	/* Change the plan (a copy of the source's) before the sink sees it. */
	int (*plan)(void *ctx, struct model *out, struct err *e);
	/* An item comes: 0 passes it on, 1 drops it (its body is still shown to
	 * data), -1 fails. out is the item as the sink will get it; its index and
	 * bytes may be changed. */
	int (*item)(void *ctx, const struct item *in, struct item *out, struct err *e);
	/* Some bytes of its body. Where data is given it alone forwards (or not), unless
	 * it only looks: then sink is NULL, and all goes on. If what goes on must be what
	 * data has seen, whoever holds on to the pages of a pipe, it proves. */
	bool looks, proves;
	int (*data)(void *ctx, const struct item *in, const uint8_t *p, size_t n,
	            struct sink *sink, struct err *e);
	/* An item has a place in a file, and no sink wants its bytes: 1, it was read from
	 * there and does not come to data; 0, it does. */
	int (*placed)(void *ctx, const struct item *in, struct sink *sink, struct err *e);
	/* Its body has ended, proved; before the sink's put_end. */
	int (*item_end)(void *ctx, const struct item *in, struct sink *sink,
	                struct err *e);
	/* The source has ended, proved; before the sink's end. */
	int (*finish)(void *ctx, struct sink *sink, struct err *e);
	/* Bytes of tensor data that have passed. It has a context of its own. */
	void (*progress)(void *progress_ctx, uint64_t bytes);
	void *progress_ctx;
	void *ctx;

	/* Content changes: signatures end here and a prov frame takes their place.
	 * operation: what was done, in words. NULL: content stays as it is. */
	const char *operation;

	/* After plan: which tensors of the source will be passed on, or shown to data.
	 * The others may not come at all. NULL: all. */
	const bool *(*wanted)(void *ctx);
};

/* Refuse a sealed model, where its tensors are wanted: E005. 0 or -1. */
int source_check_open(const struct source *s, struct err *e);

/* Run source into sink. sink may be NULL: everything is read and checked. A sealed
 * model is refused where sealed_too of either is not set: E005 for the source, E001 for
 * the sink, and before its first byte. */
int flow_run(struct source *source, struct sink *sink, const struct flow *f,
             struct err *e);

#endif
