/* gguf_writer: shared by the parts of the GGUF writer: gguf_layout.c (computes the layout
 * of the file before its first byte), gguf_sink.c (writes the bytes).
 */
#ifndef FORMATS_GGUF_WRITER_H
#define FORMATS_GGUF_WRITER_H

#include "formats/gguf/gguf.h"

struct gguf_sink {
	struct sink sink;
	struct out out;
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

	size_t keys;         /* metadata keys written so far */
	bool fixed_done;     /* the keys whose size the plan gives are written */
	bool header_done;
	bool finished;       /* everything after the data is written */

	/* The item that is coming. */
	enum { DROPPED, VALUE, SIDE_FILE, PLAIN, LATE } now;
	const struct blob *blob;
	uint64_t late;       /* LATE: its offset in the file */

	struct buf piece;
};

/* Compute the alignment, the offsets of all tensors and the number of keys from the plan.
 * Refuses what GGUF cannot hold, and signatures if the output cannot seek. 0, or -1 with e
 * filled. */
int gguf_lay_out(struct gguf_sink *s, struct err *e);
uint64_t gguf_count_keys(const struct gguf_sink *s);

#endif
