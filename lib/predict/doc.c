#include "predict/doc_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "core/le.h"
#include "predict/decimal.h"

bool
doc_fail(struct doc *d, const char *fmt, ...)
{
	char object[400];
	va_list ap;

	if (!d->failed) {
		snprintf(object, sizeof object, "%.300s, byte %zu", d->where,
		         (size_t)(d->p - d->begin));
		va_start(ap, fmt);
		err_vset(d->err, ERR_CORRUPT, object, fmt, ap);
		va_end(ap);
	}
	d->failed = true;
	return false;
}

void
doc_begin(struct doc *d, bool binary, const void *p, size_t n, const char *where, struct err *e)
{
	memset(d, 0, offsetof(struct doc, stack));
	d->name[0] = d->text[0] = 0;
	d->begin = d->p = p;
	d->end = d->p + n;
	d->binary = binary;
	d->where = where;
	d->err = e;
	d->numbers = rows_numbers_long();
}

/* ---- JSON ---- */

static void
skip_blanks(struct doc *d)
{
	while (d->p < d->end && (*d->p == ' ' || *d->p == '\n' || *d->p == '\t' || *d->p == '\r'))
		d->p++;
}

/* The next character that is not white space, which is not consumed; 0 at the end. */
static inline char
look(struct doc *d)
{
	if (!d->binary)
		skip_blanks(d);
	return d->p < d->end ? (char)*d->p : 0;
}

static bool
expect(struct doc *d, char c)
{
	if (look(d) != c || d->failed)
		return doc_fail(d, "'%c' is missing", c);
	d->p++;
	return true;
}

static unsigned
hex4(struct doc *d)
{
	unsigned v = 0, i;

	for (i = 0; i < 4; i++, d->p++) {
		int c = d->p < d->end ? *d->p | 0x20 : 0;

		if (c >= '0' && c <= '9')
			v = v * 16 + (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (unsigned)(c - 'a' + 10);
		else
			return (unsigned)doc_fail(d, "an escape in a text is wrong");
	}
	return v;
}

/* Reads the escape behind a backslash into to, which has room for four bytes. */
static size_t
escape(struct doc *d, char *to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	int c = d->p < d->end ? *d->p++ : 0;
	const char *at = c ? strchr(from, c) : NULL;
	uint32_t v, low;

	if (at) {
		*to = into[at - from];
		return 1;
	}
	if (c != 'u')
		return (size_t)doc_fail(d, "an escape in a text is wrong");
	v = hex4(d);
	if (v >= 0xd800 && v < 0xdc00 && d->end - d->p >= 6 && d->p[0] == '\\' && d->p[1] == 'u') {
		d->p += 2;
		low = hex4(d);
		v = 0x10000 + ((v - 0xd800) << 10) + ((low - 0xdc00) & 0x3ff);
	}
	return text_encode(v ? v : '?', to);
}

/* The bytes of x that are c have their highest bit set, and perhaps bytes behind the first of them. */
static inline uint64_t
bytes_that_are(uint64_t x, char c)
{
	x ^= 0x0101010101010101u * (uint8_t)c;
	return (x - 0x0101010101010101u) & ~x & 0x8080808080808080u;
}

/* Copies what stands in front of the next quote, backslash or zero, at least in part; the number of bytes, at
 * most DOC_TEXT - 8. */
static size_t
copy_plain(struct doc *d, char *to)
{
	size_t n = 0, left = (size_t)(d->end - d->p);
	uint64_t v, stop = 0;

	for (; !stop && n + 8 <= left && n + 8 < DOC_TEXT; n += 8) {
		v = le64(d->p + n);
		memcpy(to + n, d->p + n, 8);
		stop = bytes_that_are(v, '"') | bytes_that_are(v, '\\') | bytes_that_are(v, 0);
	}
	n -= stop ? 8 - (size_t)__builtin_ctzll(stop) / 8 : 0;
	d->p += n;
	return n;
}

/* Reads a JSON text at its opening quote. What does not fit into to is left out. */
static void
json_text(struct doc *d, char *to)
{
	size_t n, k;
	char one[4];

	if (!expect(d, '"'))
		return;
	n = copy_plain(d, to);
	while (d->p < d->end && *d->p != '"' && !d->failed) {
		if (*d->p == '\\') {
			d->p++;
			k = escape(d, one);
		} else {
			one[0] = (char)(*d->p ? *d->p : '?');
			d->p++;
			k = 1;
		}
		if (n + k < DOC_TEXT) {
			memcpy(to + n, one, k);
			n += k;
		}
	}
	to[n] = 0;
	if (d->p == d->end)
		doc_fail(d, "a text does not end");
	else
		d->p++;
}

/* ---- UBJSON ---- */

unsigned
doc_width(char type)
{
	switch (type) {
	case 'i': case 'U': case 'C':
		return 1;
	case 'I':
		return 2;
	case 'l': case 'd':
		return 4;
	case 'L': case 'D':
		return 8;
	default:
		return 0;
	}
}

static uint64_t
big(struct doc *d, unsigned n)
{
	uint64_t v = 0;

	if ((size_t)(d->end - d->p) < n) {
		doc_fail(d, "the file ends inside a number");
		return 0;
	}
	while (n-- > 0)
		v = v << 8 | *d->p++;
	return v;
}

double
doc_binary_number(struct doc *d, char type)
{
	uint64_t v = big(d, doc_width(type));
	union { uint32_t u; float f; } f;
	union { uint64_t u; double d; } g;

	switch (type) {
	case 'i':
		return (int8_t)v;
	case 'U': case 'C':
		return (double)v;
	case 'I':
		return (int16_t)v;
	case 'l':
		return (int32_t)v;
	case 'L':
		return (double)(int64_t)v;
	case 'd':
		f.u = (uint32_t)v;
		return (double)f.f;
	case 'D':
		g.u = v;
		return g.d;
	default:
		doc_fail(d, "a number of an unknown type");
		return 0;
	}
}

/* The type of the next value, which is consumed. */
static char
take_type(struct doc *d)
{
	char t = d->type;

	d->type = 0;
	while (!t && d->p < d->end && (*d->p == 'N' || *d->p))
		if (*d->p++ != 'N')
			t = (char)d->p[-1];
	if (!t)
		doc_fail(d, "a value is missing");
	return t;
}

static uint64_t
binary_count(struct doc *d)
{
	char type = d->p < d->end ? (char)*d->p++ : 0;
	double v;

	if (type == 'L' && d->end - d->p >= 8 && d->p[0] == 0 && d->p[1] == 0) { /* as XGBoost has them */
		d->p += 8;
		return __builtin_bswap64(le64(d->p - 8));
	}
	v = strchr("iUIlL", type) && type ? doc_binary_number(d, type) : -1;
	if (v < 0 || v > 9e15) {
		doc_fail(d, "a length is not a number of bytes or items");
		return 0;
	}
	return (uint64_t)v;
}

static void
binary_text(struct doc *d, char *to)
{
	uint64_t n = binary_count(d), i, k = 0;

	if (n > (uint64_t)(d->end - d->p)) {
		doc_fail(d, "a text is longer than the file");
		n = 0;
	}
	for (i = 0; i < n && k < DOC_TEXT - 1; i++)
		to[k++] = d->p[i] ? (char)d->p[i] : '?';
	to[k] = 0;
	d->p += n;
}

/* What may stand behind '[' or '{': a type and a count. */
static void
binary_open(struct doc *d, struct doc_level *x)
{
	if (look(d) == '$') {
		d->p++;
		x->type = d->p < d->end ? (char)*d->p++ : 0;
		if (!doc_width(x->type) && (!x->type || !strchr("S[{", x->type)))
			doc_fail(d, "the items of an array have an unknown type");
		else if (look(d) != '#')
			doc_fail(d, "an array with a type has no count");
	}
	if (!d->failed && look(d) == '#') {
		d->p++;
		x->left = binary_count(d);
		x->counted = true;
		/* Every item has at least one byte, in its marker or its value. */
		if (x->left > (uint64_t)(d->end - d->p))
			doc_fail(d, "an array has more items than the file has bytes");
	}
}

/* ---- both ---- */

char
doc_kind(struct doc *d)
{
	char c;

	if (d->failed)
		return 0;
	if (d->binary) {
		while (!d->type && d->p < d->end && *d->p == 'N')
			d->p++;
		c = d->type ? d->type : look(d);
		if (doc_width(c))
			return c == 'C' ? '"' : '0';
		return c == 'S' || c == 'H' ? '"' : c == 'T' || c == 'F' ? 't' : c == 'Z' ? 'n'
		       : c == '[' || c == '{' ? c : 0;
	}
	c = look(d);
	if (c == '-' || (c >= '0' && c <= '9') || c == 'N' || c == 'I')
		return '0';
	return c == 't' || c == 'f' ? 't' : c == 'n' || c == '"' || c == '[' || c == '{' ? c : 0;
}

static bool
open_level(struct doc *d, char open)
{
	struct doc_level *x;

	if (doc_kind(d) != open)
		return doc_fail(d, open == '{' ? "an object is expected" : "an array is expected");
	if (d->depth == DOC_DEPTH)
		return doc_fail(d, "values are nested more than %d levels deep", DOC_DEPTH);
	if (d->binary)
		take_type(d);
	else
		d->p++;
	x = &d->stack[d->depth++];
	*x = (struct doc_level){ .open = open };
	if (d->binary)
		binary_open(d, x);
	return !d->failed;
}

bool
doc_object(struct doc *d)
{
	return open_level(d, '{');
}

bool
doc_array(struct doc *d)
{
	return open_level(d, '[');
}

/* Moves to the next item or member of the innermost level. False at its end. */
static bool
next(struct doc *d, char close)
{
	struct doc_level *x = &d->stack[d->depth - 1];
	bool more;

	if (d->failed)
		return false;
	if (x->counted) {
		more = x->left > 0;
		x->left -= more;
		d->type = more ? x->type : 0;
	} else {
		while (d->binary && look(d) == 'N')
			d->p++;
		more = look(d) != close;
		if (!more)
			d->p++;
		else if (x->any && !d->binary && !expect(d, ','))
			return false;
	}
	x->any = true;
	d->depth -= !more;
	return more;
}

bool
doc_item(struct doc *d)
{
	return next(d, ']');
}

bool
doc_member(struct doc *d)
{
	char type;

	if (!next(d, '}'))
		return false;
	type = d->type; /* of the value; names have none */
	d->type = 0;
	if (d->binary)
		binary_text(d, d->name);
	else
		json_text(d, d->name);
	d->type = type;
	return !d->failed && (d->binary || expect(d, ':'));
}

/* JSON has no NaN and no infinity; the libraries write them all the same. */
static double
json_number(struct doc *d)
{
	const char *p = (const char *)d->p;
	double v = decimal_read(&p, (const char *)d->end);

	if (p == (const char *)d->p)
		doc_fail(d, "a number is expected");
	d->p = (const uint8_t *)p;
	return v;
}

/* A number that is written as a text, or as a list of one such text ("[5E-1]"). */
static double
text_number(struct doc *d)
{
	const char *text = doc_text(d), *p = text, *end;
	double v;

	end = text + strlen(text);
	if (*p == '[' && end[-1] == ']') {
		p++;
		end--;
	}
	v = decimal_read(&p, end);
	if (!d->failed && (p != end || p == text))
		doc_fail(d, "a text is not a number");
	return v;
}

double
doc_number(struct doc *d)
{
	char kind = doc_kind(d);

	if (d->failed)
		return 0;
	if (kind == '"')
		return text_number(d);
	if (kind == 't')
		return doc_bool(d);
	if (kind != '0')
		return doc_fail(d, "a number is expected");
	return d->binary ? doc_binary_number(d, take_type(d)) : json_number(d);
}

static bool
word(struct doc *d, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(d->end - d->p) < n || memcmp(d->p, text, n) != 0)
		return false;
	d->p += n;
	return true;
}

bool
doc_bool(struct doc *d)
{
	char kind = doc_kind(d);

	if (kind == '0' || kind == '"')
		return doc_number(d) != 0;
	if (kind != 't')
		return doc_fail(d, "true or false is expected");
	if (d->binary)
		return take_type(d) == 'T';
	return word(d, "true") || (!word(d, "false") && doc_fail(d, "true or false is expected"));
}

const char *
doc_text(struct doc *d)
{
	d->text[0] = 0;
	if (doc_kind(d) != '"') {
		doc_fail(d, "a text is expected");
	} else if (!d->binary) {
		json_text(d, d->text);
	} else if (take_type(d) == 'C') {
		d->text[0] = (char)big(d, 1);
		d->text[1] = 0;
	} else {
		binary_text(d, d->text);
	}
	return d->text;
}

/* Skips a value that is neither an array nor an object. */
static void
skip_plain(struct doc *d, char kind)
{
	if (kind == '"')
		doc_text(d);
	else if (kind == '0')
		doc_number(d);
	else if (kind == 't')
		doc_bool(d);
	else if (kind != 'n')
		doc_fail(d, "a value is expected");
	else if (d->binary)
		take_type(d);
	else if (!word(d, "null"))
		doc_fail(d, "a value is expected");
}

/* Enters an array, or skips all of it if it has neither texts nor other arrays; its items are not
 * read then. */
static void
skip_array(struct doc *d)
{
	const struct doc_level *x = &d->stack[d->depth];
	const uint8_t *p = d->p, *end = d->binary ? NULL : memchr(p, ']', (size_t)(d->end - p));
	size_t n = end ? (size_t)(end - p) : 0;
	unsigned width;

	if (end && !memchr(p + 1, '[', n - 1) && !memchr(p, '{', n) && !memchr(p, '"', n)) {
		d->p = end + 1;
		return;
	}
	if (!doc_array(d) || !d->binary || !x->counted || (width = doc_width(x->type)) == 0)
		return;
	if (x->left > (size_t)(d->end - d->p) / width) {
		doc_fail(d, "the file ends inside a number");
		return;
	}
	d->p += x->left * width;
	d->depth--;
}

void
doc_skip(struct doc *d)
{
	size_t base = d->depth;
	char kind;

	do {
		if (d->depth > base) {
			bool more = d->stack[d->depth - 1].open == '{' ? doc_member(d) : doc_item(d);

			if (!more)
				continue;
		}
		kind = doc_kind(d);
		if (kind == '{')
			doc_object(d);
		else if (kind == '[')
			skip_array(d);
		else
			skip_plain(d, kind);
	} while (d->depth > base && !d->failed);
}

int64_t
doc_integer(struct doc *d, int64_t low, int64_t high, const char *what)
{
	double v = doc_number(d);

	if (d->failed)
		return low;
	if (!(v >= (double)low && v <= (double)high) || v != floor(v)) {
		doc_fail(d, "%s is %g, which is not from %" PRId64 " to %" PRId64, what, v, low, high);
		return low;
	}
	return (int64_t)v;
}

int
doc_end(struct doc *d)
{
	if (!d->failed && look(d) != 0)
		doc_fail(d, "something follows the end of the document");
	return d->failed ? -1 : 0;
}
