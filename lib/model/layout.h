/* layout: proof that tensors lie inside their file, apart from each other and
 * without holes in which something could hide.
 */
#ifndef MODEL_LAYOUT_H
#define MODEL_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define LAYOUT_OPEN UINT64_MAX /* unknown size: reaches to the next extent, or the end */

/* One tensor's place in the data section. */
struct extent {
	uint64_t offset;
	uint64_t bytes;    /* or LAYOUT_OPEN, which layout_prove replaces */
	size_t index;      /* of the tensor in the container's index */
	const char *name;  /* for messages */
};

/* Sort n extents by offset (equal offsets by index) and prove:
 * - each offset is a multiple of align, a power of two;
 * - the first offset is 0, and each other is the previous end rounded up to align;
 * - no end exceeds length (UINT64_MAX: unknown).
 * *end is the end of the last extent. Fails with ERR_CORRUPT, or with ERR_FORMAT if the
 * last extent is open and length is unknown.
 *
 * The error names the tensor after the first hole, unless exactly one tensor that stands
 * elsewhere would fill the hole: then that tensor's offset is wrong. */
int layout_prove(struct extent *extents, size_t n, uint64_t align, uint64_t length,
                 uint64_t *end, struct err *e);

#endif
