/* distill_report: what a user sees of a training: progress, and a line for each measurement. */
#ifndef CLI_DISTILL_DISTILL_REPORT_H
#define CLI_DISTILL_DISTILL_REPORT_H

#include "cli/progress.h"
#include "distill/course.h"

struct distill_report {
	bool json;
	double began;             /* seconds, less those of measuring */
	uint64_t from;            /* steps that were done before */
	struct train_loss sum;    /* since the last line */
	double measured;          /* the last validation loss, or NAN */
	struct progress progress;
};

/* Before the first step. progress: show it even if standard error is not a terminal. */
void distill_report_begin(struct distill_report *r, const struct course *c, bool json, bool progress);

/* After each step. */
void distill_report_step(struct distill_report *r, const struct course *c);

/* Measure the student. tells: and note what it has reached, beside the teacher. 0 or -1. */
int distill_report_measure(struct distill_report *r, struct course *c, bool tells, struct err *e);
void distill_report_end(struct distill_report *r);

#endif
