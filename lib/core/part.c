#include "core/part.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/num.h"

/* A descriptor belongs to the part with the same inode. Rows stay until the process ends, and so
 * does the first descriptor of each: no other file can get its inode. */
static struct {
	struct part part;
	dev_t device;
	ino_t inode;
} parts[PARTS];
static atomic_size_t count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* A file without a name that has this size, but cannot be read if /proc is there. */
static int
empty_file(uint64_t n)
{
	int file = memfd_create("apr-part", MFD_CLOEXEC), fd;
	char path[40];

	if (file < 0)
		return -1;
	if (n > INT64_MAX || ftruncate(file, (off_t)n) < 0) {
		close(file);
		errno = EFBIG;
		return -1;
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return file;
	close(file);
	return fd;
}

static int
add(int file, const struct part *part)
{
	size_t n = atomic_load(&count);
	struct stat st;

	if (n == PARTS || fstat(file, &st) < 0) {
		errno = EMFILE;
		return -1;
	}
	parts[n].part = *part;
	parts[n].device = st.st_dev;
	parts[n].inode = st.st_ino;
	atomic_store(&count, n + 1);
	return 0;
}

int
part_open(int fd, uint64_t at, uint64_t n)
{
	const struct part part = { fd, at, n };
	uint64_t end;
	int file, r, copy;

	if (num_add(at, n, &end) < 0 || end > INT64_MAX) {
		errno = EFBIG;
		return -1;
	}
	file = empty_file(n);
	copy = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 3);
	if (copy < 0) {
		if (file >= 0)
			close(file);
		return -1;
	}
	pthread_mutex_lock(&mutex);
	r = add(file, &part);
	pthread_mutex_unlock(&mutex);
	if (r == 0)
		return copy;
	close(copy);
	close(file);
	errno = EMFILE;
	return -1;
}

bool
part_of(int fd, struct part *p)
{
	size_t i, n = atomic_load(&count);
	struct stat st;

	if (n == 0 || fstat(fd, &st) < 0)
		return false;
	for (i = 0; i < n && !(parts[i].inode == st.st_ino && parts[i].device == st.st_dev); i++)
		;
	if (i < n)
		*p = parts[i].part;
	return i < n;
}

ssize_t
part_pread(int fd, void *to, size_t n, uint64_t at)
{
	struct part p = { fd, 0, INT64_MAX };

	part_of(fd, &p);
	if (at >= p.bytes)
		return 0;
	return pread(p.fd, to, (size_t)num_min(n, p.bytes - at), (off_t)(p.at + at));
}
