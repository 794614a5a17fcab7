/* apr1_reader: what the parts of the reader share: apr1_head.c (the file as a whole,
 * and all that must hold before it is used), apr1_meta.c (metadata),
 * apr1_records.c and apr1_aligned.c (tensors of our own payloads), apr1_source.c (what
 * flows, and models of others).
 */
#ifndef FORMATS_APR1_READER_H
#define FORMATS_APR1_READER_H

#include "core/base64.h"
#include "formats/apr1/apr1_layout.h"
#include "formats/container.h"

/* Runs of bytes of which a tensor is made up: a record has some of them in another
 * order. */
struct apr1_run {
	const uint8_t *p;
	uint64_t n;
};
#define APR1_RUNS 2

struct apr1_tensor {
	struct apr1_run run[APR1_RUNS];
	uint64_t offset, stored; /* in the file: of these, or of all that it was made of */
	bool direct;       /* run[0] is all of it, in the payload */
	bool packed;       /* compressed by itself: run[0] is what it became */
	bool checked;      /* crc is that of run[0] */
	uint32_t crc;
	bool gathered;     /* it lies in s->gathered, from at */
	uint64_t at;
};

/* A text of the metadata: base64, or as it is. */
struct apr1_text {
	const char *p;
	size_t n;
};

struct apr1_source {
	struct source source;
	struct reader reader;
	struct model plan;
	struct format_options options;
	struct apr1_header header;

	struct spool file;       /* all of it */
	const uint8_t *p;
	uint64_t n;
	const uint8_t *stored;   /* its parts */
	const uint8_t *signature, *licence;
	uint64_t licence_bytes;
	struct spool opened, plain;
	bool decrypted;          /* opened holds a payload whose tag holds */
	const uint8_t *payload;  /* open and uncompressed; NULL: it is sealed */
	uint64_t payload_bytes;

	struct apr1_map meta, custom;
	bool own;                /* the metadata has a plan of ours */
	bool chunked;            /* its payload is an index of chunks of ours, and they */
	json_t *types;           /* what tensors stored as u8 are, or NULL */
	size_t typed;            /* of them, so many were asked for */

	struct apr1_tensor *tensors;
	size_t tensor_cap;
	struct apr1_parts parts; /* of a payload of others */
	struct spool gathered;   /* tensors that did not lie row after row */
	struct apr1_text *blobs, *provs, *signs, licence_text;

	/* What is being sent. */
	struct container_sent sent;
	struct apr1_run now[APR1_RUNS];
	unsigned run;
	struct apr1_text text;   /* base64 that is being decoded */
	struct base64_reader decoder;
	struct buf piece, frame;
	struct spool unpacked;   /* of the tensor that is being sent */
};

/* A fault of the file; the Andon signal first. Always -1. */
int apr1_fail(struct apr1_source *s, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Say what is odd but no fault; with strict it is one. 0 or -1. */
int apr1_warn(struct apr1_source *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* In this order: the header; the whole file, until its checksum holds; then what the
 * metadata says; then signature, tag, and compression. 0 or -1. */
int apr1_read_header(struct apr1_source *s);
int apr1_read_file(struct apr1_source *s);
int apr1_read_metadata(struct apr1_source *s);
int apr1_open_payload(struct apr1_source *s);

/* Uncompress n bytes at p into an empty spool: exactly size of them, at *to. */
int apr1_expand(struct apr1_source *s, const uint8_t *p, uint64_t n, uint64_t size,
                struct spool *spool, const uint8_t **to);

/* The tensors. Of our own records, of an index of chunks, of a tensor index. */
int apr1_read_records(struct apr1_source *s);
int apr1_read_chunks(struct apr1_source *s);
int apr1_read_aligned(struct apr1_source *s);

/* Add a tensor to the plan, with where it lies. Takes the reference over. */
int apr1_add_tensor(struct apr1_source *s, struct tensor *t, struct apr1_tensor where);

/* After the tensors: where all that lies that our own files carry. */
int apr1_find_carriers(struct apr1_source *s);

#endif
