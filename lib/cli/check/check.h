/* check: apr-check's choice of points, verdict and report of one model. */
#ifndef CLI_CHECK_CHECK_H
#define CLI_CHECK_CHECK_H

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

/* Fill chosen from the options. 0, or -1 with ERR_USAGE. */
int check_choose(struct check_run *r, struct err *e);

/* Load the keys of --trusted-key, or those that a policy may need. Before the sandbox. 0 or -1. */
int check_keys(struct check_run *r, struct err *e);

/* Read the policy. *keys: those that must have signed the model, or NULL; their verdict is for the
 * caller to find. Inside the sandbox. 0 or -1. */
int check_policy(struct check_run *r, const struct trusted **keys, struct err *e);

/* Set what the survey knows before it begins. facts may be NULL. */
void check_subject(struct check_run *r, const char *format, const json_t *facts);

/* Judge what the survey holds (nothing, if its source is NULL), and append the report in the form
 * of the options. 0, or -1 if memory ran out. */
int check_judge(struct check_run *r, struct buf *b, struct err *e);

/* 0, or -1 with ERR_INVALID: a finding has the level error, or the score is too low. */
int check_answer(const struct check_run *r, struct err *e);

/* Print the report. why: the error of the reader, or NULL; it stays the answer. e gets the answer of
 * a model that was read. */
void check_finish(struct check_run *r, const struct err *why, struct err *e);

/* pass.c: models that another process reads, which input_prepare has started. Pass one on as a
 * stream; and judge one that is signed by the key of --trusted-key. */
void check_pass(struct check_run *r, struct err *e);
void check_trusted(struct check_run *r, struct err *e);

#endif
