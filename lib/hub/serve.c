#include "hub/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/num.h"
#include "core/remote_wire.h"
#include "core/spool.h"
#include "hub/serve_files.h"

#define WHOLE_PART ((uint64_t)64 << 20) /* of a file that is fetched whole, by one request */

struct session {
	struct serve serve;
	int socket, window;
	uint8_t *bytes;
};

/* ---- answers ---- */

static int
send_answer(int socket, const struct remote_answer *a, size_t n, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)(uintptr_t)a, n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	}
	do
		sent = sendmsg(socket, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

static int
send_error(int socket, const struct err *e)
{
	struct remote_answer a = { .code = e->code, .missing = (uint32_t)e->missing };

	memcpy(a.text.why.object, e->object, sizeof a.text.why.object);
	memcpy(a.text.why.fact, e->fact, sizeof a.text.why.fact);
	memcpy(a.text.why.hint, e->hint, sizeof a.text.why.hint);
	return send_answer(socket, &a, sizeof a, -1);
}

/* ---- files ---- */

static struct served *
file_of(struct serve *s, uint32_t number, struct err *e)
{
	if (number < s->count)
		return s->files[number];
	err_set(e, ERR_IO, s->source.label, "has no such file");
	e->missing = 1;
	return NULL;
}

/* A descriptor of a folder: of nothing else, and not of a file. */
static int
make_folder(struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, NULL, "a handle of a remote folder cannot be made");
	close(ends[0]);
	return ends[1];
}

/* Opens what fd is once more, with an offset of its own. */
static int
open_again(int fd, int flags)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

/* A descriptor that can be duplicated and has a size, and cannot be read. */
static int
make_handle(uint64_t bytes, struct err *e)
{
	int fd = memfd_create("apr-remote", MFD_CLOEXEC), handle = -1;
	if (fd >= 0 && bytes <= INT64_MAX && ftruncate(fd, (off_t)bytes) == 0)
		handle = open_again(fd, O_WRONLY);
	if (handle < 0)
		err_errno(e, NULL, "a handle of a remote file cannot be made");
	if (fd >= 0)
		close(fd);
	return handle;
}

/* The first bytes of the file came with its size. */
static void
give_first(struct serve *s, const struct served *f)
{
	if (s->first_bytes && s->count && f == s->files[0])
		ranges_give(s->ranges, (uint32_t)f->number, s->first, s->first_bytes);
	s->first_bytes = 0;
	free(s->first);
	s->first = NULL;
}

/* The number of a file in ranges. */
static int
number_of(struct serve *s, struct served *f, uint32_t *number, struct err *e)
{
	if (f->number < 0) {
		content_hash_start(&f->hash, f->kind, f->size);
		pthread_mutex_lock(&s->mutex);
		f->number = ranges_add(s->ranges, f->size);
		pthread_mutex_unlock(&s->mutex);
		if (f->number < 0)
			return err_memory(e);
		give_first(s, f);
	}
	*number = (uint32_t)f->number;
	return 0;
}

static void
seen(void *serve, uint32_t file, const void *p, size_t n)
{
	struct served *f = serve_numbered(serve, file);

	if (f)
		content_hash_add(&f->hash, p, n);
}

/* ---- a file that is fetched whole ---- */

struct whole {
	int fd;
	uint64_t at;
	struct content_hash hash;
};

static int
put_whole(void *ctx, const void *p, size_t n, struct err *e)
{
	struct whole *w = ctx;
	const uint8_t *from = p;

	content_hash_add(&w->hash, p, n);
	while (n > 0) {
		ssize_t put = pwrite(w->fd, from, n, (off_t)w->at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_errno(e, "spool file", "cannot be written");
		from += put;
		w->at += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}

static int
refuse_again(void *ctx, struct err *e)
{
	(void)ctx;
	return err_set(e, ERR_NETWORK, NULL, "the file has changed meanwhile");
}

/* Compares a digest with the file's, if that is known. Ends the hash. */
static int
compare(const struct served *f, struct content_hash *h, struct err *e)
{
	char sha256[65], git[65];
	const char *got = f->kind == DOWNLOAD_GIT ? git : sha256;

	if (content_hash_finish(h, sha256, git, e) < 0)
		return -1;
	if (f->kind == DOWNLOAD_UNKNOWN || strcmp(got, f->digest) == 0)
		return 0;
	return err_set(e, ERR_CHECKSUM, f->label, "its %s is %.64s, not the %.64s that it should be",
	               f->kind == DOWNLOAD_GIT ? "git SHA-1" : "SHA-256", got, f->digest);
}

/* Fetches the file into one without a name, where it stays for this process. */
static int
fetch_whole(struct serve *s, struct served *f, struct err *e)
{
	struct whole w = { .fd = spool_file(e) };
	atomic_bool stop = false;
	struct ranges_sink sink = { .data = put_whole, .again = refuse_again, .ctx = &w, .stop = &stop };
	int r = w.fd < 0 ? -1 : 0;

	content_hash_start(&w.hash, f->kind, f->size);
	while (r == 0 && w.at < f->size)
		r = serve_fetch_file(s, f, RANGES_WORKERS, w.at, w.at + num_min(WHOLE_PART, f->size - w.at),
		                     &sink, e);
	if (r == 0)
		r = compare(f, &w.hash, e);
	content_hash_abandon(&w.hash);
	if (r == 0)
		f->own = w.fd;
	else if (w.fd >= 0)
		close(w.fd);
	return r;
}

/* ---- requests: 0, or -1 with e filled ---- */

static int
do_name(struct serve *s, const struct remote_ask *q, struct remote_answer *a, struct err *e)
{
	struct served *f;

	if (serve_list(s, e) < 0 || !(f = file_of(s, q->file, e)))
		return -1;
	if (strlen(f->name) >= sizeof a->text.name)
		return err_set(e, ERR_CORRUPT, f->label, "has a name that is too long");
	strcpy(a->text.name, f->name);
	a->n = f->size;
	return 0;
}

static int
do_find(struct serve *s, const struct remote_ask *q, struct remote_answer *a, struct err *e)
{
	struct served *f = serve_find(s, q->text, &a->file, e);

	if (!f)
		return -1;
	a->n = f->size;
	return 0;
}

static int
do_open(struct serve *s, const struct remote_ask *q, struct remote_answer *a, int *fd,
        struct err *e)
{
	struct served *f = q->file == REMOTE_FOLDER ? NULL : file_of(s, q->file, e);
	uint32_t number;

	if ((!f && q->file != REMOTE_FOLDER) || (f && serve_flowing(s, f, false, e) < 0))
		return -1;
	if (f && f->own >= 0) {
		a->own = 1;
		*fd = open_again(f->own, O_RDONLY);
		return *fd < 0 ? err_errno(e, f->label, "cannot be opened") : 0;
	}
	if (f && f->flowing < 0 && number_of(s, f, &number, e) < 0)
		return -1;
	*fd = f ? make_handle(f->size, e) : make_folder(e);
	return *fd < 0 ? -1 : 0;
}

static int
do_read(struct session *x, const struct remote_ask *q, struct remote_answer *a, struct err *e)
{
	struct serve *s = &x->serve;
	struct served *f = file_of(s, q->file, e);
	uint32_t number;

	if (f && f->flowing >= 0)
		return serve_flow_read(s, f, q->at, q->n, x->bytes, &a->at, &a->n, e);
	if (!f || number_of(s, f, &number, e) < 0)
		return -1;
	return ranges_read(s->ranges, number, q->at, q->n, q->more > q->n ? q->more : q->n, &a->at,
	                   &a->n, e);
}

static int
do_want(struct serve *s, const struct remote_ask *q, struct err *e)
{
	struct served *f = q->n ? file_of(s, q->file, e) : NULL;
	uint32_t number;

	if (q->n == 0)
		return ranges_want(s->ranges, 0, 0, 0, e);
	if (!f)
		return -1;
	if (f->own >= 0 || f->flowing >= 0)
		return 0;
	if (number_of(s, f, &number, e) < 0)
		return -1;
	return ranges_want(s->ranges, number, q->at, q->n, e);
}

static int
do_whole(struct serve *s, const struct remote_ask *q, int *fd, struct err *e)
{
	struct served *f = file_of(s, q->file, e);

	if (!f || serve_flowing(s, f, true, e) < 0 || (f->own < 0 && fetch_whole(s, f, e) < 0))
		return -1;
	*fd = open_again(f->own, O_RDONLY);
	return *fd < 0 ? err_errno(e, f->label, "cannot be opened") : 0;
}

/* Compares the digests of the files that were read whole; notes how many were not. */
static int
do_prove(struct serve *s, struct err *e)
{
	const struct served *last = NULL;
	size_t i, parts = 0;
	char text[600];

	if (s->flow && flow_end(s->flow, e) < 0)
		return -1;
	for (i = 0; i < s->count; i++) {
		struct served *f = s->files[i];

		if (f->number < 0 || f->own >= 0 || f->kind == DOWNLOAD_UNKNOWN)
			continue;
		if (ranges_all_seen(s->ranges, (uint32_t)f->number, e)) {
			if (compare(f, &f->hash, e) < 0)
				return -1;
		} else if (e->code != ERR_NONE) {
			return -1;
		} else {
			last = f;
			parts++;
		}
	}
	if (parts == 1)
		snprintf(text, sizeof text, "%.500s: only parts of it were read, so its digest "
		         "is not verified", last->label);
	else if (parts)
		snprintf(text, sizeof text, "%.450s: only parts of %zu files were read, so their "
		         "digests are not verified", s->source.label, parts);
	if (parts && s->o->note)
		s->o->note(text);
	return 0;
}

static int
answer(struct session *x, const struct remote_ask *q)
{
	struct serve *s = &x->serve;
	struct remote_answer a = { .code = ERR_NONE };
	struct err e = ERR_INIT;
	size_t n = REMOTE_ANSWER;
	int fd = -1, r = -1;

	switch (q->what) {
	case REMOTE_NAME:
		r = do_name(s, q, &a, &e);
		n = sizeof a;
		break;
	case REMOTE_FIND:
		r = do_find(s, q, &a, &e);
		break;
	case REMOTE_OPEN:
		r = do_open(s, q, &a, &fd, &e);
		break;
	case REMOTE_READ:
		r = do_read(x, q, &a, &e);
		break;
	case REMOTE_WANT:
		r = do_want(s, q, &e);
		break;
	case REMOTE_WHOLE:
		r = do_whole(s, q, &fd, &e);
		break;
	case REMOTE_PROVE:
		r = do_prove(s, &e);
		break;
	default:
		err_set(&e, ERR_IO, NULL, "is not a request");
	}
	r = r < 0 ? send_error(x->socket, &e) : send_answer(x->socket, &a, n, fd);
	if (fd >= 0)
		close(fd);
	return r;
}

/* ---- the session ---- */

/* Receives a request: 1, or 0 at the end. */
static int
receive(int socket, struct remote_ask *q)
{
	ssize_t n;

	do
		n = recv(socket, q, sizeof *q, 0);
	while (n < 0 && errno == EINTR);
	q->text[sizeof q->text - 1] = '\0';
	if (n >= 0 && (size_t)n < sizeof *q)
		((char *)q)[n] = '\0';
	return n >= (ssize_t)REMOTE_ASK;
}

static int
prepare(struct session *x, struct err *e)
{
	static const struct ranges_ops ops = { .fetch = serve_fetch, .seen = seen };
	struct serve *s = &x->serve;
	void *p = MAP_FAILED;

	pthread_mutex_init(&s->mutex, NULL);
	x->window = memfd_create("apr-window", MFD_CLOEXEC);
	if (x->window >= 0 && ftruncate(x->window, SERVE_WINDOW) == 0)
		p = mmap(NULL, SERVE_WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, x->window, 0);
	if (p == MAP_FAILED)
		return err_errno(e, NULL, "a window of %zu bytes cannot be made", SERVE_WINDOW);
	x->bytes = p;
	s->web = web_open(&s->o->web, e);
	s->ranges = s->web ? ranges_open(x->bytes, &ops, s, e) : NULL;
	return s->ranges ? 0 : -1;
}

static int
begin(struct session *x, const struct remote_ask *q, struct err *e)
{
	struct remote_answer a = { .code = ERR_NONE };

	if (q->what != REMOTE_BEGIN)
		return err_set(e, ERR_IO, NULL, "the first request must name the source");
	if (prepare(x, e) < 0)
		return -1;
	if ((x->serve.o->pull
	         ? serve_open_flow(&x->serve, e)
	         : serve_open(&x->serve, x->serve.o->source ? x->serve.o->source : q->text, e)) < 0)
		return -1;
	a.file = x->serve.folder ? REMOTE_FOLDER : 0;
	a.n = SERVE_WINDOW;
	return send_answer(x->socket, &a, REMOTE_ANSWER, x->window);
}

int
serve_run(int socket, const struct serve_options *o, struct err *e)
{
	static struct session x;
	struct remote_ask *q = malloc(sizeof *q);
	struct err why = ERR_INIT;

	if (!q)
		return err_memory(e);
	x = (struct session){ .serve = { .o = o }, .socket = socket, .window = -1 };
	(void)fcntl(socket, F_SETFD, FD_CLOEXEC);
	if (receive(socket, q) && begin(&x, q, &why) < 0 && why.code != ERR_NONE)
		send_error(socket, &why);
	while (why.code == ERR_NONE && receive(socket, q) && answer(&x, q) == 0)
		;
	free(q);
	return 0;
}
