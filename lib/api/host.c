/* The memory of all calls. install.mk gives the names of this file's functions to
 * calls of malloc and its sisters in the library, so that a program can replace them. Files that are
 * not linked in this way use those of the C library. Nothing of it is called by its own name.
 */
#include "api/host.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "api/job.h"

/* Whether the call may have n bytes more. */
static bool
allows(struct api_meter *m, size_t n)
{
	if (!m->most || (m->used <= m->most && n <= m->most - m->used))
		return true;
	m->stop = API_FULL;
	return false;
}

/* Whether a call goes on that allocates something. */
static bool
goes_on(struct api_meter *m)
{
	return !m || api_stops(m) == API_GOES_ON;
}

static void
take(struct api_meter *m, size_t n)
{
	m->used += n;
}

/* The call may free what another has allocated. */
static void
give(struct api_meter *m, size_t n)
{
	m->used -= n < m->used ? n : m->used;
}

void *
api_realloc(void *old, size_t n)
{
	struct api_meter *m = api_meter;
	size_t before;
	void *p;

	if (!goes_on(m)) {
		errno = ENOMEM;
		return NULL;
	}
	if (api_host.resize) {
		p = api_host.resize(api_host.ctx, old, n ? n : 1);
		if (!p)
			errno = ENOMEM;
		return p;
	}
	if (!m)
		return realloc(old, n ? n : 1);
	before = old ? malloc_usable_size(old) : 0;
	if (n > before && !allows(m, n - before)) {
		errno = ENOMEM;
		return NULL;
	}
	p = realloc(old, n ? n : 1);
	if (p) {
		give(m, before);
		take(m, malloc_usable_size(p));
	}
	return p;
}

void
api_free(void *p)
{
	const int saved = errno;

	if (p && api_host.resize) {
		api_host.resize(api_host.ctx, p, 0);
	} else if (p) {
		if (api_meter)
			give(api_meter, malloc_usable_size(p));
		free(p);
	}
	errno = saved;
}

void *
api_malloc(size_t n)
{
	return api_realloc(NULL, n);
}

void *
api_calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!api_host.resize && !api_meter)
		return calloc(n ? n : 1, size ? size : 1);
	p = api_realloc(NULL, bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

char *
api_strndup(const char *s, size_t n)
{
	const size_t bytes = strnlen(s, n);
	char *p = api_malloc(bytes + 1);

	if (!p)
		return NULL;
	memcpy(p, s, bytes);
	p[bytes] = '\0';
	return p;
}

char *
api_strdup(const char *s)
{
	return api_strndup(s, strlen(s));
}
