#include "hub/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/num.h"

#define PROMPT (64u << 10) /* bytes that are worth an answer */

void
watch_open(struct watch *w, const char *label, uint64_t size)
{
	*w = (struct watch){ .label = label, .size = size, .fd = -1, .e = ERR_INIT };
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->changed, NULL);
}

/* ---- the download ---- */

static bool
is_same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A duplicate would keep the lock of the incomplete file. */
static int
open_again(int fd)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Takes fd for the file. If that is another file than before, what was read of it is void. */
static void
set_file(struct watch *w, int fd)
{
	if (fd >= 0 && w->fd >= 0 && is_same_file(w->fd, fd)) {
		close(fd);
		return;
	}
	w->voided |= w->read_to > 0;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
}

void
watch_attach(struct watch *w, const struct partial *p)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	/* Between two downloads another process may have begun the file anew. */
	if (w->read_to && (p->count == 0 || atomic_load(&p->have[0]) < w->head))
		w->voided = true;
	set_file(w, open_again(p->fd));
	w->part = w->fd >= 0 ? p : NULL;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
}

void
watch_detach(struct watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	w->head = w->part && w->part->count ? atomic_load(&w->part->have[0]) : 0;
	w->part = NULL;
	pthread_mutex_unlock(&w->mutex);
}

void
watch_arrived(struct watch *w, const struct partial *p, size_t i)
{
	uint64_t awaited = w ? atomic_load(&w->awaited) : 0, from = partial_from(p, i);

	if (!awaited || awaited <= from || from + atomic_load(&p->have[i]) < awaited)
		return;
	pthread_mutex_lock(&w->mutex);
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
}

bool
watch_is_read(struct watch *w)
{
	bool is;

	if (!w)
		return false;
	pthread_mutex_lock(&w->mutex);
	is = w->read_to > 0;
	pthread_mutex_unlock(&w->mutex);
	return is;
}

void
watch_void(struct watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	w->voided |= w->read_to > 0;
	w->head = 0;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
}

/* ---- work ---- */

bool
watch_take(struct watch *w)
{
	bool taken;

	if (!w)
		return true;
	pthread_mutex_lock(&w->mutex);
	while (w->busy)
		pthread_cond_wait(&w->changed, &w->mutex);
	taken = !w->done;
	w->busy = taken;
	pthread_mutex_unlock(&w->mutex);
	return taken;
}

static bool
is_idle(const struct watch *w)
{
	return !w->busy && !w->done && !w->headless && w->e.code == ERR_NONE;
}

bool
watch_try(struct watch *w)
{
	bool taken;

	pthread_mutex_lock(&w->mutex);
	taken = is_idle(w);
	w->busy |= taken;
	pthread_mutex_unlock(&w->mutex);
	return taken;
}

void
watch_give(struct watch *w, int r, const char *at, const struct err *e)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	w->busy = false;
	if (r < 0)
		w->e = *e;
	if (r == 0 && at)
		set_file(w, open(at, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	w->done = r == 0 && at;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
}

void
watch_fail(struct watch *w, const struct err *e)
{
	pthread_mutex_lock(&w->mutex);
	if (!w->done && w->e.code == ERR_NONE)
		w->e = *e;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
}

/* ---- the reader ---- */

/* The number of bytes that are there from an offset on; not beyond the end of a piece. */
static uint64_t
there(const struct watch *w, uint64_t at)
{
	uint64_t end = w->done ? w->size : w->head;
	size_t i;

	if (w->part) {
		i = (size_t)(at / w->part->piece);
		end = partial_from(w->part, i) + atomic_load(&w->part->have[i]);
	}
	return end > at ? end - at : 0;
}

/* The number of bytes from an offset on that is worth an answer. */
static uint64_t
worth(const struct watch *w, uint64_t at, uint64_t n)
{
	uint64_t end = w->size;

	if (w->part)
		end = partial_from(w->part, (size_t)(at / w->part->piece)) +
		      partial_length(w->part, (size_t)(at / w->part->piece));
	return num_min(num_min(n, PROMPT), end - at);
}

static int
changed(const struct watch *w, struct err *e)
{
	return err_set(e, ERR_NETWORK, w->label, "has changed on the server while it was read");
}

int
watch_await(struct watch *w, uint64_t at, uint64_t n, bool patient, uint64_t *got, struct err *e)
{
	int r = -1;

	pthread_mutex_lock(&w->mutex);
	while (!w->voided && w->e.code == ERR_NONE && (*got = there(w, at)) < worth(w, at, n) &&
	       (patient || !is_idle(w))) {
		/* Before the bytes are counted once more: a thread that brings them either sees it,
		 * or has counted them. */
		atomic_store(&w->awaited, at + worth(w, at, n));
		if (there(w, at) < worth(w, at, n))
			pthread_cond_wait(&w->changed, &w->mutex);
	}
	atomic_store(&w->awaited, 0);
	if (w->voided) {
		changed(w, e);
	} else if (w->e.code != ERR_NONE) {
		*e = w->e;
	} else if ((r = *got >= worth(w, at, n))) {
		*got = num_min(*got, n);
		w->read_to = at + *got > w->read_to ? at + *got : w->read_to;
	}
	pthread_mutex_unlock(&w->mutex);
	return r;
}

int
watch_check(struct watch *w, struct err *e)
{
	bool voided;

	pthread_mutex_lock(&w->mutex);
	voided = w->voided;
	pthread_mutex_unlock(&w->mutex);
	return voided ? changed(w, e) : 0;
}

int
watch_whole(struct watch *w, struct err *e)
{
	int fd;

	pthread_mutex_lock(&w->mutex);
	while (!w->voided && !w->done && w->e.code == ERR_NONE)
		pthread_cond_wait(&w->changed, &w->mutex);
	if (w->voided)
		changed(w, e);
	else if (w->e.code != ERR_NONE)
		*e = w->e;
	else if (w->fd < 0)
		err_set(e, ERR_IO, w->label, "cannot be read from the cache");
	fd = !w->voided && w->e.code == ERR_NONE ? w->fd : -1;
	pthread_mutex_unlock(&w->mutex);
	return fd;
}

int
watch_read(struct watch *w, uint64_t at, void *to, uint64_t n, struct err *e)
{
	uint8_t *into = to;
	ssize_t got = 0;
	int fd;

	pthread_mutex_lock(&w->mutex);
	fd = w->fd;
	pthread_mutex_unlock(&w->mutex);
	while (n > 0 && ((got = pread(fd, into, (size_t)n, (off_t)at)) > 0 ||
	                 (got < 0 && errno == EINTR))) {
		if (got < 0)
			continue;
		into += got;
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	if (watch_check(w, e) < 0)
		return -1;
	if (n > 0 && got == 0)
		errno = EIO;
	return n > 0 ? err_errno(e, w->label, "cannot be read from the cache") : 0;
}
