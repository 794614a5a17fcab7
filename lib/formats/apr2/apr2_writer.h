/* apr2_writer: shared by the parts of the APR2 writer: apr2_layout.c (computes the layout),
 * apr2_sink.c (writes the items), apr2_pack.c (compresses tensors).
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
	struct out *to;       /* the file being written: out, or the packer's */
	struct apr2_packer *packer; /* NULL: nothing is compressed */
	struct format_options options;
	const struct model *plan;
	const struct model *whole; /* the plan of all shards; plan if there is one file */
	bool is_shard, settled;
	uint32_t crc_all;     /* settled: the CRC in the footer */
	unsigned alignment;

	struct apr2_meta meta;
	struct buf index;
	size_t *by_name;      /* for each entry, its tensor */
	struct apr2_place *places; /* of each tensor of the plan */
	uint32_t index_at, index_bytes, data_at;
	uint64_t data_bytes;  /* to the end of the last tensor that has a place */
	uint8_t header[APR2_HEADER];
	uint32_t meta_crc, index_crc;

	/* What has been written. */
	size_t text, span;    /* of the metadata: bytes of text, spans */
	size_t blob, tensor, prov, sign;
	bool head, licence, data, dropped; /* written: index, licence, data; a frame was
	                       * dropped */

	enum item_kind kind;  /* of the item that is being put */
	struct buf skey;      /* the head of SKEY, written after the index */
	bool skip;            /* the item is dropped */
	struct spool value;   /* the text of a JSON value so far */
	uint64_t bytes, left; /* size of the item's body; bytes still to come */
	uint32_t crc;         /* of the body so far */
};

/* Compute the layout from the plan: alignment, metadata, index, offset of the data, and the
 * places of all tensors (those of compressed tensors become known as they come). Refuses what
 * APR2 cannot hold. 0, or -1 with e filled. */
int apr2_lay_out(struct apr2_sink *s, struct err *e);

/* Make s->index from the places, and s->header. */
int apr2_fill_index(struct apr2_sink *s, struct err *e);
void apr2_fill_header(struct apr2_sink *s);

/* The size of the whole file, without tensors that have no place yet. 0, or -1 with e. */
int apr2_file_bytes(const struct apr2_sink *s, uint64_t *bytes, struct err *e);

int apr2_too_large(const struct apr2_sink *s, struct err *e);

/* Compression and sparse forms. A tensor with a form is stored in it and not compressed. Another
 * tensor is stored compressed if that makes its first MiB, or the whole tensor
 * if it is shorter, smaller by at least one part in 64; other tensors are stored unchanged.
 * The bytes do not depend on the kind of output.
 *
 * apr2_packs: whether that is needed. Call apr2_pack_open before the first byte is written; for
 * each tensor i apr2_pack_begin, apr2_pack_write, and apr2_pack_end, which sets its flags and size
 * in `at`; apr2_pack_index after all tensors; apr2_pack_finish after all bytes. 0, or -1 with e
 * filled. */
bool apr2_packs(const struct apr2_sink *s);
int apr2_pack_open(struct apr2_sink *s, struct err *e);
int apr2_pack_begin(struct apr2_sink *s, size_t i, uint64_t bytes, struct err *e);
int apr2_pack_write(struct apr2_sink *s, const uint8_t *p, size_t n, struct err *e);
int apr2_pack_end(struct apr2_sink *s, struct apr2_place *at);
int apr2_pack_index(struct apr2_sink *s, struct err *e);
int apr2_pack_finish(struct apr2_sink *s, struct err *e);
void apr2_pack_close(struct apr2_sink *s);

#endif
