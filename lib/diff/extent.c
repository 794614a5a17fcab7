#include "diff/extent.h"

#include <errno.h>

const uint8_t *
extent_read(const struct extent *x, uint64_t from, uint8_t *room, size_t n)
{
	struct err e = ERR_INIT;

	errno = 0;
	switch (x->where) {
	case EXTENT_FILE:
		return range_read(&x->range, from, room, n) < 0 ? NULL : room;
	case EXTENT_SPOOL:
		return spool_get(x->spool, x->at + from, room, n, &e) < 0 ? NULL : room;
	case EXTENT_MEMORY:
		return x->p + from;
	case EXTENT_NOWHERE:
		break;
	}
	return NULL;
}
