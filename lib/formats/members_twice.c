#include "formats/members_walk.h"

#include <inttypes.h>

/* Names are compared by hashes of 64 bits. Two names that have the same hash by chance must
 * not make a file invalid, so a file is refused only if two different hashes find a
 * duplicate. Of valid files with 30 million names, this refuses one in 10^9. */
#define SECOND_FACTOR UINT64_C(0x9e3779b97f4a7c15)

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

	t->parts = t->most / (WALK_NAMES - WALK_NAMES / 8) + 1;
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
