#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/broker_parts.h"
#include "core/dir.h"
#include "core/err.h"
#include "core/place.h"
#include "core/spool.h"

/* Sends one answer, with fd unless it is -1. */
static int
answer(const struct broker_answer *a, int fd)
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
	return sendmsg(broker.end, &m, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Whether a name may be opened in any folder of an input. */
static bool
may_open(const char *name)
{
	return dir_name_is_plain(name) || dir_name_is_below(name) || dir_name_in_package(name) ||
	       dir_name_in_saved_model(name) || (broker.input_below && dir_name_is_inside(name));
}

/* One folder may have been declared for several names. */
static int
open_beside(const struct broker_ask *q)
{
	struct stat st;
	size_t i;

	for (i = 0; i < broker.folder_count; i++) {
		const struct broker_folder *f = &broker.folders[i];

		if (fstat(f->fd, &st) == 0 && st.st_ino == q->file && st.st_dev == q->device &&
		    (may_open(q->name) || strcmp(q->name, f->name) == 0))
			return dir_open_fd(f->fd, q->name);
	}
	errno = EACCES;
	return -1;
}

static int
spool(void)
{
	struct err e = ERR_INIT;

	if (broker.may_spool)
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
	struct broker_answer a = { 0 };
	int fd = q->what == BROKER_SPOOL ? spool()
	         : q->what == BROKER_OPEN ? open_beside(q)
	         : do_place(q, &passed), r;

	if (fd < 0)
		a.error = errno ? errno : EIO;
	a.file = q->file;
	r = answer(&a, passed || q->what == BROKER_CREATE ? fd : -1);
	if (passed && fd >= 0)
		close(fd);
	return r;
}

/* Closes the descriptors of the caller, so that others see the end of its pipes: the socket becomes
 * 0, the folders follow. */
static void
keep_own(int socket)
{
	const int first_free = 1 + (int)broker.folder_count;
	int fd;
	size_t i;

	/* Below first_free, a copy could take the place of a folder that is still needed. */
	for (i = 0; i < broker.folder_count; i++)
		broker.folders[i].fd = fcntl(broker.folders[i].fd, F_DUPFD, first_free);
	/* The socket is above 2, because tools keep descriptors 0 to 2 open. */
	dup2(socket, 0);
	for (i = 0; i < broker.folder_count; i++)
		broker.folders[i].fd = dup2(broker.folders[i].fd, 1 + (int)i);
	if (broker.folder_count == 0)
		close(1);
	if (syscall(SYS_close_range, (unsigned)first_free, ~0u, 0u) < 0)
		for (fd = first_free; fd < 65536; fd++)
			close(fd);
	broker.end = 0;
}

_Noreturn static void
serve(int socket)
{
	struct rlimit files;
	struct broker_ask q;
	sigset_t all;
	size_t i;

	broker.serves = true;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	keep_own(socket);
	prctl(PR_SET_NAME, "apr-broker");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	while (read(broker.end, &q, sizeof q) == sizeof q) {
		q.name[sizeof q.name - 1] = '\0';
		if (serve_one(&q) < 0)
			break;
	}
	for (i = 0; place_declared(i); i++)
		place_close(place_declared(i));
	_exit(0);
}

void
broker_start(void)
{
	int ends[2];
	pid_t pid;

	if (broker.child || broker.refused || (!broker.may_spool && broker.folder_count == 0 && !place_needs_help()))
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		broker.refused = errno;
		return;
	}
	pid = fork();
	if (pid == 0)
		serve(ends[1]);
	if (pid < 0)
		broker.refused = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return;
	}
	broker.end = ends[0];
	broker.child = pid;
}
