/* told: what apr-pull says about a source: licence, plan, result. */
#ifndef CLI_PULL_TOLD_H
#define CLI_PULL_TOLD_H

#include <stdbool.h>

#include "core/buf.h"
#include "hub/pull.h"

/* Notes on the licence, and on files that are left out. */
void told_before(const struct pull *p);

/* Whether the lists "licenses" and "denied_licenses" of a policy (check/policy.h) allow the
 * licence. 0, or -1 with ERR_ACCESS, or an error of the file. */
int told_policy(const struct pull *p, const char *policy, struct err *e);

/* Append the files, one per line, or one line of JSON: before pull_run (plan) with what is still
 * to be fetched, after it with where they are. */
void told_list(struct buf *b, const struct pull *p);
void told_json(struct buf *b, const struct pull *p, bool plan);

#endif
