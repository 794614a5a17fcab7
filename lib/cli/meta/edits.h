/* edits: changes of metadata, as the command line, a JSON file or another model gives them.
 *
 * Files are read before the sandbox; their content is parsed later, against the model's keys
 * (cli/meta/apply.h).
 */
#ifndef CLI_META_EDITS_H
#define CLI_META_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/spool.h"
#include "model/flow.h"

#define EDITS_MOST 16384            /* maximum number of edits */
#define EDITS_FILE ((uint64_t)64 << 20) /* maximum bytes of a file with a value or values */

enum edit_op { EDIT_SET, EDIT_DELETE, EDIT_RENAME };

struct edit {
	enum edit_op op;
	char *key;      /* with spells set: KEY, KEY:TYPE or KEY[INDEX] */
	bool spells;
	bool typed;     /* type is given */
	struct value_type type;
	bool quoted;    /* text is JSON, in which a string has quotes */
	bool optional;  /* delete: the key may be missing */
	struct buf text; /* set: the value's text, unless */
	bool is_wire;   /* its wire bytes are [at, at + n) of wires */
	uint64_t at, n;
	char *to;       /* rename: the new key */
};

/* All zero is an empty list. */
struct edits {
	struct edit *items; /* in the order in which they apply */
	size_t n, cap;
	struct spool wires;
	struct buf file;    /* of import, until it is parsed */
	const char *file_name;
	char operation[160]; /* for the record that replaces a signature */
};

/* Appends KEY[:TYPE]=VALUE or KEY[:TYPE]=@FILE; a value that begins with two @ begins with
 * one. These and the other functions return 0, or -1 with e filled. */
int edits_set(struct edits *x, const char *text, struct err *e);
int edits_delete(struct edits *x, const char *key, struct err *e);
int edits_rename(struct edits *x, const char *key, const char *to, struct err *e);

/* Reads a JSON file; later, in the sandbox, appends its edits: for each member KEY: VALUE of an
 * object one set, or a deletion if the value is null. A value {"type":T,"value":V} gives the
 * type. The file may also be an array of rows [KEY,TYPE,VALUE], or of objects with "key",
 * "type" and "value", or such objects one per line, as this and other tools print them. */
int edits_load(struct edits *x, const char *path, struct err *e);
int edits_import(struct edits *x, struct err *e);

/* Appends sets for these keys of another model, or for all of its keys that do not depend on
 * its tensors. Reads from's values, which are its first items. count 0: all. */
int edits_copy(struct edits *x, struct source *from, char *const *keys, size_t count,
               struct err *e);

/* Describes the edits in x->operation: "apr-meta set general.name". */
void edits_describe(struct edits *x, const char *verb);

void edits_free(struct edits *x);

#endif
