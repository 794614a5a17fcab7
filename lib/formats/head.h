/* head: checks and descriptions of a file's header, shared by the readers of the .apr
 * containers.
 */
#ifndef FORMATS_HEAD_H
#define FORMATS_HEAD_H

#include "core/json.h"
#include "core/reader.h"
#include "core/spool.h"
#include "model/flow.h"
#include "model/oddity.h"

/* Warn about the file that r reads; with strict, the warning is an error. 0 or -1. */
int head_warn(struct source *s, struct reader *r, bool strict, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Check that the part at byte at begins where the part before it ends, or after padding
 * to a multiple of 64. 0 or -1. */
int head_follows(struct reader *r, const char *what, uint64_t end, uint64_t at);

/* Append the next n bytes, which are the metadata, to a spool. 0 or -1. */
int head_metadata(struct reader *r, uint64_t n, struct spool *to);

/* Skip n bytes of padding; those of up to 64 KiB that are not zero are recorded, with the name
 * of what follows. 0 or -1. */
int head_skip_padding(struct reader *r, uint64_t n, struct oddities *o, const char *object);

/* Copy the last n bytes of the file without changing the position. False if the file
 * cannot seek or is shorter. */
bool head_last(struct reader *r, uint8_t *p, size_t n);

/* For describe: the names of flags, with all unknown flags as one number; a CRC. New
 * references, or NULL. */
json_t *head_flags(uint32_t flags, uint32_t known, const char *(*name)(uint32_t bit));
json_t *head_crc(uint32_t crc);

#endif
