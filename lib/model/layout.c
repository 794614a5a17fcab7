#include "model/layout.h"

#include <inttypes.h>
#include <stdbool.h>
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

/* The first extent from i on, except skip, that does not begin at *end, or n.
 * *end is the rounded end of the extent before it and is updated on the way. */
static size_t
first_apart(const struct extent *extents, size_t i, size_t n, size_t skip,
            uint64_t align, uint64_t *end)
{
	for (; i < n; i++) {
		if (i == skip)
			continue;
		if (extents[i].offset != *end || num_add(*end, extents[i].bytes, end) < 0 ||
		    num_align(*end, align, end) < 0)
			break;
	}
	return i;
}

/* True if the layout is right once extent k moves to *place. */
static bool
is_displaced(const struct extent *extents, size_t n, size_t k, uint64_t align,
             uint64_t *place)
{
	uint64_t end = 0;
	size_t i = first_apart(extents, 0, n, k, align, &end);

	*place = end;
	if (extents[k].bytes == 0 || num_add(end, extents[k].bytes, &end) < 0 ||
	    num_align(end, align, &end) < 0)
		return false;
	return first_apart(extents, i, n, k, align, &end) == n;
}

/* Report the hole from end to extent i. The error names the tensor that stands elsewhere and
 * would fill the hole, if there is exactly one, otherwise extent i. Returns -1. */
static int
blame(const struct extent *extents, size_t i, size_t n, uint64_t align, uint64_t end,
      struct err *e)
{
	const struct extent *x = &extents[i];
	uint64_t after = x->offset, place, other;
	/* The missing tensor is at the next wrong place, or overlaps another one there. */
	size_t k = first_apart(extents, i, n, n, align, &after);
	bool later, before;

	if (k < n) {
		later = is_displaced(extents, n, k, align, &place);
		before = k > 0 && is_displaced(extents, n, k - 1, align, &other);
		if (later != before) {
			if (before) {
				k--;
				place = other;
			}
			return err_set(e, ERR_CORRUPT, extents[k].name, "its offset %" PRIu64
			               " is wrong: the other tensors leave room for it at %" PRIu64,
			               extents[k].offset, place);
		}
	}
	return err_set(e, ERR_CORRUPT, x->name, "a hole of %" PRIu64
	               " bytes lies before it", x->offset - end);
}

/* Set the size of extent i, if it is open: it reaches to the next extent. */
static int
close_extent(struct extent *extents, size_t i, size_t n, uint64_t length, struct err *e)
{
	struct extent *x = &extents[i];
	uint64_t next = i + 1 < n ? extents[i + 1].offset : length;

	if (x->bytes != LAYOUT_OPEN)
		return 0;
	if (next == UINT64_MAX)
		return err_set(e, ERR_FORMAT, x->name,
		               "its type is not known, and so its size from a pipe");
	x->bytes = next < x->offset ? 0 : next - x->offset;
	return 0;
}

static int
prove_one(const struct extent *extents, size_t i, size_t n, uint64_t expected,
          uint64_t align, uint64_t length, uint64_t *end, struct err *e)
{
	const struct extent *x = &extents[i];

	if (x->offset & (align - 1))
		return err_set(e, ERR_CORRUPT, x->name, "its offset %" PRIu64
		               " is not a multiple of %" PRIu64, x->offset, align);
	if (x->offset < expected)
		return err_set(e, ERR_CORRUPT, x->name, "its offset %" PRIu64
		               " overlaps the tensor before it, which ends at %" PRIu64,
		               x->offset, expected);
	if (x->offset > expected)
		return blame(extents, i, n, align, expected, e);
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
		if (close_extent(extents, i, n, length, e) < 0 ||
		    prove_one(extents, i, n, expected, align, length, end, e) < 0)
			return -1;
		if (num_align(*end, align, &expected) < 0)
			return err_set(e, ERR_CORRUPT, extents[i].name, "its end overflows");
	}
	return 0;
}
