#include "cli/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

void
say_error(const char *tool, const char *subject, const struct err *e)
{
	char file[384];

	fprintf(stderr, "%s: ", tool);
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
		fprintf(stderr, "hint: %s\n", e->hint);
}

void
say_note(const char *tool, const char *text)
{
	const char *level = getenv("APR_LOG_LEVEL");
	char line[1024];

	if (!level || strcmp(level, "error") != 0)
		fprintf(stderr, "%s: %s\n", tool, text_sentence(line, sizeof line, text));
}
