/* members: the members of a JSON object in a spool.
 *
 * Metadata with a vocabulary has many megabytes, and a tree of JSON values takes up to sixty
 * times the size of its text. So the text is checked inside the spool, and memory grows only
 * with the names of the object's direct members.
 */
#ifndef FORMATS_MEMBERS_H
#define FORMATS_MEMBERS_H

#include "core/err.h"
#include "core/spool.h"

/* Rules for a text in addition to the grammar of JSON. */
struct members_rules {
	unsigned depth; /* maximum nesting of objects and lists */
	size_t members; /* maximum number of direct members of the object */
	/* Also the rules of json_parse (core/json.h): no name twice in any inner object,
	 * signed integers of 64 bits, finite reals, no NUL in a string; and every value
	 * counts for the depth. */
	bool strict;
};

/* A member: the text of its value is the bytes [at, at + n) of the spool. */
struct member {
	char *name;
	uint64_t at, n;
	bool used;             /* for the caller; false after the scan */
};

struct members {
	struct member *list;    /* in the order of the text */
	size_t count, cap;
	struct member **sorted; /* by name; names are unique */
};

/* Find the members of the object in the bytes [at, at + n) of a spool, and prove that all of
 * it is JSON. m is zero; the caller frees it in either case. where: the file, for messages;
 * base: the offset in that file of byte at. 0, or -1 with ERR_CORRUPT.
 *
 * In addition to the names of the members, this takes 64 KiB of memory, and with strict rules
 * up to 32 MiB for the names of inner members. */
int members_scan(struct members *m, struct spool *text, uint64_t at, uint64_t n,
                 const struct members_rules *rules, const char *where, uint64_t base,
                 struct err *e);

/* The member whose name is prefix and name together, or NULL. */
struct member *members_find(const struct members *m, const char *prefix, const char *name);
void members_free(struct members *m);

/* Append the text of a member's value to b. 0 or -1. */
int members_text(struct spool *text, const struct member *x, struct buf *b, struct err *e);

/* 1 if the bytes [at, at + n) of a spool are one JSON value that a member of such an object
 * may have, without blanks around it; 0 if not; -1 if out of memory. */
int members_is_value(struct spool *text, uint64_t at, uint64_t n,
                     const struct members_rules *rules, struct err *e);

#endif
