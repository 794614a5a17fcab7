#include <inttypes.h>
#include <stdlib.h>

#include "core/mem.h"
#include "formats/members_walk.h"

/* Maximum number of names that one pass over the text keeps. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define KEPT ((size_t)2 << 20)
#else
#define KEPT ((size_t)16)
#endif

/* Names are compared by hashes of 64 bits. Two names that have the same hash by chance must
 * not make a file invalid, so a file is refused only if two different hashes find a
 * duplicate. Of valid files with 30 million names, this refuses one in 10^9. */
#define SECOND_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* The last step of a hash, which makes each bit depend on all others. */
static uint64_t
mixed(uint64_t h)
{
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

int
walk_names_add(struct walk *s, uint64_t hash)
{
	struct walk_names *t = s->names;

	if (++t->open > t->most)
		t->most = t->open;
	hash = mixed(hash);
	if (t->parts > 1 && hash % t->parts != t->part)
		return 0;
	if (t->count == KEPT) {
		t->full = true;
		return 0;
	}
	if (mem_grow(&t->list, &t->cap, t->count + 1, sizeof *t->list) < 0) {
		s->broken = true;
		return err_memory(s->e);
	}
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
walk_names_close(struct walk *s, size_t count, uint64_t open)
{
	struct walk_names *t = s->names;
	uint64_t *own = t->list + count;
	size_t i, n = t->count - count;

	if (n > 1)
		qsort(own, n, sizeof *own, by_value);
	for (i = 1; i < n; i++)
		if (own[i - 1] == own[i] && !t->twice)
			t->twice = walk_tell(s);
	t->count = count;
	t->open = open;
}

/* Go over the whole text once more. */
static int
pass(struct walk *s, uint64_t at)
{
	s->at = at;
	s->p = s->stop = s->window;
	s->depth = s->outer;
	s->names->count = 0;
	s->names->open = 0;
	s->names->full = false;
	walk_blanks(s);
	return walk_value(s);
}

/* Compare all names by one hash, in several passes if there are too many for one. */
static int
all_parts(struct walk *s, uint64_t at)
{
	struct walk_names *t = s->names;

	t->parts = t->most / (KEPT - KEPT / 8) + 1;
	for (t->part = 0; t->part < t->parts && !t->twice; t->part++) {
		if (pass(s, at) < 0)
			return -1;
		/* Only names made for the purpose fall into one part this often. */
		if (t->full)
			return err_set(s->e, ERR_MEMORY, s->where, "its JSON needs too much memory");
	}
	return 0;
}

int
walk_names_check(struct walk *s, uint64_t at)
{
	struct walk_names *t = s->names;
	uint64_t twice;

	if (t->full && !t->twice && all_parts(s, at) < 0)
		return -1;
	if (!t->twice)
		return 0;
	twice = t->twice;
	t->twice = 0;
	t->factor = SECOND_FACTOR;
	if (all_parts(s, at) < 0)
		return -1;
	if (!t->twice)
		return 0;
	return err_set(s->e, ERR_CORRUPT, s->where, "its metadata is not JSON at byte %" PRIu64
	               ": two members of the object that ends here have one name",
	               s->base + (twice - s->begin));
}
