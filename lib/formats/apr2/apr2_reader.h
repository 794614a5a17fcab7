/* apr2_reader: shared by the parts of the APR2 reader: apr2_head.c (header and description),
 * apr2_index.c (the index), apr2_frames.c (checks of frames), apr2_source.c (sending).
 */
#ifndef FORMATS_APR2_READER_H
#define FORMATS_APR2_READER_H

#include "formats/apr2/apr2.h"
#include "formats/head.h"
#include "stream/frame.h"

/* One entry of the index. */
struct apr2_entry {
	struct tensor *tensor;     /* until the plan has it */
	uint64_t offset;           /* in the data */
	uint64_t stored;           /* bytes there */
	const struct codec *codec; /* that compressed them; NULL: not compressed */
	bool sealed;
	struct sparse_form form;   /* codec is then its decoder */
	uint32_t crc;              /* of the plain bytes sent so far */
};

enum apr2_part { PART_FRAMES, PART_DATA, PART_TAIL };

struct apr2_source {
	struct source source;
	struct reader reader;
	struct model plan;
	struct oddities odd; /* what is unusual in the file */
	const struct model *whole; /* the plan of all shards, which signatures cover */
	bool is_shard;             /* the file may be one of several */
	struct format_options options;
	struct apr2_header header;
	struct apr2_meta meta;
	unsigned alignment;

	struct apr2_entry *entries;
	size_t entry_count, entry_cap;
	uint64_t index_left;  /* bytes of the index still to be read */
	struct buf name;

	size_t *entry_of;     /* for each tensor of the plan, its entry */
	uint64_t data_bytes;  /* to the end of the last tensor */

	/* What is being sent. */
	enum apr2_part part;
	size_t blob, span, tensor, prov, sign;
	bool skey, licence, sums;
	unsigned rank;        /* of the last frame after the data */
	struct frame frame;
	struct buf head;
	struct buf piece;     /* of a text */
	enum { BODY_FRAME, BODY_TENSOR, BODY_PACKED, BODY_TEXT } body;
	uint64_t left;        /* of a tensor as stored, or of a text */
	struct decoder *decoder;
	const struct codec *decodes; /* the codec of the decoder */
	const uint8_t *packed; /* bytes of the reader that the decoder has not taken yet */
	size_t packed_bytes;
};

/* Warn; with strict, the warning is an error. 0 or -1. */
#define apr2_warn(s, ...) \
	head_warn(&(s)->source, &(s)->reader, (s)->options.strict, __VA_ARGS__)

/* Called in this order: read header and metadata; read the index, which puts the tensors in
 * stream order and proves their places; fill the source of a foreign file. 0 or -1. */
int apr2_read_head(struct apr2_source *s);
int apr2_read_index(struct apr2_source *s);
int apr2_fill_source(struct apr2_source *s);

/* Check the frame that has begun, s->frame (apr2_frames.c), which must be the one that the
 * plan announces next. Before the data: a blob, the licence, or the key of a sealed model.
 * After it: the sums of all tensors, then, by rank, records and signatures, *seen of them so
 * far. Anywhere: a frame of unknown kind. 1 and the item, or -1; apr2_check_sums: 0 or -1. */
int apr2_blob_item(struct apr2_source *s, struct item *item);
int apr2_licence_item(struct apr2_source *s, struct item *item);
int apr2_skey_item(struct apr2_source *s, struct item *item);
int apr2_check_sums(struct apr2_source *s);
int apr2_headed_item(struct apr2_source *s, struct item *item, enum item_kind kind,
                     size_t *seen, uint64_t announced, unsigned rank);
int apr2_other_item(struct apr2_source *s, struct item *item);

/* The entry of tensor i of the plan. */
static inline struct apr2_entry *
apr2_entry_of(const struct apr2_source *s, size_t i)
{
	return &s->entries[s->entry_of[i]];
}

#endif
