#include "core/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/embedded.h"
#include "core/le.h"

#define MAGIC "APRMETA1"
#define HEAD 32          /* bytes before the old ones */
#define SECTOR 512       /* bytes that a disk writes at once, at least */
#define PIECE (1u << 16)

/* The range that changes, and its bytes. */
struct change {
	uint64_t at, n, size;   /* size: of the file */
	const uint8_t *old, *new;
};

/* ---- the file ---- */

static int
read_at(int fd, uint8_t *p, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t got = pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got < 0 ? errno : EIO;
			return -1;
		}
		p += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

/* Writes n bytes by as few calls as the system allows. Returns the number that it wrote, and
 * errno if these are fewer. */
static uint64_t
write_at(int fd, const uint8_t *p, uint64_t n, uint64_t at)
{
	uint64_t done = 0;

	while (done < n) {
		ssize_t put = pwrite(fd, p + done, (size_t)(n - done), (off_t)(at + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			errno = put < 0 ? errno : EIO;
			break;
		}
		done += (uint64_t)put;
	}
	return done;
}

/* ---- the journal ---- */

static int
put_all(int fd, const void *p, size_t n, uint32_t *crc)
{
	const uint8_t *from = p;

	*crc = crc32_add(*crc, p, n);
	while (n > 0) {
		ssize_t put = write(fd, from, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			errno = put < 0 ? errno : EIO;
			return -1;
		}
		from += put;
		n -= (size_t)put;
	}
	return 0;
}

static int
put_journal(int fd, const struct change *c)
{
	uint8_t head[HEAD], tail[4];
	uint32_t crc = 0;

	memcpy(head, MAGIC, 8);
	le64_put(head + 8, c->at);
	le64_put(head + 16, c->n);
	le64_put(head + 24, c->size);
	if (put_all(fd, head, HEAD, &crc) < 0 || put_all(fd, c->old, (size_t)c->n, &crc) < 0 ||
	    put_all(fd, c->new, (size_t)c->n, &crc) < 0)
		return -1;
	le32_put(tail, crc);
	return put_all(fd, tail, sizeof tail, &crc) < 0 ? -1 : fsync(fd);
}

/* Makes a change of name survive a loss of power. Some file systems cannot. */
static void
sync_folder(const struct rewrite *w)
{
	int fd = openat(w->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

/* Writes the journal, which gets its name when it is complete; on a file system without
 * unnamed files, under another name first. */
static int
make_journal(const struct rewrite *w, const struct change *c, struct err *e)
{
	char self[64], other[sizeof w->journal + 8];
	int fd = openat(w->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), r;
	bool named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);

	snprintf(other, sizeof other, "%s.tmp", w->journal);
	if (named) {
		unlinkat(w->dir, other, 0);
		fd = openat(w->dir, other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return err_errno(e, w->name, "its folder does not take the journal of a change");
	r = put_journal(fd, c);
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	if (r == 0)
		r = named ? renameat(w->dir, other, w->dir, w->journal)
		          : linkat(AT_FDCWD, self, w->dir, w->journal, AT_SYMLINK_FOLLOW);
	if (r < 0)
		err_errno(e, w->name, "its folder does not take the journal of a change");
	if (r < 0 && named)
		unlinkat(w->dir, other, 0);
	close(fd);
	if (r == 0)
		sync_folder(w);
	return r;
}

static void
drop_journal(const struct rewrite *w)
{
	unlinkat(w->dir, w->journal, 0);
	sync_folder(w);
}

/* ---- an interrupted change ---- */

/* Takes apart a journal of n bytes. False if it is not one, or not complete. */
static bool
parse_journal(const uint8_t *p, uint64_t n, struct change *c)
{
	if (n < HEAD + 4 || memcmp(p, MAGIC, 8) != 0)
		return false;
	c->at = le64(p + 8);
	c->n = le64(p + 16);
	c->size = le64(p + 24);
	if (c->n != (n - HEAD - 4) / 2 || (n - HEAD - 4) % 2 || c->at > c->size ||
	    c->n > c->size - c->at)
		return false;
	c->old = p + HEAD;
	c->new = c->old + c->n;
	return crc32_same(crc32_add(0, p, (size_t)n - 4), le32(p + n - 4));
}

/* 1 if each sector of the range is old or new, else 0; -1 if the file cannot be read. *olds, *news:
 * the numbers of sectors that are only the one or only the other. */
static int
is_mixture(int fd, const struct change *c, uint64_t *olds, uint64_t *news)
{
	uint8_t now[SECTOR];
	uint64_t done, n;

	*olds = *news = 0;
	for (done = 0; done < c->n; done += n) {
		bool old, new;

		n = SECTOR - (c->at + done) % SECTOR;
		n = n < c->n - done ? n : c->n - done;
		if (read_at(fd, now, (size_t)n, c->at + done) < 0)
			return -1;
		old = memcmp(now, c->old + done, (size_t)n) == 0;
		new = memcmp(now, c->new + done, (size_t)n) == 0;
		if (!old && !new)
			return 0;
		*olds += old && !new;
		*news += new && !old;
	}
	return 1;
}

/* Of what cannot be read, the journal has the only copy. */
static int
keep_journal(const struct rewrite *w, struct err *e)
{
	err_errno(e, w->name, "cannot be read to complete a change that was interrupted");
	return err_hint(e, "%.200s beside it holds the old and the new bytes, and stays", w->journal);
}

static int
complete(struct rewrite *w, const struct change *c, struct err *e)
{
	struct stat st;
	uint64_t olds = 0, news = 0;
	int mixed = 0;

	if (fstat(w->fd, &st) < 0)
		return keep_journal(w, e);
	if ((uint64_t)st.st_size == c->size)
		mixed = is_mixture(w->fd, c, &olds, &news);
	if (mixed < 0)
		return keep_journal(w, e);
	/* Another file, or one that is as before or after the change: nothing to do. */
	if (mixed && olds && news) {
		if (write_at(w->fd, c->new, c->n, c->at) < c->n || fdatasync(w->fd) < 0)
			return err_errno(e, w->name, "a change that was interrupted cannot be completed");
		w->completed = true;
	}
	drop_journal(w);
	return 0;
}

static int
recover(struct rewrite *w, struct err *e)
{
	int fd = openat(w->dir, w->journal, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), r = 0;
	struct change c;
	struct stat st;
	uint8_t *p;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, w->journal, "cannot be opened");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid != 0)) {
		close(fd);
		return err_set(e, ERR_IO, w->journal, "is not a journal of this user: remove it");
	}
	p = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
	                   : MAP_FAILED;
	if (p == MAP_FAILED && st.st_size > 0)
		r = err_errno(e, w->journal, "cannot be read");
	else if (p != MAP_FAILED && parse_journal(p, (uint64_t)st.st_size, &c))
		r = complete(w, &c, e);
	else
		drop_journal(w);
	if (p != MAP_FAILED)
		munmap(p, (size_t)st.st_size);
	close(fd);
	return r;
}

/* ---- opening ---- */

/* Opens the folder of the file itself, to which path may be a link. */
static int
open_folder(struct rewrite *w, const char *path, struct err *e)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;

	if (!slash)
		return err_errno(e, path, "cannot be opened");
	if (snprintf(w->journal, sizeof w->journal, ".%.240s" REWRITE_SUFFIX, slash + 1) < 0)
		w->journal[0] = '\0';
	*(slash == real ? slash + 1 : slash) = '\0';
	w->dir = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dir < 0)
		err_errno(e, path, "its folder cannot be opened");
	free(real);
	return w->dir < 0 ? -1 : 0;
}

int
rewrite_open(struct rewrite *w, const char *path, struct err *e)
{
	struct stat st;

	*w = (struct rewrite){ .name = path, .fd = -1, .dir = -1 };
	w->fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (w->fd < 0)
		return err_errno(e, path, "cannot be opened");
	if (fstat(w->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, path, "is not a regular file: only such a file can be "
		               "changed in place");
	if (embedded_lies_in(w->fd)) {
		err_set(e, ERR_FORMAT, path, "is a program with a model inside, which cannot be changed in place");
		return err_hint(e, "apr-embed --extract writes the model to a file");
	}
	if (flock(w->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		           ? err_set(e, ERR_IO, path, "is being changed by another process")
		           : err_errno(e, path, "cannot be locked");
	return open_folder(w, path, e) < 0 ? -1 : recover(w, e);
}

void
rewrite_close(struct rewrite *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->dir >= 0)
		close(w->dir);
	w->fd = w->dir = -1;
}

/* ---- changing ---- */

/* Finds the range of the n bytes in which the file differs from `new`; none if c->n is 0. */
static int
find_range(const struct rewrite *w, const uint8_t *new, uint64_t n, struct change *c)
{
	uint8_t now[PIECE];
	uint64_t at, part, i, last = 0;
	bool any = false;

	for (at = 0; at < n; at += part) {
		part = n - at < PIECE ? n - at : PIECE;
		if (read_at(w->fd, now, (size_t)part, at) < 0)
			return -1;
		if (memcmp(now, new + at, (size_t)part) == 0)
			continue;
		for (i = 0; i < part; i++)
			if (now[i] != new[at + i]) {
				c->at = any ? c->at : at + i;
				any = true;
				last = at + i;
			}
	}
	c->n = any ? last + 1 - c->at : 0;
	c->new = new + c->at;
	return 0;
}

/* Writes the new bytes; if that fails half way, the old ones again. */
static int
write_change(const struct rewrite *w, const struct change *c, struct err *e)
{
	uint64_t done = write_at(w->fd, c->new, c->n, c->at);
	int why = errno;

	if (done == c->n && fdatasync(w->fd) == 0)
		return 0;
	why = done == c->n ? errno : why;
	done = write_at(w->fd, c->old, done, c->at) == done;
	errno = why;
	if (done) {
		err_errno(e, w->name, "cannot be written; it is as before");
		return -1;
	}
	err_errno(e, w->name, "cannot be written, and is half changed");
	err_hint(e, "the next apr-meta --in-place completes it from %.200s", w->journal);
	return -2;
}

/* Signals wait while the file is written: only SIGKILL can end the process. */
static int
change(const struct rewrite *w, const struct change *c, struct err *e)
{
	sigset_t all, before;
	int r;

	if (make_journal(w, c, e) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	r = write_change(w, c, e);
	if (r > -2)
		drop_journal(w);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? -1 : 0;
}

int
rewrite_head(struct rewrite *w, int from, uint64_t n, struct err *e)
{
	struct change c = { .n = 0 };
	uint8_t *new, *old = NULL;
	struct stat st;
	int r = -1;

	if (fstat(w->fd, &st) < 0 || (uint64_t)st.st_size < n)
		return err_set(e, ERR_IO, w->name, "changed meanwhile");
	c.size = (uint64_t)st.st_size;
	new = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, from, 0);
	if (new == MAP_FAILED)
		return err_errno(e, w->name, "its new header cannot be mapped");
	if (find_range(w, new, n, &c) < 0)
		err_errno(e, w->name, "cannot be read");
	else if (c.n == 0)
		r = 0;
	else if (!(old = malloc((size_t)c.n)))
		err_memory(e);
	else if (read_at(w->fd, old, (size_t)c.n, c.at) < 0)
		err_errno(e, w->name, "cannot be read");
	else {
		c.old = old;
		r = change(w, &c, e);
	}
	free(old);
	munmap(new, (size_t)n);
	return r;
}
