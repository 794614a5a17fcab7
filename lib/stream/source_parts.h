/* source_parts: shared by the parts of the stream's reader: source.c (frames and items),
 * source_pieces.c (tensors in several frames: GAPS and SPAR).
 */
#ifndef STREAM_SOURCE_PARTS_H
#define STREAM_SOURCE_PARTS_H

#include "core/reader.h"
#include "model/flow.h"
#include "stream/frame.h"
#include "wire/sparse.h"

#define STREAM_RANKS 6 /* kinds of frames that have an order */

struct stream_source {
	struct source source;
	struct reader reader;
	struct model plan;
	struct frame frame;
	struct buf head;     /* the head that the plan asks for */
	const int *lent;     /* files in which tensors may be placed */
	size_t lent_count;
	struct range place;  /* of the current tensor */
	bool is_placed;
	struct buf piece;    /* bytes of that tensor */
	bool has_gaps;       /* the current tensor comes in GAPS frames: */
	uint64_t zeros;      /* those of the frame not yet read, */
	uint32_t crc;        /* and the CRC of the tensor so far */
	bool is_sparse;      /* the current tensor comes in SPAR frames: */
	struct sparse_decoder *decoder;
	const uint8_t *stored; /* bytes of the frame that the decoder has not taken yet */
	size_t stored_bytes;
	size_t rank;         /* of the last frame */
	uint64_t left;       /* bytes of that tensor not yet read */
	uint64_t seen[STREAM_RANKS];
};

/* Check that the head of the frame is what the plan states here, s->head: the same text, as our
 * writer produces it, or the same JSON value in another spelling. 0 or -1. */
int stream_same_head(struct stream_source *s, const char *name);

/* Begin a tensor whose first GAPS or SPAR frame has begun. told: whether s->head holds the
 * expected head, or -1 (no memory). 0 or -1. */
int stream_gaps_item(struct stream_source *s, struct item *item, int told,
                     const struct tensor *t);
int stream_sparse_item(struct stream_source *s, struct item *item, int told,
                       const struct tensor *t);

/* Read on in it, as read of struct source_ops. */
int stream_read_gaps(struct stream_source *s, const uint8_t **p, size_t *n);
int stream_read_sparse(struct stream_source *s, const uint8_t **p, size_t *n);

/* The zeros that come next in GAPS frames: *n of them, perhaps 0. */
int stream_skip_gap(struct stream_source *s, uint64_t *n);

#endif
