#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "cli/tool.h"
#include "core/broker.h"
#include "core/remote.h"

static const char *subject; /* of tool_subject, or NULL */

void
tool_subject(const char *file)
{
	subject = file;
}

/* ---- messages ---- */

static void
say(struct err *e)
{
	const char *limit = getenv("APR_RAM_LIMIT");

	if (e->code == ERR_MEMORY && limit && *limit && !*e->hint)
		err_hint(e, "APR_RAM_LIMIT is %.40s", limit);
	say_error(tool_name(), e->code == ERR_USAGE ? NULL : subject, e);
}

int
tool_end(struct err *e)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && e->code == ERR_NONE)
		err_errno(e, "<stdout>", "cannot be written");
	remote_end();
	broker_end();
	if (e->code == ERR_CHILD && subject)
		tool_notef("%s: its reader has failed", subject);
	else if (e->code != ERR_NONE && e->code != ERR_CHILD)
		say(e);
	return err_exit(e);
}

void
tool_note(const char *text)
{
	say_note(tool_name(), text);
}

void
tool_notef(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tool_note(text);
}

int
tool_print(struct buf *b, struct err *e)
{
	int r = buf_ok(b) ? 0 : err_memory(e);

	if (r == 0 && b->n > 0)
		fwrite(b->p, 1, b->n, stdout);
	buf_clear(b);
	return r;
}

void
tool_notes(struct buf *b)
{
	char *line, *end;

	for (line = (char *)buf_string(b); line && *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		tool_note(line);
	}
	buf_clear(b);
}

int
tool_misused(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, ERR_USAGE, NULL, fmt, ap);
	va_end(ap);
	return err_hint(e, "%s --help", tool_name());
}
