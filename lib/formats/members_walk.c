#include "formats/members_walk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "core/text.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PIECE 65536 /* bytes read from the spool at once */
#else
#define PIECE 64    /* a fuzzer's inputs are small */
#endif

int
walk_begin(struct walk *s, struct err *e)
{
	s->e = e;
	s->begin = s->at;
	s->window = malloc(PIECE);
	s->p = s->stop = s->window;
	return s->window ? 0 : err_memory(e);
}

void
walk_end(struct walk *s)
{
	free(s->window);
	s->window = NULL;
}

uint64_t
walk_tell(const struct walk *s)
{
	return s->at - (uint64_t)(s->stop - s->p);
}

int
walk_fail(struct walk *s, const char *what)
{
	if (!s->broken)
		err_set(s->e, ERR_CORRUPT, s->where, "its metadata is not JSON at byte %" PRIu64
		        ": %s", s->base + (walk_tell(s) - s->begin), what);
	s->broken = true;
	return -1;
}

int
walk_peek(struct walk *s)
{
	size_t n;

	if (s->p == s->stop) {
		n = (size_t)num_min(s->end - s->at, PIECE);
		if (n == 0 || s->broken)
			return -1;
		if (spool_get(s->text, s->at, s->window, n, s->e) < 0) {
			s->broken = true;
			return -1;
		}
		s->at += n;
		s->p = s->window;
		s->stop = s->window + n;
	}
	return *s->p;
}

bool
walk_take(struct walk *s, char c)
{
	if (walk_peek(s) != c)
		return false;
	s->p++;
	return true;
}

int
walk_blanks(struct walk *s)
{
	int c;

	while ((c = walk_peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		s->p++;
	return c;
}

/* ---- strings ---- */

static void
hash_byte(const struct walk *s, uint64_t *hash, unsigned c)
{
	if (hash)
		*hash = walk_hash(*hash, (uint8_t)c, s->names->factor);
}

/* Hash the UTF-8 bytes of a character. */
static void
hash_character(const struct walk *s, uint64_t *hash, unsigned c)
{
	uint8_t p[4];
	size_t n = text_encode(c, p), i;

	for (i = 0; i < n; i++)
		hash_byte(s, hash, p[i]);
}

/* Read a character that is not ASCII, as RFC 3629 defines it. */
static int
wide(struct walk *s, uint64_t *hash)
{
	int c = walk_peek(s), least = 0x80, most = 0xbf;
	unsigned more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (c < 0xc2 || c > 0xf4)
		return walk_fail(s, "a string that is not UTF-8");
	if (c == 0xe0)
		least = 0xa0;
	else if (c == 0xed)
		most = 0x9f;
	else if (c == 0xf0)
		least = 0x90;
	else if (c == 0xf4)
		most = 0x8f;
	hash_byte(s, hash, (unsigned)c);
	for (s->p++; more > 0; more--, s->p++, least = 0x80, most = 0xbf) {
		if ((c = walk_peek(s)) < least || c > most)
			return walk_fail(s, "a string that is not UTF-8");
		hash_byte(s, hash, (unsigned)c);
	}
	return 0;
}

/* Read four hexadecimal digits. Returns their value, or -1. */
static int
unit(struct walk *s)
{
	int c, v = 0;
	unsigned i;

	for (i = 0; i < 4; i++, s->p++) {
		c = walk_peek(s);
		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			return walk_fail(s, "no hexadecimal digit");
	}
	return v;
}

/* Read one unit, or a pair of surrogates, after "\u". */
static int
escaped_unit(struct walk *s, uint64_t *hash)
{
	int v = unit(s), low;

	if (v < 0)
		return -1;
	if (v == 0 && s->rules->strict)
		return walk_fail(s, "a NUL in a string");
	if (v < 0xd800 || v > 0xdfff) {
		hash_character(s, hash, (unsigned)v);
		return 0;
	}
	if (v > 0xdbff || !walk_take(s, '\\') || !walk_take(s, 'u') || (low = unit(s)) < 0xdc00 ||
	    low > 0xdfff)
		return walk_fail(s, "half a pair of surrogates");
	hash_character(s, hash, 0x10000u + (((unsigned)v & 0x3ff) << 10) + ((unsigned)low & 0x3ff));
	return 0;
}

/* Read an escape after its backslash. */
static int
escape(struct walk *s, uint64_t *hash)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = walk_peek(s);
	const char *at;

	if (c == 'u') {
		s->p++;
		return escaped_unit(s, hash);
	}
	at = c > 0 ? strchr(from, c) : NULL;
	if (!at)
		return walk_fail(s, "an escape that JSON does not have");
	s->p++;
	hash_byte(s, hash, (unsigned char)to[at - from]);
	return 0;
}

/* Read the characters in the window up to the next special one. */
static void
plain(struct walk *s, uint64_t *hash)
{
	const uint8_t *p = s->p;

	while (s->p < s->stop && *s->p >= 0x20 && *s->p < 0x80 && *s->p != '"' && *s->p != '\\')
		s->p++;
	for (; hash && p < s->p; p++)
		*hash = walk_hash(*hash, *p, s->names->factor);
}

int
walk_string(struct walk *s, uint64_t *hash)
{
	int c, r = 0;

	while (r == 0 && (c = walk_peek(s)) != '"') {
		if (c < 0x20)
			return walk_fail(s, c < 0 ? "it ends inside a string"
			                          : "a control character in a string");
		if (c == '\\') {
			s->p++;
			r = escape(s, hash);
		} else if (c >= 0x80) {
			r = wide(s, hash);
		} else {
			plain(s, hash);
		}
	}
	s->p += r == 0;
	return r;
}

/* ---- numbers ---- */

/* A number as text times 10^scale; text has its first significant digits. */
#define DIGITS 330 /* the largest double has 309 */
struct decimal {
	char text[DIGITS + 1];
	size_t n;
	int64_t scale;
	bool negative, real, more; /* more: a digit that is not 0 was left out */
};

static void
add_digit(struct decimal *d, int c, bool fraction)
{
	if (d->n == DIGITS) {
		d->more |= c != '0';
		d->scale += !fraction;
		return;
	}
	if (d->n > 0 || c != '0')
		d->text[d->n++] = (char)c;
	d->scale -= fraction;
}

static int
digits(struct walk *s, struct decimal *d, bool fraction)
{
	int c, n = 0;

	for (; (c = walk_peek(s)) >= '0' && c <= '9'; s->p++, n = 1)
		add_digit(d, c, fraction);
	return n ? 0 : walk_fail(s, "a number without digits");
}

static int
exponent(struct walk *s, struct decimal *d)
{
	int64_t v = 0;
	bool negative = false;
	int c, n = 0;

	s->p++;
	if (!walk_take(s, '+'))
		negative = walk_take(s, '-');
	for (; (c = walk_peek(s)) >= '0' && c <= '9'; s->p++, n = 1)
		if (v < INT32_MAX)
			v = v * 10 + (c - '0');
	d->scale += negative ? -v : v;
	return n ? 0 : walk_fail(s, "a number without digits");
}

/* True if a real exceeds the range of a double, or an integer that of int64_t. */
static bool
is_beyond(struct decimal *d)
{
	char number[DIGITS + 32];
	int64_t top = (int64_t)d->n + d->scale; /* digits before the point */

	if (!d->real) {
		d->text[d->n] = '\0';
		return d->n > 19 || (d->n == 19 && strcmp(d->text, d->negative ?
		       "9223372036854775808" : "9223372036854775807") > 0);
	}
	if (d->n == 0 || top < 308)
		return false;
	if (top > 310)
		return true;
	snprintf(number, sizeof number, "%.*s%se%d", (int)d->n, d->text, d->more ? "1" : "",
	         (int)(d->scale - d->more));
	return isinf(strtod(number, NULL));
}

static int
number(struct walk *s)
{
	struct decimal d;
	int c;

	d.n = 0;
	d.scale = 0;
	d.real = d.more = false;
	d.negative = walk_take(s, '-');
	if (!walk_take(s, '0') && digits(s, &d, false) < 0)
		return -1;
	if (walk_take(s, '.')) {
		d.real = true;
		if (digits(s, &d, true) < 0)
			return -1;
	}
	c = walk_peek(s);
	if (c == 'e' || c == 'E') {
		d.real = true;
		if (exponent(s, &d) < 0)
			return -1;
	}
	return s->rules->strict && is_beyond(&d) ? walk_fail(s, "a number that is too large") : 0;
}

/* ---- objects and lists ---- */

static int
word(struct walk *s, const char *text)
{
	for (; *text; text++)
		if (!walk_take(s, *text))
			return walk_fail(s, "no value");
	return 0;
}

int
walk_more(struct walk *s, char end)
{
	walk_blanks(s);
	if (walk_take(s, ','))
		return 1;
	return walk_take(s, end) ? 0
	                         : walk_fail(s, "neither a comma nor the end of an object or list");
}

int
walk_name(struct walk *s, uint64_t *hash)
{
	if (!walk_take(s, '"'))
		return walk_fail(s, "no name of a member");
	if (walk_string(s, hash) < 0)
		return -1;
	walk_blanks(s);
	if (!walk_take(s, ':'))
		return walk_fail(s, "no colon");
	walk_blanks(s);
	return 0;
}

static int
name_inside(struct walk *s)
{
	uint64_t hash = WALK_HASH;

	/* members.c compares the names of the outermost object. */
	if (!s->names || s->depth == s->outermost)
		return walk_name(s, NULL);
	if (walk_name(s, &hash) < 0)
		return -1;
	if (walk_names_add(s->names, hash) == 0)
		return 0;
	s->broken = true;
	return err_memory(s->e);
}

/* Read the members or items after the opening bracket. */
static int
parts(struct walk *s, char end)
{
	size_t count = s->names ? s->names->count : 0;
	uint64_t open = s->names ? s->names->open : 0;
	int r = 1;

	s->depth++;
	walk_blanks(s);
	if (walk_take(s, end))
		r = 0;
	while (r > 0) {
		walk_blanks(s);
		if ((end == '}' && name_inside(s) < 0) || walk_value(s) < 0)
			return -1;
		r = walk_more(s, end);
	}
	if (r == 0 && end == '}' && s->names)
		walk_names_close(s->names, count, open, walk_tell(s));
	s->depth--;
	return r;
}

static int
too_deep(struct walk *s)
{
	char text[80];

	snprintf(text, sizeof text, "more than %u objects and lists inside each other",
	         s->rules->depth);
	return walk_fail(s, text);
}

int
walk_value(struct walk *s)
{
	int c = walk_peek(s);

	if (s->depth >= s->rules->depth && (s->rules->strict || c == '{' || c == '['))
		return too_deep(s);
	switch (c) {
	case '"':
		s->p++;
		return walk_string(s, NULL);
	case '{':
	case '[':
		s->p++;
		return parts(s, c == '{' ? '}' : ']');
	case 't':
		return word(s, "true");
	case 'f':
		return word(s, "false");
	case 'n':
		return word(s, "null");
	}
	if (c == '-' || (c >= '0' && c <= '9'))
		return number(s);
	return walk_fail(s, c < 0 ? "it ends where a value is expected" : "no value");
}
