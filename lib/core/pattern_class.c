/* Characters, escapes and classes of a pattern (core/pattern_syntax.h). */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/pattern_syntax.h"
#include "core/pattern_walk.h"
#include "core/text.h"

/* ---- errors ---- */

int
pattern_fault(struct pattern_walk *w, enum err_code code, size_t at, const char *fmt, ...)
{
	char fact[256];
	size_t place = 1, i;
	va_list ap;

	for (i = 0; i < at; i++)
		place += ((uint8_t)w->text[i] & 0xc0) != 0x80;
	va_start(ap, fmt);
	vsnprintf(fact, sizeof fact, fmt, ap);
	va_end(ap);
	return err_set(w->e, code, w->text, "character %zu of the pattern: %s", place, fact);
}

int
pattern_refuse(struct pattern_walk *w, size_t at, size_t n)
{
	return pattern_fault(w, ERR_FORMAT, at, "%.*s is not read here", (int)n, w->text + at);
}

void
pattern_put(struct buf *b, uint32_t c)
{
	if (c >= 0x80)
		buf_printf(b, "\\x{%x}", c);
	else if (ispunct((int)c))
		buf_printf(b, "\\%c", (int)c);
	else
		buf_u8(b, (uint8_t)c);
}

/* Writes \s as its property: PCRE2 counts U+180E as white space, which Unicode has not
 * done since version 6.3. */
static void
put_set(struct buf *b, char c)
{
	if (c == 's' || c == 'S')
		buf_text(b, c == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
	else
		buf_printf(b, "\\%c", c);
}

/* ---- characters and classes ---- */

bool
pattern_is_at(const struct pattern_walk *w, const char *s)
{
	return strncmp(w->text + w->i, s, strlen(s)) == 0;
}

int
pattern_character(struct pattern_walk *w, uint32_t *c)
{
	size_t length = text_character(w->text + w->i, w->n - w->i, c);

	if (length == 0)
		return pattern_fault(w, w->code, w->i, "it is not UTF-8");
	w->i += length;
	return 0;
}

/* Reads between `least` and `most` hexadecimal digits. */
static int
hexadecimal(struct pattern_walk *w, size_t at, size_t least, size_t most, uint32_t *c)
{
	size_t i;

	for (i = 0, *c = 0; i < most && isxdigit((uint8_t)w->text[w->i]); i++, w->i++) {
		int d = w->text[w->i];

		*c = *c << 4 | (uint32_t)(isdigit(d) ? d - '0' : (d | 32) - 'a' + 10);
	}
	if (i < least)
		return pattern_fault(w, w->code, at, "a number of a character has %zu digits", i);
	if (*c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return pattern_fault(w, w->code, at, "U+%04X is not a character", *c);
	return 0;
}

/* Reads the number after "\x". */
static int
numbered(struct pattern_walk *w, size_t at, uint32_t *c)
{
	if (w->text[w->i] != '{') {
		if (hexadecimal(w, at, 1, 2, c) < 0)
			return -1;
		/* In Oniguruma a higher number is a byte of UTF-8. */
		return *c < 0x80 ? 0 : pattern_refuse(w, at, w->i - at);
	}
	w->i++;
	if (hexadecimal(w, at, 1, 8, c) < 0)
		return -1;
	if (w->text[w->i] != '}')
		return pattern_fault(w, w->code, at, "a number of a character without its }");
	w->i++;
	return 0;
}

/* Reads and writes the property after "\p" or "\P". */
static int
property(struct pattern_walk *w, size_t at, char p)
{
	size_t n;

	if (isupper((uint8_t)w->text[w->i])) {
		buf_printf(w->to, "\\%c%c", p, w->text[w->i++]);
		return 0;
	}
	if (w->text[w->i] != '{')
		return pattern_fault(w, w->code, at, "\\%c without a property", p);
	n = 1 + (w->text[w->i + 1] == '^');
	n += strspn(w->text + w->i + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ ");
	if (w->text[w->i + n] != '}' || n > 64)
		return pattern_fault(w, w->code, at, "\\%c without a property", p);
	buf_printf(w->to, "\\%c%.*s}", p, (int)n, w->text + w->i);
	w->i += n + 1;
	return 0;
}

int
pattern_escape(struct pattern_walk *w, uint32_t *c)
{
	static const char names[] = "tnrfea", bytes[] = "\t\n\r\f\x1b\a";
	size_t at = w->i++;
	const char *known;
	char x = w->text[w->i];

	*c = NO_CHARACTER;
	if (!x)
		return pattern_fault(w, w->code, at, "a backslash at the end");
	if (!isalnum((uint8_t)x))
		return pattern_character(w, c);
	w->i++;
	if (strchr("dDsSwW", x)) {
		put_set(w->to, x);
		return 0;
	}
	if (x == 'p' || x == 'P')
		return property(w, at, x);
	if (x == 'x')
		return numbered(w, at, c);
	if (x == 'u')
		return hexadecimal(w, at, 4, 4, c);
	known = strchr(names, x);
	if (!known)
		return pattern_refuse(w, at, 2);
	*c = (uint32_t)bytes[known - names];
	return 0;
}

/* Copies a class such as "[:alpha:]" within a class. Returns 1 if there is one, else
 * 0. */
static int
named_class(struct pattern_walk *w)
{
	static const char *const names[] = { "alnum", "alpha", "blank", "cntrl", "digit",
		"graph", "lower", "print", "punct", "space", "upper", "word", "xdigit" };
	const char *s = w->text + w->i;
	size_t i, n;

	if (s[0] != '[' || s[1] != ':')
		return 0;
	n = 2 + (s[2] == '^');
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(s + n, names[i], strlen(names[i])) == 0 &&
		    strncmp(s + n + strlen(names[i]), ":]", 2) == 0) {
			n += strlen(names[i]) + 2;
			buf_put(w->to, s, n);
			w->i += n;
			return 1;
		}
	return 0;
}

/* Reads a character of a class; writes a class within it and sets *c to NO_CHARACTER. */
static int
class_item(struct pattern_walk *w, uint32_t *c)
{
	*c = NO_CHARACTER;
	if (w->text[w->i] == '\\' && w->text[w->i + 1] == 'b') {
		w->i += 2;
		*c = '\b';
		return 0;
	}
	if (w->text[w->i] == '\\')
		return pattern_escape(w, c);
	if (pattern_is_at(w, "&&"))
		return pattern_fault(w, ERR_FORMAT, w->i, "an intersection of classes is not read here");
	return named_class(w) ? 0 : pattern_character(w, c);
}

/* Writes a character of a class, with the end of the range that it begins, if any. */
static int
class_range(struct pattern_walk *w, uint32_t from)
{
	size_t at = w->i;
	uint32_t to;

	pattern_put(w->to, from);
	if (w->text[w->i] != '-' || w->text[w->i + 1] == ']' || !w->text[w->i + 1])
		return 0;
	w->i++;
	if (w->text[w->i] == '[')
		return pattern_fault(w, ERR_FORMAT, at, "a range to a class is not read here");
	buf_text(w->to, "-");
	if (class_item(w, &to) < 0)
		return -1;
	if (to == NO_CHARACTER || to < from)
		return pattern_fault(w, w->code, at, "a range that does not end behind its beginning");
	pattern_put(w->to, to);
	return 0;
}

int
pattern_class(struct pattern_walk *w)
{
	size_t at = w->i, begun = 0, items = 0;
	unsigned depth = 1;
	uint32_t c;

	w->i++;
	buf_text(w->to, "[");
	if (w->text[w->i] == '^') {
		buf_text(w->to, "^");
		w->i++;
	}
	/* Directly after the start of a class, a closing bracket is a character. */
	for (begun = w->i; depth > 0; items++) {
		if (!w->text[w->i])
			return pattern_fault(w, w->code, at, "a class without its ]");
		if (w->text[w->i] == ']' && w->i > begun) {
			w->i++;
			depth--;
			continue;
		}
		if (w->text[w->i] == '[' && named_class(w))
			continue;
		if (w->text[w->i] == '[') {
			if (w->text[w->i + 1] == '^' || depth == PATTERN_DEEPEST)
				return pattern_refuse(w, w->i, 2);
			begun = ++w->i;
			depth++;
			continue;
		}
		if (class_item(w, &c) < 0 || (c != NO_CHARACTER && class_range(w, c) < 0))
			return -1;
	}
	buf_text(w->to, "]");
	w->level[w->depth].item_width = 1 + (uint32_t)(items / 16);
	return 0;
}
