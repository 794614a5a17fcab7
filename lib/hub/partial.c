#include "hub/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"

#define MAGIC "APRPART2"
#define ALIGN 4096u
#define HEAD (8u * 4 + 80 + 256)
#define PIECE_LEAST (UINT64_C(16) << 20)
#define PIECE_MOST (UINT64_C(1) << 30)
#define SAVE (64u << 10) /* bytes of a piece that a kill may lose */

/* About 64 pieces, but neither small nor very large ones, and at most PARTIAL_PIECES. */
static uint64_t
piece_of(uint64_t size)
{
	uint64_t piece = PIECE_LEAST;

	while (piece < PIECE_MOST && piece < size / 64)
		piece *= 2;
	while (size / piece >= PARTIAL_PIECES)
		piece *= 2;
	return piece;
}

uint64_t
partial_from(const struct partial *p, size_t i)
{
	return p->piece * i;
}

uint64_t
partial_length(const struct partial *p, size_t i)
{
	return num_min(p->size - p->piece * i, p->piece);
}

/* ---- the record ---- */

/* Offset of the record, which follows the file's bytes. */
static uint64_t
record_at(const struct partial *p)
{
	return (p->size + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t
record_bytes(const struct partial *p)
{
	return HEAD + 8 * p->count + 8;
}

static int
write_at(int fd, const void *bytes, size_t n, uint64_t at)
{
	const uint8_t *from = bytes;

	while (n > 0) {
		ssize_t r = pwrite(fd, from, n, (off_t)at);

		if (r < 0 && errno != EINTR)
			return -1;
		if (r > 0) {
			from += r;
			n -= (size_t)r;
			at += (uint64_t)r;
		}
	}
	return 0;
}

static void
put_text(struct buf *b, const char *text, size_t size)
{
	size_t n = strlen(text) < size ? strlen(text) : size - 1;

	buf_put(b, text, n);
	buf_zeros(b, size - n);
}

static int
write_record(struct partial *p)
{
	struct buf b = { 0 };
	size_t i;
	int r;

	buf_put(&b, MAGIC, 8);
	buf_u64(&b, p->size);
	buf_u64(&b, p->piece);
	buf_u64(&b, p->count);
	put_text(&b, p->digest, sizeof p->digest);
	put_text(&b, p->etag, sizeof p->etag);
	for (i = 0; i < p->count; i++)
		buf_u64(&b, p->have[i]);
	buf_put(&b, MAGIC, 8);
	if (!buf_ok(&b)) {
		errno = ENOMEM;
		r = -1;
	} else {
		r = write_at(p->fd, b.p, b.n, record_at(p));
	}
	buf_free(&b);
	return r;
}

/* Whether the record belongs to this file; then its counts are taken. */
static bool
take_record(struct partial *p, const uint8_t *r, size_t n)
{
	char etag[sizeof p->etag];
	size_t i;

	if (memcmp(r, MAGIC, 8) != 0 || memcmp(r + n - 8, MAGIC, 8) != 0 ||
	    le64(r + 8) != p->size || le64(r + 16) != p->piece || le64(r + 24) != p->count ||
	    strncmp((const char *)r + 32, p->digest, sizeof p->digest) != 0)
		return false;
	memcpy(etag, r + 112, sizeof etag);
	etag[sizeof etag - 1] = '\0';
	/* The digest is checked in the end; without one the ETag must be the same. */
	if (!*p->digest && (!*etag || strcmp(etag, p->etag) != 0))
		return false;
	for (i = 0; i < p->count; i++)
		if (le64(r + HEAD + 8 * i) > partial_length(p, i))
			return false;
	for (i = 0; i < p->count; i++)
		p->have[i] = p->saved[i] = le64(r + HEAD + 8 * i);
	return true;
}

/* A process may end after its last step, cutting the record off. */
static bool
is_whole(const struct partial *p, const struct stat *st)
{
	return (uint64_t)st->st_size == p->size && p->size > 0 && *p->digest;
}

static bool
read_record(struct partial *p)
{
	size_t n = record_bytes(p), i;
	struct stat st;
	uint8_t *r;
	bool good;

	if (fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	for (i = 0; is_whole(p, &st) && i < p->count; i++)
		p->have[i] = partial_length(p, i);
	if (is_whole(p, &st))
		return write_record(p) == 0;
	r = malloc(n);
	good = r && pread(p->fd, r, n, (off_t)record_at(p)) == (ssize_t)n && take_record(p, r, n);
	free(r);
	return good;
}

int
partial_open(struct partial *p, int folder, const char *name, uint64_t size,
             const char *digest, const char *etag, struct err *e)
{
	*p = (struct partial){ .size = size, .piece = piece_of(size) };
	p->count = (size_t)(size / p->piece + (size % p->piece != 0));
	p->have = mem_array(p->count, sizeof *p->have);
	p->saved = mem_array(p->count, sizeof *p->saved);
	snprintf(p->digest, sizeof p->digest, "%s", digest);
	snprintf(p->etag, sizeof p->etag, "%s", etag);
	p->fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (!p->have || !p->saved) {
		partial_close(p);
		return err_memory(e);
	}
	if (p->fd < 0) {
		err_errno(e, name, "cannot be created");
		partial_close(p);
		return -1;
	}
	if (flock(p->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		err_set(e, ERR_IO, name, "is being fetched by another process");
		partial_close(p);
		return -1;
	}
	p->resumes = read_record(p) && partial_bytes(p) > 0;
	if (!p->resumes && partial_clear(p) < 0) {
		err_errno(e, name, "cannot be written");
		partial_close(p);
		return -1;
	}
	return 0;
}

/* ---- bytes ---- */

int
partial_save(struct partial *p, size_t i)
{
	uint8_t count[8];

	if (p->saved[i] == p->have[i])
		return 0;
	le64_put(count, p->have[i]);
	if (write_at(p->fd, count, sizeof count, record_at(p) + HEAD + 8 * i) < 0)
		return -1;
	p->saved[i] = p->have[i];
	return 0;
}

int
partial_put(struct partial *p, size_t i, const void *bytes, size_t n)
{
	if (write_at(p->fd, bytes, n, partial_from(p, i) + p->have[i]) < 0)
		return -1;
	p->have[i] += n;
	return p->have[i] - p->saved[i] < SAVE ? 0 : partial_save(p, i);
}

int
partial_clear(struct partial *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		p->have[i] = p->saved[i] = 0;
	p->resumes = false;
	return ftruncate(p->fd, 0) < 0 ? -1 : write_record(p);
}

uint64_t
partial_bytes(const struct partial *p)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < p->count; i++)
		sum += p->have[i];
	return sum;
}

int
partial_finish(struct partial *p, bool sync)
{
	if (ftruncate(p->fd, (off_t)p->size) < 0)
		return -1;
	return sync ? fdatasync(p->fd) : 0;
}

void
partial_close(struct partial *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	free(p->have);
	free(p->saved);
	p->have = NULL;
	p->saved = NULL;
}
