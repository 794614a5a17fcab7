#include "core/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void *
mem_array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size ? size : 1);
}

int
mem_grow(void *p, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16, bytes;
	void *old, *new;

	if (need <= *cap)
		return 0;
	while (n < need) {
		if (n > SIZE_MAX / 2)
			return -1;
		n *= 2;
	}
	if (__builtin_mul_overflow(n, size, &bytes))
		return -1;
	memcpy(&old, p, sizeof old);
	new = realloc(old, bytes);
	if (!new)
		return -1;
	memset((char *)new + *cap * size, 0, (n - *cap) * size);
	memcpy(p, &new, sizeof new);
	*cap = n;
	return 0;
}

static struct rlimit before;
static int limited;

int
mem_limit(uint64_t bytes)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_DATA, &r) < 0)
		return -1;
	before = r;
	limited = 1;
	if (r.rlim_cur == RLIM_INFINITY || bytes < r.rlim_cur)
		r.rlim_cur = bytes;
	return setrlimit(RLIMIT_DATA, &r);
}

void
mem_unlimit(void)
{
	if (limited)
		setrlimit(RLIMIT_DATA, &before);
}

char *
mem_text(const char *s, size_t n)
{
	char *t = malloc(n + 1);

	if (!t)
		return NULL;
	if (n)
		memcpy(t, s, n);
	t[n] = '\0';
	return t;
}
