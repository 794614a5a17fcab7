/* extent: where the bytes of a tensor are, for threads that read any part of them. */
#ifndef DIFF_EXTENT_H
#define DIFF_EXTENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/range.h"
#include "core/spool.h"

struct extent {
	enum { EXTENT_NOWHERE, EXTENT_FILE, EXTENT_SPOOL, EXTENT_MEMORY } where;
	struct range range;  /* FILE */
	struct spool *spool; /* SPOOL: nothing is put to it any more, */
	uint64_t at;         /* and the bytes begin here */
	const uint8_t *p;    /* MEMORY */
};

/* Returns n bytes from offset `from` on: in memory, or read into room. NULL with errno, which
 * is 0 if the file ends too early. Any thread may call it. */
const uint8_t *extent_read(const struct extent *x, uint64_t from, uint8_t *room, size_t n);

#endif
