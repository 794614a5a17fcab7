#include "cli/pull/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/pull/confine.h"
#include "cli/pull/told.h"
#include "core/broker.h"
#include "core/mem.h"
#include "core/netbox.h"
#include "core/program.h"
#include "core/remote.h"
#include "core/spool.h"

#define READER "apr-unpack"

/* Appends "--NAME=VALUE" for each value. */
static char **
add_list(char **to, const char *name, const struct opt_list *list)
{
	size_t i, n;

	for (i = 0; i < list->n; i++) {
		n = strlen(name) + strlen(list->items[i]) + 4;
		*to = malloc(n);
		if (!*to)
			_exit(127);
		snprintf(*to++, n, "--%s=%s", name, list->items[i]);
	}
	return to;
}

/* The command line of apr-unpack, without its last words. Room for 4 more. NULL: no memory. */
static char **
command(const struct select_options *select, bool progress, char ***end)
{
	char **words = mem_array(select->only.n + select->except.n + 8, sizeof *words), **to = words;
	static char self[] = READER, shown[] = "--progress";

	if (!words)
		return NULL;
	*to++ = self;
	to = add_list(to, "only", &select->only);
	to = add_list(to, "except", &select->except);
	if (progress)
		*to++ = shown;
	*end = to;
	return words;
}

int
stream_path(void (*child)(const void *ctx, int to), const void *ctx, char *path, size_t size,
            struct err *e)
{
	int data[2], status;
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(data, O_CLOEXEC) < 0)
		return err_errno(e, NULL, "a pipe cannot be created");
	pid = fork();
	if (pid == 0) {
		child(ctx, data[1]);
		_exit(127);
	}
	close(data[1]);
	while (got < size && (n = read(data[0], path + got, size - got)) > 0)
		got += (size_t)n;
	close(data[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_errno(e, NULL, "the process that fetches cannot be started");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		*e = (struct err){ .code = ERR_CHILD, .status = WIFEXITED(status) ? WEXITSTATUS(status) : 1 };
		return -1;
	}
	if (got == 0 || path[got - 1] != '\0')
		return err_set(e, ERR_IO, NULL, "the process that fetches has sent no path");
	return 0;
}

int
stream_unpack(const char *path, const struct select_options *select, struct err *e)
{
	static char last[] = "--";
	char program[4096], **to, **words = command(select, false, &to);

	if (!words || !(to[1] = mem_text(path, strlen(path))))
		return err_memory(e);
	to[0] = last;
	if (program_beside(program, sizeof program, READER, "to read model files", e) < 0)
		return -1;
	execv(program, words);
	return err_errno(e, program, "cannot be started");
}

/* In the child. */
_Noreturn static void
be_reader(const struct stream_pull *p, const char *program, int socket)
{
	const char *name = remote_name(p->source);
	static char number[16], remote[] = "--remote", last[] = "--";
	char **to, **words = command(&p->select, p->progress, &to);

	broker_leave();
	if (!words || !name)
		_exit(127);
	snprintf(number, sizeof number, "%d", socket);
	*to++ = remote;
	*to++ = number;
	*to++ = last;
	*to = mem_text(name, strlen(name));
	(void)fcntl(socket, F_SETFD, 0);
	signal(SIGPIPE, SIG_DFL);
	mem_unlimit();
	execv(program, words);
	_exit(127);
}

/* Tells the licence of a model of the hub, and refuses what the policy does not allow. */
static int
consider(const struct stream_pull *p, struct err *e)
{
	struct pull_options how = { .token_file = p->serve.token_file, .plan_only = true,
		.folder = -1, .offline = p->serve.offline || hf_is_offline(), .note = p->serve.note };
	struct pull x = { .repo = { .fd = -1 } };
	struct web *web = web_open(&p->serve.web, e);
	int r = web ? pull_open(&x, p->hub, &how, web, e) : -1;

	if (r == 0)
		told_before(&x);
	if (r == 0 && p->policy)
		r = told_policy(&x, p->policy, e);
	pull_close(&x);
	web_close(web);
	return r;
}

/* Standard output is the reader's alone. */
static void
leave_output(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDOUT_FILENO);
	close(null);
}

int
stream_serve(int socket, const struct serve_options *o, struct err *e)
{
	const struct confine c = { .token_file = o->token_file, .reads_cache = !o->no_cache };
	int r;

	netbox_may_write(spool_folder());
	r = confine(&c, e) < 0 ? -1 : serve_run(socket, o, e);
	close(socket);
	return r;
}

int
stream_pull(const struct stream_pull *p, struct err *e)
{
	struct serve_options o = p->serve;
	char program[4096];
	int ends[2], status = 0;
	pid_t child;

	o.source = p->source;
	if (p->hub->kind == HUB_HF && consider(p, e) < 0)
		return -1;
	if (program_beside(program, sizeof program, READER, "to read model files", e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, NULL, "a socket cannot be created");
	child = fork();
	if (child == 0)
		be_reader(p, program, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return err_errno(e, program, "cannot be started");
	}
	leave_output();
	stream_serve(ends[0], &o, e);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) {
		/* The reader of the stream has enough of it. */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	if (WIFSIGNALED(status))
		return err_set(e, ERR_IO, p->source, "its reader was killed by signal %d",
		               WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		*e = (struct err){ .code = ERR_CHILD, .status = WEXITSTATUS(status) };
	return e->code == ERR_NONE ? 0 : -1;
}
