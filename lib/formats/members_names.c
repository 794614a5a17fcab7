#include "formats/members_names.h"

#include <stdlib.h>

#include "core/mem.h"

/* The last step of a hash, which makes each bit depend on all others. */
static uint64_t
mixed(uint64_t h)
{
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

int
walk_names_add(struct walk_names *t, uint64_t hash)
{
	if (++t->open > t->most)
		t->most = t->open;
	hash = mixed(hash);
	if (t->parts > 1 && hash % t->parts != t->part)
		return 0;
	if (t->count == WALK_NAMES) {
		t->full = true;
		return 0;
	}
	if (mem_grow(&t->list, &t->cap, t->count + 1, sizeof *t->list) < 0)
		return -1;
	t->list[t->count++] = hash;
	return 0;
}

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void
walk_names_close(struct walk_names *t, size_t count, uint64_t open, uint64_t end)
{
	uint64_t *own = t->list ? t->list + count : NULL;
	size_t i, n = t->count - count;

	if (n > 1)
		qsort(own, n, sizeof *own, by_value);
	for (i = 1; i < n; i++)
		if (own[i - 1] == own[i] && !t->twice)
			t->twice = end;
	t->count = count;
	t->open = open;
}
