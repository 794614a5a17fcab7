#include "core/out.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/mem.h"
#include "core/pipe.h"

/* What a signal handler needs to undo the outputs: standard output, and the temporary
 * names of all others. The list changes only while no signal can come. */
static volatile sig_atomic_t undo_fd = -1;
static char **undo_names;
static size_t undo_count, undo_cap;

static void
undo(int sig)
{
	size_t i;

	if (undo_fd >= 0 && ftruncate(undo_fd, 0) < 0) {
		/* Nothing else can be done here; the magic is missing anyway. */
	}
	for (i = 0; i < undo_count; i++)
		unlink(undo_names[i]);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A name that must not outlive us; it is the caller's, until undo_forget. */
static int
undo_remember(char *name)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = mem_grow(&undo_names, &undo_cap, undo_count + 1, sizeof *undo_names);
	if (r == 0)
		undo_names[undo_count++] = name;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void
undo_forget(const char *name)
{
	sigset_t all, before;
	size_t i;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	for (i = 0; i < undo_count; i++)
		if (undo_names[i] == name) {
			undo_names[i] = undo_names[--undo_count];
			break;
		}
	if (undo_count == 0) {
		free(undo_names);
		undo_names = NULL;
		undo_cap = 0;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
watch_signals(void)
{
	static const int sigs[] = { SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT,
		SIGXCPU, SIGXFSZ };
	struct sigaction sa = { .sa_handler = undo }, old;
	size_t i;

	sigfillset(&sa.sa_mask);
	for (i = 0; i < sizeof sigs / sizeof *sigs; i++)
		if (sigaction(sigs[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(sigs[i], &sa, NULL);
}

static int
fail(struct out *o, const char *what)
{
	o->failed = true;
	return err_errno(o->err, o->name, "%s", what);
}

int
out_fd(struct out *o, int fd, const char *name, struct err *err)
{
	struct stat st;
	off_t at;

	*o = (struct out){ .name = name, .fd = fd, .err = err };
	if (fstat(fd, &st) < 0)
		return fail(o, "cannot be written");
	at = lseek(fd, 0, SEEK_CUR);
	o->seekable = S_ISREG(st.st_mode) && at == 0;
	pipe_widen(fd);
	o->window = malloc(OUT_WINDOW);
	if (!o->window)
		return err_memory(err);
	return 0;
}

static int
open_standard_output(struct out *o, const struct out_options *options, struct err *err)
{
	struct stat st, in;
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0)
		return err_errno(err, "<stdout>", "cannot be written");
	if (!options->terminal_ok && isatty(STDOUT_FILENO)) {
		err_set(err, ERR_USAGE, "<stdout>", "binary data does not go to a terminal");
		return err_hint(err, "use -o FILE, or pipe it into the next tool");
	}
	if (out_fd(o, STDOUT_FILENO, "<stdout>", err) < 0)
		return -1;
	if (fstat(STDOUT_FILENO, &st) < 0)
		return fail(o, "cannot be written");
	if (S_ISREG(st.st_mode) && options->input >= 0 && fstat(options->input, &in) == 0 &&
	    in.st_dev == st.st_dev && in.st_ino == st.st_ino)
		return err_set(err, ERR_USAGE, "<stdout>", "is the input file itself");
	if (o->seekable && (st.st_size != 0 || flags & O_APPEND))
		o->seekable = false;
	if (o->seekable && !options->terminal_ok) {
		o->holds = true;
		o->sync = !options->no_sync;
		undo_fd = STDOUT_FILENO;
		watch_signals();
	}
	return 0;
}

/* The folder of path, in a new string. */
static char *
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int
open_temporary(struct out *o)
{
	char *folder = folder_of(o->path);
	mode_t mask = umask(0);
	size_t room = strlen(o->path) + 32;

	umask(mask);
	if (!folder)
		return err_memory(o->err);
	o->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (o->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		o->temporary = malloc(room);
		if (o->temporary) {
			const char *base = strrchr(o->path, '/');

			base = base ? base + 1 : o->path;
			snprintf(o->temporary, room, "%s/.%.200s.XXXXXX", folder, base);
			o->fd = mkostemp(o->temporary, O_CLOEXEC);
			if (o->fd >= 0 && undo_remember(o->temporary) < 0)
				o->failed = err_memory(o->err) < 0;
			if (o->fd >= 0 && fchmod(o->fd, 0666 & ~mask) < 0)
				fail(o, "cannot be given its mode");
		}
	}
	free(folder);
	if (o->fd < 0)
		return fail(o, "cannot be created");
	watch_signals();
	return o->failed ? -1 : 0;
}

static bool
lies_in(const char *path, const struct stat *folder)
{
	char *own = folder_of(path);
	struct stat st;
	bool lies = own && stat(own, &st) == 0 && st.st_dev == folder->st_dev &&
	            st.st_ino == folder->st_ino;

	free(own);
	return lies;
}

static int
refuse_target(struct out *o, const struct out_options *options)
{
	struct stat st, in = { .st_mode = 0 };

	if (stat(o->path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		return fail(o, "cannot be created");
	}
	if (S_ISDIR(st.st_mode))
		return err_set(o->err, ERR_USAGE, o->name, "is a directory");
	if (options->input >= 0 && fstat(options->input, &in) == 0 &&
	    in.st_dev == st.st_dev && in.st_ino == st.st_ino)
		return err_set(o->err, ERR_USAGE, o->name, "is the input file itself");
	if (!S_ISREG(st.st_mode))
		return 0;
	if (options->input >= 0 && S_ISDIR(in.st_mode) && lies_in(o->path, &in))
		return err_set(o->err, ERR_USAGE, o->name, "lies in the input folder already");
	if (!o->force) {
		err_set(o->err, ERR_USAGE, o->name, "exists already");
		return err_hint(o->err, "-f replaces it");
	}
	return 0;
}

int
out_refuse(const struct out_options *options, struct err *err)
{
	struct out o = { .fd = -1, .err = err, .name = options->path,
		.path = options->path, .force = options->force };

	return refuse_target(&o, options);
}

int
out_open(struct out *o, const struct out_options *options, struct err *err)
{
	struct stat st;

	*o = (struct out){ .fd = -1, .err = err, .failed = true };
	if (!options->path || strcmp(options->path, "-") == 0)
		return open_standard_output(o, options, err);
	*o = (struct out){ .fd = -1, .err = err, .name = options->path,
		.path = options->path, .force = options->force,
		.sync = !options->no_sync };
	if (refuse_target(o, options) < 0)
		return -1;
	if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode)) {
		/* A device or a named pipe keeps its name: nothing to rename. */
		int fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

		if (fd < 0)
			return fail(o, "cannot be opened");
		if (out_fd(o, fd, options->path, err) < 0) {
			close(fd);
			return -1;
		}
		return 0;
	}
	if (open_temporary(o) < 0)
		return -1;
	o->seekable = true;
	o->window = malloc(OUT_WINDOW);
	return o->window ? 0 : err_memory(err);
}

int
out_reserve(struct out *o, uint64_t bytes)
{
	struct statvfs fs;
	uint64_t space;

	/* A file system without a size has no blocks at all. */
	if (o->failed || !o->seekable || fstatvfs(o->fd, &fs) < 0 || fs.f_blocks == 0)
		return o->failed ? -1 : 0;
	if (__builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize, &space) ||
	    bytes <= space)
		return 0;
	o->failed = true;
	return err_set(o->err, ERR_IO, o->name,
	               "needs %" PRIu64 " bytes, but %" PRIu64 " are free", bytes, space);
}

static int
write_all(struct out *o, const uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t put = write(o->fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(o, "cannot be written");
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

static int
write_at(struct out *o, const uint8_t *p, size_t n, uint64_t offset)
{
	while (n > 0) {
		ssize_t put = pwrite(o->fd, p, n, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(o, "cannot be written");
		p += put;
		n -= (size_t)put;
		offset += (uint64_t)put;
	}
	return 0;
}

int
out_flush(struct out *o)
{
	if (o->failed)
		return -1;
	if (o->holds && o->start == 0 && o->fill > 0) {
		size_t n = o->fill < OUT_HELD ? o->fill : OUT_HELD;

		memcpy(o->held, o->window, n);
		memset(o->window, 0, n);
	}
	if (write_all(o, o->window, o->fill) < 0)
		return -1;
	o->start += o->fill;
	o->fill = 0;
	return 0;
}

int
out_settle(struct out *o)
{
	if (out_flush(o) < 0)
		return -1;
	if (o->path && o->seekable && o->sync && fsync(o->fd) < 0)
		return fail(o, "cannot be synced");
	free(o->window);
	o->window = NULL;
	return 0;
}

int
out_put(struct out *o, const void *p, size_t n)
{
	const uint8_t *from = p;

	if (o->failed)
		return -1;
	if (o->crc_on)
		o->crc = crc32_add(o->crc, from, n);
	/* The head goes through the window, where its first bytes are held back. */
	if (n >= OUT_LONG && out_tell(o) > 0)  {
		if (out_flush(o) < 0 || write_all(o, from, n) < 0)
			return -1;
		o->start += n;
		return 0;
	}
	while (n > 0) {
		size_t room = OUT_WINDOW - o->fill, part = n < room ? n : room;

		memcpy(o->window + o->fill, from, part);
		o->fill += part;
		from += part;
		n -= part;
		if (o->fill == OUT_WINDOW && out_flush(o) < 0)
			return -1;
	}
	return 0;
}

/* What sending came to. That it cannot be done is no fault. */
static ssize_t
sent(struct out *o, ssize_t n)
{
	if (n > 0)
		o->start += (uint64_t)n;
	else if (n < 0 && errno == EPIPE)
		return fail(o, "cannot be written");
	return n > 0 ? n : 0;
}

ssize_t
out_send(struct out *o, int file, uint64_t offset, size_t max)
{
	if (o->failed || out_flush(o) < 0)
		return -1;
	return o->crc_on || o->seekable ? 0 : sent(o, pipe_send(file, offset, o->fd, max));
}

ssize_t
out_tee(struct out *o, int pipe, size_t max)
{
	if (o->failed || out_flush(o) < 0)
		return -1;
	return o->crc_on || o->seekable ? 0 : sent(o, pipe_tee(pipe, o->fd, max));
}

int
out_fill(struct out *o, uint8_t byte, uint64_t n)
{
	uint8_t bytes[4096];

	memset(bytes, byte, sizeof bytes);
	while (n > 0) {
		size_t part = n < sizeof bytes ? (size_t)n : sizeof bytes;

		if (out_put(o, bytes, part) < 0)
			return -1;
		n -= part;
	}
	return o->failed ? -1 : 0;
}

int
out_zeros(struct out *o, uint64_t n)
{
	return out_fill(o, 0, n);
}

uint64_t
out_tell(const struct out *o)
{
	return o->start + o->fill;
}

int
out_patch(struct out *o, uint64_t offset, const void *p, size_t n)
{
	if (o->failed || out_flush(o) < 0)
		return -1;
	if (!o->seekable || offset < OUT_HELD || offset + n > o->start) {
		o->failed = true;
		return err_set(o->err, ERR_IO, o->name, "cannot be patched at byte %" PRIu64,
		               offset);
	}
	return write_at(o, p, n, offset);
}

/* Name the finished file. Without force nothing is ever replaced, not even a
 * file that appeared meanwhile: link(2) fails where rename(2) would not. */
static int
give_name(struct out *o)
{
	char self[64];
	size_t room = strlen(o->path) + 32;
	char *step;
	int tries, linked = -1;

	if (o->temporary) {
		if (!o->force)
			linked = link(o->temporary, o->path);
		else
			linked = rename(o->temporary, o->path);
		if (linked < 0)
			return fail(o, "cannot be given its name");
		if (!o->force)
			unlink(o->temporary);
		undo_forget(o->temporary);
		return 0;
	}
	snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST || !o->force)
		return fail(o, "cannot be given its name");
	step = malloc(room);
	if (!step)
		return err_memory(o->err);
	for (tries = 0; tries < 100 && linked < 0; tries++) {
		snprintf(step, room, "%s.%ld.%d.tmp", o->path, (long)getpid(), tries);
		linked = linkat(AT_FDCWD, self, AT_FDCWD, step, AT_SYMLINK_FOLLOW);
		if (linked < 0 && errno != EEXIST)
			break;
	}
	if (linked == 0 && undo_remember(step) < 0) {
		unlink(step);
		free(step);
		return err_memory(o->err);
	}
	if (linked == 0) {
		linked = rename(step, o->path);
		undo_forget(step);
		if (linked < 0) {
			int saved = errno;

			unlink(step);
			errno = saved;
		}
	}
	if (linked < 0)
		fail(o, "cannot be given its name");
	free(step);
	return o->failed ? -1 : 0;
}

/* The name itself must survive a crash. A file system that cannot sync a
 * folder says EINVAL; nothing is lost by going on then. */
static int
sync_folder(struct out *o)
{
	char *folder = folder_of(o->path);
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(folder);
	if (fd < 0)
		return 0;
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS) {
		close(fd);
		return fail(o, "its folder cannot be synced");
	}
	close(fd);
	return 0;
}

int
out_finish(struct out *o)
{
	int fd;

	if (out_flush(o) < 0)
		return -1;
	if (o->holds) {
		size_t n = o->start < OUT_HELD ? (size_t)o->start : OUT_HELD;

		/* All else must lie on the disk before the head makes it a file. */
		if ((o->sync && fdatasync(o->fd) < 0) || write_at(o, o->held, n, 0) < 0)
			return o->failed ? -1 : fail(o, "cannot be synced");
		undo_fd = -1;
	}
	if (o->path && o->seekable) {
		if (o->sync && fsync(o->fd) < 0)
			return fail(o, "cannot be synced");
		if (give_name(o) < 0)
			return -1;
		if (o->sync)
			sync_folder(o);
	}
	fd = o->fd;
	o->fd = -1; /* whatever close says, it is closed */
	if (close(fd) < 0)
		return fail(o, "cannot be closed");
	o->done = true;
	out_abandon(o);
	return 0;
}

void
out_abandon(struct out *o)
{
	if (!o->done && o->holds && o->fd >= 0 && ftruncate(o->fd, 0) == 0)
		undo_fd = -1;
	if (!o->done && o->temporary)
		unlink(o->temporary);
	if (o->temporary)
		undo_forget(o->temporary);
	if (o->fd >= 0 && o->path)
		close(o->fd);
	free(o->temporary);
	free(o->window);
	*o = (struct out){ .fd = -1, .done = true, .failed = true };
}
