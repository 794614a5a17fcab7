/* edited: a model whose metadata is changed on the way: a source behind a source.
 *
 * The plan comes first in a stream, with the size of each long value. So a change of one item
 * of a long array reads the values up to it beforehand, and keeps them in spools.
 */
#ifndef CLI_META_EDITED_H
#define CLI_META_EDITED_H

#include <stdbool.h>

#include "cli/meta/edits.h"
#include "core/spool.h"
#include "model/flow.h"

/* A key of the edited model. */
struct row {
	char *key;
	struct value_type type;
	enum { ROW_HERE, ROW_OLD, ROW_OWN } where; /* its wire bytes: */
	uint8_t *wire; /* ROW_HERE: n bytes */
	size_t blob;   /* ROW_OLD: a blob of the source */
	uint64_t at;   /* ROW_OWN: n bytes of the spool `own` from here on */
	uint64_t n;
	bool gone;
};

/* A value of the source that was read beforehand. */
struct kept {
	uint64_t at, n; /* in the spool `kept` */
};

struct edited {
	struct source source; /* the edited model */
	struct source *from;  /* not owned */
	struct model plan;
	bool changed;         /* whether an edit has an effect */

	struct row *rows;     /* the keys of from, in its order, then new ones */
	size_t n, cap, old;   /* old: the number of keys of from */
	size_t *sorted;       /* of these, by key as from has it */
	size_t *renames;      /* rows with another key than from has */
	size_t renamed, renames_cap;
	struct spool own, kept_bytes;
	struct kept *kept;    /* by number of blob; read: their number */
	size_t read, kept_cap;
	bool dropped;         /* a frame was left out while values were read beforehand */

	/* What is being sent. */
	size_t *blobs;        /* for each value in a blob of the plan, its row */
	size_t values, sent;
	struct spool *body;   /* NULL: the body comes from `from` */
	uint64_t body_at, body_left;
	struct buf piece;
};

/* Applies the edits to a model whose plan has been read, and opens d->source, which reads
 * from. Returns 0, or -1 with e filled: ERR_NO if a key does not exist, ERR_USAGE if a value
 * does not fit its type, ERR_INVALID if the model would contradict itself. Call edited_close
 * in either case. */
int edited_open(struct edited *d, struct source *from, const struct edits *edits,
                struct err *e);
void edited_close(struct edited *d);

/* Reads all values, and then the rest of the model, which proves that it is whole. Only
 * edited_wire can be used afterwards. 0 or -1. */
int edited_finish(struct edited *d, struct err *e);

/* For apply.c. edited_row finds a key, or returns NULL. edited_wire puts the wire bytes of a
 * row into one piece; the pointer is valid until spool_free(space). edited_put gives a row a
 * type and wire bytes. edited_new appends a row without a value, or returns NULL.
 * edited_splice gives it the wire bytes p, in which b replaces the bytes [at, at + span).
 * edited_rename gives a row another key. */
struct row *edited_row(const struct edited *d, const char *key);
int edited_wire(struct edited *d, const struct row *r, struct spool *space, const uint8_t **p,
                struct err *e);
int edited_put(struct edited *d, struct row *r, struct value_type type, const uint8_t *wire,
               uint64_t n, struct err *e);
int edited_splice(struct edited *d, struct row *r, const uint8_t *p, size_t at, size_t span,
                  const struct buf *b, struct err *e);
struct row *edited_new(struct edited *d, const char *key, struct err *e);
int edited_rename(struct edited *d, struct row *r, const char *key, struct err *e);

#endif
