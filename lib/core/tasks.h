/* tasks: work that other threads do while the caller goes on.
 *
 * A task is a number below room, which the caller chooses: usually a slot of a ring. Its
 * function runs once, in another thread or in the caller when that waits for a task. One
 * thread at a time may call these functions.
 */
#ifndef CORE_TASKS_H
#define CORE_TASKS_H

#include <stddef.h>

struct tasks;

/* Creates tasks for up to `threads` threads, which start when first needed. If the system
 * refuses some of them, fewer are used, or none. fn(ctx, i) may use 128 KiB of stack.
 * NULL if memory runs out. */
struct tasks *tasks_new(unsigned threads, size_t room, void (*fn)(void *ctx, size_t i),
                        void *ctx);

/* Submits task i, which must not be under way. */
void tasks_start(struct tasks *t, size_t i);

/* Returns when task i is done. Meanwhile the caller runs tasks that no thread has begun,
 * oldest first. A task that was never started counts as done. */
void tasks_await(struct tasks *t, size_t i);

/* Drops the tasks that no thread has begun, waits for the others, and ends the threads.
 * NULL is allowed. */
void tasks_free(struct tasks *t);

#endif
