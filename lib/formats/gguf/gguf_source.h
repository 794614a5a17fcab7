/* gguf_source: what the parts of the GGUF reader share: gguf_value.c (metadata on
 * its way in), gguf_carriers.c (our own keys), gguf_index.c (which tensor lies
 * where), gguf_source.c (the header as a whole, and what is sent).
 *
 * The functions return 0, or -1 with the reader's fault filled.
 */
#ifndef FORMATS_GGUF_SOURCE_H
#define FORMATS_GGUF_SOURCE_H

#include "core/buf.h"
#include "core/spool.h"
#include "formats/container.h"
#include "formats/gguf/gguf.h"

#define GGUF_ARRAY_HEAD 12 /* of wire bytes: u32 item type, u64 count */

/* Where the bytes of a blob wait until it is its turn: in the file itself, where
 * it can seek, else in the spool. */
struct place {
	bool spooled;
	uint64_t at, bytes;
};

/* A side file carried by apr.blob.NAME, before it becomes a blob. */
struct carried {
	char *name, *type;
	struct place place;
};

/* apr.dtype.NAME or apr.shape.NAME, before the tensors are known. */
struct retype {
	char *name;
	const struct dtype *dtype;
	uint64_t dims[TENSOR_DIMS];
	unsigned ndim;
	bool has_shape, used;
};

struct gguf {
	struct source source;
	struct reader reader;
	struct model plan;
	struct format_options options;

	uint32_t version;
	uint64_t alignment, header_bytes, data_at, data_bytes;
	bool has_data_length;  /* the file's length is known */

	struct spool spool;
	struct place *places;  /* of plan.blobs */
	size_t place_count, place_cap;
	struct carried *carried;
	size_t carried_count, carried_cap;
	struct place licence;
	uint64_t reserve;      /* bytes of apr.reserve; 0 where it is not there */
	struct retype *retypes;
	size_t retype_count, retype_cap;
	struct buf *provs, *signs; /* in number order */
	size_t prov_count, prov_cap, sign_count, sign_cap;
	uint64_t *offsets;     /* of plan.tensors, in the data */

	bool is_shard;         /* it may be one of several files */
	struct gguf_split split;
	json_t *order;         /* apr.order */

	/* What is being sent. */
	struct container_sent sent;
	bool padding_read;
	struct place body;     /* blob, licence */
	struct buf memory;     /* one piece of it */
	uint64_t left;         /* of the body */
	const uint8_t *from;   /* sign: the body lies in memory */
	uint64_t position;     /* in the data, of the next byte to read */
};

/* A value on its way in. Its wire bytes gather in b; a value too long for that
 * is spilled: left where it is in the file, or moved to the spool. */
struct incoming {
	struct value_type type;
	struct value_found found;
	struct buf b;
	bool spilled;
	struct place place;
};

/* A length or a count: 32 bits in version 1. 0 if the reader has failed. */
uint64_t gguf_read_size(struct gguf *g);

/* A name of 1 to most bytes, UTF-8, without NUL. Into b, terminated. what: of
 * what, for the message. */
int gguf_read_name(struct gguf *g, struct buf *b, const char *what, size_t most);

/* The value type and the value. v is zeroed before; v->b is the caller's. */
int gguf_read_value(struct gguf *g, struct incoming *v);

/* Set aside a value that is in memory although it must become a blob. */
int gguf_spill(struct gguf *g, struct incoming *v);

/* The place of the next blob of the plan. */
int gguf_add_place(struct gguf *g, struct place place);

/* Make the value metadata of the plan, inline or in a blob. */
int gguf_keep_value(struct gguf *g, const char *key, struct incoming *v);

/* 1 if the key is one of ours and was taken in, 0 if not, -1 on a fault. */
int gguf_take_carrier(struct gguf *g, const char *key, struct incoming *v);

/* All keys are read: find what gguf_restore will look up. */
int gguf_sort_retypes(struct gguf *g);

/* The index entry of a tensor stored as bytes, as what it was before. */
int gguf_restore(struct gguf *g, char *name, const struct dtype **type, unsigned *ndim,
                 uint64_t *dims);

/* All tensors are read: what was carried goes into the plan. */
int gguf_add_carried(struct gguf *g);

/* Only now do the sizes of signatures follow from the plan: that of the model. */
int gguf_prove_signs(struct gguf *g, const struct model *whole);

/* The index of count tensors, and that they lie in the file without holes. name:
 * scratch. */
int gguf_read_tensors(struct gguf *g, uint64_t count, struct buf *name);

#endif
