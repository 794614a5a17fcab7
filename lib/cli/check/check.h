/* check: apr-check's choice of points, verdict and report of one model. */
#ifndef CLI_CHECK_CHECK_H
#define CLI_CHECK_CHECK_H

#include "check/score.h"
#include "core/buf.h"

struct check_options {
	const char *only, *except, *category, *trusted, *arch, *reference;
	bool json, sarif, junit, list, pass, relaxed, tensors, all, progress;
	uint64_t min_score, jobs;
};

/* One model. */
struct check_run {
	const struct check_options *o;
	const char *path;
	bool chosen[POINTS + 1];
	struct survey survey;
	struct survey reference; /* of --stats-from, if its source is not NULL */
	struct findings findings;
	struct score score;
	const struct err *refused; /* the reader's error, or NULL */
};

/* Fill chosen from the options. 0, or -1 with ERR_USAGE. */
int check_choose(struct check_run *r, struct err *e);

/* Judge what the survey holds (nothing, if its source is NULL), and append the report in the form
 * of the options. 0, or -1 if memory ran out. */
int check_judge(struct check_run *r, struct buf *b, struct err *e);

/* 0, or -1 with ERR_INVALID: a finding has the level error, or the score is too low. */
int check_answer(const struct check_run *r, struct err *e);

#endif
