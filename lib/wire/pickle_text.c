/* The text forms of protocol 0. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/text.h"
#include "wire/pickle_machine.h"

#define NUMBER 64 /* bytes of a number as text; longer integers are kept unread */

static pickle_ref
bad(struct pickle *k, const char *what)
{
	pickle_bad(k, k->at, what);
	return PICKLE_NOTHING;
}

pickle_ref
pickle_text_int(struct pickle *k, const uint8_t *p, size_t n, bool is_long)
{
	char text[NUMBER], *end;
	pickle_ref r;
	long long v;

	if (!is_long && n == 2 && p[0] == '0' && (p[1] == '0' || p[1] == '1')) {
		r = pickle_new_int(k, p[1] == '1');
		if (r != PICKLE_NOTHING)
			k->nodes[r].kind = PICKLE_BOOL;
		return r;
	}
	if (is_long && n > 0 && p[n - 1] == 'L')
		n--;
	if (n == 0 || n >= sizeof text)
		return bad(k, "an integer that is not one");
	memcpy(text, p, n);
	text[n] = '\0';
	errno = 0;
	v = strtoll(text, &end, 10);
	if (*end || end == text || strspn(text, "+-0123456789") != n)
		return bad(k, "an integer that is not one");
	return errno ? pickle_new_bytes(k, PICKLE_LONG, p, n) : pickle_new_int(k, v);
}

pickle_ref
pickle_text_float(struct pickle *k, const uint8_t *p, size_t n)
{
	char text[NUMBER], *end;
	pickle_ref r;

	if (n == 0 || n >= sizeof text)
		return bad(k, "a number that is not one");
	memcpy(text, p, n);
	text[n] = '\0';
	r = pickle_new(k, PICKLE_FLOAT);
	if (r != PICKLE_NOTHING)
		k->nodes[r].u.d = strtod(text, &end);
	return r == PICKLE_NOTHING || *end == '\0' ? r : bad(k, "a number that is not one");
}

/* ---- escapes ---- */

static int
digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* The number in up to n digits at p, before end; *used is the number of digits. */
static uint32_t
number(const uint8_t *p, const uint8_t *end, size_t n, int base, size_t *used)
{
	uint32_t v = 0;

	for (*used = 0; *used < n && p + *used < end && digit(p[*used]) < base; ++*used)
		v = v * (uint32_t)base + (uint32_t)digit(p[*used]);
	return v;
}

static int
put_character(struct buf *b, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return -1;
	text_put(b, c);
	return 0;
}

/* Append what the escape behind a backslash means: p points behind the backslash. Returns its
 * bytes, or 0 if it is wrong. */
static size_t
unescape(struct buf *b, const uint8_t *p, const uint8_t *end)
{
	static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
	const char *found;
	uint32_t c;
	size_t n;

	if (p == end)
		return 0;
	if (*p == 'x') {
		c = number(p + 1, end, 2, 16, &n);
		return n == 2 && put_character(b, c) == 0 ? 3 : 0;
	}
	c = number(p, end, 3, 8, &n);
	if (n > 0)
		return put_character(b, c) == 0 ? n : 0;
	found = *p ? strchr(from, *p) : NULL;
	if (!found)
		return 0;
	buf_u8(b, (uint8_t)to[found - from]);
	return 1;
}

/* The same for raw Unicode strings, which know only \u and \U; another backslash is itself. */
static size_t
unescape_unicode(struct buf *b, const uint8_t *p, const uint8_t *end)
{
	size_t n, digits = p < end && *p == 'u' ? 4 : p < end && *p == 'U' ? 8 : 0;
	uint32_t c;

	if (digits == 0) {
		buf_u8(b, '\\');
		if (p < end)
			put_character(b, *p);
		return p < end ? 1 : 0;
	}
	c = number(p + 1, end, digits, 16, &n);
	return n == digits && put_character(b, c) == 0 ? n + 1 : 0;
}

static pickle_ref
unescaped(struct pickle *k, const uint8_t *p, size_t n, bool unicode)
{
	const uint8_t *end = p + n;
	struct buf b = { 0 };
	pickle_ref r = PICKLE_NOTHING;
	size_t step = 1;

	for (; p < end && step > 0; p += step) {
		step = 1;
		if (*p != '\\')
			put_character(&b, *p);
		else if ((step = (unicode ? unescape_unicode : unescape)(&b, p + 1, end)))
			step++;
	}
	if (step == 0 && !(unicode && p + 1 == end))
		r = bad(k, "a string with a wrong escape");
	else if (!buf_ok(&b))
		err_memory(k->err);
	else
		r = pickle_new_bytes(k, PICKLE_TEXT, b.n ? b.p : (const uint8_t *)"", b.n);
	buf_free(&b);
	return r;
}

pickle_ref
pickle_text_string(struct pickle *k, const uint8_t *p, size_t n)
{
	if (n < 2 || (*p != '\'' && *p != '"') || p[n - 1] != *p)
		return bad(k, "a string without its quotes");
	return unescaped(k, p + 1, n - 2, false);
}

pickle_ref
pickle_text_unicode(struct pickle *k, const uint8_t *p, size_t n)
{
	if (memchr(p, '\\', n) || !text_utf8(p, n, true))
		return unescaped(k, p, n, true);
	return pickle_new_bytes(k, PICKLE_TEXT, p, n);
}
