#include "core/broker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/broker_parts.h"

struct broker_state broker = { .end = -1 };

void
broker_may_spool(void)
{
	broker.may_spool = true;
}

void
broker_may_open_below(void)
{
	broker.input_below = true;
}

void
broker_may_open(int folder, const char *name)
{
	struct broker_folder *f = &broker.folders[broker.folder_count];

	if (broker.folder_count == BROKER_FOLDERS)
		return;
	f->fd = folder;
	snprintf(f->name, sizeof f->name, "%s", name);
	broker.folder_count++;
}

bool
broker_runs(void)
{
	return !broker.serves && (broker.child || broker.refused);
}

bool
broker_serves(void)
{
	return broker.serves;
}

int
broker_socket(void)
{
	return broker.end;
}

/* Receives an answer, and its descriptor if it has one. Returns 0, or -1 with errno. */
static int
receive(struct broker_answer *a, int *fd)
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
		n = recvmsg(broker.end, &m, MSG_CMSG_CLOEXEC);
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
	struct broker_answer a;
	ssize_t n;
	int fd = -1;

	if (broker.refused) {
		errno = broker.refused;
		return -1;
	}
	do
		n = write(broker.end, q, sizeof *q);
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
	pid_t pid = broker.child;

	if (!pid)
		return;
	broker.child = 0;
	close(broker.end);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void
broker_leave(void)
{
	if (broker.child)
		close(broker.end);
	broker.child = 0;
	broker.end = -1;
}
