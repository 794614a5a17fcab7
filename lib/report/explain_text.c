/* Explanations as text. */
#include "report/explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define LABEL 14   /* columns of the name of a member */
#define COLUMNS 88 /* of a line */

int
explain_set(json_t *o, const char *name, struct buf *b)
{
	const char *s = buf_string(b);
	json_t *v = s ? json_stringn(s, b->n) : NULL;
	char text[512];

	if (s && !v) /* not UTF-8 */
		v = json_string(text_quote(text, sizeof text, s, b->n));
	buf_free(b);
	return json_object_set_new(o, name, v);
}

/* Appends a text in lines of at most COLUMNS; lines after the first begin with indent
 * spaces. */
static void
put_wrapped(struct buf *b, const char *s, size_t indent)
{
	size_t at = indent, n, width;
	char word[512];

	for (; *s; s += n, s += strspn(s, " ")) {
		n = strcspn(s, " ");
		if (n >= sizeof word)
			n = sizeof word - 1;
		memcpy(word, s, n);
		word[n] = '\0';
		width = text_columns(word);
		if (at > indent && at + 1 + width > COLUMNS) {
			buf_printf(b, "\n%*s", (int)indent, "");
			at = indent;
		}
		buf_printf(b, "%s%s", at > indent ? " " : "", word);
		at += width + (at > indent);
	}
	buf_text(b, "\n");
}

/* Escapes a text, which may be long. */
static void
put_text(struct buf *b, const char *s, size_t indent)
{
	size_t size = strlen(s) * 4 + 8;
	char *text = malloc(size);

	if (!text)
		b->failed = true;
	else
		put_wrapped(b, text_sentence(text, size, s), indent);
	free(text);
}

static void
put_label(struct buf *b, const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++)
		buf_u8(b, (uint8_t)(name[i] == '_' ? ' ' : name[i]));
	do
		buf_u8(b, ' ');
	while (++i < LABEL);
}

static void
put_list(struct buf *b, const json_t *list)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		if (i)
			buf_printf(b, "%*s", LABEL, "");
		buf_printf(b, "%zu. ", i + 1);
		put_text(b, json_string_value(v), LABEL + 3);
	}
}

void
explain_put(struct buf *b, const json_t *o)
{
	const char *name;
	const json_t *v;

	put_text(b, json_string_value(json_object_get(o, "title")), 0);
	json_object_foreach((json_t *)(uintptr_t)o, name, v) {
		if (strcmp(name, "title") == 0 || json_is_object(v) || json_is_null(v))
			continue;
		put_label(b, name);
		if (json_is_array(v))
			put_list(b, v);
		else if (json_is_string(v))
			put_text(b, json_string_value(v), LABEL);
	}
}
