/* rename: other names for the tensors of a model, by rules with patterns or by a schema
 * (adapt/names/schema.h).
 *
 * A rule REGEX=NAME replaces the first part of a name that REGEX matches by NAME, in which
 * \1 to \9 stand for groups of the match, \0 for all of it, and \\ for a backslash. Each rule
 * works on the name that the rules before it have left.
 */
#ifndef ADAPT_RENAME_H
#define ADAPT_RENAME_H

#include <stdbool.h>
#include <stddef.h>

#include "adapt/names/schema.h"
#include "core/err.h"
#include "core/pattern.h"
#include "model/model.h"

#define RENAME_BYTES (256u << 20) /* the most bytes of all new names together */

struct rename_rule {
	const char *text;  /* as given: "REGEX=NAME"; not owned */
	char *regex;
	const char *name;  /* in text */
	struct pattern pattern;
};

/* All zero renames nothing. Either rules or a schema. */
struct rename {
	struct rename_rule *rules;
	size_t count, cap;
	struct schema schema;
	const struct arch *arch; /* the schema is that of this architecture; or NULL */
	bool strict;       /* each tensor needs a rule, each required name a tensor */
};

/* The new names of the tensors of a model. */
struct renames {
	char **name;       /* one per tensor; NULL: it keeps its name */
	size_t count, changed;
	size_t unknown;    /* tensors without a rule or a row */
};

/* Append a rule; text must outlive it. ERR_USAGE if it is not one. 0 or -1. */
int rename_add(struct rename *r, const char *text, struct err *e);

/* Find the new names of m's tensors. where: the model, for messages. ERR_USAGE if a rule
 * matches no tensor; ERR_INVALID if two tensors would have the same name, a name is not
 * possible, or strict finds an unknown tensor or a missing one. renames_free is due in any
 * case. 0 or -1. */
int rename_find(struct rename *r, const struct model *m, const char *where,
                struct renames *out, struct err *e);

/* Give m's tensors their new names. 0 or -1. */
int renames_apply(const struct renames *n, struct model *m, struct err *e);

void renames_free(struct renames *n);
void rename_free(struct rename *r);

#endif
