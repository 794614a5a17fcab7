/* gguf_sink: what the parts of the GGUF writer share: gguf_layout.c (what the file
 * comes to, before its first byte), gguf_sink.c (its bytes).
 */
#ifndef FORMATS_GGUF_SINK_H
#define FORMATS_GGUF_SINK_H

#include <string.h>

#include "formats/gguf/gguf.h"

struct gguf_sink {
	struct sink sink;
	struct out out;
	struct format_options options;
	const struct model *plan;
	const struct model *whole; /* that of all shards, which is signed */
	struct gguf_split split;   /* count is 0 where there is one file */
	json_t *order;             /* of all tensors, where the file must say it */

	uint64_t alignment, alignment_at; /* position of its key, or MODEL_NONE */
	bool end_padded;
	uint64_t *offsets;   /* of the tensors, in the data */
	uint64_t data_bytes, header_bytes;
	uint64_t *prov_at, *sign_at; /* where what comes late will lie */

	size_t keys;         /* metadata keys written so far */
	bool fixed_done;     /* and the keys whose size the plan gives */
	bool header_done;
	bool finished;       /* and all that follows the data */

	/* The item that is coming. */
	enum { DROPPED, VALUE, SIDE_FILE, PLAIN, LATE } now;
	const struct blob *blob;
	uint64_t late;       /* LATE: where it goes */

	struct buf piece;
};

static inline bool
gguf_is_json(const struct meta *k)
{
	return k->type.leaf == VALUE_JSON;
}

/* A tensor that GGUF has no type for lies there as bytes. */
static inline bool
gguf_is_foreign(const struct tensor *t)
{
	return tensor_type(t)->ggml == DTYPE_NONE;
}

/* Alignment, places of all tensors and number of keys, from the plan. Refuses what GGUF
 * cannot hold, and a signature where the output cannot seek. 0, or -1 with e filled. */
int gguf_lay_out(struct gguf_sink *s, struct err *e);
uint64_t gguf_count_keys(const struct gguf_sink *s);

#endif
