/* members_walk: reads JSON in a spool by its grammar, a piece at a time, and collects the names
 * of inner members on the way (members_names.h). Shared by members.c and members_twice.c.
 */
#ifndef FORMATS_MEMBERS_WALK_H
#define FORMATS_MEMBERS_WALK_H

#include "formats/members.h"
#include "formats/members_names.h"

struct walk {
	struct spool *text;
	uint64_t at, end;    /* range of the bytes that are not yet in the window */
	uint8_t *window;
	const uint8_t *p, *stop;
	const struct members_rules *rules;
	struct walk_names *names; /* NULL: the names inside objects are not compared */
	unsigned depth;      /* open objects and lists */
	unsigned outer;      /* depth of the text itself */
	unsigned outermost;  /* depth inside the object whose members are listed; 0: none */
	bool broken;         /* e holds an error */
	struct err *e;
	const char *where;   /* the file, for messages */
	uint64_t base;       /* offset of the first byte in the file, */
	uint64_t begin;      /* and in the spool */
};

/* Begin a walk at s->at; e takes the first error. 0, or -1 if out of memory. The caller calls
 * walk_end in either case. */
int walk_begin(struct walk *s, struct err *e);
void walk_end(struct walk *s);

/* The offset of the next byte in the spool. */
uint64_t walk_tell(const struct walk *s);

/* Fail with ERR_CORRUPT: what is wrong at the next byte. Returns -1. */
int walk_fail(struct walk *s, const char *what);

/* walk_peek returns the next byte, or -1 at the end and after an error. walk_take skips it if
 * it is c. */
int walk_peek(struct walk *s);
bool walk_take(struct walk *s, char c);

/* Skip blanks, then return walk_peek. */
int walk_blanks(struct walk *s);

/* Read a value; read the name of a member with its colon and the blanks after it. *hash
 * becomes the hash of the name, unless hash is NULL. 0 or -1. */
int walk_value(struct walk *s);
int walk_name(struct walk *s, uint64_t *hash);

/* Read a string after its opening quote. */
int walk_string(struct walk *s, uint64_t *hash);

/* After a member or item: 1 if another follows, 0 at the end of its object or list, or -1. */
int walk_more(struct walk *s, char end);

/* Prove that no object in the text from byte at to its end has two members of the same name
 * (members_twice.c). The text is known to be JSON. s->names: from the first pass. 0, or -1 with
 * s->e filled. */
int walk_names_check(struct walk *s, uint64_t at);

#endif
