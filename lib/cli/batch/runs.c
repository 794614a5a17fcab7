#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/batch/batch.h"
#include "core/mem.h"
#include "core/spool.h"

#define AHEAD 100 /* runs that may have ended before an earlier one */

/* What the handler of signals needs. */
static volatile sig_atomic_t stopped;
static volatile pid_t running[BATCH_JOBS];

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- signals ---- */

/* A terminal has sent the signal to the runs too. */
static void
stop(int number, siginfo_t *info, void *context)
{
	const int saved = errno;
	size_t i;

	(void)context;
	stopped = number;
	for (i = 0; info->si_code != SI_KERNEL && i < BATCH_JOBS; i++)
		if (running[i] > 0)
			kill(running[i], number);
	errno = saved;
}

static void
signals_of(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

/* A signal that the caller ignores stays ignored. */
static void
catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_sigaction = stop, .sa_flags = SA_SIGINFO }, old;
	size_t i;

	signals_of(&action.sa_mask);
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* ---- one run ---- */

_Noreturn static void
be_child(const struct batch *b, const struct batch_run *x, char **words, const sigset_t *mask,
         pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	mem_unlimit();
	signal(SIGXFSZ, SIG_DFL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(x->out, STDOUT_FILENO) >= 0 &&
	    dup2(x->err, STDERR_FILENO) >= 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		execv(b->program, words);
	}
	dprintf(x->err, "apr-batch: %s: cannot be run: %s\n", b->program, strerror(errno));
	_exit(126);
}

static int
start(const struct batch *b, struct batch_run *x, size_t slot, struct err *e)
{
	char **words = batch_words(b, x->model);
	const pid_t parent = getpid();
	sigset_t block, mask;
	int r = 0;

	if (!words)
		return err_memory(e);
	signals_of(&block);
	sigprocmask(SIG_BLOCK, &block, &mask);
	if (!stopped && (x->out = spool_file(e)) >= 0 && (x->err = spool_file(e)) >= 0) {
		x->began = now();
		x->pid = fork();
		if (x->pid == 0)
			be_child(b, x, words, &mask, parent);
		if (x->pid < 0) {
			x->pid = 0;
			r = err_errno(e, x->model, "its process cannot be started");
		} else {
			x->started = true;
			running[slot] = x->pid;
		}
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	batch_free_words(words);
	return e->code == ERR_NONE ? r : -1;
}

static void
end_run(struct batch_run *x, int status)
{
	x->seconds = now() - x->began;
	x->pid = 0;
	x->ended = true;
	if (WIFEXITED(status))
		x->status = WEXITSTATUS(status);
	else
		x->signal = WTERMSIG(status);
}

/* Waits until a run ends. */
static void
await_one(struct batch *b, size_t count)
{
	size_t i, slot;
	int status;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid < 0 && errno == EINTR);
	for (slot = 0; slot < BATCH_JOBS && running[slot] != pid; slot++)
		;
	if (pid < 0 || slot == BATCH_JOBS)
		return;
	running[slot] = 0;
	for (i = 0; i < count; i++)
		if (b->runs[i].pid == pid)
			end_run(&b->runs[i], status);
}

static size_t
count_running(size_t *slot)
{
	size_t i, n = 0;

	*slot = BATCH_JOBS;
	for (i = BATCH_JOBS; i-- > 0;) {
		n += running[i] > 0;
		if (running[i] == 0)
			*slot = i;
	}
	return n;
}

/* Prints the runs that have ended, up to one that has not. */
static int
print_ended(struct batch *b, struct err *e)
{
	int r = 0;

	for (; r == 0 && b->printed < b->n && b->runs[b->printed].ended; b->printed++)
		r = batch_print(b, &b->runs[b->printed], e);
	return r;
}

int
batch_start(struct batch *b, int *signal_number, struct err *e)
{
	size_t next = 0, slot;

	catch_signals();
	for (;;) {
		while (e->code == ERR_NONE && !stopped && next < b->n &&
		       next < b->printed + b->jobs + AHEAD && count_running(&slot) < b->jobs &&
		       start(b, &b->runs[next], slot, e) == 0)
			next += b->runs[next].started;
		if (count_running(&slot) == 0)
			break;
		await_one(b, next);
		if (e->code == ERR_NONE)
			print_ended(b, e);
	}
	*signal_number = stopped;
	return e->code == ERR_NONE ? 0 : -1;
}
