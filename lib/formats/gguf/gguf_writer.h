/* gguf_writer: shared by the parts of the GGUF writer: gguf_layout.c (computes the layout
 * of the file before its first byte), gguf_sink.c (writes the bytes), gguf_scales.c (writes
 * tensors whose scale becomes a key).
 */
#ifndef FORMATS_GGUF_WRITER_H
#define FORMATS_GGUF_WRITER_H

#include "formats/gguf/gguf.h"
#include "formats/late.h"

struct gguf_sink {
	struct sink sink;
	struct out out;
	struct out *to;             /* out; or completed, if there are scales and out cannot seek */
	struct late_file completed; /* copied to out at the end */
	struct format_options options;
	const struct model *plan;
	const struct model *whole; /* the plan of all shards, which signatures cover */
	struct gguf_split split;   /* count is 0 for a single file */
	json_t *order;             /* of all tensors, if this file must store it */

	uint64_t alignment, alignment_at; /* position of its key, or MODEL_NONE */
	bool end_padded;
	uint64_t *offsets;   /* of the tensors, in the data */
	uint64_t data_bytes, header_bytes;
	uint64_t *prov_at, *sign_at; /* offsets of the room for the frames that come last */
	uint64_t *scale_at;  /* for each tensor, offset of its apr.scale key's value; NULL: none
	                      * has this key */

	size_t keys;         /* metadata keys written so far */
	bool fixed_done;     /* the keys whose size the plan gives are written */
	bool header_done;
	bool finished;       /* everything after the data is written */

	/* The item that is coming. */
	enum { DROPPED, VALUE, SIDE_FILE, PLAIN, SCALED, LATE } now;
	const struct blob *blob;
	uint64_t late;       /* LATE: its offset in the file */
	size_t tensor;       /* SCALED: its number, */
	uint8_t head[GGUF_SCALED_HEAD];
	size_t head_bytes;   /* and how much of its head has come */

	struct buf piece;
};

/* Compute the alignment, the offsets of all tensors and the number of keys from the plan.
 * Refuses what GGUF cannot hold, and signatures if the output cannot seek. 0, or -1 with e
 * filled. */
int gguf_lay_out(struct gguf_sink *s, struct err *e);
uint64_t gguf_count_keys(const struct gguf_sink *s);

/* Append a key, its name made of a prefix and a name, and the type of its value. */
void gguf_put_key(struct buf *b, const char *prefix, const char *name, uint32_t kind);

/* Scales come with the tensors, after the keys. Prepare for putting them there later; if the
 * output cannot seek, everything goes to s->completed first. 0 or -1. */
int gguf_scales_begin(struct gguf_sink *s, struct err *e);

/* Append the keys of tensor i to the piece, with zeros as their values. */
void gguf_put_scale_keys(struct gguf_sink *s, size_t i);

/* Begin tensor i; then write its body: the head into the keys, the codes to the file. 0 or
 * -1. */
void gguf_scaled_begin(struct gguf_sink *s, size_t i);
int gguf_scaled_write(struct gguf_sink *s, const uint8_t *p, size_t n, struct err *e);

#endif
