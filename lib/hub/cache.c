#include "hub/cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/source.h"

/* ---- roots ---- */

static const char *
set(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

/* Copies value with a leading "~" and $NAME replaced. False if it does not fit. */
static bool
expand(char *to, size_t size, const char *value)
{
	size_t n = 0;

	if (value[0] == '~' && (value[1] == '/' || !value[1]) && set("HOME")) {
		n = (size_t)snprintf(to, size, "%s", set("HOME"));
		value++;
	}
	while (*value && n + 1 < size) {
		char name[64];
		size_t length = strspn(value + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		                       "0123456789_");

		if (*value != '$' || length == 0 || length >= sizeof name) {
			to[n++] = *value++;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)length, value + 1);
		value += length + 1;
		n += (size_t)snprintf(to + n, size - n, "%s", set(name) ? set(name) : "");
	}
	if (n + 1 >= size || *value)
		return false;
	while (n > 1 && to[n - 1] == '/')
		n--;
	to[n] = '\0';
	return true;
}

/* VALUE/REST; false if it is too long. */
static bool
join(char *to, size_t size, const char *value, const char *rest)
{
	char text[CACHE_PATH];
	int n = snprintf(text, sizeof text, "%s%s", value, rest);

	return n > 0 && (size_t)n < sizeof text && expand(to, size, text);
}

static int
absolute(char *path, struct err *e)
{
	char here[CACHE_PATH], made[2 * CACHE_PATH];
	int n;

	if (path[0] == '/')
		return 0;
	if (!getcwd(here, sizeof here))
		return err_errno(e, path, "the current folder is not known");
	n = snprintf(made, sizeof made, "%s/%s", here, path);
	if (n < 0 || n >= CACHE_PATH)
		return err_set(e, ERR_USAGE, path, "is too long for the path of a cache");
	memcpy(path, made, (size_t)n + 1);
	return 0;
}

int
cache_roots(struct cache_roots *r, struct err *e)
{
	const char *hub = set("HF_HUB_CACHE") ? set("HF_HUB_CACHE") : set("HUGGINGFACE_HUB_CACHE");
	const char *home = set("HOME") ? "~/.cache" : NULL;
	const char *xdg = set("XDG_CACHE_HOME") ? set("XDG_CACHE_HOME") : home;
	bool fits;

	if ((!xdg && !(set("APR_CACHE") && (hub || set("HF_HOME")))))
		return err_set(e, ERR_USAGE, NULL, "neither HOME nor a folder for the cache is set");
	fits = hub ? join(r->hub, sizeof r->hub, hub, "")
	       : set("HF_HOME") ? join(r->hub, sizeof r->hub, set("HF_HOME"), "/hub")
	                        : join(r->hub, sizeof r->hub, xdg, "/huggingface/hub");
	fits = fits && (set("APR_CACHE") ? join(r->apr, sizeof r->apr, set("APR_CACHE"), "")
	                                 : join(r->apr, sizeof r->apr, xdg, "/apr"));
	if (!fits || strlen(r->hub) > CACHE_PATH - 512 || strlen(r->apr) > CACHE_PATH - 512)
		return err_set(e, ERR_USAGE, NULL, "the path of the cache is too long");
	return absolute(r->hub, e) < 0 || absolute(r->apr, e) < 0 ? -1 : 0;
}

/* ---- folders ---- */

int
cache_folders_at(int fd, const char *path)
{
	char part[CACHE_PATH];
	size_t i, n = strlen(path);

	if (n >= sizeof part) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, path, n + 1);
	for (i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i])
			continue;
		part[i] = '\0';
		if (mkdirat(fd, part, 0777) < 0 && errno != EEXIST && errno != EISDIR &&
		    faccessat(fd, part, X_OK, 0) < 0)
			return -1;
		part[i] = path[i];
	}
	return 0;
}

int
cache_folders(const char *path)
{
	return cache_folders_at(AT_FDCWD, path);
}

/* The folders above the last part of path. */
static int
folders_above(int fd, const char *path)
{
	char part[CACHE_PATH];
	const char *slash = strrchr(path, '/');

	if (!slash)
		return 0;
	snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
	return cache_folders_at(fd, part);
}

/* Marks the root as a cache for backup programs. */
static void
tag(const char *root)
{
	static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
		"# This file is a cache directory tag created by huggingface_hub-compatible tools.\n"
		"# For information about cache directory tags see https://bford.info/cachedir/\n";
	char path[CACHE_PATH + 16];
	int fd;

	snprintf(path, sizeof path, "%s/CACHEDIR.TAG", root);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (write(fd, text, sizeof text - 1) < 0)
		unlink(path);
	close(fd);
}

int
cache_repo_open(struct cache_repo *c, const struct cache_roots *r, const char *org,
                const char *repo, bool make, struct err *e)
{
	char blobs[CACHE_PATH + 8];
	int a, b;

	a = snprintf(c->path, sizeof c->path, "%s/models--%s--%s", r->hub, org, repo);
	b = snprintf(c->locks, sizeof c->locks, "%s/.locks/models--%s--%s", r->hub, org, repo);
	c->fd = -1;
	if (a < 0 || b < 0 || (size_t)b >= sizeof c->locks)
		return err_set(e, ERR_USAGE, r->hub, "is too long for the path of a cache");
	c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!make)
		return 0;
	if (c->fd >= 0 && faccessat(c->fd, "blobs", X_OK, 0) == 0)
		return 0;
	snprintf(blobs, sizeof blobs, "%s/blobs", c->path);
	if (cache_folders(blobs) < 0)
		return err_errno(e, c->path, "the folder cannot be created");
	tag(r->hub);
	if (c->fd < 0)
		c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c->fd < 0 ? err_errno(e, c->path, "cannot be opened") : 0;
}

void
cache_repo_close(struct cache_repo *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* ---- refs ---- */

bool
cache_is_commit(const char *s)
{
	return strspn(s, "0123456789abcdef") == 40 && !s[40];
}

bool
cache_ref(const struct cache_repo *c, const char *revision, char commit[CACHE_COMMIT])
{
	char name[HUB_REVISION + 8], text[64];
	ssize_t n;
	int fd;

	if (cache_is_commit(revision)) {
		memcpy(commit, revision, CACHE_COMMIT);
		return true;
	}
	if (c->fd < 0 || !hub_path_is_safe(revision))
		return false;
	snprintf(name, sizeof name, "refs/%s", revision);
	fd = openat(c->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	if (n != CACHE_COMMIT - 1)
		return false;
	text[n] = '\0';
	memcpy(commit, text, CACHE_COMMIT);
	return cache_is_commit(commit);
}

/* A name beside path that no other process uses. */
static void
beside(char *to, size_t size, const char *path)
{
	snprintf(to, size, "%s.%ld.apr", path, (long)getpid());
}

int
cache_ref_write(const struct cache_repo *c, const char *revision, const char *commit,
                struct err *e)
{
	char name[HUB_REVISION + 8], made[HUB_REVISION + 48], now[CACHE_COMMIT];
	int fd, r;

	if (cache_is_commit(revision) || !hub_path_is_safe(revision) ||
	    (cache_ref(c, revision, now) && strcmp(now, commit) == 0))
		return 0;
	snprintf(name, sizeof name, "refs/%s", revision);
	beside(made, sizeof made, name);
	if (folders_above(c->fd, name) < 0)
		return err_errno(e, c->path, "the folder of %s cannot be created", name);
	fd = openat(c->fd, made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	r = fd < 0 || write(fd, commit, CACHE_COMMIT - 1) != CACHE_COMMIT - 1 ? -1 : 0;
	if (fd >= 0 && close(fd) < 0)
		r = -1;
	if (r == 0)
		r = renameat(c->fd, made, c->fd, name);
	if (r < 0) {
		err_errno(e, c->path, "%s cannot be written", name);
		unlinkat(c->fd, made, 0);
	}
	return r;
}

/* ---- files ---- */

bool
cache_has(const struct cache_repo *c, const char *commit, const char *path, char blob[65])
{
	char name[HUB_PATH + 64], to[HUB_PATH];
	const char *last;
	struct stat st;
	ssize_t n;

	if (blob)
		blob[0] = '\0';
	if (c->fd < 0 || !hub_path_is_safe(path))
		return false;
	snprintf(name, sizeof name, "snapshots/%s/%s", commit, path);
	if (fstatat(c->fd, name, &st, 0) < 0 || !S_ISREG(st.st_mode))
		return false;
	n = blob ? readlinkat(c->fd, name, to, sizeof to - 1) : -1;
	if (n > 0) {
		to[n] = '\0';
		last = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
		if (strlen(last) < 65)
			memcpy(blob, last, strlen(last) + 1);
	}
	return true;
}

static bool
lack_name(char *name, size_t size, const char *commit, const char *path)
{
	int n = snprintf(name, size, ".no_exist/%s/%s", commit, path);

	return n > 0 && (size_t)n < size && cache_is_commit(commit) && hub_path_is_safe(path);
}

bool
cache_lacks(const struct cache_repo *c, const char *commit, const char *path)
{
	char name[HUB_PATH + 64];
	struct stat st;

	return c->fd >= 0 && lack_name(name, sizeof name, commit, path) &&
	       fstatat(c->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

void
cache_lack(const struct cache_repo *c, const char *commit, const char *path)
{
	char name[HUB_PATH + 64];
	int fd = -1;

	if (c->fd >= 0 && lack_name(name, sizeof name, commit, path) && folders_above(c->fd, name) == 0)
		fd = openat(c->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd >= 0)
		close(fd);
}

bool
cache_has_blob(const struct cache_repo *c, const char *name, uint64_t size)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof path, "blobs/%.64s", name);
	return c->fd >= 0 && fstatat(c->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

/* "../../blobs/NAME" with one more "../" for each folder in path. */
static void
link_text(char *to, size_t size, const char *path, const char *blob)
{
	size_t n = (size_t)snprintf(to, size, "../../");

	for (; (path = strchr(path, '/')) && n < size; path++)
		n += (size_t)snprintf(to + n, size - n, "../");
	if (n < size)
		snprintf(to + n, size - n, "blobs/%s", blob);
}

static bool
without_links(void)
{
	const char *s = set("HF_HUB_DISABLE_SYMLINKS");

	return s && (strcmp(s, "1") == 0 || strcasecmp(s, "on") == 0 ||
	             strcasecmp(s, "yes") == 0 || strcasecmp(s, "true") == 0);
}

int
cache_link(const struct cache_repo *c, const char *commit, const char *path,
           const char *blob, struct err *e)
{
	char name[HUB_PATH + 64], made[HUB_PATH + 96], to[4 * HUB_PATH], now[4 * HUB_PATH];
	char from[128];
	ssize_t n;

	snprintf(name, sizeof name, "snapshots/%s/%s", commit, path);
	link_text(to, sizeof to, path, blob);
	n = readlinkat(c->fd, name, now, sizeof now - 1);
	if (n > 0 && (size_t)n == strlen(to) && memcmp(now, to, (size_t)n) == 0)
		return 0;
	if (folders_above(c->fd, name) < 0)
		return err_errno(e, c->path, "the folder of %s cannot be created", name);
	beside(made, sizeof made, name);
	unlinkat(c->fd, made, 0);
	if (!without_links() && symlinkat(to, c->fd, made) == 0) {
		if (renameat(c->fd, made, c->fd, name) == 0)
			return 0;
		unlinkat(c->fd, made, 0);
		return err_errno(e, c->path, "%s cannot be made", name);
	}
	snprintf(from, sizeof from, "blobs/%.64s", blob);
	return renameat(c->fd, from, c->fd, name) == 0
	           ? 0 : err_errno(e, c->path, "%s cannot be made", name);
}

/* ---- locks ---- */

/* Whether the file of a lock still has its name: other programs remove theirs. */
static bool
is_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int
cache_lock(const char *folder, const char *name, void (*waits)(const char *name),
           struct err *e)
{
	char path[CACHE_PATH + 128];
	int fd;

	if (cache_folders(folder) < 0)
		return err_errno(e, folder, "the folder cannot be created");
	snprintf(path, sizeof path, "%s/%.100s.lock", folder, name);
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd < 0)
			return err_errno(e, path, "the lock cannot be opened");
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			if (errno == EWOULDBLOCK && waits)
				waits(name);
			while (flock(fd, LOCK_EX) < 0)
				if (errno != EINTR) {
					err_errno(e, path, "the lock cannot be taken");
					close(fd);
					return -1;
				}
		}
		if (is_named(fd, path))
			return fd;
		close(fd);
	}
}
