/* members_plan: turns members of a metadata object into keys of type json. The key's value is
 * the unchanged text of the member's value; it is a blob if it is longer than
 * VALUE_INLINE_BYTES.
 */
#ifndef FORMATS_MEMBERS_PLAN_H
#define FORMATS_MEMBERS_PLAN_H

#include "core/json.h"
#include "formats/members.h"
#include "model/model.h"

/* Append a member to the plan as a key. 0 or -1. */
int members_key(struct model *m, struct spool *text, const struct member *x, struct err *e);

/* A plan as JSON (stream/plan.h) without the values of such keys: a row [key,"json"] stands
 * for the member with this name. */
struct members_plan {
	struct spool *text;
	json_t *rows, *blobs; /* the plan's lists "metadata" and "blobs" */
	size_t values;        /* blobs of the rows so far, which come first in blobs */
	struct err *e;
};

/* Add the value of its member to a row; append a row for a member. 1 if done, 0 if the plan
 * has rows whose blobs are missing, -1 if out of memory. The member counts as used. */
int members_row(struct members_plan *d, json_t *row, struct member *x);
int members_new_row(struct members_plan *d, struct member *x);

#endif
