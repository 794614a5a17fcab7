#include "core/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *
spool_folder(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/var/tmp";
}

int
spool_file(struct err *e)
{
	const char *dir = spool_folder();
	char name[4096];
	int fd;

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

/* Move what is in memory to the end of the file. */
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
	if (s->memory.n + n > SPOOL_MEMORY && s->memory.n > 0 && spill(s, e) < 0)
		return -1;
	buf_put(&s->memory, p, n);
	s->bytes += n;
	return buf_ok(&s->memory) ? 0 : err_memory(e);
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

void
spool_free(struct spool *s)
{
	if (s->has_file)
		close(s->fd);
	buf_free(&s->memory);
	*s = (struct spool){ 0 };
}
