/* apr2_manifest: the file that makes several APR2 files one model.
 *
 *     {"apr_version":"2.0.0","sharded":true,"shard_count":2,
 *      "shards":[{"file":"m-00001-of-00002.apr","size":N,"crc32":"0123abcd"},…],
 *      "tensor_shard_map":{TENSOR:0,…}}
 *
 * crc32 is that which the footer holds, of every byte before it. (That of the whole
 * file, which holds its own CRC, would be the same for all files of one size; it is
 * read as well.) Also read, as other software writes it:
 * "version" for apr_version, "filename" for file with an "index" beside it,
 * "weight_map" for tensor_shard_map, and neither "sharded" nor a CRC. What is there is
 * checked; members that are not named here are ignored.
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
	const char *file;  /* a plain name; in json */
	uint64_t bytes;    /* or MODEL_NONE */
	bool has_crc;
	uint32_t crc;
};

struct apr2_manifest {
	json_t *json;      /* all of it */
	json_t *map;       /* tensor to number of shard, from 0; proved */
	struct apr2_manifest_row *rows;
	size_t count;      /* of rows, at least 1 */
};

/* Is it a manifest, and not JSON of another kind? */
bool apr2_is_manifest(const json_t *json);

/* m is zeroed; it takes the object over. label: for faults. 0, or -1 with e filled:
 * ERR_VERSION, else ERR_CORRUPT. Free m in any case. */
int apr2_manifest_read(struct apr2_manifest *m, json_t *json, const char *label,
                       struct err *e);
void apr2_manifest_free(struct apr2_manifest *m);

/* The text of one of these rows, then of the map: name the shard of each tensor in
 * turn. text is all of it in the end. */
int apr2_manifest_write(const struct apr2_manifest_row *rows, size_t count, json_t *map,
                        struct buf *text, struct err *e);

#endif
