#include "core/remote_wire.h"

#include <stdbool.h>

static void
terminate(char *text, size_t size)
{
	text[size - 1] = '\0';
}

static bool
answers_read(const struct remote_ask *q, const struct remote_answer *a, uint64_t window)
{
	return a->n >= 1 && a->n <= q->n && a->n <= window && a->at <= window - a->n;
}

static bool
answers_begin(const struct remote_answer *a)
{
	return a->n >= 1 && a->n <= SIZE_MAX / 2 &&
	       (a->file == REMOTE_FOLDER || a->file < REMOTE_FILES);
}

int
remote_check(const struct remote_ask *q, struct remote_answer *a, size_t bytes,
             uint64_t window)
{
	bool full = bytes == sizeof *a;

	if (bytes < REMOTE_ANSWER || (bytes > REMOTE_ANSWER && !full))
		return -1;
	if (a->code != ERR_NONE) {
		terminate(a->text.why.object, sizeof a->text.why.object);
		terminate(a->text.why.fact, sizeof a->text.why.fact);
		terminate(a->text.why.hint, sizeof a->text.why.hint);
		return full && a->code != ERR_CHILD && a->code <= 64 ? 0 : -1;
	}
	terminate(a->text.name, sizeof a->text.name);
	switch (q->what) {
	case REMOTE_BEGIN:
		return answers_begin(a) ? 0 : -1;
	case REMOTE_NAME:
		return full && a->n <= INT64_MAX && *a->text.name ? 0 : -1;
	case REMOTE_FIND:
		return a->file < REMOTE_FILES && a->n <= INT64_MAX ? 0 : -1;
	case REMOTE_READ:
		return answers_read(q, a, window) ? 0 : -1;
	default:
		return 0;
	}
}
