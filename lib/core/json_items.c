#include "core/json_items.h"

#include <string.h>

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct json_part
json_trim(const char *text, size_t n)
{
	while (n > 0 && is_blank(text[n - 1]))
		n--;
	while (n > 0 && is_blank(*text)) {
		text++;
		n--;
	}
	return (struct json_part){ text, n };
}

static void
skip_blanks(struct json_items *w)
{
	while (w->p < w->end && is_blank(*w->p))
		w->p++;
}

static bool
take(struct json_items *w, char c)
{
	skip_blanks(w);
	if (w->p == w->end || *w->p != c)
		return false;
	w->p++;
	return true;
}

bool
json_items_begin(struct json_items *w, char open, const char *text, size_t n)
{
	*w = (struct json_items){ .p = text + 1, .end = text + n,
		.close = open == '[' ? ']' : '}' };
	return n > 0 && *text == open;
}

/* Moves past a string, at its opening quote. False if it does not end. */
static bool
skip_string(struct json_items *w)
{
	for (w->p++; w->p < w->end && *w->p != '"'; w->p++)
		if (*w->p == '\\' && ++w->p == w->end)
			return false;
	return w->p++ < w->end;
}

/* Moves past a value: up to a comma or bracket that is not inside it. */
static bool
skip_value(struct json_items *w)
{
	size_t depth = 0;

	while (w->p < w->end) {
		char c = *w->p;

		if (c == '"') {
			if (!skip_string(w))
				return false;
			continue;
		}
		if (depth == 0 && (c == ',' || c == ']' || c == '}'))
			return true;
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
		w->p++;
	}
	return false;
}

int
json_items_next(struct json_items *w, struct json_part *name, struct json_part *item)
{
	const char *from;

	if (take(w, w->close))
		return w->p == w->end ? 0 : -1;
	if (w->any && !take(w, ','))
		return -1;
	w->any = true;
	skip_blanks(w);
	if (w->close == '}') {
		name->p = w->p;
		if (w->p == w->end || *w->p != '"' || !skip_string(w))
			return -1;
		name->n = (size_t)(w->p - name->p);
		if (!take(w, ':'))
			return -1;
		skip_blanks(w);
	}
	from = w->p;
	if (!skip_value(w))
		return -1;
	*item = json_trim(from, (size_t)(w->p - from));
	return item->n > 0 ? 1 : -1;
}
