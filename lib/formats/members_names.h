/* members_names: the names in the open objects of a JSON text, as hashes, to find an object with
 * two members of one name. Only a part of the names may be kept; members_twice.c then takes
 * several passes.
 */
#ifndef FORMATS_MEMBERS_NAMES_H
#define FORMATS_MEMBERS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of names that one pass over the text keeps. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define WALK_NAMES ((size_t)2 << 20)
#else
#define WALK_NAMES ((size_t)16)
#endif

#define WALK_HASH UINT64_C(0xcbf29ce484222325)   /* hash of zero bytes */
#define WALK_FACTOR UINT64_C(0x100000001b3)      /* of the first pass */

/* The hashes of the names in the open objects, the innermost object last. */
struct walk_names {
	uint64_t *list;      /* hashes in the part that this pass keeps */
	size_t count, cap;
	uint64_t open, most; /* number of names in the open objects, and its maximum */
	uint64_t part, parts; /* this pass keeps part of parts */
	uint64_t factor;     /* of the hash */
	bool full;           /* list was full: not all names were compared */
	uint64_t twice;      /* end of an object with two names of the same hash; 0: none */
};

/* Add a byte of a name to its hash. */
static inline uint64_t
walk_hash(uint64_t hash, uint8_t c, uint64_t factor)
{
	return (hash ^ c) * factor;
}

/* Add a name to the innermost object. 0, or -1 if out of memory. */
int walk_names_add(struct walk_names *t, uint64_t hash);

/* End an object at byte `end` of the spool. count names were kept and open names were seen
 * before it began. */
void walk_names_close(struct walk_names *t, size_t count, uint64_t open, uint64_t end);

#endif
