#include "core/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define WORKERS 255
/* Small enough that a memory limit leaves room besides the stacks of all workers, and
 * many times what any loop needs. */
#define STACK (512u << 10)

/* During inference, loops of a few microseconds follow each other. A thread that waits
 * for the next loop, or for the last worker to finish, polls this many times before it
 * sleeps. That takes about 50 microseconds; waking a sleeping thread takes about as
 * long. */
#define LOOKS 2000

/* The pool runs one loop at a time. A worker joins the loop with the mutex locked while
 * seats are left. The loop is over for the caller when the seats are closed and no worker
 * is inside, so a worker that wakes late finds no work. */
static struct {
	pthread_mutex_t busy; /* held by the thread whose loop this is */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work, done;
	unsigned workers;    /* threads started */
	atomic_uint seats;   /* workers that may still join */
	atomic_uint inside;  /* workers that have joined and not left */
	void (*fn)(void *ctx, size_t i);
	void *ctx;
	size_t n;
	atomic_size_t next; /* the next index to run */
} pool = {
	.busy = PTHREAD_MUTEX_INITIALIZER,
	/* Held for a few instructions: a thread that finds it locked spins before it
	 * sleeps. */
	.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

/* Read once per loop: in a shared object, access is a function call. */
static _Thread_local bool is_worker;
static _Thread_local const struct thread_arena *arena;

unsigned
thread_count(void)
{
	cpu_set_t set;
	long n;

	if (sched_getaffinity(0, sizeof set, &set)) /* more CPUs than a set holds */
		n = sysconf(_SC_NPROCESSORS_ONLN);
	else
		n = CPU_COUNT(&set);
	return n > 0 ? (unsigned)n : 1;
}

static void
indexes_run(void)
{
	size_t i;

	while ((i = atomic_fetch_add(&pool.next, 1)) < pool.n)
		pool.fn(pool.ctx, i);
}

static void
breathe(void)
{
#if defined __x86_64__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* Waits until *number is zero, or until it is not. The mutex is locked on entry and on
 * return. Counters change only under the mutex, and the thread that changes one signals
 * `changed`. */
static void
await(atomic_uint *number, bool zero, pthread_cond_t *changed)
{
	int i;

	if (!*number != zero) {
		pthread_mutex_unlock(&pool.lock);
		for (i = 0; !atomic_load_explicit(number, memory_order_relaxed) != zero &&
		            i < LOOKS; i++)
			breathe();
		pthread_mutex_lock(&pool.lock);
	}
	while (!*number != zero)
		pthread_cond_wait(changed, &pool.lock);
}

static void *
worker(void *unused)
{
	(void)unused;
	is_worker = true;
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		await(&pool.seats, false, &pool.work);
		pool.seats--;
		pool.inside++;
		pthread_mutex_unlock(&pool.lock);
		indexes_run();
		pthread_mutex_lock(&pool.lock);
		if (--pool.inside == 0)
			pthread_cond_signal(&pool.done);
	}
	return NULL;
}

/* Starts workers until `want` run or the system refuses more. They block signals, so that
 * the program's own threads handle them and clean up. */
static void
workers_start(unsigned want)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;

	if (pool.workers >= want || pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* raised by the thread's own reads: core/map.h */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool.workers < want && !pthread_create(&thread, &attr, worker, NULL))
		pool.workers++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

static void
loop_shared(unsigned helpers, size_t n, void (*fn)(void *ctx, size_t i), void *ctx)
{
	pthread_mutex_lock(&pool.lock);
	workers_start(helpers);
	pool.fn = fn;
	pool.ctx = ctx;
	pool.n = n;
	atomic_store(&pool.next, 0);
	pool.seats = helpers < pool.workers ? helpers : pool.workers;
	pthread_cond_broadcast(&pool.work);
	pthread_mutex_unlock(&pool.lock);

	indexes_run();

	pthread_mutex_lock(&pool.lock);
	pool.seats = 0;
	await(&pool.inside, true, &pool.done);
	pthread_mutex_unlock(&pool.lock);
}

const struct thread_arena *
thread_use(const struct thread_arena *a)
{
	const struct thread_arena *before = arena;

	arena = a;
	return before;
}

/* A loop in an arena. */
struct lent {
	void (*fn)(void *ctx, size_t i);
	void *ctx;
};

/* Runs one index. Loops inside it run in the same thread, as in a worker. */
static void
lent_run(void *lent, size_t i)
{
	const struct lent *l = lent;
	bool was = is_worker;

	is_worker = true;
	l->fn(l->ctx, i);
	is_worker = was;
}

void
thread_for(unsigned jobs, size_t n, void (*fn)(void *ctx, size_t i), void *ctx)
{
	unsigned helpers = jobs > WORKERS ? WORKERS : jobs ? jobs - 1 : 0;
	size_t i;

	if (n && helpers > n - 1)
		helpers = (unsigned)(n - 1);
	if (helpers && arena && !is_worker) {
		arena->run(arena->ctx, n, lent_run, &(struct lent){ fn, ctx });
		return;
	}
	if (n && helpers && !is_worker && !pthread_mutex_trylock(&pool.busy)) {
		loop_shared(helpers, n, fn, ctx);
		pthread_mutex_unlock(&pool.busy);
		return;
	}
	for (i = 0; i < n; i++)
		fn(ctx, i);
}
