/* run: the processes of a plan.
 */
#ifndef FRONT_RUN_H
#define FRONT_RUN_H

#include "core/err.h"
#include "front/plan.h"

/* Refuses a plan with a tool that is not installed: ERR_USAGE. 0 or -1. */
int front_ready(const struct front_plan *p, const struct front_word *w, struct err *e);

/* Replaces this process by the only stage of a plan. Returns -1 with an error. */
int front_exec(const struct front_plan *p, struct err *e);

/* Runs all stages at once, connected by pipes, and waits for all of them. Signals that end a
 * program are passed on to them; they also end with this process, however it ends. Returns
 * the exit status of the first stage that failed by itself (not because a later one stopped
 * reading), after its message, or 0; -1 with an error if they cannot be started. After a
 * signal this process ends by the same one. */
int front_run(const struct front_plan *p, struct err *e);

#endif
