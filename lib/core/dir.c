#include "core/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/mem.h"
#include "core/opened.h"
#include "core/remote.h"

#define CLIMB 6 /* maximum number of ".." in the links of a cache */

int
dir_of(const char *path, char **folder, const char **name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	int fd;

	*name = slash ? slash + 1 : path;
	*folder = mem_text(path, (size_t)(*name - path));
	if (!*folder)
		return err_memory(e);
	fd = opened_folder(path);
	if (fd < 0)
		err_errno(e, path, "lies in a folder that cannot be opened");
	return fd;
}

/* ---- files, and links in a cache ---- */

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Writes `up` times "../" and a name. Returns to. */
static char *
climb(char to[512], unsigned up, const char *name)
{
	size_t at;

	for (at = 0; up > 0; up--, at += 3)
		memcpy(to + at, "../", 3);
	snprintf(to + at, 512 - at, "%s", name);
	return to;
}

/* True if fd lies up - 1 folders below the snapshots of a cache, which has blobs. */
static bool
is_in_cache(int fd, unsigned up)
{
	struct stat above, snapshots, blobs;
	char path[512];

	return fstatat(fd, climb(path, up - 1, "."), &above, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(fd, climb(path, up, "snapshots"), &snapshots, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(fd, climb(path, up, "blobs"), &blobs, AT_SYMLINK_NOFOLLOW) == 0 &&
	       same_file(&above, &snapshots) && S_ISDIR(blobs.st_mode);
}

/* Returns the target of the link `name`, as seen from fd, in a new string if fd is a folder of a
 * cache's snapshot, or below one, and the link leads to blobs/SOMETHING of the cache; else NULL. */
static char *
cache_link(int fd, const char *name)
{
	char link[512], target[512], *text = link;
	ssize_t n = readlinkat(fd, name, link, sizeof link - 1);
	unsigned up = 0, below = 0;

	if (n < 0)
		return NULL;
	link[n] = '\0';
	for (; strncmp(text, "../", 3) == 0; text += 3)
		up++;
	for (; *name; name++)
		below += *name == '/';
	if (strncmp(text, "blobs/", 6) != 0 || !dir_name_is_plain(text + 6) || up > CLIMB ||
	    up < below + 2 || !is_in_cache(fd, up - below))
		return NULL;
	climb(target, up - below, text);
	return mem_text(target, strlen(target));
}

int
dir_look(int fd, const char *name, struct stat *st)
{
	char *link, folder[256];
	int r;

	if (remote_holds(fd))
		return remote_look(fd, name, st);
	if (dir_name_folder(name, folder)) {
		if (fstatat(fd, folder, st, AT_SYMLINK_NOFOLLOW) < 0)
			return -1;
		if (!S_ISDIR(st->st_mode)) {
			errno = ENOTDIR;
			return -1;
		}
	}
	if (fstatat(fd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISLNK(st->st_mode) || !(link = cache_link(fd, name)))
		return 0;
	r = fstatat(fd, link, st, AT_SYMLINK_NOFOLLOW);
	free(link);
	return r;
}

/* Opens the file with openat. In folders below, these are opened first, one after the other. */
static int
open_at(int dir, const char *name)
{
	/* Do not block on a named pipe. */
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	char *link = cache_link(dir, name), folder[256];
	int in = dir, below, fd;

	while (!link && in >= 0 && dir_name_folder(name, folder)) {
		below = openat(in, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (in != dir)
			close(in);
		in = below;
		name = strchr(name, '/') + 1;
	}
	fd = in < 0 ? -1 : openat(in, link ? link : name, flags);
	if (in >= 0 && in != dir)
		close(in);
	free(link);
	return fd;
}

int
dir_open_fd(int folder, const char *name)
{
	struct broker_ask q = { .what = BROKER_OPEN };
	struct stat st;
	int fd;

	if (remote_holds(folder))
		return remote_open(folder, name);
	if (broker_runs() && strlen(name) < sizeof q.name && fstat(folder, &st) == 0) {
		strcpy(q.name, name);
		q.file = st.st_ino;
		q.device = st.st_dev;
		return broker_ask(&q, NULL);
	}
	fd = open_at(folder, name);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		errno = ENODEV;
	}
	return fd;
}

int
dir_open(int folder, const char *name, const char *label, struct reader *r,
         struct err *e)
{
	int fd;

	*r = (struct reader){ .fd = -1, .err = e, .failed = true };
	fd = dir_open_fd(folder, name);
	if (fd < 0 && errno == ELOOP)
		return err_set(e, ERR_CORRUPT, label, "is a link, which is not followed");
	if (fd < 0 && errno == ENODEV)
		return err_set(e, ERR_CORRUPT, label, "is not a regular file");
	if (fd < 0 && remote_holds(folder) && errno != ENOENT)
		return remote_fail(label, e);
	if (fd < 0)
		return err_errno(e, label, "cannot be opened");
	if (reader_fd(r, fd, label, e) < 0) {
		close(fd);
		return -1;
	}
	r->owns_fd = true;
	return 0;
}

/* ---- lists ---- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
add_name(struct dir_names *list, const char *name, struct err *e)
{
	if (mem_grow(&list->p, &list->cap, list->n + 1, sizeof *list->p) < 0)
		return err_memory(e);
	list->p[list->n] = mem_text(name, strlen(name));
	return list->p[list->n++] ? 0 : err_memory(e);
}

/* Appends a name that is not in the list yet: that of a folder with several files. */
static int
add_remote(void *ctx, const char *name)
{
	struct dir_names *list = ctx;
	struct err e = ERR_INIT;
	size_t i;

	for (i = list->n; i > 0 && strcmp(list->p[i - 1], name) != 0; i--)
		;
	return i > 0 ? 0 : add_name(list, name, &e);
}

static int
list_local(int folder, const char *path, struct dir_names *list, struct err *e)
{
	int fd = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *x;
	int r = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_errno(e, path, "cannot be read");
	}
	rewinddir(d);
	for (errno = 0; r == 0 && (x = readdir(d)); errno = 0)
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			r = add_name(list, x->d_name, e);
	if (r == 0 && errno)
		r = err_errno(e, path, "cannot be read");
	closedir(d);
	return r;
}

int
dir_list(int folder, const char *path, struct dir_names *list, struct err *e)
{
	int r;

	if (remote_holds(folder))
		r = remote_list(folder, add_remote, list) < 0 ? remote_fail(path, e) : 0;
	else
		r = list_local(folder, path, list, e);
	if (r == 0 && list->n)
		qsort(list->p, list->n, sizeof *list->p, by_name);
	return r;
}

void
dir_names_free(struct dir_names *list)
{
	while (list->n > 0)
		free(list->p[--list->n]);
	free(list->p);
	*list = (struct dir_names){ 0 };
}
