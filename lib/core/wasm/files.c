/* Descriptors, as POSIX has them: files in the module's memory, for spools, and files of the host. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/wasm/files.h"
#include "core/wasm/host.h"

#define FILES 1024
#define FIRST 3 /* descriptors below are those of no file */

struct file {
	unsigned refs;      /* descriptors, and one for a mapping of p */
	unsigned number;    /* as inode */
	int host;           /* the host's number, or -1 */
	const struct file_lender *lender; /* NULL: none */
	struct file_lender lent;
	bool folder;
	char *name;         /* of a folder */
	uint8_t *p;         /* bytes in memory */
	size_t cap;
	uint64_t bytes, at;
};

static struct file *files[FILES];
static unsigned made;

static struct file *
file_of(int fd)
{
	struct file *f = fd >= FIRST && fd < FILES ? files[fd] : NULL;

	if (!f)
		errno = EBADF;
	return f;
}

static int
give(struct file *f)
{
	int fd;

	for (fd = FIRST; fd < FILES && files[fd]; fd++)
		;
	if (fd == FILES) {
		errno = EMFILE;
		return -1;
	}
	files[fd] = f;
	f->refs++;
	return fd;
}

static void
drop(struct file *f)
{
	if (--f->refs > 0)
		return;
	if (f->host >= 0)
		host_close(f->host);
	free(f->name);
	free(f->p);
	free(f);
}

/* A new file, with a descriptor. */
static int
add(const struct file *from)
{
	struct file *f = malloc(sizeof *f);
	int fd;

	if (!f) {
		errno = ENOMEM;
		return -1;
	}
	*f = *from;
	f->number = ++made;
	f->refs = 1;
	fd = give(f);
	if (fd < 0)
		f->host = -1; /* the caller closes it */
	drop(f);
	return fd;
}

int
file_lend(const struct file_lender *lender, uint64_t bytes)
{
	int fd = add(&(struct file){ .host = -1, .lent = *lender, .bytes = bytes });

	if (fd >= 0)
		files[fd]->lender = &files[fd]->lent;
	return fd;
}

int
file_folder(const char *name, size_t n)
{
	char *copy = malloc(n + 1);
	int fd = -1;

	if (copy) {
		memcpy(copy, name, n);
		copy[n] = '\0';
		fd = add(&(struct file){ .host = -1, .folder = true, .name = copy });
	}
	return fd;
}

const char *
file_folder_name(int fd)
{
	struct file *f = file_of(fd);

	return f && f->folder ? f->name : NULL;
}

int
open(const char *path, int flags, ...)
{
	const bool writes = flags & (O_WRONLY | O_CREAT);
	int host, fd;

	if (flags & O_TMPFILE)
		return add(&(struct file){ .host = -1 });
	host = host_open(path, strlen(path), writes);
	if (host < 0) {
		errno = -host;
		return -1;
	}
	fd = add(&(struct file){ .host = host, .bytes = writes ? 0 : (uint64_t)host_size(host) });
	if (fd < 0)
		host_close(host);
	return fd;
}

int
close(int fd)
{
	struct file *f = file_of(fd);

	if (!f)
		return -1;
	files[fd] = NULL;
	drop(f);
	return 0;
}

int
fcntl(int fd, int what, ...)
{
	struct file *f = file_of(fd);

	if (!f)
		return -1;
	if (what == F_DUPFD_CLOEXEC)
		return give(f);
	errno = EINVAL;
	return -1;
}

/* ---- bytes ---- */

static ssize_t
read_at(struct file *f, uint8_t *p, size_t n, uint64_t at)
{
	int64_t got;

	if (f->folder) {
		errno = EISDIR;
		return -1;
	}
	if (at >= f->bytes || n == 0)
		return 0;
	if (n > f->bytes - at)
		n = (size_t)(f->bytes - at);
	if (n > INT32_MAX)
		n = INT32_MAX;
	if (f->lender) {
		got = f->lender->read(f->lender->ctx, at, p, n);
		got = got < 0 || (uint64_t)got > n ? -EIO : got;
	} else if (f->host >= 0) {
		got = host_read(f->host, (double)at, p, n);
		got = got > (int64_t)n ? -EIO : got;
	} else {
		memcpy(p, f->p + at, n);
		got = (int64_t)n;
	}
	if (got >= 0)
		return (ssize_t)got;
	errno = (int)-got;
	return -1;
}

/* Room in memory for a file of this size; the new bytes are zero. */
static int
grow(struct file *f, uint64_t bytes)
{
	size_t cap = f->cap ? f->cap : 4096;
	uint8_t *p;

	if (bytes <= f->bytes)
		return 0;
	while (cap < bytes && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap < bytes && bytes <= SIZE_MAX)
		cap = (size_t)bytes;
	if (cap > f->cap) {
		p = bytes <= SIZE_MAX ? realloc(f->p, cap) : NULL;
		if (!p) {
			errno = ENOSPC;
			return -1;
		}
		f->p = p;
		f->cap = cap;
	}
	memset(f->p + f->bytes, 0, (size_t)(bytes - f->bytes));
	f->bytes = bytes;
	return 0;
}

static ssize_t
write_at(struct file *f, const uint8_t *p, size_t n, uint64_t at)
{
	int put;

	if (f->folder || f->lender) {
		errno = EBADF;
		return -1;
	}
	if (n > INT32_MAX)
		n = INT32_MAX;
	if (f->host >= 0) {
		put = host_write(f->host, (double)at, p, n);
		errno = put < 0 ? -put : 0;
		if (put > 0 && at + (uint64_t)put > f->bytes)
			f->bytes = at + (uint64_t)put;
		return put < 0 ? -1 : put;
	}
	if (at > SIZE_MAX - n || grow(f, at + n) < 0) {
		errno = ENOSPC;
		return -1;
	}
	if (n)
		memcpy(f->p + at, p, n);
	return (ssize_t)n;
}

ssize_t
pread(int fd, void *p, size_t n, off_t at)
{
	struct file *f = file_of(fd);

	return f ? read_at(f, p, n, (uint64_t)at) : -1;
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	struct file *f = file_of(fd);

	return f ? write_at(f, p, n, (uint64_t)at) : -1;
}

ssize_t
read(int fd, void *p, size_t n)
{
	struct file *f = file_of(fd);
	ssize_t got = f ? read_at(f, p, n, f->at) : -1;

	if (got > 0)
		f->at += (uint64_t)got;
	return got;
}

ssize_t
write(int fd, const void *p, size_t n)
{
	struct file *f = file_of(fd);
	ssize_t put = f ? write_at(f, p, n, f->at) : -1;

	if (put > 0)
		f->at += (uint64_t)put;
	return put;
}

off_t
lseek(int fd, off_t to, int whence)
{
	struct file *f = file_of(fd);

	if (!f)
		return -1;
	if (whence == SEEK_CUR)
		to += (off_t)f->at;
	else if (whence == SEEK_END)
		to += (off_t)f->bytes;
	if (to < 0 || (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END)) {
		errno = EINVAL;
		return -1;
	}
	f->at = (uint64_t)to;
	return to;
}

/* libc's own name of it. */
off_t __lseek(int fd, off_t to, int whence);
off_t
__lseek(int fd, off_t to, int whence)
{
	return lseek(fd, to, whence);
}

/* What libc prints, as to standard error, is the host's log. */
ssize_t
writev(int fd, const struct iovec *v, int n)
{
	ssize_t all = 0;
	int i;

	(void)fd;
	for (i = 0; i < n; all += (ssize_t)v[i++].iov_len)
		host_log(v[i].iov_base, v[i].iov_len);
	return all;
}

int
ftruncate(int fd, off_t n)
{
	static const uint8_t zero[1];
	struct file *f = file_of(fd);

	if (!f || n < 0)
		return -1;
	if (f->host >= 0) /* it can become longer only */
		return (uint64_t)n <= f->bytes || write_at(f, zero, 1, (uint64_t)n - 1) == 1 ? 0 : -1;
	if ((uint64_t)n > f->bytes)
		return grow(f, (uint64_t)n);
	f->bytes = (uint64_t)n;
	return 0;
}

int
posix_fallocate(int fd, off_t at, off_t n)
{
	return ftruncate(fd, at + n) < 0 ? errno : 0;
}

int
posix_fadvise(int fd, off_t at, off_t n, int advice)
{
	(void)fd, (void)at, (void)n, (void)advice;
	return 0;
}

int
fsync(int fd)
{
	return file_of(fd) ? 0 : -1;
}

int
fdatasync(int fd)
{
	return fsync(fd);
}

/* ---- properties ---- */

static int
put_stat(struct stat *st, const struct file *f)
{
	memset(st, 0, sizeof *st);
	st->st_mode = f->folder ? S_IFDIR | 0555 : S_IFREG | 0666;
	st->st_size = (off_t)f->bytes;
	st->st_blocks = (blkcnt_t)(f->bytes / 512 + 1);
	st->st_ino = f->number;
	st->st_dev = 1;
	return 0;
}

int
fstat(int fd, struct stat *st)
{
	struct file *f = file_of(fd);

	return f ? put_stat(st, f) : -1;
}

int
stat(const char *path, struct stat *st)
{
	char name[4];
	int fd, r;

	if (host_list(path, strlen(path), 0, name, sizeof name) < 0) {
		errno = ENOENT;
		return -1;
	}
	fd = open(path, O_RDONLY);
	if (fd < 0) /* files begin with the name: a folder */
		return put_stat(st, &(struct file){ .folder = true });
	r = fstat(fd, st);
	close(fd);
	return r;
}

/* Links do not exist in memory. */
int
lstat(const char *path, struct stat *st)
{
	return stat(path, st);
}

int
access(const char *path, int how)
{
	struct stat st;

	(void)how;
	return stat(path, &st);
}

int
isatty(int fd)
{
	(void)fd;
	return 0;
}

/* ---- mappings ---- */

static struct file *
file_in(const void *p)
{
	int fd;

	for (fd = FIRST; fd < FILES; fd++)
		if (files[fd] && files[fd]->p && files[fd]->p == p)
			return files[fd];
	return NULL;
}

/* A copy of n bytes of the file. */
static void *
copy(struct file *f, size_t n, uint64_t from)
{
	uint8_t *p = malloc(n ? n : 1);
	ssize_t got = 1;
	size_t at;

	for (at = 0; p && got > 0 && at < n; at += (size_t)got)
		got = read_at(f, p + at, n - at, from + at);
	if (!p || got < 0) {
		free(p);
		return MAP_FAILED;
	}
	memset(p + at, 0, n - at);
	return p;
}

void *
mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
	struct file *f;
	void *p;

	(void)at, (void)protection;
	if (flags & MAP_ANONYMOUS) {
		p = calloc(n, 1);
		errno = ENOMEM;
		return p ? p : MAP_FAILED;
	}
	if (!(f = file_of(fd)))
		return MAP_FAILED;
	if (f->p && from == 0)
		return f->p;
	return copy(f, n, (uint64_t)from);
}

int
munmap(void *p, size_t n)
{
	(void)n;
	if (!file_in(p))
		free(p);
	return 0;
}
