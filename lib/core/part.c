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

/* A descriptor belongs to the part with the same inode. Rows stay until the process ends, and so do
 * their two descriptors: no other file can get these inodes. */
static struct {
	struct part part;
	int handle;
	struct place {
		dev_t device;
		ino_t inode;
	} of_handle, of_file;
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

static bool
place_of(struct place *p, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*p = (struct place){ st.st_dev, st.st_ino };
	return true;
}

static bool
same(const struct place *a, const struct place *b)
{
	return a->inode == b->inode && a->device == b->device;
}

/* The row of a piece that was opened before, or the number of rows. */
static size_t
find(const struct place *file, uint64_t at, uint64_t bytes)
{
	size_t i, n = atomic_load(&count);

	for (i = 0; i < n; i++)
		if (same(&parts[i].of_file, file) && parts[i].part.at == at &&
		    parts[i].part.bytes == bytes)
			break;
	return i;
}

static int
add(size_t i, int fd, uint64_t at, uint64_t bytes)
{
	int handle = empty_file(bytes), copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (handle >= 0 && copy >= 0 && place_of(&parts[i].of_handle, handle) &&
	    place_of(&parts[i].of_file, copy)) {
		parts[i].part = (struct part){ copy, at, bytes };
		parts[i].handle = handle;
		atomic_store(&count, i + 1);
		return 0;
	}
	if (handle >= 0)
		close(handle);
	if (copy >= 0)
		close(copy);
	return -1;
}

static int
open_locked(int fd, uint64_t at, uint64_t bytes)
{
	struct place place;
	size_t i;

	if (!place_of(&place, fd))
		return -1;
	i = find(&place, at, bytes);
	if (i == PARTS) {
		errno = EMFILE;
		return -1;
	}
	if (i == atomic_load(&count) && add(i, fd, at, bytes) < 0)
		return -1;
	return fcntl(parts[i].handle, F_DUPFD_CLOEXEC, 3);
}

int
part_open(int fd, uint64_t at, uint64_t n)
{
	uint64_t end;
	int r;

	if (num_add(at, n, &end) < 0 || end > INT64_MAX) {
		errno = EFBIG;
		return -1;
	}
	pthread_mutex_lock(&mutex);
	r = open_locked(fd, at, n);
	pthread_mutex_unlock(&mutex);
	return r;
}

bool
part_of(int fd, struct part *p)
{
	size_t i, n = atomic_load(&count);
	struct place place;

	if (n == 0 || !place_of(&place, fd))
		return false;
	for (i = 0; i < n && !same(&parts[i].of_handle, &place); i++)
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
