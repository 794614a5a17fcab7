/* members_plan: members of a metadata object as keys of type json: the text of a value is the
 * key's value, to the letter, and a blob where it is longer than VALUE_INLINE_BYTES.
 */
#ifndef FORMATS_MEMBERS_PLAN_H
#define FORMATS_MEMBERS_PLAN_H

#include "core/json.h"
#include "formats/members.h"
#include "model/model.h"

/* Append the key that a member is. 0 or -1. */
int members_key(struct model *m, struct spool *text, const struct member *x, struct err *e);

/* A plan as JSON (stream/plan.h) that lacks the values of such keys: a row [key,"json"] stands
 * for the member of that name. */
struct members_plan {
	struct spool *text;
	json_t *rows, *blobs; /* the plan's lists "metadata" and "blobs" */
	size_t values;        /* blobs of the rows before, which lie first in blobs */
	struct err *e;
};

/* Give a row the value of its member; append a row for a member. 1; 0 if the plan has rows
 * whose blobs are missing; -1 (memory). The member counts as used. */
int members_row(struct members_plan *d, json_t *row, struct member *x);
int members_new_row(struct members_plan *d, struct member *x);

#endif
