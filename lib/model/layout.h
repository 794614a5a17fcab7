/* layout: proof that tensors lie inside their file, apart from each other and
 * without holes in which something could hide.
 */
#ifndef MODEL_LAYOUT_H
#define MODEL_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define LAYOUT_OPEN UINT64_MAX /* size unknown: up to the next extent, or the end */

/* One tensor's place in the data section. */
struct extent {
	uint64_t offset;
	uint64_t bytes;    /* or LAYOUT_OPEN, which layout_prove replaces */
	size_t index;      /* of the tensor in the container's index */
	const char *name;  /* for faults */
};

/* Sort n extents by offset (equal offsets: by index) and prove: each offset is
 * a multiple of align (a power of two); the first is 0 and each next one is the
 * end before it, rounded up to align; no end exceeds length (UINT64_MAX: not
 * known). *end is where the last one ends. ERR_CORRUPT otherwise, and
 * ERR_FORMAT where an open extent is the last and length is not known.
 *
 * The fault names the tensor behind the first hole, unless one tensor that stands elsewhere
 * fills that hole exactly: then its offset is wrong. */
int layout_prove(struct extent *extents, size_t n, uint64_t align, uint64_t length,
                 uint64_t *end, struct err *e);

#endif
