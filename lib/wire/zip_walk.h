/* zip_walk: the members of a zip archive that may be broken, for reports: nothing is proved.
 * wire/zip.h reads archives.
 */
#ifndef WIRE_ZIP_WALK_H
#define WIRE_ZIP_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "core/reader.h"

/* Receives a part of the archive: a member with its local header, whose name is n bytes; or,
 * without a name, the directory or the end records. offset and bytes may exceed the file. */
typedef void (*zip_part)(void *ctx, uint64_t offset, uint64_t bytes, const char *what,
                         const uint8_t *name, size_t n);

/* The members as the directory at the end lists them; without a directory, those whose local
 * headers follow each other from the beginning. r can seek. Returns NULL, or what is wrong,
 * at the place of r. */
const char *zip_walk(struct reader *r, zip_part part, void *ctx);

#endif
