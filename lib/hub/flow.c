#include "hub/flow.h"

#include <errno.h>
#include <signal.h>

#include "core/mem.h"
#include "core/num.h"

#define HEAD_FIRST (UINT64_C(256) << 10) /* bytes at the beginning of a file that come first */
#define HEAD_MOST (UINT64_C(8) << 20)    /* more of it comes in its turn */

static void *
run(void *of)
{
	struct flow *f = of;
	struct pull *p = f->pull;
	struct err none;
	size_t i;
	int r = pull_run(p, &f->e);

	err_set(&none, ERR_NETWORK, p->source->label, "was not fetched whole");
	for (i = 0; i < p->n; i++)
		watch_fail(&f->watches[i], r < 0 ? &f->e : &none);
	return NULL;
}

/* Signals are for the thread that serves. */
static int
start_thread(struct flow *f)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return failed;
}

int
flow_start(struct flow *f, struct pull *p, struct err *e)
{
	bool sized = true;
	size_t i;

	*f = (struct flow){ .pull = p, .e = ERR_INIT };
	f->watches = mem_array(p->n, sizeof *f->watches);
	if (!f->watches)
		return err_memory(e);
	for (i = 0; i < p->n; i++) {
		watch_open(&f->watches[i], p->files[i].path, p->files[i].size);
		f->watches[i].headless = p->n == 1;
		f->watches[i].cached = p->files[i].cached;
		p->files[i].watch = &f->watches[i];
		sized = sized && p->files[i].size != HTTP_UNKNOWN;
	}
	errno = start_thread(f);
	if (errno)
		return err_errno(e, NULL, "a thread cannot be started");
	return sized ? 0 : flow_end(f, e);
}

bool
flow_has(struct flow *f, size_t i)
{
	return f->ended || f->watches[i].cached;
}

/* The number of bytes at the beginning that are fetched, so that at least one of those asked for
 * is there. */
static uint64_t
head_for(uint64_t at)
{
	uint64_t n = HEAD_FIRST;

	while (n <= at)
		n *= 4;
	return n;
}

int
flow_read(struct flow *f, size_t i, uint64_t at, uint64_t n, void *to, uint64_t *got,
          struct err *e)
{
	struct watch *w = &f->watches[i];
	bool patient = at >= HEAD_MOST;
	int r;

	while ((r = watch_await(w, at, n, patient, got, e)) == 0)
		pull_head(f->pull, &f->pull->files[i], head_for(at + num_min(n, HEAD_FIRST)));
	return r < 0 ? -1 : watch_read(w, at, to, *got, e);
}

int
flow_whole(struct flow *f, size_t i, struct err *e)
{
	return watch_whole(&f->watches[i], e);
}

int
flow_end(struct flow *f, struct err *e)
{
	size_t i;

	if (!f->ended)
		pthread_join(f->thread, NULL);
	f->ended = true;
	if (f->e.code != ERR_NONE) {
		*e = f->e;
		return -1;
	}
	/* The digest is that of bytes which came after those that the reader has. */
	for (i = 0; i < f->pull->n; i++)
		if (watch_check(&f->watches[i], e) < 0)
			return -1;
	return 0;
}
