#include "core/range.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/num.h"
#include "core/part.h"
#include "core/remote.h"
#include "core/thread.h"

#define WIDE (1u << 18) /* bytes that a thread reads at once */

/* Sets *at to the place of r->at + from in the file that it returns: that of a part lies in another
 * one. Then *n is at most what is left there. -1: there is no such place. */
static int
locate(const struct range *r, uint64_t from, uint64_t *n, uint64_t *at)
{
	struct part p;

	if (num_add(r->at, from, at) < 0 || *at > INT64_MAX)
		return -1;
	if (!part_of(r->fd, &p))
		return r->fd;
	if (*at > p.bytes)
		return -1;
	*n = num_min(*n, p.bytes - *at);
	*at += p.at;
	return p.fd;
}

int
range_read(const struct range *r, uint64_t from, void *p, size_t n)
{
	bool remote = remote_holds(r->fd);
	uint64_t at, room = n;
	int fd = locate(r, from, &room, &at);
	uint8_t *to = p;

	if (fd < 0 || room < n || at > INT64_MAX - n) {
		errno = 0;
		return -1;
	}
	while (n > 0) {
		ssize_t got = remote ? remote_read(fd, at, to, n, n)
		                     : pread(fd, to, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = 0;
		if (got <= 0)
			return -1;
		to += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

int
range_fail(const char *name, struct err *e)
{
	if (errno)
		return remote_fail(name, e);
	return err_set(e, ERR_CORRUPT, name, "has become shorter: more bytes were expected");
}

/* Sets *data to the first stored byte at or after the offset at, or to the end of the file,
 * which may have become shorter. */
static int
find_data(int fd, uint64_t at, uint64_t *data)
{
	off_t to;

	if (at > INT64_MAX)
		return -1;
	to = lseek(fd, (off_t)at, SEEK_DATA);
	if (to < 0 && errno == ENXIO)
		to = lseek(fd, 0, SEEK_END);
	if (to < 0)
		return -1;
	*data = (uint64_t)to;
	return 0;
}

uint64_t
range_gap(const struct range *r, uint64_t from, uint64_t n)
{
	uint64_t at, data, zeros;
	int fd = remote_holds(r->fd) ? -1 : locate(r, from, &n, &at);

	if (fd < 0 || find_data(fd, at, &data) < 0 || data <= at)
		return 0;
	zeros = num_min(n, data - at);
	return zeros < RANGE_GAP ? 0 : zeros;
}

bool
range_has_gap(const struct range *r, uint64_t from, uint64_t n)
{
	uint64_t at, end, data;
	int fd = remote_holds(r->fd) ? -1 : locate(r, from, &n, &at);

	if (fd < 0 || num_add(at, n, &end) < 0 || end > INT64_MAX)
		return false;
	while (at < end && end - at >= RANGE_GAP) {
		off_t hole = lseek(fd, (off_t)at, SEEK_HOLE);

		if (hole < 0 || (uint64_t)hole >= end)
			return false;
		if (find_data(fd, (uint64_t)hole, &data) < 0 || data <= (uint64_t)hole)
			return false;
		if (num_min(data, end) - (uint64_t)hole >= RANGE_GAP)
			return true;
		at = data;
	}
	return false;
}

struct wide {
	const struct range *range;
	uint64_t from;
	uint8_t *p;
	size_t n;
	atomic_int fault; /* errno + 1 of a failed read; 0: none failed */
};

static void
read_part(void *ctx, size_t i)
{
	struct wide *w = ctx;
	size_t at = i * WIDE, n = (size_t)num_min(w->n - at, WIDE);

	if (range_read(w->range, w->from + at, w->p + at, n) < 0)
		atomic_store(&w->fault, errno + 1);
}

int
range_read_wide(const struct range *r, uint64_t from, void *p, size_t n, unsigned jobs)
{
	struct wide w = { .range = r, .from = from, .p = p, .n = n };

	thread_for(jobs, (n + WIDE - 1) / WIDE, read_part, &w);
	if (atomic_load(&w.fault) == 0)
		return 0;
	errno = atomic_load(&w.fault) - 1;
	return -1;
}
