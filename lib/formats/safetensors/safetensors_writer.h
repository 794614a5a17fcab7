/* safetensors_writer: shared by the two parts of the safetensors writer:
 * safetensors_text.c (the header's text), safetensors_sink.c (refusals, and the file as
 * a whole).
 */
#ifndef FORMATS_SAFETENSORS_WRITER_H
#define FORMATS_SAFETENSORS_WRITER_H

#include "core/spool.h"
#include "formats/container.h"
#include "formats/safetensors/safetensors.h"

/* A value or a side file that waits in the spool: the file begins with the header's length,
 * which is known only when all of them have come. */
struct kept {
	uint64_t at, bytes;  /* in the spool */
	uint64_t length;     /* of its text in the header */
	bool plain;          /* the text is the string itself, not base64 */
};

/* A place in the header's text to be filled: with a kept value or file, or with room for a
 * frame that comes last. */
struct gap {
	size_t at;               /* offset in text */
	const struct kept *kept; /* NULL: room */
	uint64_t length;
	uint64_t *place;         /* receives the offset of the room in the file */
};

struct safetensors_sink {
	struct sink sink;
	struct out out;
	struct format_options options;
	const struct model *plan;
	const struct model *whole; /* the plan of all shards, which signatures cover */
	struct safetensors_style style;
	bool from_safetensors;

	struct spool spool;
	struct kept *blobs, licence;
	struct buf text;     /* the header without the content of the gaps */
	struct gap *gaps;
	size_t gap_count, gap_cap;
	uint64_t *prov_at, *sign_at;
	bool first;          /* the next member is the first of its object */
	size_t members;      /* number of members in the object so far */
	bool header_done;
	uint64_t fixed;      /* bytes of the header, which spaces fill up; 0: not fixed */
	const struct source *amended; /* fixed: the file that has this header */

	/* The current item. */
	struct container_body body;
	struct kept *kept;        /* CONTAINER_KEPT */
	uint64_t late_at;         /* CONTAINER_LATE: its place in the file */
	struct buf piece;
};

/* Compute the length of the text of a value or side file that is complete in the spool. A
 * plain string that is not text becomes base64. 0, or -1 with e filled. */
int safetensors_measure(struct safetensors_sink *s, struct kept *k, struct err *e);

/* Write the header, unless this has been done. All blobs and the licence have come by now.
 * 0, or -1 with e filled. */
int safetensors_finish_header(struct safetensors_sink *s, struct err *e);

/* Refuse a header of this many bytes. Returns -1. */
int safetensors_too_long(struct safetensors_sink *s, uint64_t bytes, struct err *e);

#endif
