#include "core/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/embedded.h"
#include "core/mem.h"
#include "core/remote.h"

static struct {
	char *path;
	int fd, error;    /* fd is -1: error is the errno of open */
	int folder;       /* its folder, or -1 */
} opened[OPENED];
static size_t count;

/* Opens a file: an embedded one, or one by its path. An executable with embedded files stands for
 * the first of them. */
static int
open_file(const char *path, int flags)
{
	if (embedded_is(path))
		return embedded_open(path);
	return embedded_in(open(path, flags | O_CLOEXEC | O_NOCTTY));
}

/* The folder that contains path. */
static int
open_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *text = slash ? mem_text(path, (size_t)(slash - path) + 1) : mem_text(".", 1);
	int fd = text ? open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(text);
	return fd;
}

void
opened_add(const char *path, bool folder)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	size_t i = count;

	if (remote_is(path))
		remote_start(path);
	if (count == OPENED || remote_is(path))
		return;
	if (!(opened[i].path = mem_text(path, strlen(path))))
		return;
	opened[i].folder = -1;
	opened[i].fd = open_file(path, O_RDONLY);
	opened[i].error = errno;
	count++;
	if (!folder || opened[i].fd < 0 || fstat(opened[i].fd, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		opened[i].folder = fcntl(opened[i].fd, F_DUPFD_CLOEXEC, 3);
	else
		opened[i].folder = open_folder_of(path);
	broker_may_open(opened[i].folder, slash ? slash + 1 : path);
}

static size_t
find(const char *path)
{
	size_t i;

	for (i = 0; i < count && strcmp(opened[i].path, path) != 0; i++)
		;
	return i;
}

int
opened_file(const char *path, int flags)
{
	size_t i = find(path);
	int fd;

	if (remote_is(path))
		return remote_file(path);
	if (i == count)
		return open_file(path, flags);
	if (opened[i].fd < 0) {
		errno = opened[i].error;
		return -1;
	}
	fd = fcntl(opened[i].fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET); /* no effect on a pipe */
	return fd;
}

int
opened_folder(const char *path)
{
	size_t i = find(path);
	struct stat st;

	if (remote_is(path))
		return remote_folder(path);
	if (embedded_is(path)) {
		errno = ENOENT;
		return -1;
	}
	if (i < count && opened[i].folder >= 0)
		return fcntl(opened[i].folder, F_DUPFD_CLOEXEC, 3);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return open_folder_of(path);
}

int
opened_stat(const char *path, struct stat *st)
{
	int fd, r;

	if (remote_is(path))
		return remote_stat(path, st);
	if (!embedded_is(path))
		return stat(path, st);
	fd = opened_file(path, O_RDONLY);
	r = fd < 0 ? -1 : fstat(fd, st);
	if (fd >= 0)
		close(fd);
	return r;
}
