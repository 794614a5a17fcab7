#include "report/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void
lines_json_of(struct buf *to, json_t *o, const char *model)
{
	if (o && model && json_object_set_new(o, "model", lines_file_name(model)) < 0)
		to->failed = true;
	lines_json(to, o);
}

json_t *
lines_file_name(const char *path)
{
	char text[4096];
	json_t *v = json_string(path);

	return v ? v : json_string(text_quote(text, sizeof text, path, strlen(path)));
}

void
lines_put_model(struct buf *to, const char *model)
{
	json_t *name;

	if (!model)
		return;
	name = lines_file_name(model);
	buf_text(to, ",\"model\":");
	to->failed |= !name || json_show(name, to) < 0;
	json_decref(name);
}
