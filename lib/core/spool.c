#include "core/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/num.h"

const char *
spool_folder(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/var/tmp";
}

int
spool_file(struct err *e)
{
	const struct broker_ask q = { .what = BROKER_SPOOL };
	const char *dir = spool_folder();
	char name[4096];
	int fd;

	if (broker_runs()) {
		fd = broker_ask(&q, NULL);
		return fd < 0 ? err_errno(e, dir, "a spool file cannot be created") : fd;
	}
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof name, "%s/apr.XXXXXX", dir) >= (int)sizeof name)
		return err_set(e, ERR_IO, dir, "is too long a path for a spool file");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, dir, "a spool file cannot be created");
	unlink(name);
	return fd;
}

/* Moves the bytes in memory to the end of the file. */
static int
spill(struct spool *s, struct err *e)
{
	const uint8_t *p = s->memory.p;
	size_t n = s->memory.n;

	if (!s->has_file && (s->fd = spool_file(e)) < 0)
		return -1;
	s->has_file = true;
	while (n > 0) {
		ssize_t put = pwrite(s->fd, p, n, (off_t)s->spilled);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_errno(e, "spool file", "cannot be written");
		p += put;
		n -= (size_t)put;
		s->spilled += (uint64_t)put;
	}
	buf_clear(&s->memory);
	return 0;
}

int
spool_put(struct spool *s, const void *p, size_t n, struct err *e)
{
	if (!s->secret && s->memory.n + n > SPOOL_MEMORY && s->memory.n > 0 &&
	    spill(s, e) < 0)
		return -1;
	buf_put(&s->memory, p, n);
	s->bytes += n;
	return buf_ok(&s->memory) ? 0 : err_memory(e);
}

int
spool_skip(struct spool *s, uint64_t n, struct err *e)
{
	static const uint8_t zeros[4096];
	uint64_t end;
	size_t part;

	if (!s->secret && n > SPOOL_MEMORY) {
		if (spill(s, e) < 0)
			return -1;
		if (num_add(s->spilled, n, &end) < 0 || end > INT64_MAX)
			return err_set(e, ERR_IO, "spool file", "would be too long");
		if (ftruncate(s->fd, (off_t)end) < 0)
			return err_errno(e, "spool file", "cannot be written");
		s->spilled = end;
		s->bytes += n;
		return 0;
	}
	for (; n > 0; n -= part) {
		part = (size_t)num_min(n, sizeof zeros);
		if (spool_put(s, zeros, part, e) < 0)
			return -1;
	}
	return 0;
}

int
spool_get(struct spool *s, uint64_t at, void *p, size_t n, struct err *e)
{
	uint8_t *to = p;

	while (n > 0 && at < s->spilled) {
		size_t part = s->spilled - at < n ? (size_t)(s->spilled - at) : n;
		ssize_t got = pread(s->fd, to, part, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_errno(e, "spool file", "cannot be read");
		to += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	if (n > 0)
		memcpy(to, s->memory.p + (at - s->spilled), n);
	return 0;
}

/* Maps the first n bytes of the file, which must exist. */
static int
map(struct spool *s, uint64_t n, int protection, struct err *e)
{
	void *p = MAP_FAILED;

	if (n <= SIZE_MAX)
		p = mmap(NULL, (size_t)n, protection, MAP_SHARED, s->fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, "spool file", "cannot be mapped");
	s->view = p;
	s->viewed = n;
	return 0;
}

int
spool_view(struct spool *s, const uint8_t **p, struct err *e)
{
	static const uint8_t none[1];

	if (!s->view && s->has_file &&
	    (spill(s, e) < 0 || map(s, s->spilled, PROT_READ, e) < 0))
		return -1;
	*p = s->view ? s->view : s->memory.n ? s->memory.p : none;
	return 0;
}

uint8_t *
spool_room(struct spool *s, uint64_t n, struct err *e)
{
	uint8_t *p;
	int r;

	if (n <= SPOOL_MEMORY || (s->secret && n < SIZE_MAX)) {
		p = buf_room(&s->memory, (size_t)n + 1);
		if (!p) {
			err_memory(e);
			return NULL;
		}
		s->memory.n = (size_t)n;
		s->bytes = n;
		return p;
	}
	if ((s->fd = spool_file(e)) < 0)
		return NULL;
	s->has_file = true;
	/* Without this, writing to a page for which the disk has no space would kill the
	 * process. */
	r = n > INT64_MAX ? EFBIG : posix_fallocate(s->fd, 0, (off_t)n);
	if (r != 0) {
		errno = r;
		err_errno(e, "spool file", "cannot have %" PRIu64 " bytes", n);
		return NULL;
	}
	s->bytes = s->spilled = n;
	return map(s, n, PROT_READ | PROT_WRITE, e) < 0 ? NULL : s->view;
}

void
spool_free(struct spool *s)
{
	if (s->view)
		munmap(s->view, (size_t)s->viewed);
	if (s->has_file)
		close(s->fd);
	buf_free(&s->memory);
	*s = (struct spool){ 0 };
}
