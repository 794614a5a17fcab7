#include "api/compute.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/only.h"
#include "kernels/dot.h"
#include "kernels/level.h"

static void
choose_level(void)
{
	struct err e = ERR_INIT;

	if (level_begin(getenv("APR_CPU"), NULL, &e) < 0) {
		e = (struct err)ERR_INIT;
		level_begin(NULL, NULL, &e);
	}
	if (!ONLY_READS)
		dot_begin(NULL);
}

void
api_level(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_level);
}

/* The library below notes without a context. */
static _Thread_local const struct api_log *now;

const struct api_log *
api_log_to(const struct api_log *log)
{
	const struct api_log *before = now;

	now = log && log->log ? log : NULL;
	return before;
}

void
api_note(const char *text)
{
	if (now)
		now->log(now->ctx, text);
}

int
api_options(void *to, size_t size, const void *from, size_t least, const char *name,
            struct err *e)
{
	const uint8_t *p = from;
	size_t bytes, i;

	if (!from)
		return 0;
	memcpy(&bytes, from, sizeof bytes);
	if (bytes < least)
		return err_set(e, ERR_NO, name, "has %zu bytes, which is not its size", bytes);
	for (i = size; i < bytes; i++)
		if (p[i])
			return err_set(e, ERR_NO, name, "has members that this library does not know");
	memcpy(to, from, bytes < size ? bytes : size);
	return 0;
}

int
api_fill(void *to, const void *from, size_t size, size_t least)
{
	size_t bytes;

	memcpy(&bytes, to, sizeof bytes);
	if (bytes < least)
		return -1;
	memcpy(to, from, bytes < size ? bytes : size);
	if (bytes > size)
		memset((uint8_t *)to + size, 0, bytes - size);
	memcpy(to, &bytes, sizeof bytes);
	return 0;
}

void
api_give(void *to, size_t room, const void *from, size_t n, size_t item, size_t *count)
{
	size_t some = n < room ? n : room;

	*count = n;
	if (some > 0)
		memcpy(to, from, some * item);
}

/* Whether the bytes of the model can be read only once. */
static bool
is_pipe(const struct aprml *m)
{
	struct stat st;

	if (m->from.memory || m->from.ranges.read)
		return false;
	return strcmp(m->from.path, "-") == 0 || m->held < 0 || fstat(m->held, &st) < 0 ||
	       (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

struct aprml *
api_fresh(struct aprml *m, struct aprml **again, struct err *e)
{
	*again = NULL;
	if (source_check_open(m->source, e) < 0)
		return NULL;
	return api_fresh_for(m, FORMAT_PLACES, again, e);
}

struct aprml *
api_fresh_for(struct aprml *m, enum format_use use, struct aprml **again, struct err *e)
{
	struct api_origin from = m->from;
	struct aprml_error error;

	*again = NULL;
	if (!is_pipe(m)) {
		from.use = use;
		*again = api_open(&from, &error);
		if (!*again)
			err_set(e, error.code ? (enum err_code)error.code : ERR_INVALID, NULL, "%s",
			        error.text);
		return *again;
	}
	if (m->err.code == ERR_NONE && !m->in_body && !m->ended && !m->in_tensors && !m->blobs) {
		m->in_tensors = true;
		return m;
	}
	err_set(e, ERR_NO, api_name(m), "comes through a pipe, and has been read");
	return NULL;
}

void
api_fresh_end(struct aprml *m, struct aprml *again)
{
	if (again)
		aprml_close(again);
	else if (m)
		m->ended = true;
}
