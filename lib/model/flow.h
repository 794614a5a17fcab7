/* flow: a model in motion.
 *
 * A source yields a plan and then items in this order: skey, blobs, licence, tensors,
 * prov, sign. A sink takes them in the same order. The stream and every container is a
 * source or a sink, and a tool is the flow of one into the other.
 * flow_run also proves that a value in a blob is exactly one value of its key's type, so
 * sources do not have to.
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
	ITEM_SKEY     /* first item of a sealed model: head: JSON text; no body */
};

struct item {
	enum item_kind kind;
	size_t index;       /* blob, tensor, prov, sign: number in the plan */
	char frame[5];      /* ITEM_OTHER: its four letters */
	const char *head;   /* PROV, SIGN, OTHER: JSON text, head_bytes of it; */
	size_t head_bytes;  /* the source's until its next call */
	uint64_t bytes;     /* of the body */
	const struct range *place; /* of a tensor: a range of a file that holds the same
	                     * bytes and that many threads may read; NULL: none. The
	                     * source's until its next call */
	bool same;          /* set by a flow's item hook: the body passes unchanged and is
	                     * not given to the data hook */
};

/* True if this item of the plan is sealed. Its body then alternates chunks and tags, with
 * the size that item_sizes gives, and it has no head. */
bool item_is_sealed(const struct model *m, enum item_kind kind, size_t index);

/* The bytes of head and body that the plan announces for an item; 0 for ITEM_OTHER, which
 * the plan does not know. A size that overflows is UINT64_MAX. */
void item_sizes(const struct model *m, enum item_kind kind, size_t index,
                uint64_t *head, uint64_t *body);

/* The side that is pulled. next returns 1 and an item, 0 at the proved end, or -1 on a
 * fault; call it only after the previous body has been read to its end. read returns some
 * bytes of the body (the source's until its next call); *n is 0 when the body has ended
 * and its checksum held. */
struct source {
	struct model *plan;
	const struct source_ops *ops;
	const char *name;   /* file, for messages */
	const bool *wanted; /* by tensor: a source may leave out tensors for which it is
	                     * false; NULL: all are wanted */
	/* CRC-32 of the bytes of the body read so far; NULL: the source does not compute
	 * it. */
	const uint32_t *crc;
	/* Receives notes for the user, on which no script depends. May be NULL. */
	void (*note)(const char *text);
	bool sealed_too;    /* set by a caller that can handle a sealed model */
	bool verified;      /* set by a caller that has checked the only signature: a record
	                     * then states the parent, and not only a claim about it */
};

struct source_ops {
	int (*next)(struct source *s, struct item *item, struct err *e);
	int (*read)(struct source *s, const uint8_t **p, size_t *n, struct err *e);
	void (*close)(struct source *s);
	/* Before anything of this tensor is read: true and the offset, if the file holds
	 * its bytes unchanged. The caller still calls read, which returns the bytes that
	 * the source has to check, or none. NULL: never. */
	bool (*lies)(struct source *s, uint64_t *offset);
	/* As read; the same bytes have also been put to o (reader_share). NULL: the source
	 * has no faster way than its caller. */
	int (*share)(struct source *s, struct out *o, const uint8_t **p, size_t *n,
	             struct err *e);
};

/* The side that is pushed. begin takes the plan, which must outlive the sink, and refuses
 * what the sink cannot hold, before a byte is written. Then come put, write (any number
 * of times) and put_end for each item; end makes the result final. close frees the sink
 * and undoes an unfinished output. */
struct sink {
	const struct sink_ops *ops;
	bool places; /* set by a caller that knows: the reader of the output has the
	              * source's file open */
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
	/* The output to which the bytes of this body may be put directly; NULL: they must
	 * be written. passed announces each piece that was put; crc: of the body up to
	 * there, or NULL if it is not known. direct itself is NULL if the sink has no such
	 * output. */
	struct out *(*direct)(struct sink *s);
	void (*passed)(struct sink *s, const uint8_t *p, size_t n, const uint32_t *crc);
	/* Replaces put, write and put_end if places is set: a tensor lies in the source's
	 * file from that offset on. */
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

/* Note "WHAT: N" to the user, unless n is 0. */
void sink_tell(const struct sink *s, const char *what, uint64_t n);

/* What happens between a source and a sink. Every hook may be NULL: the plan, item or
 * bytes then pass unchanged. */
struct flow {
	/* Change the plan (a copy of the source's) before the sink sees it. */
	int (*plan)(void *ctx, struct model *out, struct err *e);
	/* An item arrives: 0 passes it on, 1 drops it (data still gets its body), -1
	 * fails. out is the item as the sink will get it; the hook may change its index
	 * and bytes. */
	int (*item)(void *ctx, const struct item *in, struct item *out, struct err *e);
	/* Some bytes of its body. If data is given, only data forwards them to the sink.
	 * With looks, data only inspects them: sink is NULL and everything passes. With
	 * proves, exactly the bytes that data has seen pass, even if another process still
	 * holds the pages of the pipe. */
	bool looks, proves;
	int (*data)(void *ctx, const struct item *in, const uint8_t *p, size_t n,
	            struct sink *sink, struct err *e);
	/* An item has a place in a file, and no sink wants its bytes. 1: the hook has read
	 * it from there, and data does not get it; 0: data gets it. */
	int (*placed)(void *ctx, const struct item *in, struct sink *sink, struct err *e);
	/* Its body has ended and is proved; called before the sink's put_end. */
	int (*item_end)(void *ctx, const struct item *in, struct sink *sink,
	                struct err *e);
	/* The source has ended and is proved; called before the sink's end. */
	int (*finish)(void *ctx, struct sink *sink, struct err *e);
	/* Bytes of tensor data that have passed. It has a context of its own. */
	void (*progress)(void *progress_ctx, uint64_t bytes);
	void *progress_ctx;
	void *ctx;

	/* What is done to the content, in words: signatures end here, and a prov frame
	 * replaces each. NULL: the content does not change. */
	const char *operation;

	/* Called after plan: the tensors of the source that are passed on or given to data.
	 * The source may leave out the others. NULL: all are wanted. */
	const bool *(*wanted)(void *ctx);
};

/* Refuse a sealed model (E005), for a caller that needs its tensors. 0 or -1. */
int source_check_open(const struct source *s, struct err *e);

/* Run source into sink. If sink is NULL, everything is read and checked. A sealed model is
 * refused before its first byte, unless both have sealed_too: E005 for the source, E001
 * for the sink. */
int flow_run(struct source *source, struct sink *sink, const struct flow *f,
             struct err *e);

#endif
