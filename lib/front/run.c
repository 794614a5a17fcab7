#include "front/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front/find.h"
#include "front/relay.h"

/* ---- one stage ---- */

int
front_ready(const struct front_plan *p, const struct front_word *w, struct err *e)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < p->n; i++)
		if (!front_find(p->stages[i].argv[0], path)) {
			err_set(e, ERR_USAGE, w->name, "%s is not installed", p->stages[i].argv[0]);
			return err_hint(e, "apr lists the words that can be used");
		}
	return 0;
}

int
front_exec(const struct front_plan *p, struct err *e)
{
	const struct front_stage *s = &p->stages[0];
	char path[PATH_MAX];

	if (!front_find(s->argv[0], path))
		return err_set(e, ERR_USAGE, s->argv[0], "is not installed");
	execv(path, (char *const *)s->argv);
	return err_errno(e, path, "cannot be run");
}

/* ---- all stages ---- */

struct run {
	const struct front_plan *p;
	pid_t pids[FRONT_STEPS];
	int status[FRONT_STEPS];  /* of waitpid */
	size_t started;
	struct relay_stage stages[FRONT_STEPS];
	struct relay relay;
};

static volatile sig_atomic_t caught;

static void
catch(int signal)
{
	caught = signal;
}

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define FORWARDED (sizeof forwarded / sizeof *forwarded)

/* Catches the signals, except those that the caller ignores; blocks them, so that they arrive
 * only during a wait. */
static void
catch_signals(sigset_t *before)
{
	struct sigaction act = { .sa_handler = catch }, old;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < FORWARDED; i++) {
		sigaction(forwarded[i], NULL, &old);
		if (old.sa_handler == SIG_IGN)
			continue;
		sigaction(forwarded[i], &act, NULL);
		sigaddset(&set, forwarded[i]);
	}
	sigprocmask(SIG_BLOCK, &set, before);
}

/* In the child: what the tool inherits is what this program inherited. */
_Noreturn static void
become(const struct front_stage *s, const char *path, int in, int out, int err, pid_t parent,
       const sigset_t *mask)
{
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	for (i = 0; i < FORWARDED; i++) {
		struct sigaction old;

		sigaction(forwarded[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			signal(forwarded[i], SIG_DFL);
	}
	signal(SIGPIPE, SIG_DFL);
	if ((in < 0 || dup2(in, STDIN_FILENO) >= 0) && (out < 0 || dup2(out, STDOUT_FILENO) >= 0) &&
	    dup2(err, STDERR_FILENO) >= 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		execv(path, (char *const *)s->argv);
	}
	dprintf(err, "apr: %s: cannot be run: %s\n", s->argv[0], strerror(errno));
	_exit(126);
}

/* Lets tools draw their progress, if this program can show it. */
static void
ask_for_progress(bool terminal)
{
	if (terminal)
		setenv("APR_PROGRESS_DRAW", "1", 0);
}

static void
close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Starts stage i, which reads *in; *in becomes what the next one reads. */
static int
start(struct run *r, size_t i, int *in, const sigset_t *mask, struct err *e)
{
	int data[2] = { -1, -1 }, text[2] = { -1, -1 };
	const struct front_stage *s = &r->p->stages[i];
	char path[PATH_MAX];
	pid_t parent = getpid();

	if (!front_find(s->argv[0], path))
		return err_set(e, ERR_USAGE, s->argv[0], "is not installed");
	if ((i + 1 < r->p->n && pipe2(data, O_CLOEXEC) < 0) || pipe2(text, O_CLOEXEC) < 0)
		goto failed;
	r->pids[i] = fork();
	if (r->pids[i] < 0)
		goto failed;
	if (r->pids[i] == 0)
		become(s, path, *in, data[1], text[1], parent, mask);
	close_if_open(*in);
	close_if_open(data[1]);
	close(text[1]);
	*in = data[0];
	r->stages[i].fd = text[0];
	r->started++;
	return 0;
failed:
	err_errno(e, s->argv[0], "cannot be started");
	close_if_open(data[0]);
	close_if_open(data[1]);
	close_if_open(text[0]);
	close_if_open(text[1]);
	return -1;
}

static void
forward(const struct run *r, int signal)
{
	size_t i;

	for (i = 0; i < r->started; i++)
		if (r->pids[i] > 0)
			kill(r->pids[i], signal);
}

/* Waits until stages have said something; passes signals on. */
static void
listen_once(struct run *r, const sigset_t *mask, int *sent)
{
	struct pollfd fds[FRONT_STEPS];
	size_t i;

	for (i = 0; i < r->started; i++)
		fds[i] = (struct pollfd){ .fd = r->stages[i].fd, .events = POLLIN };
	if (ppoll(fds, r->started, NULL, mask) < 0) {
		if (caught && caught != *sent)
			forward(r, *sent = caught);
		return;
	}
	for (i = 0; i < r->started; i++)
		if (fds[i].revents)
			relay_read(&r->relay, i);
	relay_draw(&r->relay);
}

static bool
silent(const struct run *r)
{
	size_t i;

	for (i = 0; i < r->started; i++)
		if (r->stages[i].fd >= 0)
			return false;
	return true;
}

/* Waits for all stages, whose messages have ended. */
static void
reap(struct run *r, const sigset_t *mask, int *sent)
{
	size_t i;

	sigprocmask(SIG_SETMASK, mask, NULL);
	for (i = 0; i < r->started; i++) {
		while (waitpid(r->pids[i], &r->status[i], 0) < 0 && errno == EINTR)
			if (caught && caught != *sent)
				forward(r, *sent = caught);
		r->pids[i] = 0;
	}
}

/* ---- the verdict ---- */

/* The exit status of a process as a shell has it. */
static int
exit_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether a stage ended because the next one stopped reading. */
static bool
cut_off(int status)
{
	return exit_of(status) == 128 + SIGPIPE;
}

/* Returns the first stage that failed by itself; if all that failed were cut off, the first of
 * those; r->started if none failed. */
static size_t
first_failure(const struct run *r)
{
	size_t i, cut = r->started;

	for (i = 0; i < r->started; i++) {
		if (exit_of(r->status[i]) == 0)
			continue;
		if (!cut_off(r->status[i]))
			return i;
		if (cut == r->started)
			cut = i;
	}
	return cut;
}

/* The name that the specification of the import has for the failure of a stage, or NULL. */
static const char *
failure_name(const struct front_stage *s, struct buf *message, int status)
{
	const char *text = buf_string(message);

	if (s->step == STEP_FETCH)
		return "DownloadFailed";
	if (s->step == STEP_CHECK && status == 5)
		return "ValidationFailed";
	if (text && strncmp(text, "apr-unpack: ", 12) == 0 && strstr(text, " (E001)\n"))
		return "UnsupportedFormat";
	return NULL;
}

/* Prints what was held back: the message of the failure, and the last notes of stages that
 * have not failed. */
static void
report(struct run *r, size_t failed)
{
	const struct front_stage *s = &r->p->stages[failed];
	int status = failed < r->started ? exit_of(r->status[failed]) : 0;
	size_t i;

	r->relay.terminal = false;
	relay_clear(&r->relay);
	for (i = 0; i < r->started; i++)
		if (i != failed && exit_of(r->status[i]) == 0)
			relay_release(&r->relay, i, NULL);
		else if (i != failed)
			relay_drop(&r->relay, i);
	if (failed == r->started)
		return;
	relay_release(&r->relay, failed,
	              r->p->import ? failure_name(s, &r->stages[failed].held, status) : NULL);
	if (WIFSIGNALED(r->status[failed]) && !caught && !cut_off(r->status[failed]))
		fprintf(stderr, "apr: %s: was ended by signal %d\n", s->argv[0],
		        WTERMSIG(r->status[failed]));
}

/* Ends this process by the signal that it received. */
static void
end_by_signal(const sigset_t *mask)
{
	signal(caught, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	raise(caught);
}

int
front_run(const struct front_plan *p, struct err *e)
{
	struct run r = { .p = p };
	sigset_t mask;
	size_t i, failed;
	int in = -1, sent = 0, result = 0;

	r.relay = (struct relay){ .stages = r.stages, .terminal = isatty(STDERR_FILENO) == 1 };
	ask_for_progress(r.relay.terminal);
	catch_signals(&mask);
	for (i = 0; i < p->n && result == 0; i++)
		result = start(&r, i, &in, &mask, e);
	close_if_open(in);
	r.relay.n = r.started;
	if (result < 0)
		forward(&r, SIGTERM);
	while (!silent(&r))
		listen_once(&r, &mask, &sent);
	reap(&r, &mask, &sent);
	failed = first_failure(&r);
	report(&r, failed);
	if (caught)
		end_by_signal(&mask);
	return result < 0 ? -1 : failed < r.started ? exit_of(r.status[failed]) : 0;
}
