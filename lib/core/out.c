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

#include "core/broker.h"
#include "core/crc32.h"
#include "core/dir_name.h"
#include "core/pipe.h"
#include "core/signals.h"

/* Standard output, for the signal handler that undoes outputs; or -1. Files without a
 * final name are removed when the helper ends (core/broker.h). */
static volatile sig_atomic_t undo_fd = -1;

static void
undo(int sig)
{
	if (undo_fd >= 0 && ftruncate(undo_fd, 0) < 0) {
		/* Nothing else can be done; the magic is missing anyway. */
	}
	broker_end();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
watch_signals(void)
{
	static const int sigs[] = { SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT,
		SIGXCPU };
	struct sigaction sa = { .sa_handler = undo }, old;
	size_t i;

	if (!signals_caught())
		return;
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
open_taker(struct out *o, const struct out_options *options, struct err *err)
{
	*o = (struct out){ .name = options->path ? options->path : "<output>", .to = options->to,
		.fd = -1, .err = err, .seekable = !options->to->appends };
	o->window = malloc(OUT_WINDOW);
	return o->window ? 0 : err_memory(err);
}

/* A file that is standard output and the input at once. */
static int
refuse_standard_output(const struct out_options *options, struct err *err)
{
	struct stat to, in;

	if (options->input >= 0 && fstat(STDOUT_FILENO, &to) == 0 && S_ISREG(to.st_mode) &&
	    fstat(options->input, &in) == 0 && in.st_dev == to.st_dev && in.st_ino == to.st_ino)
		return err_set(err, ERR_USAGE, "<stdout>", "is the input file itself");
	return 0;
}

static int
open_standard_output(struct out *o, const struct out_options *options, struct err *err)
{
	struct stat st;
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
	if (refuse_standard_output(options, err) < 0)
		return -1;
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

/* Returns the folder of path in a new string. */
static char *
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int
open_temporary(struct out *o, mode_t mode)
{
	o->fd = place_create(o->place, mode ? mode : 0666, &o->file);
	if (o->fd < 0)
		return fail(o, "cannot be created");
	o->nameless = true;
	watch_signals();
	return 0;
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

/* Whether the output may be a file of the input, which has several files in the output's
 * folder. The files of a GGUF or APR2 model begin with the same name as the given shard;
 * a model folder, or a shard of safetensors, includes all files beside it. */
static bool
may_be_input(const char *path, const char *from)
{
	static const char *const endings[] = { ".gguf", ".apr" };
	const char *name = from && strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
	const char *own = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct dir_number number;
	size_t i, n = 0;

	if (!name)
		return true;
	for (i = 0; i < sizeof endings / sizeof *endings; i++)
		if (dir_numbered(name, endings[i], &number))
			n = number.prefix;
	if (dir_name_ends(name, ".apr.json"))
		n = strlen(name) - strlen(".apr.json");
	return n == 0 || (strncmp(own, name, n) == 0 && (own[n] == '-' || own[n] == '.'));
}

static int
refuse_existing(struct out *o)
{
	if (o->force)
		return 0;
	err_set(o->err, ERR_USAGE, o->name, "exists already");
	return err_hint(o->err, "-f replaces it");
}

static int
refuse_target(struct out *o, const struct out_options *options)
{
	struct stat st, in = { .st_mode = 0 };

	if (stat(o->path, &st) < 0) {
		if (errno != ENOENT)
			return fail(o, "cannot be created");
		return lstat(o->path, &st) < 0 ? 0 : refuse_existing(o); /* a link to nothing */
	}
	if (S_ISDIR(st.st_mode))
		return err_set(o->err, ERR_USAGE, o->name, "is a directory");
	if (options->input >= 0 && fstat(options->input, &in) == 0 &&
	    in.st_dev == st.st_dev && in.st_ino == st.st_ino)
		return err_set(o->err, ERR_USAGE, o->name, "is the input file itself");
	if (!S_ISREG(st.st_mode))
		return 0;
	if (options->input >= 0 && S_ISDIR(in.st_mode) && lies_in(o->path, &in) &&
	    may_be_input(o->path, options->from))
		return err_set(o->err, ERR_USAGE, o->name, "lies in the input folder already");
	return refuse_existing(o);
}

int
out_refuse(const struct out_options *options, struct err *err)
{
	struct out o = { .fd = -1, .err = err, .name = options->path,
		.path = options->path, .force = options->force };

	if (options->to)
		return 0;
	if (!options->path || strcmp(options->path, "-") == 0)
		return refuse_standard_output(options, err);
	return refuse_target(&o, options);
}

int
out_open(struct out *o, const struct out_options *options, struct err *err)
{
	struct stat st;

	*o = (struct out){ .fd = -1, .err = err, .failed = true };
	if (options->to)
		return open_taker(o, options, err);
	if (!options->path || strcmp(options->path, "-") == 0)
		return open_standard_output(o, options, err);
	*o = (struct out){ .fd = -1, .err = err, .name = options->path,
		.path = options->path, .force = options->force,
		.sync = !options->no_sync, .place = options->stage, .staged = options->stage };
	if (!o->staged && refuse_target(o, options) < 0)
		return -1;
	if (!o->staged)
		o->place = place_open(o->path, o->force);
	if (!o->place)
		return err_memory(err);
	if (!o->staged && (place_is_special(o->place) ||
	                   (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode)))) {
		/* A device or a named pipe is written directly and not renamed. */
		int fd = place_special(o->place);

		if (fd < 0)
			return fail(o, "cannot be opened");
		place_close(o->place);
		if (out_fd(o, fd, options->path, err) < 0) {
			close(fd);
			return -1;
		}
		o->owns = true;
		return 0;
	}
	if (open_temporary(o, options->mode) < 0)
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

	/* A file system of unknown size reports no blocks. */
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
write_taker(struct out *o, const uint8_t *p, size_t n, uint64_t offset)
{
	if (n == 0 || o->to->write(o->to->ctx, offset, p, n) == 0)
		return 0;
	o->failed = true;
	return err_set(o->err, ERR_IO, o->name, "cannot be written");
}

/* Writes at o->start. */
static int
write_all(struct out *o, const uint8_t *p, size_t n)
{
	if (o->to)
		return write_taker(o, p, n, o->start);
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
	if (o->to)
		return write_taker(o, p, n, offset);
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

/* Gives a file that ends in a hole its length. */
static int
close_hole(struct out *o)
{
	if (o->has_hole && ftruncate(o->fd, (off_t)o->start) < 0)
		return fail(o, "cannot be written");
	o->has_hole = false;
	return 0;
}

int
out_settle(struct out *o)
{
	if (out_flush(o) < 0 || close_hole(o) < 0)
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

/* Returns the result of a send. It is not an error if pages cannot be moved. */
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
	return o->crc_on || o->seekable || o->to ? 0 : sent(o, pipe_send(file, offset, o->fd, max));
}

ssize_t
out_tee(struct out *o, int pipe, size_t max)
{
	if (o->failed || out_flush(o) < 0)
		return -1;
	return o->crc_on || o->seekable || o->to ? 0 : sent(o, pipe_tee(pipe, o->fd, max));
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

int
out_hole(struct out *o, uint64_t n)
{
	if (!o->seekable || o->to || out_tell(o) < OUT_HELD)
		return out_zeros(o, n);
	if (out_flush(o) < 0)
		return -1;
	if (n > INT64_MAX || lseek(o->fd, (off_t)n, SEEK_CUR) < 0)
		return fail(o, "cannot be so long");
	if (o->crc_on)
		o->crc = crc32_zeros(o->crc, n);
	o->start += n;
	o->has_hole = true;
	return 0;
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

/* Gives the finished file its name. */
static int
give_name(struct out *o)
{
	const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;

	if (o->stage_name)
		name = o->stage_name;
	if (o->staged ? place_name_staged(o->place, o->file, name) < 0
	              : place_name(o->place, o->file, o->sync) < 0)
		return fail(o, "cannot be given its name");
	o->nameless = false;
	return 0;
}

int
out_finish(struct out *o)
{
	int fd;

	if (out_flush(o) < 0 || close_hole(o) < 0)
		return -1;
	if (o->holds) {
		size_t n = o->start < OUT_HELD ? (size_t)o->start : OUT_HELD;

		/* Everything else must be on disk before the head makes the file valid. */
		if ((o->sync && fdatasync(o->fd) < 0) || write_at(o, o->held, n, 0) < 0)
			return o->failed ? -1 : fail(o, "cannot be synced");
		undo_fd = -1;
	}
	if (o->path && o->seekable) {
		if (o->sync && fsync(o->fd) < 0)
			return fail(o, "cannot be synced");
		if (give_name(o) < 0)
			return -1;
	}
	if (o->to && o->to->end && o->to->end(o->to->ctx, o->start) < 0) {
		o->failed = true;
		return err_set(o->err, ERR_IO, o->name, "cannot be completed");
	}
	fd = o->fd;
	o->fd = -1; /* the descriptor is closed even if close fails */
	if (!o->to && close(fd) < 0)
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
	if (o->nameless)
		place_drop(o->place, o->file);
	if (o->fd >= 0 && (o->path || o->owns))
		close(o->fd);
	if (!o->staged)
		place_close(o->place);
	free(o->window);
	*o = (struct out){ .fd = -1, .done = true, .failed = true };
}
