#include "core/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/remote_parts.h"

/* Files and folders with a handle. A descriptor belongs to the one with the same inode. */
struct handle {
	struct remote *of;           /* NULL: lent */
	struct remote_lender lender;
	uint32_t file;
	int fd; /* the first descriptor; others are its duplicates */
	dev_t device;
	ino_t inode;
	uint64_t bytes;
};

static struct handle *handles;
static size_t handle_cap;
static atomic_size_t handle_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct err why; /* of the last failure */

/* Begins a use: forgets the last failure. */
static void
enter(void)
{
	pthread_mutex_lock(&mutex);
	why = (struct err)ERR_INIT;
}

/* Ends it and returns r; after a failure errno is set. */
static int
leave(int r)
{
	int number = why.missing ? ENOENT : why.code != ERR_NONE ? EIO : errno;

	pthread_mutex_unlock(&mutex);
	if (r < 0)
		errno = number;
	return r;
}

int
remote_fail(const char *name, struct err *e)
{
	int number = errno;

	pthread_mutex_lock(&mutex);
	if (why.code != ERR_NONE && e->code == ERR_NONE)
		*e = why;
	pthread_mutex_unlock(&mutex);
	errno = number;
	return e->code != ERR_NONE ? -1 : err_errno(e, name, "cannot be read");
}

/* ---- handles ---- */

static struct handle *
handle_of(int fd)
{
	size_t i, n = atomic_load(&handle_count);
	struct stat st;

	if (n == 0 || fstat(fd, &st) < 0)
		return NULL;
	for (i = 0; i < n; i++)
		if (handles[i].inode == st.st_ino && handles[i].device == st.st_dev)
			return &handles[i];
	return NULL;
}

bool
remote_holds(int fd)
{
	bool holds;

	if (atomic_load(&handle_count) == 0)
		return false;
	pthread_mutex_lock(&mutex);
	holds = handle_of(fd) != NULL;
	pthread_mutex_unlock(&mutex);
	return holds;
}

/* Adds a handle for the descriptor and returns a duplicate of it. */
static int
add_handle(struct remote *r, uint32_t file, int fd)
{
	size_t n = atomic_load(&handle_count);
	struct stat st;

	if (fstat(fd, &st) < 0 || mem_grow(&handles, &handle_cap, n + 1, sizeof *handles) < 0) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	handles[n] = (struct handle){ .of = r, .file = file, .fd = fd, .device = st.st_dev,
		.inode = st.st_ino, .bytes = (uint64_t)st.st_size };
	atomic_store(&handle_count, n + 1);
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int
open_number(struct remote *r, uint32_t file)
{
	const struct remote_ask q = { .what = REMOTE_OPEN, .file = file };
	size_t i, n = atomic_load(&handle_count);
	struct remote_answer a;
	int fd;

	for (i = 0; i < n; i++)
		if (handles[i].of == r && handles[i].file == file)
			return fcntl(handles[i].fd, F_DUPFD_CLOEXEC, 3);
	if (remote_ask(r, &q, &a, &fd, &why) < 0)
		return -1;
	if (fd < 0) {
		errno = EMFILE; /* the table of descriptors is full */
		return -1;
	}
	return a.own ? fd : add_handle(r, file, fd);
}

void
remote_end(void)
{
	size_t i, n = atomic_load(&handle_count);

	pthread_mutex_lock(&mutex);
	atomic_store(&handle_count, 0);
	for (i = 0; i < n; i++)
		close(handles[i].fd);
	remote_hang_up();
	pthread_mutex_unlock(&mutex);
}

/* ---- paths ---- */

int
remote_file(const char *path)
{
	struct remote *r;
	int fd = -1;

	enter();
	r = remote_begun(path, &why);
	if (r && r->file != REMOTE_FOLDER)
		fd = open_number(r, r->file);
	else if (r)
		err_set(&why, ERR_IO, path, "is a directory");
	return leave(fd);
}

int
remote_folder(const char *path)
{
	struct remote *r;
	int fd = -1;

	enter();
	r = remote_begun(path, &why);
	if (r)
		fd = open_number(r, REMOTE_FOLDER);
	return leave(fd);
}

/* The number and size of a name in the folder. */
static int
find_name(struct remote *r, const char *name, uint32_t *file, uint64_t *bytes)
{
	struct remote_ask q = { .what = REMOTE_FIND };
	struct remote_answer a;
	int fd;

	if (strlen(name) >= REMOTE_NAMES || !*name) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(q.text, name);
	if (remote_ask(r, &q, &a, &fd, &why) < 0)
		return -1;
	if (fd >= 0)
		close(fd);
	*file = a.file;
	*bytes = a.n;
	return 0;
}

static void
set_stat(struct stat *st, mode_t mode, uint64_t bytes)
{
	memset(st, 0, sizeof *st);
	st->st_mode = mode | 0444;
	st->st_size = (off_t)bytes;
}

int
remote_stat(const char *path, struct stat *st)
{
	struct remote *r;
	int fd = -1, status = -1;

	enter();
	r = remote_begun(path, &why);
	if (r && r->file == REMOTE_FOLDER) {
		set_stat(st, S_IFDIR, 0);
		status = 0;
	} else if (r && (fd = open_number(r, r->file)) >= 0) {
		status = fstat(fd, st);
		close(fd);
	}
	return leave(status);
}

/* The remote whose folder has this handle. */
static struct remote *
of_folder(int folder)
{
	struct handle *h = handle_of(folder);

	if (h && h->file == REMOTE_FOLDER)
		return h->of;
	errno = ENOTDIR;
	return NULL;
}

int
remote_open(int folder, const char *name)
{
	struct remote *r;
	uint64_t bytes;
	uint32_t file;
	int fd = -1;

	enter();
	r = of_folder(folder);
	if (r && find_name(r, name, &file, &bytes) == 0)
		fd = open_number(r, file);
	return leave(fd);
}

/* The next name: 1, or 0 behind the last one, or -1. */
static int
name_of(struct remote *r, uint32_t file, struct remote_answer *a)
{
	const struct remote_ask q = { .what = REMOTE_NAME, .file = file };
	int fd, status = file < REMOTE_FILES ? remote_ask(r, &q, a, &fd, &why) : 0;

	if (status == 0 && file < REMOTE_FILES) {
		if (fd >= 0)
			close(fd);
		return 1;
	}
	if (!why.missing)
		return status;
	why = (struct err)ERR_INIT;
	return 0;
}

/* Whether a listed file lies in a folder of this name. */
static bool
is_folder(struct remote *r, const char *name)
{
	struct remote_answer a;
	size_t n = strlen(name);
	uint32_t i;

	for (i = 0; name_of(r, i, &a) > 0; i++)
		if (strncmp(a.text.name, name, n) == 0 && a.text.name[n] == '/')
			return true;
	return false;
}

int
remote_look(int folder, const char *name, struct stat *st)
{
	struct remote *r;
	uint64_t bytes;
	uint32_t file;
	int status = -1;

	enter();
	r = of_folder(folder);
	if (r && find_name(r, name, &file, &bytes) == 0) {
		set_stat(st, S_IFREG, bytes);
		status = 0;
	} else if (r && why.missing) {
		why = (struct err)ERR_INIT;
		status = is_folder(r, name) ? 0 : -1;
		set_stat(st, S_IFDIR, 0);
		errno = ENOENT;
	}
	return leave(status);
}

int
remote_list(int folder, int (*add)(void *ctx, const char *name), void *ctx)
{
	struct remote *r;
	struct remote_answer a;
	uint32_t i;
	int status = -1;

	enter();
	r = of_folder(folder);
	for (i = 0; r && (status = name_of(r, i, &a)) > 0; i++) {
		a.text.name[strcspn(a.text.name, "/")] = '\0';
		if (*a.text.name && (status = add(ctx, a.text.name)) < 0)
			break;
	}
	return leave(status);
}

/* ---- what is lent ---- */

int
remote_lend(const struct remote_lender *lender, uint64_t bytes)
{
	/* It has a size, but cannot be read. */
	int file = memfd_create("apr-lent", MFD_CLOEXEC), fd = -1;
	char path[40];
	size_t n;

	if (file < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (bytes > INT64_MAX)
		errno = EFBIG;
	else if (ftruncate(file, (off_t)bytes) == 0)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	close(file);
	if (fd < 0)
		return -1;
	pthread_mutex_lock(&mutex);
	n = atomic_load(&handle_count);
	fd = add_handle(NULL, 0, fd);
	if (fd >= 0) {
		handles[n].lender = *lender;
	} else if (atomic_load(&handle_count) > n) { /* its duplicate got no descriptor */
		close(handles[n].fd);
		atomic_store(&handle_count, n);
	}
	pthread_mutex_unlock(&mutex);
	return fd;
}

void
remote_return(int fd)
{
	struct handle *h;
	size_t last;

	pthread_mutex_lock(&mutex);
	h = handle_of(fd);
	if (h && !h->of) {
		last = atomic_load(&handle_count) - 1;
		close(h->fd);
		*h = handles[last];
		atomic_store(&handle_count, last);
	}
	pthread_mutex_unlock(&mutex);
}

/* The lender may take its time, and may use other handles. */
static ssize_t
read_lent(const struct handle *h, uint64_t at, void *p, size_t n)
{
	const struct remote_lender lender = h->lender;
	int64_t got;

	pthread_mutex_unlock(&mutex);
	got = lender.read(lender.ctx, at, p, n);
	errno = EIO;
	return got < 0 || (uint64_t)got > n ? -1 : (ssize_t)got;
}

/* All bytes of what is lent, in memory. */
static int
copy_lent(int fd, uint64_t bytes)
{
	int to = memfd_create("apr-lent", MFD_CLOEXEC);
	uint8_t piece[1 << 16];
	ssize_t got = 1;
	uint64_t at;

	for (at = 0; to >= 0 && at < bytes; at += (uint64_t)got) {
		got = remote_read(fd, at, piece, sizeof piece, bytes - at);
		if (got <= 0 || write(to, piece, (size_t)got) != got) {
			close(to);
			to = -1;
		}
	}
	return to;
}

/* ---- bytes ---- */

ssize_t
remote_read(int fd, uint64_t at, void *p, size_t n, uint64_t more)
{
	struct remote_ask q = { .what = REMOTE_READ, .at = at };
	struct remote_answer a;
	struct handle *h;
	int got = -1, other = -1;

	enter();
	h = handle_of(fd);
	if (!h || h->file == REMOTE_FOLDER) {
		errno = EBADF;
		return leave(-1);
	}
	if (at >= h->bytes || n == 0)
		return leave(0);
	if (!h->of)
		return read_lent(h, at, p, (size_t)num_min(n, h->bytes - at));
	q.file = h->file;
	q.n = num_min(num_min(n, h->bytes - at), 1 << 30);
	q.more = num_min(more > q.n ? more : q.n, h->bytes - at);
	if (remote_ask(h->of, &q, &a, &other, &why) == 0) {
		memcpy(p, h->of->window + a.at, (size_t)a.n);
		got = (int)a.n;
	}
	if (other >= 0)
		close(other);
	return leave(got);
}

int
remote_whole(int fd)
{
	struct remote_ask q = { .what = REMOTE_WHOLE };
	struct remote_answer a;
	struct handle *h;
	struct stat st;
	int whole = -1;

	enter();
	h = handle_of(fd);
	if (h && !h->of) {
		q.n = h->bytes;
		pthread_mutex_unlock(&mutex);
		return copy_lent(fd, q.n);
	}
	q.file = h ? h->file : 0;
	errno = EBADF;
	if (!h || h->file == REMOTE_FOLDER || remote_ask(h->of, &q, &a, &whole, &why) < 0)
		return leave(-1);
	if (whole < 0 || fstat(whole, &st) < 0 || (uint64_t)st.st_size != h->bytes) {
		err_set(&why, ERR_CORRUPT, h->of->name, "has changed while it was read");
		if (whole >= 0)
			close(whole);
		whole = -1;
	}
	return leave(whole);
}

/* ---- the tools' ---- */

int
remote_want(const char *path, const char *file, uint64_t at, uint64_t n, struct err *e)
{
	struct remote_ask q = { .what = REMOTE_WANT, .at = at, .n = n };
	struct remote_answer a;
	struct remote *r;
	uint64_t bytes;
	int other = -1, status = -1;

	enter();
	r = remote_begun(path, &why);
	if (r)
		q.file = r->file;
	if (r && (!file || find_name(r, file, &q.file, &bytes) == 0))
		status = remote_ask(r, &q, &a, &other, &why);
	if (other >= 0)
		close(other);
	return leave(status) < 0 ? remote_fail(path, e) : 0;
}

int
remote_prove(const char *path, struct err *e)
{
	const struct remote_ask q = { .what = REMOTE_PROVE };
	struct remote_answer a;
	struct remote *r;
	int other = -1, status = -1;

	enter();
	r = remote_begun(path, &why);
	if (r)
		status = remote_ask(r, &q, &a, &other, &why);
	if (other >= 0)
		close(other);
	return leave(status) < 0 ? remote_fail(path, e) : 0;
}
