/* apr1_reader: shared by the parts of the reader: apr1_head.c (the file as a whole, and
 * checks before it is used), apr1_meta.c (metadata), apr1_records.c and apr1_aligned.c
 * (tensors of payloads of the apr tools), apr1_source.c (sending, and payloads of other
 * programs).
 */
#ifndef FORMATS_APR1_READER_H
#define FORMATS_APR1_READER_H

#include "core/base64.h"
#include "formats/apr1/apr1_layout.h"
#include "formats/container.h"

/* A run of bytes. A tensor consists of several, because a record stores some parts in another
 * order. */
struct apr1_run {
	const uint8_t *p;
	uint64_t n;
};
#define APR1_RUNS 2

struct apr1_tensor {
	struct apr1_run run[APR1_RUNS];
	uint64_t offset, stored; /* place in the file: of the runs, or of their source */
	bool direct;       /* run[0] is the whole tensor, in the payload */
	bool packed;       /* compressed by itself: run[0] is the compressed tensor */
	bool checked;      /* crc is that of run[0] */
	uint32_t crc;
	bool gathered;     /* the tensor is in s->gathered, from at on */
	uint64_t at;       /* else, for a chunk or an aligned tensor: in the payload */
};

/* A text of the metadata: base64, or plain. */
struct apr1_text {
	const char *p;
	size_t n;
};

struct apr1_source {
	struct source source;
	struct reader reader;
	struct model plan;
	struct oddities odd; /* what is unusual in the file */
	struct format_options options;
	struct apr1_header header;

	uint64_t base;           /* offset of the file in its input */
	bool part;               /* only a part is read: file ends with the metadata, payload
	                          * with its indexes, and each tensor is read when it is sent */
	struct spool file;       /* the whole file */
	const uint8_t *p;
	uint64_t n;
	const uint8_t *stored;   /* its parts */
	const uint8_t *signature, *licence;
	uint64_t licence_bytes;
	struct spool opened, plain;
	bool decrypted;          /* opened holds a payload whose tag is right */
	const uint8_t *payload;  /* decrypted and uncompressed; NULL: still encrypted */
	uint64_t payload_bytes;
	uint64_t open_bytes;     /* of the payload in memory: all, or with part its indexes */

	struct apr1_map meta, custom;
	bool own;                /* a file of the apr tools: the metadata has a plan */
	bool chunked;            /* the payload is an index of chunks, and the chunks */
	json_t *types;           /* types of tensors stored as u8, or NULL */
	size_t typed;            /* the number of types used so far */

	struct apr1_tensor *tensors;
	size_t tensor_cap;
	struct apr1_parts parts; /* of another program's payload */
	struct spool gathered;   /* tensors that were not stored row after row */
	struct apr1_text *blobs, *provs, *signs, licence_text;

	/* What is being sent. */
	struct container_sent sent;
	struct apr1_run now[APR1_RUNS];
	unsigned run;
	struct apr1_text text;   /* base64 that is being decoded */
	struct base64_reader decoder;
	struct buf piece, frame;
	struct spool unpacked;   /* of the tensor that is being sent */
	struct spool chunk;      /* with part: its bytes in the file */
};

/* Report an error in the file, with the Andon signal before it. Returns -1. */
int apr1_fail(struct apr1_source *s, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Warn; with strict, the warning is an error. 0 or -1. */
int apr1_warn(struct apr1_source *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Called in this order: read the header; read the whole file, and check its checksum and
 * signature; read the metadata; decrypt and uncompress the payload. 0 or -1.
 * With part: read the header; the metadata; the indexes of the payload. */
int apr1_read_header(struct apr1_source *s);
int apr1_read_file(struct apr1_source *s);
int apr1_read_metadata(struct apr1_source *s);
int apr1_open_payload(struct apr1_source *s);

/* Uncompress n bytes at p into an empty spool, which becomes exactly size bytes, at *to. */
int apr1_expand(struct apr1_source *s, const uint8_t *p, uint64_t n, uint64_t size,
                struct spool *spool, const uint8_t **to);

/* Read n bytes from an offset of the file into a spool; *to points to them. 0 or -1. */
int apr1_read_at(struct apr1_source *s, uint64_t at, uint64_t n, struct spool *spool,
                 const uint8_t **to);

/* Read the tensors: of records, of an index of chunks, of a tensor index. */
int apr1_read_records(struct apr1_source *s);
int apr1_read_chunks(struct apr1_source *s);
int apr1_read_aligned(struct apr1_source *s);

/* Add a tensor and its place to the plan. Takes ownership of t. */
int apr1_add_tensor(struct apr1_source *s, struct tensor *t, struct apr1_tensor where);

/* Called after the tensors: find the members that carry other parts of the model. */
int apr1_find_carriers(struct apr1_source *s);

#endif
