#include "crypto/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sodium.h>

int
secret_guard(struct err *e)
{
	static const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, ERR_MEMORY, NULL, "secrets cannot be kept from core files");
	return 0;
}

int
secret_alloc(struct secret *s, size_t cap, struct err *e)
{
	*s = (struct secret){ 0 };
	if (sodium_init() < 0 || !(s->p = sodium_malloc(cap)))
		return err_memory(e);
	s->cap = cap;
	return 0;
}

void
secret_free(struct secret *s)
{
	if (s->p)
		sodium_free(s->p);
	*s = (struct secret){ 0 };
}

int
secret_read(struct secret *s, int fd, enum err_code code, const char *name,
            struct err *e)
{
	uint8_t more;
	ssize_t got;

	do {
		bool full = s->n == s->cap;

		got = read(fd, full ? &more : s->p + s->n, full ? 1 : s->cap - s->n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(e, name, "cannot be read");
		if (full && got > 0)
			return err_set(e, code, name, "is longer than %zu bytes", s->cap);
		s->n += (size_t)got;
	} while (got != 0);
	return 0;
}

int
secret_file(struct secret *s, const char *path, size_t most, struct err *e)
{
	int fd, r;

	if (secret_alloc(s, most, e) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_errno(e, path, "cannot be opened");
	r = secret_read(s, fd, ERR_FORMAT, path, e);
	close(fd);
	return r;
}

int
secret_read_line(struct secret *s, int fd, const char *name, struct err *e)
{
	for (;;) {
		bool full = s->n == s->cap;
		uint8_t more, *at = full ? &more : s->p + s->n;
		ssize_t got = read(fd, at, 1);

		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			return -1;
		if (got < 0)
			return err_errno(e, name, "cannot be read");
		if (got == 0 || *at == '\n')
			break;
		if (*at == 0)
			return err_set(e, ERR_USAGE, name, "holds a NUL");
		if (full)
			return err_set(e, ERR_USAGE, name,
			               "has a line longer than %zu bytes", s->cap);
		s->n++;
	}
	if (s->n > 0 && s->p[s->n - 1] == '\r')
		s->n--;
	return 0;
}

bool
secret_equal(const struct secret *a, const struct secret *b)
{
	return a->n == b->n && sodium_memcmp(a->p, b->p, a->n) == 0;
}

void
secret_wipe(void *p, size_t n)
{
	sodium_memzero(p, n);
}
