/* checking: the verdict on one model by the 100 points, and its report. */
#ifndef STAGE_CHECKING_H
#define STAGE_CHECKING_H

#include "check/policy.h"
#include "check/score.h"
#include "core/buf.h"

struct check_options {
	const char *only, *except, *category, *trusted, *arch, *reference, *policy;
	bool json, sarif, junit, list, pass, relaxed, tensors, all, progress;
	uint64_t min_score, jobs;
};

/* One model. */
struct check_run {
	const struct check_options *o;
	const char *path;
	bool chosen[POINTS + 1];
	struct survey survey;
	struct policy policy;    /* of --policy; its member o is NULL without one */
	struct trusted keys;     /* of --trusted-key, else the folder of trusted keys if a policy
	                          * may ask for it */
	struct err folder;       /* why that folder cannot be read */
	struct err verdict;      /* why no signature that the policy accepts holds; ERR_NONE: one does */
	struct survey reference; /* of --stats-from, if its source is not NULL */
	struct findings findings;
	struct score score;
	const struct err *refused; /* the reader's error, or NULL */
};

/* Set what the survey knows before it begins. facts may be NULL. */
void check_subject(struct check_run *r, const char *format, const json_t *facts);

/* Judge what the survey holds (nothing, if its source is NULL), and append the report in the form
 * of the options. 0, or -1 if memory ran out. */
int check_judge(struct check_run *r, struct buf *b, struct err *e);

#endif
