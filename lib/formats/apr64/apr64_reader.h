/* apr64_reader: shared by the parts of the reader: apr64_head.c (header and metadata),
 * apr64_index.c (the index), apr64_source.c (sending).
 */
#ifndef FORMATS_APR64_READER_H
#define FORMATS_APR64_READER_H

#include "core/base64.h"
#include "formats/apr64/apr64.h"
#include "formats/container.h"
#include "formats/head.h"
#include "formats/ties.h"

struct apr64_header {
	char magic[4];
	uint8_t major, minor;
	uint16_t flags;
	uint32_t count, meta_bytes, crc;
	uint64_t meta_at, index_at, data_at;
};

/* One entry of the index. */
struct apr64_entry {
	struct tensor *tensor; /* until the plan has it */
	uint64_t offset;       /* in the data */
};

/* The place of a blob's bytes, or of a frame, in the metadata. */
struct apr64_text {
	uint64_t at, n;        /* in the spool; base64 without its quotes */
	bool base64;           /* false: JSON that is the value itself */
};

enum apr64_end { END_NONE, END_CRC, END_LONG };

struct apr64_source {
	struct source source;
	struct reader reader;
	struct model plan;
	struct oddities odd; /* what is unusual in the file */
	struct format_options options;
	struct apr64_header header;
	bool plain;            /* the metadata has no plan */

	struct spool text;     /* the metadata */
	struct members members;
	json_t *empty;         /* the order of empty tensors, or NULL */
	json_t *types;         /* types of tensors stored as U8, or NULL */
	size_t typed;          /* the number of types used so far */

	/* The places of each blob of the plan, the licence, records and signatures. */
	struct apr64_text *blobs, licence, *provs, *signs;
	size_t blob_count, blob_cap, prov_count, prov_cap, sign_count, sign_cap;

	struct apr64_entry *entries;
	size_t entry_count, entry_cap;
	uint64_t index_left;   /* bytes up to the data */
	struct buf name;
	json_t *blocks;        /* tensors that travel as bytes, for source */
	size_t turned;         /* number of shapes that were in GGUF's order */
	uint64_t *offsets;     /* of the plan's tensors */
	uint64_t data_bytes, alignment;

	/* What is being sent. */
	struct container_sent sent;
	enum { FROM_FILE, FROM_TEXT, FROM_MEMORY } from;
	struct apr64_text now; /* FROM_TEXT: the rest of the text */
	struct base64_reader decoder;
	struct buf frame;      /* FROM_MEMORY: a record or signature, whole */
	size_t frame_at;
	uint64_t left;         /* FROM_FILE */
	struct buf piece;
};

/* Warn; with strict, the warning is an error. 0 or -1. */
#define apr64_warn(s, ...) \
	head_warn(&(s)->source, &(s)->reader, (s)->options.strict, __VA_ARGS__)

/* Called in this order: read the header; read the metadata; read the index, with the tensors
 * in the order of their data; find the members that carry other parts of the model. 0 or
 * -1. */
int apr64_read_head(struct apr64_source *s);
int apr64_read_metadata(struct apr64_source *s);
int apr64_read_index(struct apr64_source *s);
int apr64_find_carriers(struct apr64_source *s);

/* Called last: check that the members for other programs, which follow from the plan and which
 * no signature covers, are those that the writer would write. 0 or -1. */
int apr64_check_derived(struct apr64_source *s);

#endif
