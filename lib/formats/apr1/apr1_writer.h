/* apr1_writer: shared by the parts of the writer: apr1_writer.c (helpers), apr1_text.c
 * (metadata), apr1_make.c (payload), apr1_file.c (the file as a whole), apr1_sink.c (items
 * and refusals).
 *
 * All items are kept, in memory or on the disk, because the header has sizes that are
 * known last. Then the file is written from its beginning to its end.
 */
#ifndef FORMATS_APR1_WRITER_H
#define FORMATS_APR1_WRITER_H

#include "formats/apr1/apr1_layout.h"
#include "formats/container.h"

/* Bytes that wait in a spool. */
struct apr1_kept {
	uint64_t at, bytes;
};

struct apr1_sink {
	struct sink sink;
	struct out out;
	struct format_options options;
	const struct model *plan;
	const json_t *from;      /* APR1_FROM of the plan's source, or NULL */

	/* Decided when the plan comes. */
	uint16_t type;
	uint8_t compression;
	bool aligned, chunked;

	/* The items so far. */
	struct spool data;       /* tensors, one after another */
	struct spool kept;       /* everything else */
	struct apr1_kept *tensors, *blobs, *provs, *signs, licence;
	const uint8_t *p;        /* of data */
	struct container_body body; /* of the current item */
	size_t *by_name;         /* tensors */
	size_t prov, sign, tensor; /* their numbers so far */

	/* The output. */
	const char *payload;     /* name of its layout */
	struct spool made, packed, sealed; /* payload, stage by stage */
	uint64_t plain_bytes;    /* of made, before each chunk was compressed */
	const uint8_t *stored;   /* the payload as written */
	uint64_t stored_bytes;
	struct buf metadata;
	bool own;                /* metadata has the form of the apr tools */
	bool quantized;
	struct buf block;        /* the licence block, if it is one */
};

/* A number in s->from, or usual if there is none. */
unsigned apr1_from(const struct apr1_sink *s, const char *name, unsigned usual);

/* Read kept bytes into b, which the caller frees. */
int apr1_recall(struct apr1_sink *s, const struct apr1_kept *k, struct buf *b,
                struct err *e);

/* The code of the tensor's type in the tensor index, or DTYPE_NONE. */
int apr1_aligned_code(const struct tensor *t);

/* The steps that make the file, called in this order. 0 or -1. */
int apr1_make_payload(struct apr1_sink *s, struct err *e);
int apr1_make_metadata(struct apr1_sink *s, struct err *e);
int apr1_place_aligned(struct apr1_sink *s, struct err *e);
/* base: offset of the payload in the file. */
int apr1_make_chunks(struct apr1_sink *s, uint64_t base, struct err *e);
int apr1_make_aligned(struct apr1_sink *s, uint64_t base, struct err *e);
int apr1_compress(struct apr1_sink *s, struct err *e);
int apr1_write_file(struct apr1_sink *s, struct err *e);

/* Fail: a size does not fit in the header's fields. Returns -1. */
int apr1_too_large(const struct apr1_sink *s, struct err *e);

/* Put any number of bytes. */
int apr1_spool(struct spool *to, const uint8_t *p, uint64_t n, struct err *e);

#endif
