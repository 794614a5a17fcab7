#include "cli/say.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

/* ---- colours ---- */

enum paint { ERROR, NOTE, HINT, PLAIN };

/* Whether messages are in colour: APR_COLOR, or by default on a terminal that has colours,
 * unless NO_COLOR forbids it (no-color.org). */
static bool
colored(void)
{
	const char *when = getenv("APR_COLOR"), *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when && strcmp(when, "always") == 0)
		return true;
	return !(when && strcmp(when, "never") == 0) && !(no && *no) && term && *term &&
	       strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO) == 1;
}

static const char *
paint(enum paint which)
{
	static const char *const codes[] = { "\033[1;31m", "\033[1m", "\033[36m", "\033[0m" };

	return colored() ? codes[which] : "";
}

/* ---- messages ---- */

void
say_error(const char *tool, const char *subject, const struct err *e)
{
	char file[384];

	fprintf(stderr, "%s%s:%s ", paint(ERROR), tool, paint(PLAIN));
	if (subject) {
		text_quote(file, sizeof file, subject, strlen(subject));
		if (strncmp(file, e->object, strlen(file)) != 0)
			fprintf(stderr, "%s: ", file);
	}
	if (*e->object)
		fprintf(stderr, "%s: ", e->object);
	fputs(e->fact, stderr);
	if (e->code <= ERR_MEMORY)
		fprintf(stderr, " (E%03d)", e->code);
	fputc('\n', stderr);
	if (*e->hint)
		fprintf(stderr, "%shint:%s %s\n", paint(HINT), paint(PLAIN), e->hint);
}

void
say_note(const char *tool, const char *text)
{
	const char *level = getenv("APR_LOG_LEVEL");
	char line[1024];

	if (!level || strcmp(level, "error") != 0)
		fprintf(stderr, "%s%s:%s %s\n", paint(NOTE), tool, paint(PLAIN),
		        text_sentence(line, sizeof line, text));
}
