/* thread, tasks: each index once, whatever the number of threads. */
#include "core/tasks.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "test.h"

#define N 10000

static atomic_int calls[N];

static void
count(void *ctx, size_t i)
{
	atomic_fetch_add(&calls[i], *(int *)ctx);
}

static bool
all_are(int want)
{
	size_t i;

	for (i = 0; i < N; i++)
		if (calls[i] != want)
			return false;
	return true;
}

/* A loop whose body loops. */
static void
nest(void *ctx, size_t i)
{
	(void)i;
	thread_for(4, N, count, ctx);
}

static void *
loops(void *ctx)
{
	int i;

	for (i = 0; i < 50; i++)
		thread_for(3, N, count, ctx);
	return NULL;
}

static void
many_short_loops(void)
{
	int i, one = 1;
	bool ok = true;

	memset(calls, 0, sizeof calls);
	for (i = 0; i < 20000; i++)
		thread_for(4, (size_t)(i % 5), count, &one);
	/* i % 5 is 0 to 4, 4000 times each: index k runs where i % 5 > k. */
	for (i = 0; i < 4; i++)
		ok &= calls[i] == 4000 * (4 - i);
	test_ok(ok && calls[4] == 0, "20000 short loops leave nothing out");
}

static void
two_at_once(void)
{
	pthread_t other;
	int one = 1;

	memset(calls, 0, sizeof calls);
	if (!test_ok(!pthread_create(&other, NULL, loops, &one), "a second thread starts"))
		return;
	loops(&one);
	pthread_join(other, NULL);
	test_ok(all_are(100), "two threads may loop at once");
}

enum { ROOM = 5 };

struct ring {
	int value[ROOM]; /* written by the task, read after tasks_await */
	long long sum;
};

static void
square(void *ctx, size_t i)
{
	struct ring *r = ctx;

	r->value[i] *= r->value[i];
}

static void
take(struct tasks *t, struct ring *r, size_t i)
{
	tasks_await(t, i);
	r->sum += r->value[i];
	r->value[i] = 0;
}

/* A ring of tasks that is always full. */
static void
tasks_ring(unsigned threads)
{
	struct ring r = { .sum = 0 };
	struct tasks *t = tasks_new(threads, ROOM, square, &r);
	long long want = 0;
	int k;

	if (!test_ok(t != NULL, "%u threads for tasks", threads))
		return;
	for (k = 1; k <= N; k++) {
		take(t, &r, (size_t)k % ROOM);
		r.value[k % ROOM] = k;
		tasks_start(t, (size_t)k % ROOM);
		want += (long long)k * k;
	}
	for (k = 0; k < ROOM; k++)
		take(t, &r, (size_t)k);
	test_ok(r.sum == want, "%u threads: each task once, with its result", threads);
	tasks_free(t);
}

static atomic_int done;

static void
slow(void *ctx, size_t i)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	(void)ctx;
	(void)i;
	nanosleep(&ms, NULL);
	atomic_fetch_add(&done, 1);
}

/* Freed with tasks under way: those that were begun end, the others never begin. */
static void
tasks_dropped(void)
{
	struct tasks *t = tasks_new(2, 100, slow, NULL);
	size_t i;
	int before;

	for (i = 0; i < 100; i++)
		tasks_start(t, i);
	tasks_await(t, 0);
	tasks_free(t);
	before = done;
	slow(NULL, 0);
	slow(NULL, 0);
	test_ok(before >= 1 && before < 100 && done == before + 2, "tasks can be dropped");
}

/* An arena that counts its loops, and runs them in this thread from the end. */
static void
arena_run(void *ctx, size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	++*(int *)ctx;
	while (n-- > 0)
		fn(arg, n);
}

static void
arenas(void)
{
	int runs = 0, one = 1;
	const struct thread_arena a = { arena_run, &runs };

	memset(calls, 0, sizeof calls);
	test_ok(!thread_use(&a), "no arena at first");
	thread_for(3, N, count, &one);
	test_ok(runs == 1 && all_are(1), "a loop in an arena: each index once");
	thread_for(1, N, count, &one);
	test_ok(runs == 1 && all_are(2), "one job stays in its thread");
	thread_for(4, 7, nest, &one);
	test_ok(runs == 2 && all_are(9), "a loop inside a loop of an arena stays in its thread");
	test_ok(thread_use(NULL) == &a, "the arena before is returned");
	thread_for(3, N, count, &one);
	test_ok(runs == 2 && all_are(10), "without it: threads of the module");
}

int
main(void)
{
	static const unsigned jobs[] = { 0, 1, 2, 3, 8, 300 };
	int one = 1;
	size_t i;

	test_ok(thread_count() >= 1, "there is a CPU");
	for (i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
		memset(calls, 0, sizeof calls);
		thread_for(jobs[i], N, count, &one);
		test_ok(all_are(1), "%u jobs: each index once", jobs[i]);
	}
	memset(calls, 0, sizeof calls);
	thread_for(4, 7, nest, &one);
	test_ok(all_are(7), "a loop inside a loop");
	many_short_loops();
	two_at_once();
	arenas();
	for (i = 0; i < 4; i++)
		tasks_ring((unsigned)i);
	tasks_dropped();
	return test_done();
}
