/* head: what the readers of the .apr containers have in common about a file's head: what
 * is asked of it, and how it is described.
 */
#ifndef FORMATS_HEAD_H
#define FORMATS_HEAD_H

#include "core/json.h"
#include "core/reader.h"
#include "core/spool.h"
#include "model/flow.h"

/* Say what is odd about the file that r reads but no fault; if strict it is one. 0 or
 * -1. */
int head_warn(struct source *s, struct reader *r, bool strict, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* What begins at a byte must begin where the part before it ends, but for padding to a
 * multiple of 64. 0 or -1. */
int head_follows(struct reader *r, const char *what, uint64_t end, uint64_t at);

/* Append the next n bytes, which are the metadata, to a spool. 0 or -1. */
int head_metadata(struct reader *r, uint64_t n, struct spool *to);

/* Copy the last n bytes of a file that can seek, and stay at the byte that is next.
 * False where that cannot be done. */
bool head_last(struct reader *r, uint8_t *p, size_t n);

/* For describe, new references or NULL: the names of flags, those that are not known as
 * one number; a CRC. */
json_t *head_flags(uint32_t flags, uint32_t known, const char *(*name)(uint32_t bit));
json_t *head_crc(uint32_t crc);

#endif
