#include "core/place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/mem.h"
#include "core/place_parts.h"

#define PLACES 4    /* outputs of one process */
#define PATIENCE 20 /* milliseconds between two attempts to find a reader */

static struct place *declared[PLACES];

/* ---- one place ---- */

static void
place_free(struct place *p)
{
	free(p->path);
	free(p->base);
	free(p->made);
	free(p);
}

static struct place *
place_new(const char *path, bool force)
{
	struct place *p = mem_array(1, sizeof *p);
	const char *from;
	size_t n = strlen(path);

	if (!p)
		return NULL;
	*p = (struct place){ .force = force, .special = -1, .dir = -1, .stage = -1 };
	p->path = mem_text(path, n);
	while (n > 1 && path[n - 1] == '/')
		n--;
	for (from = path + n; from > path && from[-1] != '/'; from--)
		;
	p->base = mem_text(from, (size_t)(path + n - from));
	if (p->path && p->base)
		return p;
	place_free(p);
	return NULL;
}

/* All files are opened relative to this folder. */
int
place_folder(struct place *p)
{
	char *path;
	size_t n = strlen(p->path);

	if (p->dir >= 0)
		return p->dir;
	while (n > 1 && p->path[n - 1] == '/')
		n--;
	n -= strlen(p->base);
	path = n ? mem_text(p->path, n) : mem_text(".", 1);
	if (!path)
		return -1;
	p->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(path);
	return p->dir;
}

/* Opens a device or named pipe without blocking; later writes block as usual. */
static int
open_special(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);

	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

void
place_declare(const char *path, bool force)
{
	struct stat st;
	size_t i;

	if (!path || !*path || strcmp(path, "-") == 0)
		return;
	for (i = 0; i < PLACES && declared[i]; i++)
		if (strcmp(declared[i]->path, path) == 0)
			return;
	if (i == PLACES || !(declared[i] = place_new(path, force)))
		return;
	declared[i]->declared = true;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		declared[i]->special = open_special(path);
}

struct place *
place_declared(size_t i)
{
	return i < PLACES ? declared[i] : NULL;
}

bool
place_needs_help(void)
{
	size_t i;

	for (i = 0; i < PLACES && declared[i]; i++)
		if (declared[i]->special < 0)
			return true;
	return false;
}

struct place *
place_open(const char *path, bool force)
{
	size_t i;

	for (i = 0; i < PLACES && declared[i]; i++)
		if (strcmp(declared[i]->path, path) == 0)
			return declared[i];
	return place_new(path, force);
}

/* ---- done by the helper ---- */

bool
place_is_far(const struct place *p)
{
	return p->declared && broker_runs();
}

int
place_ask(const struct place *p, enum broker_request what, uint64_t *file, uint32_t flag,
    const char *name)
{
	struct broker_ask q = { .what = what, .flag = flag, .file = *file };
	int r;

	while (declared[q.place] != p)
		q.place++;
	if (name && strlen(name) >= sizeof q.name) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (name)
		strcpy(q.name, name);
	r = broker_ask(&q, file);
	return r;
}

struct made *
place_made(const struct place *p, size_t file)
{
	if (file < p->n && p->made[file].fd >= 0)
		return &p->made[file];
	errno = EBADF;
	return NULL;
}

/* ---- files ---- */

bool
place_is_special(const struct place *p)
{
	return p->special >= 0;
}

int
place_special(struct place *p)
{
	uint64_t none = 0;
	int fd = p->special;

	p->special = -1;
	if (fd >= 0)
		return fd;
	if (place_is_far(p))
		return place_ask(p, BROKER_SPECIAL, &none, 0, NULL);
	if (!broker_serves())
		return open(p->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	/* The pipe may not have a reader yet, and the requesting process may end while we
	 * wait. */
	while ((fd = open_special(p->path)) < 0 && errno == ENXIO)
		if (poll(&(struct pollfd){ .fd = broker_socket() }, 1, PATIENCE) != 0)
			return -1;
	return fd;
}

/* Writes the name .BASE.PID.N.tmp; a long BASE is truncated. */
static void
temporary_name(const struct place *p, char text[NAME], unsigned n)
{
	snprintf(text, NAME, ".%.200s.%ld.%u.tmp", p->base, (long)getpid(), n);
}

static int
create(struct place *p, mode_t mode, struct made *m)
{
	int fd = openat(p->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	unsigned i;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	for (i = 0; fd < 0 && i < 1000; i++) {
		temporary_name(p, m->temporary, (unsigned)p->n + i);
		fd = openat(p->dir, m->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		*m->temporary = '\0';
	return fd;
}

int
place_create(struct place *p, mode_t mode, size_t *file)
{
	uint64_t number = 0;
	struct made *m;
	int fd;

	if (place_is_far(p)) {
		fd = place_ask(p, BROKER_CREATE, &number, mode, NULL);
		*file = (size_t)number;
		return fd;
	}
	if (place_folder(p) < 0)
		return -1;
	if (mem_grow(&p->made, &p->cap, p->n + 1, sizeof *p->made) < 0) {
		errno = ENOMEM;
		return -1;
	}
	m = &p->made[p->n];
	*m = (struct made){ .fd = -1 };
	fd = m->fd = create(p, mode, m);
	if (fd >= 0)
		*file = p->n++;
	return fd;
}

void
place_forget(struct made *m)
{
	if (broker_serves() && m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	free(m->staged);
	m->staged = NULL;
}

int
place_link(const struct place *p, const struct made *m, int dir, const char *name)
{
	char self[64];

	if (*m->temporary)
		return linkat(p->dir, m->temporary, dir, name, 0);
	snprintf(self, sizeof self, "/proc/self/fd/%d", m->fd);
	return linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
}

/* Replaces an existing file: links a temporary name first, then renames. */
static int
replace(const struct place *p, struct made *m)
{
	unsigned i;
	int r = -1;

	for (i = 0; !*m->temporary && r < 0 && i < 1000; i++) {
		char step[NAME];

		temporary_name(p, step, i);
		r = place_link(p, m, p->dir, step);
		if (r < 0 && errno != EEXIST)
			return -1;
		if (r == 0)
			memcpy(m->temporary, step, NAME);
	}
	if (!*m->temporary)
		return -1;
	r = renameat(p->dir, m->temporary, p->dir, p->base);
	if (r == 0)
		*m->temporary = '\0';
	return r;
}

void
place_lose_temporary(const struct place *p, struct made *m)
{
	int saved = errno;

	if (*m->temporary)
		unlinkat(p->dir, m->temporary, 0);
	*m->temporary = '\0';
	errno = saved;
}

/* Makes the name survive a crash. EINVAL means that the file system cannot sync a folder;
 * that is not an error. */
int
place_sync_folder(const struct place *p)
{
	int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return 0;
	r = fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -1 : 0;
	close(fd);
	return r;
}

/* Without force nothing is ever replaced, not even a file that appeared since the check:
 * link(2) fails where rename(2) would replace it. */
int
place_name(struct place *p, size_t file, bool sync)
{
	uint64_t number = file;
	struct made *m;
	int r;

	if (place_is_far(p))
		return place_ask(p, BROKER_NAME, &number, sync, NULL);
	m = place_made(p, file);
	if (!m)
		return -1;
	r = place_link(p, m, p->dir, p->base);
	if (r < 0 && errno == EEXIST && p->force)
		r = replace(p, m);
	place_lose_temporary(p, m);
	place_forget(m);
	return r == 0 && sync ? place_sync_folder(p) : r;
}

void
place_drop(struct place *p, size_t file)
{
	uint64_t number = file;
	struct made *m;

	if (place_is_far(p)) {
		(void)place_ask(p, BROKER_DROP, &number, 0, NULL);
		return;
	}
	m = place_made(p, file);
	if (!m)
		return;
	place_lose_temporary(p, m);
	if (m->staged)
		unlinkat(p->stage, m->staged, 0);
	place_forget(m);
}

/* ---- the end ---- */

void
place_close(struct place *p)
{
	size_t i;

	if (!p || place_is_far(p))
		return;
	for (i = 0; i < p->n; i++)
		place_lose_temporary(p, &p->made[i]);
	if (p->stage >= 0)
		place_remove_stage(p);
	if (p->declared && !broker_serves())
		return;
	if (p->dir >= 0)
		close(p->dir);
	if (p->special >= 0)
		close(p->special);
	place_free(p);
}
