#include "core/remote_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/mem.h"
#include "core/program.h"

#define HELPER "apr-pull"

static struct remote remotes[REMOTES];
static size_t count;

/* ---- sources and their names ---- */

static struct {
	char *name, *source;
} *names;
static size_t names_count, names_cap;

bool
remote_is(const char *path)
{
	static const char *const schemes[] = { "https://", "http://", "hf://", "ollama://",
		"oci://", "s3://" };
	size_t i;

	for (i = 0; path && i < sizeof schemes / sizeof *schemes; i++)
		if (strncmp(path, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}

/* Keeps a name, which becomes owned, and the operand that it stands for. */
static const char *
keep_name(char *name, const char *operand)
{
	char *copy = name ? mem_text(operand, strlen(operand)) : NULL;

	if (!copy || mem_grow(&names, &names_cap, names_count + 1, sizeof *names) < 0) {
		free(copy);
		free(name);
		return NULL;
	}
	names[names_count].source = copy;
	names[names_count++].name = name;
	return name;
}

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f'
	                                            ? (c | 32) - 'a' + 10 : -1;
}

/* Replaces %41 by A, in place. */
static void
decode(char *text)
{
	const char *from = text;

	for (; *from; from++) {
		int high = *from == '%' ? hex(from[1]) : -1, low = high >= 0 ? hex(from[2]) : -1;

		*text++ = low >= 0 && high + low > 0 ? (char)(16 * high + low) : *from;
		from += low >= 0 && high + low > 0 ? 2 : 0;
	}
	*text = '\0';
}

/* The path of file:///PATH or file://localhost/PATH. */
static const char *
local_path(const char *operand)
{
	const char *from = operand + strlen("file://");
	char *path;

	if (strncmp(from, "localhost/", 10) == 0)
		from += 9;
	if (*from != '/')
		return operand;
	path = mem_text(from, strlen(from));
	if (path)
		decode(path);
	return keep_name(path, operand);
}

const char *
remote_name(const char *operand)
{
	const char *host, *at;
	size_t scheme, n;
	char *name;

	if (strncmp(operand, "file://", 7) == 0)
		return local_path(operand);
	if (strncmp(operand, "http", 4) != 0 || !remote_is(operand))
		return operand;
	scheme = (size_t)(strstr(operand, "://") + 3 - operand);
	host = operand + scheme;
	at = memchr(host, '@', strcspn(host, "/?#"));
	host = at ? at + 1 : host;
	n = strcspn(host, "?#");
	if (!at && host[n] == '\0')
		return operand;
	name = mem_text(operand, scheme + n);
	if (name)
		memcpy(name + scheme, host, n);
	return keep_name(name, operand);
}

const char *
remote_source(const char *name)
{
	size_t i;

	for (i = 0; i < names_count; i++)
		if (names[i].name == name)
			return names[i].source;
	for (i = 0; i < names_count; i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].source;
	return name;
}

/* ---- starting ---- */

static struct remote *
find(const char *path)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(remotes[i].name, path) == 0)
			return &remotes[i];
	return NULL;
}

/* In the child. Only the socket and standard error remain open. */
_Noreturn static void
be_helper(const char *program, int socket)
{
	char number[16];
	int null = open("/dev/null", O_RDWR);

	broker_leave();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	(void)fcntl(socket, F_SETFD, 0);
	snprintf(number, sizeof number, "%d", socket);
	mem_unlimit();
	execl(program, HELPER, "--serve", number, (char *)NULL);
	_exit(127);
}

static int
start_helper(struct remote *r)
{
	char program[4096];
	int ends[2];

	if (program_beside(program, sizeof program, HELPER, "to read from the network", &r->why) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(&r->why, r->name, "a socket cannot be created");
	r->child = fork();
	if (r->child == 0)
		be_helper(program, ends[1]);
	close(ends[1]);
	r->socket = ends[0];
	if (r->child > 0)
		return 0;
	r->child = 0;
	close(ends[0]);
	r->socket = -1;
	return err_errno(&r->why, r->name, "its reader cannot be started");
}

/* Sends the first request. Its answer is received when the model is used, inside the
 * sandbox. */
static void
send_source(struct remote *r)
{
	struct remote_ask q = { .what = REMOTE_BEGIN };
	const char *source = remote_source(r->name);

	if (strlen(source) >= sizeof q.text) {
		err_set(&r->why, ERR_USAGE, NULL, "a source of %zu bytes is too long",
		        strlen(source));
		return;
	}
	strcpy(q.text, source);
	if (send(r->socket, &q, REMOTE_ASK + strlen(source) + 1, MSG_NOSIGNAL) < 0)
		err_errno(&r->why, r->name, "its reader cannot be started");
}

static struct remote *
add(const char *path)
{
	struct remote *r = &remotes[count];

	if (count == REMOTES)
		return NULL;
	*r = (struct remote){ .name = path, .socket = -1 };
	count++;
	return r;
}

void
remote_start(const char *path)
{
	struct remote *r = find(path) ? NULL : add(path);

	if (r && start_helper(r) == 0)
		send_source(r);
}

void
remote_adopt(const char *path, int socket)
{
	struct remote *r = find(path) ? NULL : add(path);

	if (!r)
		return;
	r->socket = socket;
	(void)fcntl(socket, F_SETFD, FD_CLOEXEC);
	send_source(r);
}

void
remote_hang_up(void)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (remotes[i].socket >= 0)
			close(remotes[i].socket);
		if (remotes[i].window)
			munmap((void *)(uintptr_t)remotes[i].window, remotes[i].window_bytes);
		if (remotes[i].child)
			while (waitpid(remotes[i].child, NULL, 0) < 0 && errno == EINTR)
				;
		remotes[i].child = 0;
		remotes[i].socket = -1;
	}
	count = 0;
}

size_t
remote_sockets(int sockets[REMOTES])
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (remotes[i].socket >= 0)
			sockets[n++] = remotes[i].socket;
	return n;
}

/* ---- requests ---- */

/* Receives a packet, and the descriptor that it has. Returns its bytes, or -1 with errno. */
static ssize_t
receive(int socket, struct remote_answer *a, int *fd)
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

	*fd = -1;
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *fd))
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	return n;
}

static int
take_answer(struct remote *r, const struct remote_ask *q, struct remote_answer *a, int *fd,
            struct err *e)
{
	ssize_t n = receive(r->socket, a, fd);

	if (n <= 0)
		err_set(&r->why, ERR_IO, r->name, "its reader, " HELPER ", has ended");
	else if (remote_check(q, a, (size_t)n, r->window_bytes) < 0)
		err_set(&r->why, ERR_IO, r->name, "its reader, " HELPER ", gives a wrong answer");
	if (r->why.code != ERR_NONE) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		if (e->code == ERR_NONE)
			*e = r->why;
		return -1;
	}
	if (a->code == ERR_NONE)
		return 0;
	err_set(e, (enum err_code)a->code, *a->text.why.object ? a->text.why.object : NULL, "%s",
	        a->text.why.fact);
	e->missing = a->missing != 0;
	return *a->text.why.hint ? err_hint(e, "%s", a->text.why.hint) : -1;
}

int
remote_ask(struct remote *r, const struct remote_ask *q, struct remote_answer *a, int *fd,
           struct err *e)
{
	struct iovec part = { (void *)(uintptr_t)q, REMOTE_ASK + (*q->text ? strlen(q->text) + 1 : 0) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	*fd = -1;
	if (r->why.code != ERR_NONE) {
		if (e->code == ERR_NONE)
			*e = r->why;
		return -1;
	}
	do
		n = sendmsg(r->socket, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	/* If the helper has ended, a last answer may still say why. */
	return take_answer(r, q, a, fd, e);
}

static int
begin(struct remote *r, struct err *e)
{
	const struct remote_ask q = { .what = REMOTE_BEGIN };
	struct remote_answer a;
	void *p;
	int fd;

	if (take_answer(r, &q, &a, &fd, e) < 0) {
		r->why = *e;
		return -1;
	}
	p = fd < 0 ? MAP_FAILED : mmap(NULL, (size_t)a.n, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return err_errno(&r->why, r->name, "its window cannot be mapped");
	r->window = p;
	r->window_bytes = (size_t)a.n;
	r->file = a.file;
	r->begun = true;
	return 0;
}

struct remote *
remote_begun(const char *path, struct err *e)
{
	struct remote *r = find(path);

	if (!r) {
		remote_start(path);
		r = find(path);
	}
	if (!r) {
		err_set(e, ERR_MEMORY, path, "is one remote model too many: %d are read at most",
		        REMOTES);
		return NULL;
	}
	if (r->why.code == ERR_NONE && (r->begun || begin(r, e) == 0))
		return r;
	if (e->code == ERR_NONE)
		*e = r->why;
	return NULL;
}
