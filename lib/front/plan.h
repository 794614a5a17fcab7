/* plan: the pipe of tools that a word stands for.
 *
 * A plan follows from the command line alone; no file is opened to make it. It is printed by
 * --show, or run (front/run.h).
 */
#ifndef FRONT_PLAN_H
#define FRONT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"
#include "front/line.h"

/* One process: its arguments, beginning with the name of the tool. */
struct front_stage {
	const char **argv;   /* ended by NULL; the strings belong to the command line or the plan */
	size_t argc, cap;
	enum front_step step;
};

struct front_plan {
	struct front_stage stages[FRONT_STEPS];
	size_t n;
	bool show;           /* print it, and run nothing */
	bool progress;       /* --progress */
	bool import;         /* name errors as the specification of the import does */
	const char *source;  /* import: the model whose licence is shown first */
	const char *note;    /* what the user may not expect, or NULL */
	char *made[4];       /* strings of the plan */
	size_t made_count;
};

/* Makes the plan of a word with these arguments (ended by NULL), which need to outlive it. 0 or
 * -1; the plan is freed in any case. */
int front_plan_make(struct front_plan *p, const struct front_word *w, char **args, struct err *e);
void front_plan_free(struct front_plan *p);

/* The parts that make plans: a stage at the end, and arguments for the last stage. NULL is
 * not added. Running out of memory shows in front_plan_end. */
void front_plan_stage(struct front_plan *p, enum front_step step, const char *tool);
void front_plan_add(struct front_plan *p, const char *arg);
/* An operand: one that begins with a dash gets "./". */
void front_plan_operand(struct front_plan *p, const char *file);
/* 0, or -1 if memory ran out. */
int front_plan_end(struct front_plan *p, struct err *e);

/* Makes the plan of convert, import, export and quantize (front/flow.c). */
int front_flow(struct front_plan *p, const struct front_line *l, struct err *e);
/* Makes the plan of validate and qa (front/judge.c). */
int front_judge(struct front_plan *p, const struct front_line *l, struct err *e);
/* Adds to the last stage the options that the command line passes to a step. */
void front_plan_pass(struct front_plan *p, const struct front_line *l, enum front_step step);

/* Appends the pipe as text that sh understands, with a line end. */
void front_plan_show(struct buf *b, const struct front_plan *p);

#endif
