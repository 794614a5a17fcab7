/* What libc asks of its system, apart from files. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/wasm/host.h"

int
clock_gettime(clockid_t which, struct timespec *t)
{
	double now = host_clock(which == CLOCK_REALTIME);

	t->tv_sec = (time_t)now;
	t->tv_nsec = (long)((now - (double)t->tv_sec) * 1e9);
	return 0;
}

time_t
time(time_t *to)
{
	time_t now = (time_t)host_clock(1);

	if (to)
		*to = now;
	return now;
}

ssize_t
getrandom(void *p, size_t n, unsigned flags)
{
	(void)flags;
	host_entropy(p, n);
	return (ssize_t)n;
}

int
getentropy(void *p, size_t n)
{
	host_entropy(p, n);
	return 0;
}

/* There is no environment. */
char *
getenv(const char *name)
{
	(void)name;
	return NULL;
}

long
sysconf(int what)
{
	return what == _SC_PAGESIZE ? 65536 : what == _SC_NPROCESSORS_ONLN ? 1 : -1;
}

void
abort(void)
{
	static const char text[] = "aborted";

	host_log(text, sizeof text - 1);
	__builtin_trap();
}

/* Of assert. */
_Noreturn void
__assert_fail(const char *text, const char *file, int line, const char *function)
{
	(void)file, (void)line, (void)function;
	host_log(text, strlen(text));
	abort();
}

/* ---- sorting ---- */

struct order {
	int (*compare)(const void *, const void *, void *);
	void *ctx;
	size_t size;
};

/* Sorts n items by merging halves; items that compare as equal keep their order, as those of
 * glibc do. room: for n items. */
static void
sort(const struct order *o, char *p, size_t n, char *room)
{
	size_t half = n / 2, size = o->size;
	char *a = p, *b = p + half * size, *a_end = b, *b_end = p + n * size, *to = room;

	if (n < 2)
		return;
	sort(o, a, half, room);
	sort(o, b, n - half, room);
	while (a < a_end && b < b_end) {
		char **from = o->compare(a, b, o->ctx) <= 0 ? &a : &b;

		memcpy(to, *from, size);
		to += size;
		*from += size;
	}
	memcpy(to, a, (size_t)(a_end - a));
	to += a_end - a;
	memcpy(p, room, (size_t)(to - room)); /* the rest of b lies in its place */
}

void
qsort_r(void *p, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
        void *ctx)
{
	const struct order o = { compare, ctx, size };
	char *room = n < 2 ? NULL : malloc(n * size);

	if (n < 2)
		return;
	if (!room)
		abort();
	sort(&o, p, n, room);
	free(room);
}

/* A function of two parameters as one of three. */
static int
compare_two(const void *a, const void *b, void *ctx)
{
	int (**compare)(const void *, const void *) = ctx;

	return (*compare)(a, b);
}

void
qsort(void *p, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	qsort_r(p, n, size, compare_two, &compare);
}
