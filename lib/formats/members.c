#include "formats/members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/num.h"

#define PIECE 65536      /* bytes at once from the spool */
#define DEPTH 128        /* objects and lists inside each other, as serde_json has it */
#define NAME_MAX_TEXT (6 * 65535) /* of a member's name, if every byte is escaped */

/* Metadata with a vocabulary has many megabytes: it is proved to be JSON where it
 * lies, and only what is wanted is ever made a value. */
struct scan {
	struct spool *text;
	uint64_t at, end;    /* of what is not yet in the window */
	uint8_t *window;
	const uint8_t *p, *stop;
	unsigned depth;
	bool broken;         /* e holds a fault, */
	struct err *e;       /* which is about the file */
	const char *where;
	uint64_t base;       /* offset in the file of the text's beginning, */
	uint64_t begin;      /* which is here in the spool */
};

static uint64_t
tell(const struct scan *s)
{
	return s->at - (uint64_t)(s->stop - s->p);
}

static int
fail(struct scan *s, const char *what)
{
	if (!s->broken)
		err_set(s->e, ERR_CORRUPT, s->where, "its metadata is not JSON at byte %" PRIu64
		        ": %s", s->base + (tell(s) - s->begin), what);
	s->broken = true;
	return -1;
}

/* The next byte, or -1 at the end and after a fault. */
static int
peek(struct scan *s)
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

static bool
take(struct scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->p++;
	return true;
}

static int
blanks(struct scan *s)
{
	int c;

	while ((c = peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		s->p++;
	return c;
}

/* ---- what has no parts ---- */

/* The bytes of a character beyond ASCII, as RFC 3629 has them. */
static int
wide(struct scan *s)
{
	int c = peek(s), least = 0x80, most = 0xbf;
	unsigned more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (c < 0xc2 || c > 0xf4)
		return fail(s, "a string that is not UTF-8");
	if (c == 0xe0)
		least = 0xa0;
	else if (c == 0xed)
		most = 0x9f;
	else if (c == 0xf0)
		least = 0x90;
	else if (c == 0xf4)
		most = 0x8f;
	for (s->p++; more > 0; more--, s->p++, least = 0x80, most = 0xbf)
		if ((c = peek(s)) < least || c > most)
			return fail(s, "a string that is not UTF-8");
	return 0;
}

static int
unit(struct scan *s)
{
	int c, v = 0;
	unsigned i;

	for (i = 0; i < 4; i++, s->p++) {
		c = peek(s);
		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			return fail(s, "no hexadecimal digit");
	}
	return v;
}

/* After "\u". */
static int
escaped_unit(struct scan *s)
{
	int v = unit(s);

	if (v < 0xd800 || v > 0xdfff)
		return v < 0 ? -1 : 0;
	if (v > 0xdbff || !take(s, '\\') || !take(s, 'u') || (v = unit(s)) < 0xdc00 ||
	    v > 0xdfff)
		return fail(s, "half a pair of surrogates");
	return 0;
}

/* After the opening quote. */
static int
string(struct scan *s)
{
	int c;

	while ((c = peek(s)) != '"') {
		if (c < 0x20)
			return fail(s, c < 0 ? "it ends inside a string"
			                     : "a control character in a string");
		if (c == '\\') {
			s->p++;
			c = peek(s);
			if (c <= 0 || !strchr("\"\\/bfnrtu", c))
				return fail(s, "an escape that JSON does not have");
			s->p++;
			if (c == 'u' && escaped_unit(s) < 0)
				return -1;
		} else if (c >= 0x80) {
			if (wide(s) < 0)
				return -1;
		} else {
			while (s->p < s->stop && *s->p >= 0x20 && *s->p < 0x80 && *s->p != '"' &&
			       *s->p != '\\')
				s->p++;
		}
	}
	s->p++;
	return 0;
}

static int
digits(struct scan *s)
{
	int c, n = 0;

	for (; (c = peek(s)) >= '0' && c <= '9'; s->p++)
		n = 1;
	return n ? 0 : fail(s, "a number without digits");
}

static int
number(struct scan *s)
{
	int c;

	take(s, '-');
	if (!take(s, '0') && digits(s) < 0)
		return -1;
	if (take(s, '.') && digits(s) < 0)
		return -1;
	c = peek(s);
	if (c != 'e' && c != 'E')
		return 0;
	s->p++;
	if (!take(s, '+'))
		take(s, '-');
	return digits(s);
}

static int
word(struct scan *s, const char *text)
{
	for (; *text; text++)
		if (!take(s, *text))
			return fail(s, "no value");
	return 0;
}

/* ---- what has ---- */

static int value(struct scan *s);

/* After a part of an object or list: 1 if one more comes, 0 at its end. */
static int
more(struct scan *s, char end)
{
	blanks(s);
	if (take(s, ','))
		return 1;
	return take(s, end) ? 0 : fail(s, "neither a comma nor the end of an object or list");
}

static int
parts(struct scan *s, char end)
{
	int r = 1;

	if (++s->depth > DEPTH)
		return fail(s, "more than 128 objects and lists inside each other");
	blanks(s);
	if (take(s, end))
		r = 0;
	while (r > 0) {
		blanks(s);
		if (end == '}') {
			if (!take(s, '"'))
				return fail(s, "no name of a member");
			if (string(s) < 0)
				return -1;
			blanks(s);
			if (!take(s, ':'))
				return fail(s, "no colon");
			blanks(s);
		}
		if (value(s) < 0)
			return -1;
		r = more(s, end);
	}
	s->depth--;
	return r;
}

static int
value(struct scan *s)
{
	int c = peek(s);

	switch (c) {
	case '"':
		s->p++;
		return string(s);
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
	return fail(s, c < 0 ? "it ends where a value is expected" : "no value");
}

static int
begin(struct scan *s, struct err *e)
{
	s->e = e;
	s->begin = s->at;
	s->window = malloc(PIECE);
	s->p = s->stop = s->window;
	return s->window ? 0 : err_memory(e);
}

/* ---- members ---- */

/* The name whose text is [at, at + n) of the spool, quotes included. */
static char *
read_name(struct scan *s, uint64_t at, uint64_t n)
{
	char *text = NULL, *name = NULL;
	json_t *v = NULL;

	if (n > NAME_MAX_TEXT) {
		fail(s, "a member with a name of more than 65535 bytes");
		return NULL;
	}
	text = mem_array(1, (size_t)n + 1);
	if (!text)
		err_memory(s->e);
	else if (spool_get(s->text, at, text, (size_t)n, s->e) == 0)
		v = json_parse_any(text, (size_t)n, ERR_CORRUPT, s->where, s->e);
	if (v && !(name = mem_text(json_string_value(v), json_string_length(v))))
		err_memory(s->e);
	json_decref(v);
	free(text);
	s->broken |= !name;
	return name;
}

static int
member(struct scan *s, struct members *m)
{
	struct member *x;
	uint64_t at;

	if (m->count == MEMBERS_MAX)
		return fail(s, "more than 1048576 members");
	if (mem_grow(&m->list, &m->cap, m->count + 1, sizeof *m->list) < 0)
		return err_memory(s->e);
	x = &m->list[m->count++];
	blanks(s);
	at = tell(s);
	if (!take(s, '"'))
		return fail(s, "no name of a member");
	if (string(s) < 0 || !(x->name = read_name(s, at, tell(s) - at)))
		return -1;
	blanks(s);
	if (!take(s, ':'))
		return fail(s, "no colon");
	blanks(s);
	x->at = tell(s);
	if (value(s) < 0)
		return -1;
	x->n = tell(s) - x->at;
	return 0;
}

static int
object(struct scan *s, struct members *m)
{
	int r = 1;

	blanks(s);
	if (!take(s, '{'))
		return fail(s, "it is no object");
	s->depth = 1;
	blanks(s);
	if (take(s, '}'))
		r = 0;
	while (r > 0) {
		if (member(s, m) < 0)
			return -1;
		r = more(s, '}');
	}
	if (r == 0 && blanks(s) >= 0)
		return fail(s, "something after its end");
	return s->broken ? -1 : r;
}

static int
by_name(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int
sort(struct members *m, const char *where, struct err *e)
{
	size_t i;

	m->sorted = mem_array(m->count, sizeof *m->sorted);
	if (!m->sorted)
		return err_memory(e);
	for (i = 0; i < m->count; i++)
		m->sorted[i] = &m->list[i];
	qsort(m->sorted, m->count, sizeof *m->sorted, by_name);
	for (i = 1; i < m->count; i++)
		if (strcmp(m->sorted[i - 1]->name, m->sorted[i]->name) == 0)
			return err_set(e, ERR_CORRUPT, where, "metadata key %.100s occurs twice",
			               m->sorted[i]->name);
	return 0;
}

int
members_scan(struct members *m, struct spool *text, uint64_t at, uint64_t n,
           const char *where, uint64_t base, struct err *e)
{
	struct scan s = { .text = text, .at = at, .end = at + n, .where = where,
		.base = base };
	int r = begin(&s, e);

	if (r == 0)
		r = object(&s, m);
	free(s.window);
	return r == 0 ? sort(m, where, e) : -1;
}

/* Without allocation: that memory is short must not look like a member that is
 * not there. */
struct member *
members_find(const struct members *m, const char *prefix, const char *name)
{
	size_t low = 0, high = m->count, n = strlen(prefix);

	while (low < high) {
		size_t at = low + (high - low) / 2;
		const char *have = m->sorted[at]->name;
		int order = strncmp(prefix, have, n);

		if (order == 0)
			order = strcmp(name, have + n);
		if (order == 0)
			return m->sorted[at];
		if (order < 0)
			high = at;
		else
			low = at + 1;
	}
	return NULL;
}

void
members_free(struct members *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		free(m->list[i].name);
	free(m->list);
	free(m->sorted);
	*m = (struct members){ 0 };
}

int
members_is_value(struct spool *text, uint64_t at, uint64_t n, struct err *e)
{
	struct scan s = { .text = text, .at = at, .end = at + n, .where = "", .depth = 1 };
	struct err fault = ERR_INIT;
	int r;

	if (begin(&s, &fault) < 0)
		return err_memory(e);
	r = value(&s) == 0 && tell(&s) == s.end;
	free(s.window);
	if (fault.code == ERR_NONE || fault.code == ERR_CORRUPT)
		return r;
	*e = fault;
	return -1;
}
