/* flow: a model in motion.
 *
 * A source yields a plan and then items in this order: skey, blobs, licence, tensors,
 * prov, sign. A sink takes them in the same order. The stream and every container are
 * sources and sinks, and a tool is a flow from one to the other.
 * flow_run proves that a value in a blob is exactly one value of its key's type, so
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
#include "model/oddity.h"

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
	const char *head;   /* PROV, SIGN, OTHER: JSON text of head_bytes bytes, valid until */
	size_t head_bytes;  /* the source's next call */
	uint64_t bytes;     /* of the body */
	const struct range *place; /* of a tensor: a range of a file that holds the same
	                     * bytes and that several threads may read; NULL: none. Valid
	                     * until the source's next call */
	bool gaps;          /* of a tensor: long runs of its zeros are not stored, and zeros of
	                     * the source finds them; a sink may then get them by sink_zeros */
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

/* The side that is pulled. next returns 1 and an item, 0 at the end if everything was
 * proved, or -1 on an error; call it only after the previous body has been read to its end.
 * read returns some bytes of the body, valid until the source's next call; *n is 0 when the
 * body has ended and its checksum is right. */
struct source {
	struct model *plan;
	const struct source_ops *ops;
	const char *name;   /* file, for messages */
	const bool *wanted; /* one per tensor: the source may leave out a tensor whose entry
	                     * is false; NULL: all are wanted */
	/* CRC-32 of the bytes of the body read so far; NULL: the source does not compute
	 * it. */
	const uint32_t *crc;
	/* Receives notes for the user, on which no script depends. May be NULL. */
	void (*note)(const char *text);
	bool sealed_too;    /* set by a caller that can handle a sealed model */
	const struct oddities *oddities; /* what is unusual in the file (model/oddity.h),
	                     * complete at the end of the source; NULL: it does not look */
	bool verified;      /* set by a caller that has checked the only signature: the
	                     * record then states the parent as a fact, not as a claim */
};

struct source_ops {
	int (*next)(struct source *s, struct item *item, struct err *e);
	int (*read)(struct source *s, const uint8_t **p, size_t *n, struct err *e);
	void (*close)(struct source *s);
	/* Called before any byte of this tensor is read. Returns true and the offset if
	 * the file holds the bytes unchanged. The caller still calls read, which returns
	 * the bytes that the source has to check, or none. NULL: never true. */
	bool (*lies)(struct source *s, uint64_t *offset);
	/* The open file of the current tensor, or -1. NULL: it has none. */
	int (*opened)(struct source *s);
	/* Like read, and puts the same bytes to o (reader_share). NULL: the source cannot do
	 * this faster than its caller. */
	int (*share)(struct source *s, struct out *o, const uint8_t **p, size_t *n,
	             struct err *e);
	/* Called before each read of an item with gaps: sets *n to the number of zeros that come
	 * next and that read then leaves out, or to 0. A caller may also only read: it then gets
	 * every byte. NULL: no item has gaps. */
	int (*zeros)(struct source *s, uint64_t *n, struct err *e);
};

/* The side that is pushed. begin takes the plan, which must outlive the sink, and refuses
 * what the sink cannot hold before a byte is written. Each item then takes one put, any
 * number of writes, and one put_end; end makes the result final. close frees the sink
 * and removes an unfinished output. */
struct sink {
	const struct sink_ops *ops;
	/* Set by a caller that knows that the reader of the output has these files open: the
	 * number of an open file among them, or -1. NULL: it has none. */
	int (*place_of)(int fd);
	void (*note)(const char *text);
	bool sealed_too;    /* the sink can hold a sealed model */
};

struct sink_ops {
	int (*begin)(struct sink *s, const struct model *plan, struct err *e);
	int (*put)(struct sink *s, const struct item *item, struct err *e);
	int (*write)(struct sink *s, const uint8_t *p, size_t n, struct err *e);
	int (*put_end)(struct sink *s, struct err *e);
	int (*end)(struct sink *s, struct err *e);
	void (*close)(struct sink *s);
	/* direct returns the output to which the bytes of this body may be put without
	 * write, or NULL if they must be written. passed announces each piece that was put;
	 * crc is that of the body up to there, or NULL if unknown. direct itself is NULL if
	 * the sink has no such output. */
	struct out *(*direct)(struct sink *s);
	void (*passed)(struct sink *s, const uint8_t *p, size_t n, const uint32_t *crc);
	/* Replaces put, write and put_end if place_of is set: the tensor lies in the file of
	 * that number at this offset. */
	int (*place)(struct sink *s, const struct item *item, uint64_t offset,
	             unsigned file, struct err *e);
	/* Like a write of n zeros to an item with gaps, in less time. NULL: they are written. */
	int (*zeros)(struct sink *s, uint64_t n, struct err *e);
};

int source_next(struct source *s, struct item *item, struct err *e);
int source_read(struct source *s, const uint8_t **p, size_t *n, struct err *e);
/* Like source_read, and puts the same bytes to o. */
int source_share(struct source *s, struct out *o, const uint8_t **p, size_t *n,
                 struct err *e);
/* Read everything that is left; only this proves that a model from a pipe is whole. 0 or
 * -1. */
int source_finish(struct source *s, struct err *e);
/* Zeros that come next and that source_read will leave out; *n is 0 if there are none. */
int source_zeros(struct source *s, uint64_t *n, struct err *e);
void source_close(struct source *s);

int sink_begin(struct sink *s, const struct model *plan, struct err *e);
int sink_put(struct sink *s, const struct item *item, struct err *e);
int sink_write(struct sink *s, const uint8_t *p, size_t n, struct err *e);
int sink_zeros(struct sink *s, uint64_t n, struct err *e);
/* Write n zeros by sink_write: for a sink that cannot leave them out. */
int sink_write_zeros(struct sink *s, uint64_t n, struct err *e);
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
	/* Called for an item that has a place in a file, if no sink wants its bytes. Returns
	 * 1 if the hook has read the item from there and data must not get it, 0 if data
	 * gets it. */
	int (*placed)(void *ctx, const struct item *in, struct sink *sink, struct err *e);
	/* Without a sink, placed also gets tensors that the source itself reads from a
	 * file (lies of struct source_ops), and must return 1 for them. */
	bool takes;
	/* The item's body has ended and is proved; called before the sink's put_end. */
	int (*item_end)(void *ctx, const struct item *in, struct sink *sink,
	                struct err *e);
	/* The source has ended and is proved; called before the sink's end. */
	int (*finish)(void *ctx, struct sink *sink, struct err *e);
	/* Receives the bytes of tensor data that have passed, and a context of its own. */
	void (*progress)(void *progress_ctx, uint64_t bytes);
	/* The same, and may end the flow: -1 with e filled. */
	int (*watch)(void *progress_ctx, uint64_t bytes, struct err *e);
	void *progress_ctx;
	void *ctx;

	/* The name of the operation that changes the content: signatures end here, and a
	 * prov frame replaces each of them. NULL: the content does not change. */
	const char *operation;

	/* Called after plan. Returns one entry per tensor of the source: true if the tensor is
	 * passed on or given to data. The source may leave out the others. NULL: all are
	 * wanted. */
	const bool *(*wanted)(void *ctx);
};

/* Append the head of the record that stands for a signature which ends: JSON text with the
 * operation, and root and key of the signature with this head. verified: as in struct source.
 * 0, or -1 with ERR_CORRUPT if the head lacks them. */
int flow_record(struct buf *b, const char *operation, bool verified, const char *head,
                size_t head_bytes, struct err *e);

/* Refuse a sealed model (E005), for a caller that needs its tensors. 0 or -1. */
int source_check_open(const struct source *s, struct err *e);

/* Run source into sink. If sink is NULL, everything is read and checked, and nothing is
 * written. A sealed model is refused before its first byte unless both sides have
 * sealed_too: E005 if the source lacks it, E001 if the sink does. */
int flow_run(struct source *source, struct sink *sink, const struct flow *f,
             struct err *e);

#endif
