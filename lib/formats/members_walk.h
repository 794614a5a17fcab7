/* members_walk: the grammar of JSON over the bytes of a spool, a piece at a time. Shared by
 * members.c and members_twice.c.
 */
#ifndef FORMATS_MEMBERS_WALK_H
#define FORMATS_MEMBERS_WALK_H

#include "formats/members.h"

/* The hashes of the names in the open objects, the innermost object last (members_twice.c). */
struct walk_names {
	uint64_t *list;      /* those of the part that this pass keeps */
	size_t count, cap;
	uint64_t open, most; /* names in the open objects, and the maximum of that */
	uint64_t part, parts;
	uint64_t factor;     /* of the hash */
	bool full;           /* there was no room: not all names were compared */
	uint64_t twice;      /* where an object ends that has two names of one hash; 0: nowhere */
};

struct walk {
	struct spool *text;
	uint64_t at, end;    /* of the bytes that are not yet in the window */
	uint8_t *window;
	const uint8_t *p, *stop;
	const struct members_rules *rules;
	struct walk_names *names; /* NULL: the names inside objects are not compared */
	unsigned depth;      /* open objects and lists */
	unsigned outer;      /* of them around the text */
	unsigned outermost;  /* depth inside the object whose members are listed; 0: no such */
	bool broken;         /* e holds a fault */
	struct err *e;
	const char *where;   /* the file, for faults */
	uint64_t base;       /* offset in the file of the first byte, */
	uint64_t begin;      /* which has this offset in the spool */
};

/* Begin at s->at; e takes the first fault. 0 or -1 (memory). End it in any case. */
int walk_begin(struct walk *s, struct err *e);
void walk_end(struct walk *s);

/* Offset in the spool of the next byte. */
uint64_t walk_tell(const struct walk *s);

/* ERR_CORRUPT: what is wrong at this byte. -1. */
int walk_fail(struct walk *s, const char *what);

/* The next byte, or -1 at the end and after a fault. Take it if it is c. */
int walk_peek(struct walk *s);
bool walk_take(struct walk *s, char c);

/* Skip blanks; then as walk_peek. */
int walk_blanks(struct walk *s);

/* A value; the name of a member with its colon and the blanks after it. hash: where not
 * NULL, it becomes the hash of the name. 0 or -1. */
int walk_value(struct walk *s);
int walk_name(struct walk *s, uint64_t *hash);

/* A string after its opening quote. */
int walk_string(struct walk *s, uint64_t *hash);

/* After a member or item: 1 if one more comes, 0 at the end of its object or list, -1. */
int walk_more(struct walk *s, char end);

/* ---- names (members_twice.c) ---- */

#define WALK_HASH UINT64_C(0xcbf29ce484222325)   /* of no bytes */
#define WALK_FACTOR UINT64_C(0x100000001b3)      /* of the first pass */

/* One more byte of a name. */
static inline uint64_t
walk_hash(uint64_t hash, uint8_t c, uint64_t factor)
{
	return (hash ^ c) * factor;
}

/* One more name in the innermost object. 0 or -1 (memory). */
int walk_names_add(struct walk *s, uint64_t hash);

/* The end of an object before which count names were kept and open names seen. */
void walk_names_close(struct walk *s, size_t count, uint64_t open);

/* Prove that no object in the bytes [at, end) of the text has two members of one name. The
 * text is known to be JSON. names: those of the first pass. 0, or -1 with s->e filled. */
int walk_names_check(struct walk *s, uint64_t at);

#endif
