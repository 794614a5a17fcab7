#include "report/lines.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/text.h"

#define NOTE 1024 /* bytes of a note, escaped */

void
lines_note(struct buf *to, const char *fmt, ...)
{
	char text[NOTE], line[NOTE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	buf_printf(to, "%s\n", text_sentence(line, sizeof line, text));
}

void
lines_json(struct buf *to, json_t *o)
{
	if (!o || json_show(o, to) < 0)
		to->failed = true;
	buf_text(to, "\n");
	json_decref(o);
}
