#include "core/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/num.h"
#include "core/opened.h"
#include "core/part.h"
#include "core/pipe.h"
#include "core/range.h"
#include "core/remote.h"

int
reader_fail(struct reader *r, enum err_code code, const char *fmt, ...)
{
	char object[sizeof r->err->object];
	va_list ap;

	r->failed = true;
	if (r->err->code == ERR_NONE) {
		r->err->has_at = 1;
		r->err->at = reader_tell(r);
	}
	snprintf(object, sizeof object, "%s: byte %" PRIu64, r->name, reader_tell(r));
	va_start(ap, fmt);
	err_vset(r->err, code, object, fmt, ap);
	va_end(ap);
	return -1;
}

int
reader_fd(struct reader *r, int fd, const char *name, struct err *err)
{
	struct part part;
	struct stat st;
	off_t at;

	*r = (struct reader){ .name = name, .err = err, .fd = fd, .end = READER_UNKNOWN };
	if (fstat(fd, &st) < 0)
		return err_errno(err, name, "cannot be read");
	if (S_ISDIR(st.st_mode))
		return err_set(err, ERR_IO, name, "is a directory");
	at = lseek(fd, 0, SEEK_CUR);
	if (S_ISREG(st.st_mode) && at >= 0) {
		r->seekable = true;
		r->start = (uint64_t)at;
		r->end = at > st.st_size ? (uint64_t)at : (uint64_t)st.st_size;
	}
	r->remote = remote_holds(fd);
	r->part = part_of(fd, &part);
	r->copies = r->remote || r->part;
	pipe_widen(fd);
	r->window = malloc(READER_WINDOW);
	if (!r->window)
		return err_memory(err);
	return 0;
}

int
reader_open(struct reader *r, const char *path, struct err *err)
{
	int fd;

	*r = (struct reader){ .fd = -1, .err = err, .failed = true };
	if (strcmp(path, "-") == 0)
		return reader_fd(r, STDIN_FILENO, "<stdin>", err);
	fd = opened_file(path, O_RDONLY);
	if (fd < 0 && remote_is(path))
		return remote_fail(path, err);
	if (fd < 0)
		return err_errno(err, path, "cannot be opened");
	if (reader_fd(r, fd, path, err) < 0) {
		close(fd);
		r->fd = -1;
		return -1;
	}
	r->owns_fd = true;
	return 0;
}

void
reader_memory(struct reader *r, const void *p, size_t n, const char *name,
              struct err *err)
{
	*r = (struct reader){ .name = name, .err = err, .fd = -1, .end = n,
		.fill = n, .eof = true, .seekable = true };
	memcpy(&r->window, &p, sizeof p); /* never written to: fd is -1 */
}

void
reader_close(struct reader *r)
{
	if (r->fd >= 0) {
		free(r->window);
		if (r->owns_fd)
			close(r->fd);
	}
	*r = (struct reader){ .fd = -1, .failed = true };
}

uint64_t
reader_tell(const struct reader *r)
{
	return r->start + r->at;
}

uint64_t
reader_left(const struct reader *r)
{
	uint64_t at = reader_tell(r);

	if (r->end == READER_UNKNOWN)
		return READER_UNKNOWN;
	return at < r->end ? r->end - at : 0; /* the file may have grown */
}

/* Reads once, behind the window. more: the bytes that the caller will read, if that is known. */
static ssize_t
read_once(struct reader *r, size_t n, uint64_t more)
{
	uint8_t *to = r->window + r->fill;
	ssize_t got;

	if (r->remote)
		return remote_read(r->fd, r->start + r->fill, to, n, more);
	do
		got = r->part ? part_pread(r->fd, to, n, r->start + r->fill)
		              : read(r->fd, to, n);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Moves the unread bytes to the front and reads once more behind them, to have `want`
 * bytes. At the end of the input there may be fewer. */
static int
refill(struct reader *r, size_t want, uint64_t more)
{
	ssize_t got;

	if (r->failed || r->eof)
		return -1;
	memmove(r->window, r->window + r->at, r->fill - r->at);
	r->start += r->at;
	r->fill -= r->at;
	r->at = 0;
	got = read_once(r, num_min(want, READER_WINDOW - r->fill), more);
	if (got < 0) {
		r->failed = true;
		if (r->remote)
			return remote_fail(r->name, r->err);
		return err_errno(r->err, r->name, "cannot be read");
	}
	if (got == 0) {
		r->eof = true;
		return -1;
	}
	r->fill += (size_t)got;
	return 0;
}

static const uint8_t *
consume(struct reader *r, size_t n)
{
	const uint8_t *p = r->window + r->at;

	if (r->crc_on)
		r->crc = crc32_add(r->crc, p, n);
	r->at += n;
	return p;
}

/* Buffers n unread bytes, or all that are left. It reads more than n at once, since
 * structures are small. */
static void
have(struct reader *r, size_t n)
{
	while (r->fill - r->at < n) {
		size_t missing = n - (r->fill - r->at);

		if (refill(r, missing > READER_STEP ? missing : READER_STEP, 0) < 0)
			break;
	}
}

const uint8_t *
reader_peek(struct reader *r, size_t want, size_t *n)
{
	have(r, want);
	*n = 0;
	if (r->failed)
		return NULL;
	*n = r->fill - r->at < want ? r->fill - r->at : want;
	return r->window + r->at;
}

const uint8_t *
reader_take(struct reader *r, size_t n)
{
	have(r, n);
	if (r->failed)
		return NULL;
	if (r->fill - r->at < n) {
		reader_fail(r, ERR_CORRUPT, "ends here: %zu more bytes were expected",
		            n - (r->fill - r->at));
		return NULL;
	}
	return consume(r, n);
}

const uint8_t *
reader_some(struct reader *r, uint64_t max, size_t *n)
{
	if (r->fill == r->at)
		refill(r, READER_BODY, num_min(max, reader_left(r)));
	*n = 0;
	if (r->failed)
		return NULL;
	if (r->fill == r->at) {
		reader_fail(r, ERR_CORRUPT, "ends here: %" PRIu64 " more bytes were expected",
		            max);
		return NULL;
	}
	*n = r->fill - r->at;
	if (*n > max)
		*n = (size_t)max;
	return consume(r, *n);
}

/* Sends bytes on before they are read. The read that follows fails only if the file
 * shrinks. */
static ssize_t
send_on(struct reader *r, struct out *o, uint64_t max)
{
	size_t most = (size_t)num_min(max, READER_BODY);

	if (r->seekable)
		return out_send(o, r->fd, reader_tell(r), most);
	return out_tee(o, r->fd, most);
}

const uint8_t *
reader_share(struct reader *r, struct out *o, uint64_t max, size_t *n)
{
	const uint8_t *p;
	ssize_t sent = 0;

	*n = 0;
	if (!r->failed && !r->copies && r->fd >= 0 && r->fill == r->at) {
		sent = send_on(r, o, max);
		r->copies = sent <= 0;
	}
	if (o->failed)
		return NULL;
	if (sent > 0) {
		*n = (size_t)sent;
		/* Read exactly these bytes: the bytes after them will be sent on as
		 * well. */
		while (r->fill - r->at < *n && refill(r, *n - (r->fill - r->at), 0) == 0)
			;
		return reader_take(r, *n);
	}
	p = reader_some(r, max, n);
	return p && out_put(o, p, *n) < 0 ? NULL : p;
}

uint8_t
reader_u8(struct reader *r)
{
	const uint8_t *p = reader_take(r, 1);

	return p ? *p : 0;
}

uint16_t
reader_u16(struct reader *r)
{
	const uint8_t *p = reader_take(r, 2);

	return p ? le16(p) : 0;
}

uint32_t
reader_u32(struct reader *r)
{
	const uint8_t *p = reader_take(r, 4);

	return p ? le32(p) : 0;
}

uint64_t
reader_u64(struct reader *r)
{
	const uint8_t *p = reader_take(r, 8);

	return p ? le64(p) : 0;
}

/* Refuses an impossible length before anything is allocated. */
static int
within(struct reader *r, uint64_t n)
{
	if (r->failed)
		return -1;
	if (n > reader_left(r))
		return reader_fail(r, ERR_CORRUPT,
		                   "a length of %" PRIu64 " exceeds the %" PRIu64 " bytes left",
		                   n, reader_left(r));
	return 0;
}

int
reader_append(struct reader *r, struct buf *b, uint64_t n)
{
	if (within(r, n) < 0)
		return -1;
	while (n > 0) {
		size_t got;
		const uint8_t *p = reader_some(r, n, &got);

		if (!p)
			return -1;
		buf_put(b, p, got);
		if (!buf_ok(b)) {
			r->failed = true;
			return err_memory(r->err);
		}
		n -= got;
	}
	return 0;
}

int
reader_rest(struct reader *r, struct buf *b, size_t most)
{
	const uint8_t *p;
	size_t n;

	while (b->n <= most && !reader_at_end(r)) {
		p = reader_some(r, READER_WINDOW, &n);
		if (p)
			buf_put(b, p, n);
		if (!buf_ok(b)) {
			r->failed = true;
			return err_memory(r->err);
		}
	}
	return r->failed ? -1 : 0;
}

int
reader_seek(struct reader *r, uint64_t offset)
{
	if (r->failed)
		return -1;
	if (!r->seekable || offset > r->end)
		return reader_fail(r, ERR_CORRUPT, "cannot go to byte %" PRIu64, offset);
	if (offset >= r->start && offset <= r->start + r->fill) {
		r->at = (size_t)(offset - r->start);
		return 0;
	}
	if (lseek(r->fd, (off_t)offset, SEEK_SET) < 0) {
		r->failed = true;
		return err_errno(r->err, r->name, "cannot seek");
	}
	r->start = offset;
	r->fill = r->at = 0;
	r->eof = false;
	return 0;
}

int
reader_skip(struct reader *r, uint64_t n)
{
	if (within(r, n) < 0)
		return -1;
	if (r->seekable && !r->crc_on)
		return reader_seek(r, reader_tell(r) + n);
	while (n > 0) {
		size_t got;

		if (!reader_some(r, n, &got))
			return -1;
		n -= got;
	}
	return 0;
}

/* Moves the descriptor back to where the window ends. */
static void
move_back(struct reader *r)
{
	if (lseek(r->fd, (off_t)(r->start + r->fill), SEEK_SET) < 0) {
		r->failed = true;
		err_errno(r->err, r->name, "cannot seek");
	}
}

bool
reader_has_gap(struct reader *r, uint64_t n)
{
	struct range here = { r->fd, reader_tell(r) };
	bool has;

	if (r->failed || !r->seekable || r->fd < 0 || r->remote || n < RANGE_GAP)
		return false;
	has = range_has_gap(&here, 0, n);
	move_back(r);
	return has;
}

uint64_t
reader_gap(struct reader *r, uint64_t n)
{
	struct range here = { r->fd, reader_tell(r) };
	uint64_t zeros;

	if (r->failed || !r->seekable || r->fd < 0 || r->remote || r->crc_on || n < RANGE_GAP)
		return 0;
	zeros = num_min(range_gap(&here, 0, n), reader_left(r));
	move_back(r);
	return zeros > 0 && reader_seek(r, here.at + zeros) == 0 ? zeros : 0;
}

uint64_t
reader_holes(struct reader *r)
{
	struct stat st;
	off_t hole;
	uint64_t stored;

	if (r->failed || !r->seekable || r->fd < 0 || r->remote || r->part || fstat(r->fd, &st) < 0)
		return 0;
	hole = lseek(r->fd, 0, SEEK_HOLE);
	move_back(r);
	stored = 512 * (uint64_t)st.st_blocks;
	if (hole < 0 || hole >= st.st_size || stored >= (uint64_t)st.st_size)
		return 0;
	stored = (uint64_t)st.st_size - stored;
	return stored < RANGE_GAP ? 0 : stored;
}

bool
reader_at_end(struct reader *r)
{
	size_t n;

	reader_peek(r, 1, &n);
	return n == 0;
}

bool
reader_ready(const struct reader *r)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };

	if (r->fill > r->at)
		return true;
	if (r->failed || r->eof || r->remote)
		return false;
	return r->seekable ? reader_left(r) > 0 : poll(&p, 1, 0) > 0;
}

int
reader_file(const char *path, size_t most, struct buf *b, struct err *e)
{
	struct reader in;

	if (reader_open(&in, path, e) < 0)
		return -1;
	reader_rest(&in, b, most);
	reader_close(&in);
	if (e->code == ERR_NONE && b->n > most)
		err_set(e, ERR_CORRUPT, path, "is too long");
	return e->code == ERR_NONE ? 0 : -1;
}
