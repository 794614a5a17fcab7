/* gguf_reader: shared by the parts of the GGUF reader: gguf_value.c (reads values),
 * gguf_carriers.c (keys of the apr tools), gguf_index.c (the index of tensors),
 * gguf_source.c (the header as a whole, and sending).
 *
 * The functions return 0, or -1 with the reader's err filled, unless stated otherwise.
 */
#ifndef FORMATS_GGUF_READER_H
#define FORMATS_GGUF_READER_H

#include "core/buf.h"
#include "core/spool.h"
#include "formats/container.h"
#include "formats/gguf/gguf.h"

#define GGUF_ARRAY_HEAD 12 /* of wire bytes: u32 item type, u64 count */

/* Where the bytes of a blob wait for their turn: in the file if it can seek, else in the
 * spool. */
struct place {
	bool spooled;
	uint64_t at, bytes;
};

/* A side file carried by apr.blob.NAME, before it becomes a blob. */
struct carried {
	char *name, *type;
	struct place place;
};

/* Two keys about a tensor, before the tensors are known: apr.dtype.NAME and apr.shape.NAME,
 * or apr.scale.NAME and apr.zero.NAME. */
struct retype {
	char *name;
	bool is_scaled;        /* apr.scale and apr.zero: */
	uint8_t head[GGUF_SCALED_HEAD]; /* their values */
	const struct dtype *dtype;
	uint64_t dims[TENSOR_DIMS];
	unsigned ndim;
	bool is_complete, used; /* is_complete: it has the second key */
};

/* A key of the file that is not a key of the model: a carrier, or the alignment. */
struct gguf_span {
	uint64_t at, n;        /* its bytes in the file */
	size_t key;            /* the number of the model's keys before it */
	bool ends;             /* it is not copied when the metadata changes: apr.reserve, and */
	bool sign;             /* apr.sign.N, unless the signature stays */
};

struct gguf {
	struct source source;
	struct reader reader;
	struct model plan;
	struct oddities odd; /* what is unusual in the file */
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
	uint64_t reserve;      /* bytes of apr.reserve; 0 if there is none */
	struct retype *retypes;
	size_t retype_count, retype_cap;
	struct buf *provs, *signs; /* in number order */
	size_t prov_count, prov_cap, sign_count, sign_cap;
	struct gguf_span *spans; /* for gguf_amend */
	size_t span_count, span_cap;
	uint64_t index_at;
	bool has_reserve;
	uint64_t *offsets;     /* of plan.tensors, in the data */
	const struct retype **scaled; /* of plan.tensors: keys with the scale, or NULL */

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
	const uint8_t *head;   /* the tensor's first GGUF_SCALED_HEAD bytes, not yet sent */
	uint64_t position;     /* in the data, of the next byte to read */
};

/* A value that is being read. b collects its wire bytes. A value too long for memory is
 * spilled: left in the file, or moved to the spool. */
struct incoming {
	struct value_type type;
	struct value_found found;
	struct buf b;
	bool spilled;
	struct place place;
};

/* Read a length or a count: 32 bits in version 1. Returns 0 if the reader has failed. */
uint64_t gguf_read_size(struct gguf *g);

/* Read a name of 1 to most bytes, UTF-8 without NUL, into b, terminated. what: the thing
 * that is named, for the message. */
int gguf_read_name(struct gguf *g, struct buf *b, const char *what, size_t most);

/* Read the type of a value and the value. v is zero; the caller frees v->b. */
int gguf_read_value(struct gguf *g, struct incoming *v);

/* Spill a value that is in memory but must become a blob. */
int gguf_spill(struct gguf *g, struct incoming *v);

/* Append the place of the next blob of the plan. */
int gguf_add_place(struct gguf *g, struct place place);

/* Make the value metadata of the plan, inline or in a blob. */
int gguf_keep_value(struct gguf *g, const char *key, struct incoming *v);

/* Take a key of the apr tools. 1 if the key is one of them, 0 if not, -1 on an error. */
int gguf_take_carrier(struct gguf *g, const char *key, struct incoming *v);

/* Called after the last key: sort the retypes for gguf_restore. */
int gguf_sort_retypes(struct gguf *g);

/* Give the index entry of a tensor stored as I8, in this many bytes, its original type and
 * shape. *scaled: its keys, if its scale is one of them. */
int gguf_restore(struct gguf *g, char *name, uint64_t bytes, const struct dtype **type,
                 unsigned *ndim, uint64_t *dims, const struct retype **scaled);

/* Called after the last tensor: add the carried side files to the plan. */
int gguf_add_carried(struct gguf *g);

/* Prove the sizes of signatures, which follow from the complete plan of the whole model. */
int gguf_prove_signs(struct gguf *g, const struct model *whole);

/* Read the index of count tensors, and prove that the tensors lie in the file without holes.
 * name: scratch. */
int gguf_read_tensors(struct gguf *g, uint64_t count, struct buf *name);

#endif
