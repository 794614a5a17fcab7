#include "core/map.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/part.h"
#include "core/range.h"
#include "core/remote.h"
#include "core/signals.h"

#define HUGE (64u << 20) /* bytes */
#define AROUND ((size_t)2 << 20) /* bytes that one fault maps at most: those of a page table */

/* The mapped files, for the signal handler. A slot is in use if n is not 0; n is set last
 * and cleared first. */
static struct {
	atomic_uintptr_t p;
	atomic_size_t n;
	atomic_bool lost; /* a page was missing */
} files[MAP_FILES];
static atomic_size_t used; /* slots used so far */
static size_t page;

/* Handles SIGBUS: a file was truncated and a page of its map is missing. A page of zeros
 * replaces it, and reading continues. At any other address the signal has its default
 * effect. */
static void
replace_page(int signal, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	size_t i, n = atomic_load(&used);

	(void)context;
	for (i = 0; i < n; i++) {
		uintptr_t p = atomic_load(&files[i].p);

		if (at - p >= atomic_load(&files[i].n))
			continue;
		atomic_store(&files[i].lost, true);
		if (mmap((void *)(at & ~(page - 1)), page, PROT_READ,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static void
watch(void)
{
	struct sigaction sa = { .sa_sigaction = replace_page, .sa_flags = SA_SIGINFO };

	if (page)
		return;
	page = (size_t)sysconf(_SC_PAGESIZE);
	sigfillset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, NULL);
}

static size_t
slot_take(uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < MAP_FILES && atomic_load(&files[i].n); i++)
		;
	if (i == MAP_FILES)
		return i;
	atomic_store(&files[i].lost, false);
	atomic_store(&files[i].p, (uintptr_t)p);
	atomic_store(&files[i].n, n);
	if (i >= atomic_load(&used))
		atomic_store(&used, i + 1);
	return i;
}

static size_t
slot_of(const struct map *m)
{
	size_t i;

	for (i = 0; i < MAP_FILES; i++)
		if (atomic_load(&files[i].n) == m->n &&
		    atomic_load(&files[i].p) == (uintptr_t)m->p)
			break;
	return i;
}

/* The bytes of a regular file that is not empty. 0 or -1. */
static int
size_of(int fd, uint64_t *bytes, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, name, "cannot be mapped");
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_IO, name, "cannot be mapped: it is not a file");
	if (st.st_size == 0 || (uint64_t)st.st_size > SIZE_MAX)
		return err_set(e, ERR_CORRUPT, name, "is empty");
	*bytes = (uint64_t)st.st_size;
	return 0;
}

/* The file in memory of its own, which no other process changes. */
static int
copy_file(struct map *m, int fd, const char *name, struct err *e)
{
	const struct range file = { fd, 0 };
	uint64_t bytes;

	*m = (struct map){ .fd = -1 };
	if (size_of(fd, &bytes, name, e) < 0 || map_zeros(m, bytes, e) < 0)
		return -1;
	m->copied = true;
	if (range_read(&file, 0, m->p, m->n) == 0)
		return 0;
	range_fail(name, e);
	map_close(m);
	return -1;
}

int
map_plain(struct map *m, int fd, const char *name, struct err *e)
{
	struct part part = { .fd = fd };
	uint64_t bytes;
	void *p;

	*m = (struct map){ .fd = -1 };
	if (size_of(fd, &bytes, name, e) < 0)
		return -1;
	m->fd = remote_holds(fd) ? remote_whole(fd)
	        : fcntl(part_of(fd, &part) ? part.fd : fd, F_DUPFD_CLOEXEC, 3);
	if (m->fd < 0)
		return remote_fail(name, e);
	m->at = part.at;
	p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, m->fd, (off_t)m->at);
	if (p == MAP_FAILED) {
		map_close(m);
		return err_errno(e, name, "cannot be mapped");
	}
	m->p = p;
	m->n = (size_t)bytes;
	return 0;
}

int
map_file(struct map *m, int fd, const char *name, struct err *e)
{
	if (!signals_caught())
		return copy_file(m, fd, name, e);
	watch();
	if (map_plain(m, fd, name, e) < 0)
		return -1;
	if (slot_take(m->p, m->n) < MAP_FILES)
		return 0;
	map_close(m);
	return err_set(e, ERR_MEMORY, name, "is one file too many: %d are mapped at most",
	               MAP_FILES);
}

int
map_zeros(struct map *m, uint64_t n, struct err *e)
{
	void *p = MAP_FAILED;

	*m = (struct map){ .fd = -1 };
	if (n == 0)
		return 0;
	if (n <= SIZE_MAX)
		p = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		         -1, 0);
	if (p == MAP_FAILED)
		return err_memory(e);
	/* Large memory that is read from end to end is read faster from huge pages. */
	if (n >= HUGE)
		madvise(p, (size_t)n, MADV_HUGEPAGE);
	m->p = p;
	m->n = (size_t)n;
	return 0;
}

void
map_release(const struct map *m, const uint8_t *p, size_t n)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)p + size - 1) & ~(size - 1);
	uintptr_t end = ((uintptr_t)p + n) & ~(size - 1);

	if (!m->copied && p >= m->p && n <= m->n && (size_t)(p - m->p) <= m->n - n && first < end)
		madvise((void *)first, end - first, MADV_DONTNEED);
}

void
map_look(struct map *m, const uint8_t *p)
{
	size_t at, from, to;

	if (m->n == 0 || m->copied || p < m->p || (size_t)(p - m->p) >= m->n)
		return;
	at = (size_t)(p - m->p);
	from = m->to && m->from < at ? m->from : at;
	to = m->to > at ? m->to : at + 1;
	if (m->to && at + AROUND >= m->from && at <= m->to + AROUND && to - from < MAP_WALKED) {
		m->from = from;
		m->to = to;
		return;
	}
	if (m->to) {
		from = m->from - (m->from < AROUND ? m->from : AROUND);
		to = m->to + (m->n - m->to < AROUND ? m->n - m->to : AROUND);
		map_release(m, m->p + from, to - from);
	}
	m->from = at;
	m->to = at + 1;
}

bool
map_whole(const struct map *m)
{
	struct stat st;
	size_t i;

	if (m->fd < 0)
		return true;
	if (fstat(m->fd, &st) < 0 || (uint64_t)st.st_size < m->at ||
	    (uint64_t)st.st_size - m->at < m->n)
		return false;
	i = slot_of(m);
	return i == MAP_FILES || !atomic_load(&files[i].lost);
}

void
map_close(struct map *m)
{
	size_t i;

	if (m->p) {
		i = m->fd < 0 ? MAP_FILES : slot_of(m);
		if (i < MAP_FILES)
			atomic_store(&files[i].n, 0);
		munmap(m->p, m->n);
	}
	if (m->fd > 2)
		close(m->fd);
	*m = (struct map){ .fd = -1 };
}
