/* safetensors_sink: what the two parts of the safetensors writer share:
 * safetensors_text.c (the header's text), safetensors_sink.c (what is refused, and
 * the file as a whole).
 */
#ifndef FORMATS_SAFETENSORS_SINK_H
#define FORMATS_SAFETENSORS_SINK_H

#include <string.h>

#include "core/spool.h"
#include "formats/container.h"
#include "formats/safetensors/safetensors.h"

/* A value or a side file. It waits in the spool: the header's length, which
 * stands before everything, is only known when all of them are there. */
struct kept {
	uint64_t at, bytes;  /* in the spool */
	uint64_t length;     /* of its text in the header */
	bool plain;          /* text is the string itself, not base64 */
};

/* A place in the header's text where something comes in between: what is kept,
 * or room for what is known last. */
struct gap {
	size_t at;               /* offset in text */
	const struct kept *kept; /* NULL: room, */
	uint64_t length;
	uint64_t *place;         /* whose offset in the file is wanted */
};

struct safetensors_sink {
	struct sink sink;
	struct out out;
	struct format_options options;
	const struct model *plan;
	const struct model *whole; /* that of all shards, which is signed */
	struct safetensors_style style;
	bool from_safetensors;

	struct spool spool;
	struct kept *blobs, licence;
	struct buf text;     /* the header without what fills the gaps */
	struct gap *gaps;
	size_t gap_count, gap_cap;
	uint64_t *prov_at, *sign_at;
	bool first;          /* the next member begins its object */
	size_t members;      /* that the object has so far */
	bool header_done;

	/* The current item. */
	struct container_body body;
	struct kept *kept;        /* CONTAINER_KEPT */
	uint64_t late_at;         /* CONTAINER_LATE: its place in the file */
	struct buf piece;
};

static inline bool
is_foreign(const struct tensor *t)
{
	return !safetensors_type(tensor_type(t));
}

static inline bool
is_string(const struct meta *k)
{
	return k->type.depth == 0 && k->type.leaf == VALUE_STRING;
}

static inline bool
is_value(const struct blob *b)
{
	return strcmp(b->type, MODEL_VALUE) == 0;
}

/* How long the text of a value or side file that lies in the spool will be; plain
 * ones prove to be text here. 0, or -1 with e filled. */
int safetensors_measure(struct safetensors_sink *s, struct kept *k, struct err *e);

/* All that the header tells is there: write it, once. 0, or -1 with e filled. */
int safetensors_finish_header(struct safetensors_sink *s, struct err *e);

/* Refuse a header of so many bytes. Returns -1. */
int safetensors_too_long(struct safetensors_sink *s, uint64_t bytes, struct err *e);

#endif
