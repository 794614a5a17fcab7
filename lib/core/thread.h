/* thread: a parallel loop over indexes.
 *
 * The threads are started on first need, sleep between loops, though not within the
 * first 50 microseconds after one, take no signals, and end with the process. A process that forks without exec must not loop in
 * the child.
 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <stddef.h>

/* CPUs this process may use, at least 1. */
unsigned thread_count(void);

/* Call fn(ctx, i) once for each i below n, on up to jobs threads, the caller
 * among them, and return when all calls have. The order is open, so fn(ctx, i)
 * may write only what belongs to i. jobs 0 or 1, a loop inside a loop, or two
 * loops at once run in the calling thread; threads that cannot be had are done
 * without. fn may use 128 KiB of stack. */
void thread_for(unsigned jobs, size_t n, void (*fn)(void *ctx, size_t i), void *ctx);

#endif
