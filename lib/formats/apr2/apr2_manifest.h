/* apr2_manifest: the file that makes several APR2 files one model.
 *
 *     {"apr_version":"2.0.0","sharded":true,"shard_count":2,
 *      "shards":[{"file":"m-00001-of-00002.apr","size":N,"crc32":"0123abcd"},…],
 *      "tensor_shard_map":{TENSOR:0,…}}
 *
 * crc32 is the CRC in the footer, of every byte before it. (The CRC of a whole file, which
 * includes its own CRC, would be the same for all files of one size; it is also accepted.)
 * The reader also accepts the form of other software: "version" for apr_version, "filename"
 * for file with an "index" beside it, "weight_map" for tensor_shard_map, and neither
 * "sharded" nor a CRC. Members that are present are checked; other members are ignored.
 * Source: the APR 2.0 draft, 3.8.
 */
#ifndef FORMATS_APR2_MANIFEST_H
#define FORMATS_APR2_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#define APR2_MANIFEST_END ".apr.json"
#define APR2_MANIFEST_MAX 100000000u /* bytes */

struct apr2_manifest_row {
	const char *file;  /* a plain name; belongs to json */
	uint64_t bytes;    /* or MODEL_NONE */
	bool has_crc;
	uint32_t crc;
};

struct apr2_manifest {
	json_t *json;      /* the whole manifest */
	json_t *map;       /* tensor to number of shard, from 0; proved */
	struct apr2_manifest_row *rows;
	size_t count;      /* of rows, at least 1 */
};

/* True if the JSON is a manifest. */
bool apr2_is_manifest(const json_t *json);

/* Read a manifest into m, which is zero and takes ownership of json. label: for messages. 0,
 * or -1 with e filled: ERR_VERSION, else ERR_CORRUPT. The caller frees m in either case. */
int apr2_manifest_read(struct apr2_manifest *m, json_t *json, const char *label,
                       struct err *e);
void apr2_manifest_free(struct apr2_manifest *m);

/* Append the text of a manifest with these rows and this map to text. */
int apr2_manifest_write(const struct apr2_manifest_row *rows, size_t count, json_t *map,
                        struct buf *text, struct err *e);

#endif
