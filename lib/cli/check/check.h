/* check: apr-check's choice of points, and its answer on one model. */
#ifndef CLI_CHECK_CHECK_H
#define CLI_CHECK_CHECK_H

#include "stage/checking.h"

/* Fill chosen from the options. 0, or -1 with ERR_USAGE. */
int check_choose(struct check_run *r, struct err *e);

/* Load the keys of --trusted-key, or those that a policy may need. Before the sandbox. 0 or -1. */
int check_keys(struct check_run *r, struct err *e);

/* Read the policy. *keys: those that must have signed the model, or NULL; their verdict is for the
 * caller to find. Inside the sandbox. 0 or -1. */
int check_policy(struct check_run *r, const struct trusted **keys, struct err *e);

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
