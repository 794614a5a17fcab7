/* whole: all bytes of a file in one piece of memory that costs nothing until it is read. A file
 * is mapped, and a pipe is spooled and the spool mapped.
 */
#ifndef IMPORTS_WHOLE_H
#define IMPORTS_WHOLE_H

#include "core/map.h"
#include "core/reader.h"
#include "core/spool.h"

struct whole {
	const uint8_t *p;
	uint64_t n;
	uint64_t base;        /* offset of p[0] in the file; READER_UNKNOWN from a pipe */
	struct map map;       /* of the file, or of the spool's view; of nothing: memory */
	struct spool spooled; /* of a pipe */
};
#define WHOLE_INIT { .map = { .fd = -1 } }

/* Take the bytes of a reader from its place to its end. 0, or -1 with e filled; whole_free in
 * both cases. The bytes of a reader of memory stay its own. */
int whole_take(struct whole *w, struct reader *r, struct err *e);
void whole_free(struct whole *w);

/* The descriptor of the file, which w owns; -1: the bytes lie in memory or a spool. */
int whole_fd(const struct whole *w);

/* Return the pages of bytes that will not be read again. */
void whole_release(const struct whole *w, const uint8_t *p, uint64_t n);

/* Whether the file still had all of its bytes at every read so far. */
bool whole_is_whole(const struct whole *w);

#endif
