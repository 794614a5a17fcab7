/* range: bytes of a file that somebody else has opened, read from any thread.
 */
#ifndef CORE_RANGE_H
#define CORE_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct range {
	int fd;       /* borrowed */
	uint64_t at;  /* offset in the file */
};

#define RANGE_PIECE (1u << 15) /* so much at a time stays in the nearest cache */

/* Read n bytes, from r->at + from on, into p. 0; -1 with errno where they cannot be
 * read, which is 0 where the file ends before them. */
int range_read(const struct range *r, uint64_t from, void *p, size_t n);

/* The same on up to jobs threads. */
int range_read_wide(const struct range *r, uint64_t from, void *p, size_t n,
                    unsigned jobs);

/* After a failure: what errno says, of a file with this name. Always -1. */
int range_fail(const char *name, struct err *e);

#endif
