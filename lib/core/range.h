/* range: bytes of a file that another module has opened, read by any thread.
 */
#ifndef CORE_RANGE_H
#define CORE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct range {
	int fd;       /* borrowed */
	uint64_t at;  /* offset in the file */
};

#define RANGE_PIECE (1u << 15) /* a piece that fits into the L1 cache */

/* Reads n bytes at r->at + from into p. Returns 0, or -1 with errno, which is 0 if the file
 * ends too early. */
int range_read(const struct range *r, uint64_t from, void *p, size_t n);

/* The same with up to jobs threads. */
int range_read_wide(const struct range *r, uint64_t from, void *p, size_t n,
                    unsigned jobs);

/* A sparse file does not store runs of zeros. Runs shorter than this are read as bytes. */
#define RANGE_GAP (1u << 20)

/* The number of zeros, at most n, that begin at r->at + from and that the file does not
 * store; 0 if they are fewer than RANGE_GAP. range_has_gap: whether there are such zeros in
 * the n bytes from there on. Both move the offset of the descriptor. */
uint64_t range_gap(const struct range *r, uint64_t from, uint64_t n);
bool range_has_gap(const struct range *r, uint64_t from, uint64_t n);

/* After a failure: fills e from errno for a file of this name. Always -1. */
int range_fail(const char *name, struct err *e);

#endif
