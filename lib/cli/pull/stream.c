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

#include "cli/confine.h"
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
			_exit(PROGRAM_UNSTARTED);
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

/* Where the reader waits for the word to begin, and what it serves. */
struct gate {
	int go[2], socket[2];
};

static void
close_gate(struct gate *g)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		if (g->go[i] >= 0)
			close(g->go[i]);
		if (g->socket[i] >= 0)
			close(g->socket[i]);
		g->go[i] = g->socket[i] = -1;
	}
}

static int
open_gate(struct gate *g, struct err *e)
{
	*g = (struct gate){ { -1, -1 }, { -1, -1 } };
	if (pipe2(g->go, O_CLOEXEC) == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, g->socket) == 0)
		return 0;
	err_errno(e, NULL, "a socket cannot be created");
	close_gate(g);
	return -1;
}

/* In the child: becomes apr-unpack at the word, and ends without it. */
_Noreturn static void
be_reader(const struct stream_pull *p, const char *program, struct gate *g)
{
	const char *name = remote_name(p->source);
	static char number[16], remote[] = "--remote", last[] = "--";
	char **to, **words = command(&p->select, p->progress, &to), word;

	broker_leave();
	close(g->go[1]);
	close(g->socket[0]);
	if (!words || !name)
		_exit(PROGRAM_UNSTARTED);
	if (read(g->go[0], &word, 1) != 1)
		_exit(0);
	snprintf(number, sizeof number, "%d", g->socket[1]);
	*to++ = remote;
	*to++ = number;
	*to++ = last;
	*to = mem_text(name, strlen(name));
	(void)fcntl(g->socket[1], F_SETFD, 0);
	signal(SIGPIPE, SIG_DFL);
	mem_unlimit();
	execv(program, words);
	_exit(PROGRAM_UNSTARTED);
}

/* Finds out about the source, tells its licence, and refuses what the policy does not allow. */
static int
consider(const struct stream_pull *p, struct pull *x, const struct pull_options *how,
         struct web *web, struct err *e)
{
	if (pull_open(x, p->hub, how, web, e) < 0)
		return -1;
	told_before(x);
	return p->policy ? told_policy(x, p->policy, e) : 0;
}

/* Reads in place: of the hub, the licence is asked for first. */
static int
consider_only(const struct stream_pull *p, struct web *web, struct err *e)
{
	struct pull_options how = { .token_file = p->serve.token_file, .plan_only = true,
		.folder = -1, .offline = p->serve.offline || hf_is_offline(), .note = p->serve.note };
	struct pull x = { .repo = { .fd = -1 } };
	int r = p->hub->kind == HUB_HF ? consider(p, &x, &how, web, e) : 0;

	pull_close(&x);
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

/* Confines this process, and gives the reader the word once there is something to read. */
static int
serve(const struct stream_pull *p, struct gate *g, struct err *e)
{
	static struct pull x;
	struct serve_options o = p->serve;
	const struct confine c = { .policy = p->policy, .token_file = o.token_file,
		.reads_cache = !o.no_cache, .fills_cache = p->pull && !p->pull->offline };
	struct web *web;
	int r = -1;

	x = (struct pull){ .repo = { .fd = -1 } };
	netbox_may_write(spool_folder());
	web = confine(&c, e) < 0 ? NULL : web_open(&o.web, e);
	if (web)
		r = p->pull ? consider(p, &x, p->pull, web, e) : consider_only(p, web, e);
	if (r == 0 && write(g->go[1], "", 1) != 1)
		r = err_errno(e, READER, "cannot be started");
	o.source = p->source;
	o.pull = p->pull ? &x : NULL;
	return r < 0 ? -1 : serve_run(g->socket[0], &o, e);
}

/* Waits for the reader, and ends as it has ended. */
static int
join(const struct stream_pull *p, pid_t child, struct err *e)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) {
		/* The reader of the stream has enough of it. */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	if (WIFSIGNALED(status))
		return err_set(e, ERR_IO, remote_name(p->source), "its reader was killed by signal %d",
		               WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		*e = (struct err){ .code = ERR_CHILD, .status = WEXITSTATUS(status) };
	if (WEXITSTATUS(status) == PROGRAM_UNSTARTED)
		program_unstarted(READER, e);
	return e->code == ERR_NONE ? 0 : -1;
}

int
stream_pull(const struct stream_pull *p, struct err *e)
{
	char program[4096];
	struct gate g;
	pid_t child;

	if (program_beside(program, sizeof program, READER, "to read model files", e) < 0 ||
	    open_gate(&g, e) < 0)
		return -1;
	child = fork();
	if (child == 0)
		be_reader(p, program, &g);
	if (child < 0) {
		close_gate(&g);
		return err_errno(e, program, "cannot be started");
	}
	leave_output();
	close(g.socket[1]);
	g.socket[1] = -1;
	serve(p, &g, e);
	close_gate(&g);
	return join(p, child, e);
}

void
stream_exit(struct err *e)
{
	_exit(tool_end(e));
}
