#include "core/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/err.h"
#include "core/place.h"
#include "core/spool.h"

struct answer {
	int error; /* errno, or 0 */
	uint64_t file;
};

/* What was declared. */
static bool may_spool;
static int input_folder = -1;
static char input_name[257]; /* may be opened under any name */

static volatile sig_atomic_t end = -1; /* this process's end of the socket */
static volatile sig_atomic_t child;
static int refused; /* errno of the failed start, or 0 */
static bool serves;

void
broker_may_spool(void)
{
	may_spool = true;
}

void
broker_may_open(int folder, const char *name)
{
	input_folder = folder;
	snprintf(input_name, sizeof input_name, "%s", name);
}

bool
broker_runs(void)
{
	return !serves && (child || refused);
}

bool
broker_serves(void)
{
	return serves;
}

int
broker_socket(void)
{
	return end;
}

/* ---- the helper ---- */

/* Sends one answer, with fd unless it is -1. */
static int
answer(const struct answer *a, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)(uintptr_t)a, sizeof *a };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	}
	return sendmsg(end, &m, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int
open_beside(const char *name)
{
	if (input_folder < 0 || (!dir_name_is_plain(name) && !dir_name_is_below(name) &&
	                         strcmp(name, input_name) != 0)) {
		errno = EACCES;
		return -1;
	}
	return dir_open_fd(input_folder, name);
}

static int
spool(void)
{
	struct err e = ERR_INIT;

	if (may_spool)
		return spool_file(&e);
	errno = EACCES;
	return -1;
}

/* Serves a request for an output and returns what broker_ask returns. *passed: the
 * descriptor is sent and then closed. */
static int
do_place(struct broker_ask *q, bool *passed)
{
	struct place *p = place_declared(q->place);
	size_t file = (size_t)q->file;
	int r = -1;

	errno = EINVAL;
	switch (p ? q->what : BROKER_OPEN) {
	case BROKER_SPECIAL:
		*passed = true;
		return place_special(p);
	case BROKER_CREATE:
		r = place_create(p, q->flag & 0777, &file);
		break;
	case BROKER_NAME:
		r = place_name(p, file, q->flag != 0);
		break;
	case BROKER_VACANT:
		r = place_vacant(p);
		break;
	case BROKER_STAGE:
		r = place_stage(p);
		break;
	case BROKER_NAME_STAGED:
		r = place_name_staged(p, file, q->name);
		break;
	case BROKER_BECOME:
		r = place_become(p, q->flag != 0);
		break;
	case BROKER_MOVE:
		r = place_move(p, q->flag != 0, &file);
		break;
	case BROKER_DROP:
		place_drop(p, file);
		r = 0;
		break;
	case BROKER_SPOOL:
	case BROKER_OPEN:
		break;
	}
	q->file = file;
	return r;
}

static int
serve_one(struct broker_ask *q)
{
	bool passed = q->what == BROKER_SPOOL || q->what == BROKER_OPEN;
	struct answer a = { 0 };
	int fd = q->what == BROKER_SPOOL ? spool()
	         : q->what == BROKER_OPEN ? open_beside(q->name)
	         : do_place(q, &passed), r;

	if (fd < 0)
		a.error = errno ? errno : EIO;
	a.file = q->file;
	r = answer(&a, passed || q->what == BROKER_CREATE ? fd : -1);
	if (passed && fd >= 0)
		close(fd);
	return r;
}

/* Closes the descriptors of the caller, so that others see the end of its pipes. */
static void
keep_two(int socket)
{
	int fd;

	/* Both are above 2, because tools keep descriptors 0 to 2 open. */
	dup2(socket, 0);
	if (input_folder >= 0)
		dup2(input_folder, 1);
	else
		close(1);
	if (syscall(SYS_close_range, 2u, ~0u, 0u) < 0)
		for (fd = 2; fd < 65536; fd++)
			close(fd);
	end = 0;
	input_folder = input_folder < 0 ? -1 : 1;
}

_Noreturn static void
serve(int socket)
{
	struct rlimit files;
	struct broker_ask q;
	sigset_t all;
	size_t i;

	serves = true;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	keep_two(socket);
	prctl(PR_SET_NAME, "apr-broker");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	while (read(end, &q, sizeof q) == sizeof q) {
		q.name[sizeof q.name - 1] = '\0';
		if (serve_one(&q) < 0)
			break;
	}
	for (i = 0; place_declared(i); i++)
		place_close(place_declared(i));
	_exit(0);
}

/* ---- the process in the sandbox ---- */

void
broker_start(void)
{
	int ends[2];
	pid_t pid;

	if (child || refused || (!may_spool && input_folder < 0 && !place_needs_help()))
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		refused = errno;
		return;
	}
	pid = fork();
	if (pid == 0)
		serve(ends[1]);
	if (pid < 0)
		refused = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return;
	}
	end = ends[0];
	child = pid;
}

/* Receives an answer, and its descriptor if it has one. Returns 0, or -1 with errno. */
static int
receive(struct answer *a, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof *fd)];
	} control;
	struct iovec part = { a, sizeof *a };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.room, .msg_controllen = sizeof control.room };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(end, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != sizeof *a) {
		errno = n < 0 ? errno : EPIPE;
		return -1;
	}
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *fd))
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	return 0;
}

static bool
brings_file(enum broker_request what)
{
	return what == BROKER_CREATE || what == BROKER_SPECIAL || what == BROKER_SPOOL ||
	       what == BROKER_OPEN;
}

int
broker_ask(const struct broker_ask *q, uint64_t *file)
{
	struct answer a;
	ssize_t n;
	int fd = -1;

	if (refused) {
		errno = refused;
		return -1;
	}
	do
		n = write(end, q, sizeof *q);
	while (n < 0 && errno == EINTR);
	if (n < 0 || receive(&a, &fd) < 0)
		return -1;
	if (file)
		*file = a.file;
	if (a.error == 0 && fd < 0 && brings_file(q->what))
		a.error = EMFILE; /* the descriptor table is full */
	errno = a.error;
	return a.error ? -1 : fd >= 0 ? fd : 0;
}

void
broker_end(void)
{
	pid_t pid = child;

	if (!pid)
		return;
	child = 0;
	close(end);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void
broker_leave(void)
{
	if (child)
		close(end);
	child = 0;
	end = -1;
}
