/* safetensors_reader: shared by the parts of the reader: safetensors_plan.c (the keys of
 * __metadata__, including those of the apr tools), safetensors_source.c (the tensors, and
 * sending). The functions return 0, or -1 with the reader's err filled, unless stated
 * otherwise.
 */
#ifndef FORMATS_SAFETENSORS_READER_H
#define FORMATS_SAFETENSORS_READER_H

#include "formats/container.h"
#include "formats/safetensors/safetensors.h"

struct safetensors {
	struct source source;
	struct reader reader;
	struct model plan;
	struct oddities odd; /* what is unusual in the file */
	struct safetensors_header header;
	struct safetensors_key **sorted; /* header.keys by name */

	/* For each blob of the plan, the key that holds its value, and whether it is a string:
	 * the wire form of a string begins with its length. */
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
	uint8_t head[8];     /* of a string: its length, before its text */
	bool head_waits;
	const struct safetensors_key *key; /* FROM_KEY */
	const uint8_t *memory;             /* FROM_MEMORY */
	uint64_t left;       /* of the body */
	struct buf piece;
};

/* Sort the header's keys by name, for the functions below. */
int safetensors_sort_keys(struct safetensors *s);

/* Find the key whose name is prefix and name together, and mark it as used. NULL if there is
 * none. */
struct safetensors_key *safetensors_find(struct safetensors *s, const char *prefix,
                                         const char *name);

/* The value of such a key as JSON, or NULL; *absent is true if such a key does not exist. */
json_t *safetensors_json_of(struct safetensors *s, const char *prefix, const char *name,
                            bool *absent);

/* Report that a key of the apr tools has an invalid value. Returns -1. */
int safetensors_bad(struct safetensors *s, const char *key);

/* Read the plan, except for its tensors. */
int safetensors_read_plan(struct safetensors *s);

#endif
