/* thread: each index once, whatever the number of threads. */
#include "core/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

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
	return test_done();
}
