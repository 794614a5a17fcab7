#include "model/layout.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/num.h"

static int
by_offset(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* An empty tensor shares its offset with the one that follows it. */
	if ((x->bytes == 0) != (y->bytes == 0))
		return x->bytes == 0 ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int
prove_one(const struct extent *x, uint64_t expected, uint64_t align, uint64_t length,
          uint64_t *end, struct err *e)
{
	if (x->offset & (align - 1))
		return err_set(e, ERR_CORRUPT, x->name, "its offset %" PRIu64
		               " is not a multiple of %" PRIu64, x->offset, align);
	if (x->offset < expected)
		return err_set(e, ERR_CORRUPT, x->name, "its offset %" PRIu64
		               " overlaps the tensor before it, which ends at %" PRIu64,
		               x->offset, expected);
	if (x->offset > expected)
		return err_set(e, ERR_CORRUPT, x->name, "a hole of %" PRIu64
		               " bytes lies before it", x->offset - expected);
	if (num_add(x->offset, x->bytes, end) < 0)
		return err_set(e, ERR_CORRUPT, x->name, "its end overflows: %" PRIu64
		               " bytes at offset %" PRIu64, x->bytes, x->offset);
	if (*end > length)
		return err_set(e, ERR_CORRUPT, x->name, "its %" PRIu64 " bytes at offset %"
		               PRIu64 " exceed the %" PRIu64 " bytes of data",
		               x->bytes, x->offset, length);
	return 0;
}

int
layout_prove(struct extent *extents, size_t n, uint64_t align, uint64_t length,
             uint64_t *end, struct err *e)
{
	uint64_t expected = 0;
	size_t i;

	*end = 0;
	if (n)
		qsort(extents, n, sizeof *extents, by_offset);
	for (i = 0; i < n; i++) {
		struct extent *x = &extents[i];

		if (x->bytes == LAYOUT_OPEN) {
			uint64_t next = i + 1 < n ? extents[i + 1].offset : length;

			if (next == UINT64_MAX)
				return err_set(e, ERR_FORMAT, x->name,
				               "its type is not known, and so its size from a pipe");
			x->bytes = next < x->offset ? 0 : next - x->offset;
		}
		if (prove_one(x, expected, align, length, end, e) < 0)
			return -1;
		if (num_align(*end, align, &expected) < 0)
			return err_set(e, ERR_CORRUPT, x->name, "its end overflows");
	}
	return 0;
}
