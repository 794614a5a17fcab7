#include "wire/toml.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "wire/toml_parts.h"

#define NUMBER_LENGTH 64 /* maximum length of a number or a word */

/* ---- messages ---- */

unsigned
toml_line(const struct toml_in *in, const char *at)
{
	const char *p = in->begin;
	unsigned line = 1;

	while ((p = memchr(p, '\n', (size_t)(at - p)))) {
		line++;
		p++;
	}
	return line;
}

int
toml_fail(struct toml_in *in, const char *at, const char *fmt, ...)
{
	const char *p = at;
	char object[384];
	unsigned column = 1;
	va_list ap;

	while (p > in->begin && p[-1] != '\n')
		column += (*--p & 0xc0) != 0x80;
	snprintf(object, sizeof object, "%.350s:%u:%u", in->name, toml_line(in, at), column);
	va_start(ap, fmt);
	err_vset(in->e, ERR_CORRUPT, object, fmt, ap);
	va_end(ap);
	return -1;
}

/* ---- characters ---- */

char
toml_peek(const struct toml_in *in, size_t ahead)
{
	return (size_t)(in->end - in->p) > ahead ? in->p[ahead] : '\0';
}

void
toml_blanks(struct toml_in *in)
{
	while (toml_peek(in, 0) == ' ' || toml_peek(in, 0) == '\t')
		in->p++;
}

static bool
is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

bool
toml_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* Skips a line break, if one is here. 1, or 0 if there is none; -1 for a lone CR. */
static int
skip_break(struct toml_in *in)
{
	if (toml_peek(in, 0) == '\r' && toml_peek(in, 1) != '\n')
		return toml_fail(in, in->p, "a carriage return without a line feed");
	if (toml_peek(in, 0) == '\r')
		in->p++;
	if (toml_peek(in, 0) != '\n')
		return 0;
	in->p++;
	return 1;
}

static int
skip_comment(struct toml_in *in)
{
	if (toml_peek(in, 0) != '#')
		return 0;
	for (; in->p < in->end && *in->p != '\n' && *in->p != '\r'; in->p++)
		if (is_control(*in->p))
			return toml_fail(in, in->p, "a control character in a comment");
	return 0;
}

/* Skips spaces, comments and line breaks. */
static int
skip_lines(struct toml_in *in)
{
	int r;

	do {
		toml_blanks(in);
		if (skip_comment(in) < 0)
			return -1;
		r = skip_break(in);
	} while (r > 0);
	return r;
}

int
toml_end_line(struct toml_in *in)
{
	int r;

	toml_blanks(in);
	if (skip_comment(in) < 0)
		return -1;
	if (in->p == in->end)
		return 0;
	r = skip_break(in);
	return r == 0 ? toml_fail(in, in->p, "more text after the end of a line's value or header")
	              : r < 0 ? -1 : 0;
}

/* ---- strings ---- */

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* After a backslash. */
static int
read_escape(struct toml_in *in, struct buf *b)
{
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	const char *at = in->p - 1, *found;
	const char c = toml_peek(in, 0);
	unsigned digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
	uint32_t v = 0;

	if (c && (found = strchr(names, c))) {
		buf_u8(b, (uint8_t)values[found - names]);
		in->p++;
		return 0;
	}
	if (!digits)
		return toml_fail(in, at, "an escape that TOML does not have");
	for (in->p++; digits > 0; digits--, in->p++) {
		if (hex_digit(toml_peek(in, 0)) < 0)
			return toml_fail(in, at, "an escape with too few hexadecimal digits");
		v = v << 4 | (uint32_t)hex_digit(*in->p);
	}
	if (v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return toml_fail(in, at, "an escape that does not name a character");
	text_put(b, v);
	return 0;
}

/* Reads a string in either kind of quotes. */
int
toml_string(struct toml_in *in, struct buf *b)
{
	const char *at = in->p;
	const char quote = *at;

	if (toml_peek(in, 1) == quote && toml_peek(in, 2) == quote)
		return toml_fail(in, at, "a string of several lines (%c%c%c) is not supported here", quote,
		            quote, quote);
	for (in->p++; toml_peek(in, 0) != quote || in->p == in->end;) {
		if (in->p == in->end || *in->p == '\n' || *in->p == '\r')
			return toml_fail(in, at, "a string without its end quote");
		if (is_control(*in->p))
			return toml_fail(in, in->p, "a control character in a string");
		if (*in->p == '\\' && quote == '"') {
			in->p++;
			if (read_escape(in, b) < 0)
				return -1;
		} else {
			buf_u8(b, (uint8_t)*in->p++);
		}
	}
	in->p++;
	return 0;
}

/* ---- numbers ---- */

/* Whether s is digits of a base with single underscores between them; copies them to `to`. */
static bool
take_digits(const char *s, size_t n, int base, char *to)
{
	size_t i;
	int d;

	for (i = 0; i < n; i++) {
		d = hex_digit(s[i]);
		if (s[i] == '_' && i > 0 && i + 1 < n && s[i - 1] != '_')
			continue;
		if (d < 0 || d >= base)
			return false;
		*to++ = s[i];
	}
	*to = '\0';
	return n > 0;
}

/* 0, or -1 if the number does not fit. */
static int
to_integer(const char *digits, uint64_t base, bool negative, int64_t *v)
{
	const uint64_t most = (uint64_t)INT64_MAX + negative;
	uint64_t x = 0, d;

	for (; *digits; digits++) {
		d = (uint64_t)hex_digit(*digits);
		if (x > (most - d) / base)
			return -1;
		x = x * base + d;
	}
	*v = negative && x > INT64_MAX ? INT64_MIN : negative ? -(int64_t)x : (int64_t)x;
	return 0;
}

/* Whether s is a float: digits, and a fraction or an exponent or both. Copies it without
 * underscores. */
static bool
take_float(const char *s, size_t n, char *to)
{
	size_t whole = strcspn(s, ".eE"), i = whole, j;

	if (whole == n || !take_digits(s, whole, 10, to) || (s[0] == '0' && whole > 1))
		return false;
	to += strlen(to);
	if (s[i] == '.') {
		i++;
		j = i + strcspn(s + i, "eE");
		*to++ = '.';
		if (!take_digits(s + i, j - i, 10, to))
			return false;
		to += strlen(to);
		i = j;
	}
	if (i == n)
		return true;
	*to++ = 'e';
	i++;
	if (s[i] == '+' || s[i] == '-')
		*to++ = s[i++];
	return take_digits(s + i, n - i, 10, to);
}

static bool
is_date(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return (n == 4 && s[4] == '-') || (n == 2 && s[2] == ':');
}

/* A number without its sign. 1, or 0 if it is none; -1 if it does not fit. */
static int
number_of(const char *s, bool negative, bool is_signed, struct toml_value *v)
{
	static const struct { char letter; int base; } bases[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
	char digits[NUMBER_LENGTH + 1];
	size_t n = strlen(s), i;

	v->type = TOML_INTEGER;
	for (i = 0; i < 3 && s[0] == '0'; i++)
		if (s[1] == bases[i].letter)
			return is_signed || !take_digits(s + 2, n - 2, bases[i].base, digits) ? 0
			       : to_integer(digits, (uint64_t)bases[i].base, false, &v->integer) < 0 ? -1 : 1;
	if (take_digits(s, n, 10, digits))
		return s[0] == '0' && n > 1 ? 0
		       : to_integer(digits, 10, negative, &v->integer) < 0 ? -1 : 1;
	v->type = TOML_FLOAT;
	if (strcmp(s, "inf") == 0 || strcmp(s, "nan") == 0)
		v->real = *s == 'i' ? (double)INFINITY : (double)NAN;
	else if (take_float(s, n, digits))
		v->real = strtod(digits, NULL);
	else
		return 0;
	v->real = negative ? -v->real : v->real;
	return 1;
}

/* A number, a boolean, or something unknown. */
static int
read_word(struct toml_in *in, struct toml_value *v)
{
	const char *at = in->p;
	char word[NUMBER_LENGTH + 1];
	size_t n = 0;
	bool is_signed;
	int r;

	while (toml_bare(toml_peek(in, n)) || (toml_peek(in, n) && strchr("+.:", toml_peek(in, n))))
		n++;
	if (n == 0)
		return toml_fail(in, at, "a value was expected");
	if (n > NUMBER_LENGTH)
		return toml_fail(in, at, "a number or a word of more than %d characters", NUMBER_LENGTH);
	memcpy(word, at, n);
	word[n] = '\0';
	in->p += n;
	v->yes = strcmp(word, "true") == 0;
	v->type = TOML_BOOLEAN;
	if (v->yes || strcmp(word, "false") == 0)
		return 0;
	if (is_date(word))
		return toml_fail(in, at, "a date or a time is not supported here");
	is_signed = *word == '+' || *word == '-';
	r = number_of(word + is_signed, *word == '-', is_signed, v);
	if (r < 0)
		return toml_fail(in, at, "an integer beyond 64 bits");
	return r > 0 ? 0 : toml_fail(in, at, "%s is not a value; a text needs quotes", word);
}

/* ---- values ---- */

static int
read_scalar(struct toml_in *in, struct toml_value *v)
{
	const char c = toml_peek(in, 0);
	struct buf b = { 0 };
	int r;

	if (c == '{')
		return toml_fail(in, in->p, "an inline table is not supported here");
	if (c != '"' && c != '\'')
		return read_word(in, v);
	v->type = TOML_TEXT;
	r = toml_string(in, &b);
	if (r == 0 && !(v->text = mem_text(b.p ? (char *)b.p : "", b.n)))
		r = err_memory(in->e);
	if (!buf_ok(&b))
		r = err_memory(in->e);
	v->n = b.n;
	buf_free(&b);
	return r;
}

static int
read_array(struct toml_in *in, struct toml_value *v)
{
	const char *at = in->p++;
	size_t cap = 0;

	v->type = TOML_ARRAY;
	for (;;) {
		if (skip_lines(in) < 0)
			return -1;
		if (toml_peek(in, 0) == ']')
			break;
		if (in->p == in->end)
			return toml_fail(in, at, "an array without its end");
		if (toml_peek(in, 0) == '[')
			return toml_fail(in, in->p, "an array in an array is not supported here");
		if (v->n == TOML_ITEMS)
			return toml_fail(in, in->p, "an array of more than %d items", TOML_ITEMS);
		if (mem_grow(&v->items, &cap, v->n + 1, sizeof *v->items) < 0)
			return err_memory(in->e);
		if (read_scalar(in, &v->items[v->n++]) < 0 || skip_lines(in) < 0)
			return -1;
		if (toml_peek(in, 0) == ',')
			in->p++;
		else if (toml_peek(in, 0) != ']')
			return toml_fail(in, in->p, "a comma or ] was expected in an array");
	}
	in->p++;
	return 0;
}

int
toml_value(struct toml_in *in, struct toml_value *v)
{
	return toml_peek(in, 0) == '[' ? read_array(in, v) : read_scalar(in, v);
}
