#include "core/tasks.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/mem.h"

#define STACK (512u << 10) /* as in core/thread.c */

enum state { IDLE, QUEUED, RUNNING };

struct tasks {
	void (*fn)(void *ctx, size_t i);
	void *ctx;
	unsigned most;       /* maximum number of threads */
	unsigned threads;    /* started */
	pthread_t *thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work, done;
	enum state *state;   /* of each task */
	size_t *queue;       /* a ring of room tasks */
	size_t room, first, queued;
	unsigned sleeping;   /* threads that wait for work */
	bool ends;
};

struct tasks *
tasks_new(unsigned threads, size_t room, void (*fn)(void *ctx, size_t i), void *ctx)
{
	struct tasks *t = mem_array(1, sizeof *t);

	if (!t)
		return NULL;
	*t = (struct tasks){ .fn = fn, .ctx = ctx, .most = threads, .room = room,
		.thread = mem_array(threads, sizeof *t->thread),
		.state = mem_array(room, sizeof *t->state),
		.queue = mem_array(room, sizeof *t->queue),
		.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER,
		.done = PTHREAD_COND_INITIALIZER };
	if (t->thread && t->state && t->queue)
		return t;
	tasks_free(t);
	return NULL;
}

/* Runs the oldest task. The caller holds the mutex, which is released while the task
 * runs. */
static void
run_first(struct tasks *t)
{
	size_t i = t->queue[t->first];

	t->first = (t->first + 1) % t->room;
	t->queued--;
	t->state[i] = RUNNING;
	pthread_mutex_unlock(&t->lock);
	t->fn(t->ctx, i);
	pthread_mutex_lock(&t->lock);
	t->state[i] = IDLE;
	pthread_cond_signal(&t->done);
}

static void *
worker(void *tasks)
{
	struct tasks *t = tasks;

	pthread_mutex_lock(&t->lock);
	while (!t->ends) {
		if (t->queued > 0) {
			run_first(t);
			continue;
		}
		t->sleeping++;
		pthread_cond_wait(&t->work, &t->lock);
		t->sleeping--;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Starts one more thread. It blocks signals, so that the program's own threads handle
 * them and clean up. */
static void
thread_start(struct tasks *t)
{
	sigset_t all, old;
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* raised by the thread's own reads: core/map.h */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&t->thread[t->threads], &attr, worker, t))
		t->threads++;
	else
		t->most = t->threads;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

void
tasks_start(struct tasks *t, size_t i)
{
	bool more;

	pthread_mutex_lock(&t->lock);
	t->state[i] = QUEUED;
	t->queue[(t->first + t->queued++) % t->room] = i;
	more = t->queued > t->sleeping && t->threads < t->most;
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
	if (more)
		thread_start(t);
}

void
tasks_await(struct tasks *t, size_t i)
{
	pthread_mutex_lock(&t->lock);
	while (t->state[i] != IDLE)
		if (t->queued > 0)
			run_first(t);
		else
			pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void
tasks_free(struct tasks *t)
{
	unsigned i;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->queued = 0;
	t->ends = true;
	pthread_cond_broadcast(&t->work);
	pthread_mutex_unlock(&t->lock);
	for (i = 0; i < t->threads; i++)
		pthread_join(t->thread[i], NULL);
	pthread_cond_destroy(&t->work);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	free(t->thread);
	free(t->state);
	free(t->queue);
	free(t);
}
