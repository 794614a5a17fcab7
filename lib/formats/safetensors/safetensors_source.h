/* safetensors_source: what the parts of the reader share: safetensors_plan.c (what the
 * keys of __metadata__ say, our own among them), safetensors_source.c (where the tensors
 * lie, and what is sent). The functions return 0, or -1 with the reader's fault filled.
 */
#ifndef FORMATS_SAFETENSORS_SOURCE_H
#define FORMATS_SAFETENSORS_SOURCE_H

#include "formats/container.h"
#include "formats/safetensors/safetensors.h"

struct safetensors {
	struct source source;
	struct reader reader;
	struct model plan;
	struct safetensors_header header;
	struct safetensors_key **sorted; /* header.keys by name */

	/* The values of keys: of each blob of the plan, and its head where the blob
	 * is a string, which in wire form begins with its length. */
	const struct safetensors_key **blobs;
	bool *is_text;
	size_t blob_count, blob_cap, text_cap;
	const struct safetensors_key *licence;
	struct buf *provs, *signs;
	size_t prov_count, prov_cap, sign_count, sign_cap;

	uint64_t *offsets;   /* of the plan's tensors, in the data */
	uint64_t data_at, data_bytes;

	/* What is being sent. */
	struct container_sent sent;
	enum { FROM_FILE, FROM_KEY, FROM_MEMORY } from;
	uint8_t head[8];     /* of a string, before its text */
	bool head_waits;
	const struct safetensors_key *key; /* FROM_KEY */
	const uint8_t *memory;             /* FROM_MEMORY */
	uint64_t left;       /* of the body */
	struct buf piece;
};

/* Order the header's keys by name, for what follows. */
int safetensors_sort_keys(struct safetensors *s);

/* The key of that name, behind a prefix of ours; it is used then. NULL: there is none. */
struct safetensors_key *safetensors_find(struct safetensors *s, const char *prefix,
                                         const char *name);

/* The value of such a key as JSON, or NULL; *absent tells why. */
json_t *safetensors_json_of(struct safetensors *s, const char *prefix, const char *name,
                            bool *absent);

/* A key of ours has a value that it cannot have. Always -1. */
int safetensors_bad(struct safetensors *s, const char *key);

/* The plan but for its tensors. */
int safetensors_read_plan(struct safetensors *s);

#endif
