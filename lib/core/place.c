#include "core/place.h"

#include <dirent.h>
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
#include "core/dir.h"
#include "core/mem.h"

#define PLACES 4    /* outputs of one process */
#define NAME 300    /* room for a temporary name */
#define OLD ".old"  /* what a file replaces, until all are replaced */
#define PATIENCE 20 /* milliseconds between two looks for a reader */

struct made {
	int fd;              /* the caller's; in the helper its own; -1: closed */
	char temporary[NAME]; /* its name, where it could not be without one */
	char *staged;        /* its name in the stage */
	bool old;            /* what it replaces lies in the stage */
};

struct place {
	char *path, *base;   /* as given; its last part, without slashes */
	bool force, declared;
	int special;         /* opened already, or -1 */
	int dir;             /* the folder in which it lies, or -1 */
	int stage;           /* the stage, or -1 */
	char stage_name[NAME];
	struct made *made;
	size_t n, cap;
};

static struct place *declared[PLACES];

/* ---- one of them ---- */

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

/* The folder, by which all else is reached. */
static int
folder(struct place *p)
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

/* A device or a named pipe that need not be waited for. It blocks as others do, later. */
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

static bool
is_far(const struct place *p)
{
	return p->declared && broker_runs();
}

static int
ask(const struct place *p, enum broker_request what, uint64_t *file, uint32_t flag,
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

static struct made *
made_of(const struct place *p, size_t file)
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
	if (is_far(p))
		return ask(p, BROKER_SPECIAL, &none, 0, NULL);
	if (!broker_serves())
		return open(p->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	/* Nobody may read there as yet. Who asks may go away meanwhile. */
	while ((fd = open_special(p->path)) < 0 && errno == ENXIO)
		if (poll(&(struct pollfd){ .fd = broker_socket() }, 1, PATIENCE) != 0)
			return -1;
	return fd;
}

/* .BASE.PID.N.tmp, less of BASE where that is long. */
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

	if (is_far(p)) {
		fd = ask(p, BROKER_CREATE, &number, mode, NULL);
		*file = (size_t)number;
		return fd;
	}
	if (folder(p) < 0)
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

static void
forget(struct made *m)
{
	if (broker_serves() && m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	free(m->staged);
	m->staged = NULL;
}

static int
link_to(const struct place *p, const struct made *m, int dir, const char *name)
{
	char self[64];

	if (*m->temporary)
		return linkat(p->dir, m->temporary, dir, name, 0);
	snprintf(self, sizeof self, "/proc/self/fd/%d", m->fd);
	return linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
}

/* It takes the place of another: it gets a name beside it first. */
static int
replace(const struct place *p, struct made *m)
{
	unsigned i;
	int r = -1;

	for (i = 0; !*m->temporary && r < 0 && i < 1000; i++) {
		char step[NAME];

		temporary_name(p, step, i);
		r = link_to(p, m, p->dir, step);
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

static void
lose_temporary(const struct place *p, struct made *m)
{
	int saved = errno;

	if (*m->temporary)
		unlinkat(p->dir, m->temporary, 0);
	*m->temporary = '\0';
	errno = saved;
}

/* The name itself must survive a crash. A file system that cannot sync a folder says
 * EINVAL; nothing is lost by going on then. */
static int
sync_folder(const struct place *p)
{
	int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return 0;
	r = fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -1 : 0;
	close(fd);
	return r;
}

/* Without force nothing is ever replaced, not even a file that appeared meanwhile:
 * link(2) fails where rename(2) would not. */
int
place_name(struct place *p, size_t file, bool sync)
{
	uint64_t number = file;
	struct made *m;
	int r;

	if (is_far(p))
		return ask(p, BROKER_NAME, &number, sync, NULL);
	m = made_of(p, file);
	if (!m)
		return -1;
	r = link_to(p, m, p->dir, p->base);
	if (r < 0 && errno == EEXIST && p->force)
		r = replace(p, m);
	lose_temporary(p, m);
	forget(m);
	return r == 0 && sync ? sync_folder(p) : r;
}

void
place_drop(struct place *p, size_t file)
{
	uint64_t number = file;
	struct made *m;

	if (is_far(p)) {
		(void)ask(p, BROKER_DROP, &number, 0, NULL);
		return;
	}
	m = made_of(p, file);
	if (!m)
		return;
	lose_temporary(p, m);
	if (m->staged)
		unlinkat(p->stage, m->staged, 0);
	forget(m);
}

/* ---- several files ---- */

int
place_vacant(struct place *p)
{
	uint64_t none = 0;
	struct dirent *x;
	bool empty = true;
	DIR *d;
	int fd;

	if (is_far(p))
		return ask(p, BROKER_VACANT, &none, 0, NULL);
	fd = folder(p) < 0 ? -1 : openat(p->dir, p->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -1;
	}
	while ((x = readdir(d)))
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			empty = false;
	closedir(d);
	if (!empty)
		errno = ENOTEMPTY;
	return empty ? 0 : -1;
}

int
place_stage(struct place *p)
{
	uint64_t none = 0;

	if (is_far(p))
		return ask(p, BROKER_STAGE, &none, 0, NULL);
	if (p->stage >= 0 || folder(p) < 0)
		return p->stage >= 0 ? 0 : -1;
	snprintf(p->stage_name, NAME, ".%.200s.%ld.tmp", p->base, (long)getpid());
	if (mkdirat(p->dir, p->stage_name, 0777) < 0)
		return -1;
	p->stage = openat(p->dir, p->stage_name,
	                  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return p->stage < 0 ? -1 : 0;
}

static bool
is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

int
place_name_staged(struct place *p, size_t file, const char *name)
{
	uint64_t number = file;
	struct made *m;

	if (is_far(p))
		return ask(p, BROKER_NAME_STAGED, &number, 0, name);
	m = made_of(p, file);
	if (!m || p->stage < 0 || m->staged || !is_name(name)) {
		errno = EINVAL;
		return -1;
	}
	m->staged = mem_text(name, strlen(name));
	if (!m->staged) {
		errno = ENOMEM;
		return -1;
	}
	if (link_to(p, m, p->stage, name) == 0) {
		lose_temporary(p, m);
		return 0;
	}
	free(m->staged);
	m->staged = NULL;
	return -1;
}

/* With all that is still in it. */
static void
remove_stage(struct place *p)
{
	int saved = errno;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (p->made[i].staged)
			unlinkat(p->stage, p->made[i].staged, 0);
		forget(&p->made[i]);
	}
	close(p->stage);
	p->stage = -1;
	unlinkat(p->dir, p->stage_name, AT_REMOVEDIR);
	errno = saved;
}

int
place_become(struct place *p, bool sync)
{
	uint64_t none = 0;
	size_t i;
	int r;

	if (is_far(p))
		return ask(p, BROKER_BECOME, &none, sync, NULL);
	if (p->stage < 0) {
		errno = EINVAL;
		return -1;
	}
	for (i = 0, r = 0; r == 0 && i < p->n; i++)
		if (p->made[i].staged && !dir_name_is_plain(p->made[i].staged)) {
			errno = EINVAL;
			r = -1;
		}
	if (r == 0)
		r = renameat(p->dir, p->stage_name, p->dir, p->base);
	if (r < 0) {
		remove_stage(p);
		return -1;
	}
	for (i = 0; i < p->n; i++)
		forget(&p->made[i]);
	close(p->stage);
	p->stage = -1;
	return sync ? sync_folder(p) : 0;
}

/* ---- from the stage into a folder that holds other files ---- */

/* Is it a shard's name, or an index's, that begins with these n bytes? */
static bool
extends(const char *name, const char *begin, size_t n)
{
	const char *rest = name + n, *ending = strrchr(name, '.');
	struct dir_number number;

	if (strncmp(name, begin, n) != 0)
		return false;
	return strcmp(rest, ".safetensors.index.json") == 0 || strcmp(rest, ".apr.json") == 0 ||
	       (ending && dir_is_several(name) && dir_numbered(name, ending, &number) &&
	        number.prefix == n);
}

/* BASE, or BASE with or without its ending, and what makes a shard or an index of it. */
static bool
is_own(const struct place *p, const char *name)
{
	const char *ending = strrchr(p->base, '.');

	return strcmp(name, p->base) == 0 || extends(name, p->base, strlen(p->base)) ||
	       (ending && ending > p->base && extends(name, p->base, (size_t)(ending - p->base)));
}

/* Never replaces anything, also not what has appeared meanwhile. */
static int
move_file(int from, const char *name, int to)
{
	if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(from, name, to, name, 0) < 0)
		return -1;
	unlinkat(from, name, 0);
	return 0;
}

/* What a file replaces lies under this name until all are replaced. */
static void
old_name(char text[NAME], const char *name)
{
	snprintf(text, NAME, "%.255s" OLD, name);
}

static int
move_one(struct place *p, struct made *m)
{
	char old[NAME];
	int saved;

	if (!is_own(p, m->staged)) {
		errno = EPERM;
		return -1;
	}
	old_name(old, m->staged);
	if (p->force) {
		m->old = renameat(p->dir, m->staged, p->stage, old) == 0;
		if (!m->old && errno != ENOENT)
			return -1;
	}
	if (move_file(p->stage, m->staged, p->dir) == 0)
		return 0;
	saved = errno;
	if (m->old)
		renameat(p->stage, old, p->dir, m->staged);
	m->old = false;
	errno = saved;
	return -1;
}

/* All that has its name loses it, and what was replaced gets it back. */
static void
move_back(struct place *p, size_t done)
{
	int saved = errno;
	char old[NAME];

	while (done-- > 0) {
		struct made *m = &p->made[done];

		if (!m->staged)
			continue;
		renameat(p->dir, m->staged, p->stage, m->staged);
		old_name(old, m->staged);
		if (m->old)
			renameat(p->stage, old, p->dir, m->staged);
	}
	errno = saved;
}

int
place_move(struct place *p, bool sync, size_t *file)
{
	uint64_t number = 0;
	char old[NAME];
	size_t i;
	int r = 0;

	if (is_far(p)) {
		r = ask(p, BROKER_MOVE, &number, sync, NULL);
		*file = (size_t)number;
		return r;
	}
	if (p->stage < 0) {
		errno = EINVAL;
		return -1;
	}
	for (i = 0; r == 0 && i < p->n; i++) {
		*file = i;
		if (p->made[i].staged && move_one(p, &p->made[i]) < 0) {
			r = -1;
			move_back(p, i);
		}
	}
	for (i = 0; r == 0 && i < p->n; i++)
		if (p->made[i].old) {
			old_name(old, p->made[i].staged);
			unlinkat(p->stage, old, 0);
		}
	remove_stage(p);
	return r == 0 && sync ? sync_folder(p) : r;
}

/* ---- the end ---- */

void
place_close(struct place *p)
{
	size_t i;

	if (!p || is_far(p))
		return;
	for (i = 0; i < p->n; i++)
		lose_temporary(p, &p->made[i]);
	if (p->stage >= 0)
		remove_stage(p);
	if (p->declared && !broker_serves())
		return;
	if (p->dir >= 0)
		close(p->dir);
	if (p->special >= 0)
		close(p->special);
	place_free(p);
}
