/* apr2_writer: what the parts of the APR2 writer share: apr2_layout.c (where things
 * lie), apr2_sink.c (their order and their bytes), apr2_pack.c (tensors that are
 * compressed).
 */
#ifndef FORMATS_APR2_WRITER_H
#define FORMATS_APR2_WRITER_H

#include "formats/apr2/apr2.h"

/* One tensor in the file. */
struct apr2_place {
	uint64_t offset;      /* in the data */
	uint64_t stored;      /* bytes there */
	uint32_t flags;       /* of its entry */
	uint32_t crc;         /* of its plain bytes */
};

struct apr2_sink {
	struct sink sink;
	struct out out;
	struct out *to;       /* where the file is written: out, or the packer's */
	struct apr2_packer *packer; /* NULL: nothing is compressed */
	struct format_options options;
	const struct model *plan;
	const struct model *whole; /* that of all shards: plan, where there is one file */
	bool is_shard, settled;
	uint32_t crc_all;     /* settled: that in the footer */
	unsigned alignment;

	struct apr2_meta meta;
	struct buf index;
	size_t *by_name;      /* of each entry: its tensor */
	struct apr2_place *places; /* of each tensor of the plan */
	uint32_t index_at, index_bytes, data_at;
	uint64_t data_bytes;  /* to the end of the last tensor that has a place */
	uint8_t header[APR2_HEADER];
	uint32_t meta_crc, index_crc;

	/* What has been written. */
	size_t text, span;    /* of the metadata: bytes of text, spans */
	size_t blob, tensor, prov, sign;
	bool head, licence, data, dropped; /* index, licence, data: written */

	enum item_kind kind;  /* of the item that is being put */
	struct buf skey;      /* the head of SKEY: it is written behind the index */
	bool skip;            /* it is dropped */
	struct spool value;   /* the text of a JSON value, as it comes */
	uint64_t bytes, left; /* of its body; that are still to come */
	uint32_t crc;         /* of what has come */
};

/* Lay the plan out: alignment, metadata, index, the places of all tensors (unless
 * they are compressed: then each is known when it is there), where the data
 * begins. Refuses what APR2 cannot hold. 0, or -1 with e filled. */
int apr2_lay_out(struct apr2_sink *s, struct err *e);

/* Make s->index from the places, and s->header. */
int apr2_fill_index(struct apr2_sink *s, struct err *e);
void apr2_fill_header(struct apr2_sink *s);

/* The size of the whole file, without what has no place so far. 0, or -1 with e. */
int apr2_file_bytes(const struct apr2_sink *s, uint64_t *bytes, struct err *e);

int apr2_too_large(const struct apr2_sink *s, struct err *e);

/* Compression. A tensor is stored compressed if its first MiB, or all of it where
 * it is shorter, loses one part in 64 by that; the others as they are. The bytes
 * are the same for every kind of output.
 *
 * open: before the first byte is written. For each tensor begin (its place: the
 * next one), write, end (its size is known). index: all tensors are there. finish:
 * all bytes are there. 0, or -1 with e filled. */
int apr2_pack_open(struct apr2_sink *s, struct err *e);
int apr2_pack_begin(struct apr2_sink *s, struct apr2_place *at, uint64_t bytes,
                    struct err *e);
int apr2_pack_write(struct apr2_sink *s, const uint8_t *p, size_t n, struct err *e);
int apr2_pack_end(struct apr2_sink *s, struct apr2_place *at);
int apr2_pack_index(struct apr2_sink *s, struct err *e);
int apr2_pack_finish(struct apr2_sink *s, struct err *e);
void apr2_pack_close(struct apr2_sink *s);

#endif
