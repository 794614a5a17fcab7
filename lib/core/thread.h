/* thread: a parallel loop over indexes.
 *
 * The threads start when first needed and end with the process. Between loops they spin for
 * 50 microseconds and then sleep. They block all signals. After a fork without exec, the
 * child must not run loops.
 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <stddef.h>

/* The number of CPUs that this process may use, at least 1. */
unsigned thread_count(void);

/* Calls fn(ctx, i) once for each i below n on up to jobs threads, including the caller, and
 * returns when all calls have returned. The order is unspecified, so fn(ctx, i) may write
 * only what belongs to i. With jobs 0 or 1, inside another loop, or while another loop
 * runs, all calls run in the calling thread. If fewer threads can be started, fewer are
 * used. fn may use 128 KiB of stack. */
void thread_for(unsigned jobs, size_t n, void (*fn)(void *ctx, size_t i), void *ctx);

/* Threads of somebody else. run calls fn(arg, i) once for each i below n, in any order, on any of
 * its threads, and returns when all calls have returned. */
struct thread_arena {
	void (*run)(void *ctx, size_t n, void (*fn)(void *arg, size_t i), void *arg);
	void *ctx;
};

/* From now on, the loops of the calling thread with more than one job run in the arena, which must
 * stay valid; NULL: in threads of this module. Returns the arena before. */
const struct thread_arena *thread_use(const struct thread_arena *a);

#endif
