#include "core/pattern_syntax.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "core/text.h"

#define MARK "(?C1)" /* as enum pattern_callout */
#define RUN "(?C2)"
#define NO_CHARACTER UINT32_MAX
#define UNBOUNDED UINT32_MAX

enum due { DUE_NOTHING, DUE_MARK, DUE_RUN };

/* What an item is to the repeat behind it. */
enum item { ITEM_NONE, ITEM_CHARACTER, ITEM_GROUP };

/* A group that is open, or the pattern itself. Offsets are of what is written. */
struct level {
	size_t place;       /* in the pattern: of its parenthesis */
	bool looks;         /* (?=...) and the like */
	bool ways;          /* it can be left in more than one way */
	bool free;          /* its alternative has a part that can be there or not, */
	                    /* without a callout behind it */
	uint32_t width;     /* so far */
	size_t body;
	enum due due;       /* before the next item */
	enum item last;     /* the last item, */
	size_t item;        /* where it begins, */
	size_t item_body;   /* where what is in it begins: of a group; */
	uint32_t item_width;
};

struct walk {
	const char *text;
	size_t n, i;
	enum err_code code;
	struct buf *to;
	struct err *e;
	struct level level[PATTERN_DEEPEST + 1];
	unsigned depth;
};

/* ---- faults ---- */

__attribute__((format(printf, 4, 5))) static int
fault(struct walk *w, enum err_code code, size_t at, const char *fmt, ...)
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

/* The n bytes from at are no part of the patterns that are read. */
static int
refuse(struct walk *w, size_t at, size_t n)
{
	return fault(w, ERR_FORMAT, at, "%.*s is not read here", (int)n, w->text + at);
}

/* ---- writing ---- */

static void
insert(struct buf *b, size_t at, const char *s)
{
	size_t n = strlen(s), behind = b->n - at;

	if (!buf_room(b, n))
		return;
	memmove(b->p + at + n, b->p + at, behind);
	memcpy(b->p + at, s, n);
	b->n += n;
}

static void
put_character(struct buf *b, uint32_t c)
{
	if (c >= 0x80)
		buf_printf(b, "\\x{%x}", c);
	else if (ispunct((int)c))
		buf_printf(b, "\\%c", (int)c);
	else
		buf_u8(b, (uint8_t)c);
}

/* \s by the property that it stands for: to PCRE2 U+180E is white space, which it was
 * until Unicode 6.3. */
static void
put_set(struct buf *b, char c)
{
	if (c == 's' || c == 'S')
		buf_text(b, c == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
	else
		buf_printf(b, "\\%c", c);
}

static void
settle(struct walk *w)
{
	struct level *l = &w->level[w->depth];

	if (l->due == DUE_RUN)
		insert(w->to, l->item, MARK);
	if (l->due != DUE_NOTHING)
		buf_text(w->to, l->due == DUE_RUN ? RUN : MARK);
	l->due = DUE_NOTHING;
}

static int
add_width(struct walk *w, uint64_t more)
{
	struct level *l = &w->level[w->depth];

	if (more > PATTERN_WIDEST || l->width + more > PATTERN_WIDEST)
		return fault(w, ERR_FORMAT, w->i, "it compares more than %d characters",
		             PATTERN_WIDEST);
	l->width += (uint32_t)more;
	return 0;
}

static void
begin_item(struct walk *w, enum item kind)
{
	struct level *l = &w->level[w->depth];

	settle(w);
	l->last = kind;
	l->item = w->to->n;
	l->item_width = 1;
}

/* ---- characters and classes ---- */

static bool
is_at(const struct walk *w, const char *s)
{
	return strncmp(w->text + w->i, s, strlen(s)) == 0;
}

static int
next_character(struct walk *w, uint32_t *c)
{
	size_t length = text_character(w->text + w->i, w->n - w->i, c);

	if (length == 0)
		return fault(w, w->code, w->i, "it is not UTF-8");
	w->i += length;
	return 0;
}

/* So many hexadecimal digits, at least and at most. */
static int
hexadecimal(struct walk *w, size_t at, size_t least, size_t most, uint32_t *c)
{
	size_t i;

	for (i = 0, *c = 0; i < most && isxdigit((uint8_t)w->text[w->i]); i++, w->i++) {
		int d = w->text[w->i];

		*c = *c << 4 | (uint32_t)(isdigit(d) ? d - '0' : (d | 32) - 'a' + 10);
	}
	if (i < least)
		return fault(w, w->code, at, "a number of a character has %zu digits", i);
	if (*c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return fault(w, w->code, at, "U+%04X is not a character", *c);
	return 0;
}

/* Behind "\x". */
static int
numbered(struct walk *w, size_t at, uint32_t *c)
{
	if (w->text[w->i] != '{') {
		if (hexadecimal(w, at, 1, 2, c) < 0)
			return -1;
		/* Oniguruma takes it for a byte of UTF-8. */
		return *c < 0x80 ? 0 : refuse(w, at, w->i - at);
	}
	w->i++;
	if (hexadecimal(w, at, 1, 8, c) < 0)
		return -1;
	if (w->text[w->i] != '}')
		return fault(w, w->code, at, "a number of a character without its }");
	w->i++;
	return 0;
}

/* Behind "\p" or "\P": the property, written. */
static int
property(struct walk *w, size_t at, char p)
{
	size_t n;

	if (isupper((uint8_t)w->text[w->i])) {
		buf_printf(w->to, "\\%c%c", p, w->text[w->i++]);
		return 0;
	}
	if (w->text[w->i] != '{')
		return fault(w, w->code, at, "\\%c without a property", p);
	n = 1 + (w->text[w->i + 1] == '^');
	n += strspn(w->text + w->i + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ ");
	if (w->text[w->i + n] != '}' || n > 64)
		return fault(w, w->code, at, "\\%c without a property", p);
	buf_printf(w->to, "\\%c%.*s}", p, (int)n, w->text + w->i);
	w->i += n + 1;
	return 0;
}

/* An escape, from its backslash. A character goes to *c, a class of them is written, and
 * *c is NO_CHARACTER. */
static int
escape(struct walk *w, uint32_t *c)
{
	static const char names[] = "tnrfea", bytes[] = "\t\n\r\f\x1b\a";
	size_t at = w->i++;
	const char *known;
	char x = w->text[w->i];

	*c = NO_CHARACTER;
	if (!x)
		return fault(w, w->code, at, "a backslash at the end");
	if (!isalnum((uint8_t)x))
		return next_character(w, c);
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
		return refuse(w, at, 2);
	*c = (uint32_t)bytes[known - names];
	return 0;
}

/* "[:alpha:]" in a class: 1 where there is one, which is written. */
static int
named_class(struct walk *w)
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

/* One character of a class, or a class in it, which is written: *c is NO_CHARACTER. */
static int
class_item(struct walk *w, uint32_t *c)
{
	*c = NO_CHARACTER;
	if (w->text[w->i] == '\\' && w->text[w->i + 1] == 'b') {
		w->i += 2;
		*c = '\b';
		return 0;
	}
	if (w->text[w->i] == '\\')
		return escape(w, c);
	if (is_at(w, "&&"))
		return fault(w, ERR_FORMAT, w->i, "an intersection of classes is not read here");
	return named_class(w) ? 0 : next_character(w, c);
}

/* What may follow a character in a class: the end of a range. */
static int
class_range(struct walk *w, uint32_t from)
{
	size_t at = w->i;
	uint32_t to;

	put_character(w->to, from);
	if (w->text[w->i] != '-' || w->text[w->i + 1] == ']' || !w->text[w->i + 1])
		return 0;
	w->i++;
	if (w->text[w->i] == '[')
		return fault(w, ERR_FORMAT, at, "a range to a class is not read here");
	buf_text(w->to, "-");
	if (class_item(w, &to) < 0)
		return -1;
	if (to == NO_CHARACTER || to < from)
		return fault(w, w->code, at, "a range that does not end behind its beginning");
	put_character(w->to, to);
	return 0;
}

/* A class, from its bracket. Classes in it, which add to it, are written as a part. */
static int
class(struct walk *w)
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
	/* Where it could end at once, a bracket is a character. */
	for (begun = w->i; depth > 0; items++) {
		if (!w->text[w->i])
			return fault(w, w->code, at, "a class without its ]");
		if (w->text[w->i] == ']' && w->i > begun) {
			w->i++;
			depth--;
			continue;
		}
		if (w->text[w->i] == '[' && named_class(w))
			continue;
		if (w->text[w->i] == '[') {
			if (w->text[w->i + 1] == '^' || depth == PATTERN_DEEPEST)
				return refuse(w, w->i, 2);
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

/* ---- repeats ---- */

struct repeat {
	uint32_t least, most;
	bool interval;
	char mode;          /* '?', '+', or 0 */
};

/* "{2,3}" at the walk's place: 1, or 0 where there is none, and the brace is a
 * character. */
static int
interval(struct walk *w, struct repeat *r)
{
	const char *p = w->text + w->i + 1;
	uint64_t least = 0, most = UNBOUNDED;
	bool from = text_digits(&p, &least) == 0, to;

	if (*p == ',') {
		p++;
		to = text_digits(&p, &most) == 0;
	} else {
		to = from;
		most = least;
	}
	if (*p != '}' || (!from && !to))
		return 0;
	if (least > PATTERN_REPEATS || (to && most > PATTERN_REPEATS))
		return fault(w, ERR_FORMAT, w->i, "more than %d repeats are not read here",
		             PATTERN_REPEATS);
	if (most < least)
		return fault(w, w->code, w->i, "at least %u and at most %u repeats",
		             (unsigned)least, (unsigned)most);
	r->least = (uint32_t)least;
	r->most = to ? (uint32_t)most : UNBOUNDED;
	r->interval = true;
	w->i = (size_t)(p + 1 - w->text);
	return 1;
}

/* Is there a repeat? 1 and *r, 0, -1. */
static int
find_repeat(struct walk *w, struct repeat *r)
{
	char c = w->text[w->i];
	int got = 1;

	*r = (struct repeat){ .least = c == '+', .most = c == '?' ? 1 : UNBOUNDED };
	if (c == '{')
		got = interval(w, r);
	else if (c && strchr("*+?", c))
		w->i++;
	else
		return 0;
	if (got > 0 && (w->text[w->i] == '?' || w->text[w->i] == '+'))
		r->mode = w->text[w->i++];
	return got;
}

static void
put_repeat(struct buf *b, const struct repeat *r)
{
	if (!r->interval)
		buf_text(b, r->most == 1 ? "?" : r->least ? "+" : "*");
	else if (r->most == UNBOUNDED)
		buf_printf(b, "{%u,}", r->least);
	else
		buf_printf(b, "{%u,%u}", r->least, r->most);
	if (r->mode && !r->interval)
		buf_u8(b, (uint8_t)r->mode);
}

/* What is due behind a repeated item. */
static enum due
due_behind(struct level *l, const struct repeat *r)
{
	if (l->last == ITEM_GROUP)
		return DUE_MARK;
	if (r->most > 1)
		return r->most == r->least ? DUE_NOTHING : DUE_RUN;
	/* One such part of an alternative at most doubles its ways. */
	if (l->free)
		return DUE_MARK;
	l->free = true;
	return DUE_NOTHING;
}

/* Behind an item. */
static int
repeat(struct walk *w)
{
	struct level *l = &w->level[w->depth];
	size_t at = w->i;
	uint64_t width;
	struct repeat r;
	int got = find_repeat(w, &r);

	if (got <= 0)
		return got < 0 ? -1 : add_width(w, l->item_width);
	if (l->last == ITEM_NONE)
		return fault(w, w->code, at, "a repeat of nothing");
	width = (uint64_t)l->item_width *
	        (r.most == UNBOUNDED ? (r.least ? r.least : 1) : r.most ? r.most : 1);
	if (l->last == ITEM_GROUP && r.most > 1)
		insert(w->to, l->item_body, MARK);
	put_repeat(w->to, &r);
	l->due = due_behind(l, &r);
	if (r.interval && r.mode) {
		settle(w);
		insert(w->to, l->item, "(?:" MARK);
		buf_printf(w->to, ")%c", r.mode);
		l->due = DUE_MARK;
	}
	if (w->depth > 0)
		settle(w);
	at = w->i;
	got = find_repeat(w, &r);
	if (got > 0)
		return fault(w, ERR_FORMAT, at, "a repeat of a repeat is not read here");
	return got < 0 ? -1 : add_width(w, width);
}

/* ---- groups ---- */

static int
open_group(struct walk *w)
{
	static const struct { const char *text; bool looks; } kinds[] = {
		{ "(?:", false }, { "(?i:", false }, { "(?-i:", false }, { "(?=", true },
		{ "(?!", true }, { "(?<=", true }, { "(?<!", true }
	};
	size_t i, at = w->i;

	if (w->depth == PATTERN_DEEPEST)
		return fault(w, ERR_FORMAT, at, "more than %d groups within each other",
		             PATTERN_DEEPEST);
	begin_item(w, ITEM_GROUP);
	for (i = 0; i < sizeof kinds / sizeof *kinds && !is_at(w, kinds[i].text); i++)
		;
	if (i == sizeof kinds / sizeof *kinds) {
		i = 0;
		if (is_at(w, "(?") || is_at(w, "(*"))
			return refuse(w, at, 2 + (w->text[at + 2] && (uint8_t)w->text[at + 2] < 0x80));
		w->i++;
	} else {
		w->i += strlen(kinds[i].text);
	}
	buf_text(w->to, kinds[i].text);
	w->level[++w->depth] = (struct level){ .place = at, .looks = kinds[i].looks,
		.width = 1, .body = w->to->n };
	return 0;
}

static void
next_alternative(struct walk *w)
{
	struct level *l = &w->level[w->depth];

	l->ways = true;
	l->free = false;
	l->last = ITEM_NONE;
	l->due = DUE_NOTHING;
	buf_text(w->to, "|");
	w->i++;
}

static int
close_group(struct walk *w)
{
	struct level *l = &w->level[w->depth], *outer = l - 1;

	if (w->depth == 0)
		return fault(w, w->code, w->i, "a ) without its (");
	w->i++;
	w->depth--;
	buf_text(w->to, ")");
	outer->item_width = l->width;
	outer->item_body = l->body;
	if (l->looks)
		outer->last = ITEM_NONE;
	else if (l->ways || l->free)
		outer->due = DUE_MARK;
	if (w->depth > 0 && outer->due != DUE_NOTHING && !strchr("*+?{", w->text[w->i]))
		settle(w);
	return repeat(w);
}

/* ---- the walk ---- */

static int
escaped(struct walk *w)
{
	uint32_t c;

	begin_item(w, ITEM_CHARACTER);
	if (w->text[w->i + 1] && strchr("AzZbB", w->text[w->i + 1])) {
		buf_put(w->to, w->text + w->i, 2);
		w->i += 2;
		w->level[w->depth].last = ITEM_NONE;
		return repeat(w);
	}
	if (escape(w, &c) < 0)
		return -1;
	if (c != NO_CHARACTER)
		put_character(w->to, c);
	return repeat(w);
}

static int
character(struct walk *w)
{
	char x = w->text[w->i];
	struct repeat r;
	uint32_t c;
	int got;

	if (strchr("*+?{", x)) {
		size_t at = w->i;

		got = find_repeat(w, &r);
		if (got != 0)
			return got < 0 ? -1 : fault(w, w->code, at, "a repeat of nothing");
	}
	begin_item(w, strchr("^$", x) ? ITEM_NONE : ITEM_CHARACTER);
	if (next_character(w, &c) < 0)
		return -1;
	if (strchr(".^$", x))
		buf_u8(w->to, (uint8_t)x);
	else
		put_character(w->to, c);
	return repeat(w);
}

static int
walk(struct walk *w)
{
	int r = 0;

	if (is_at(w, "(?i)")) {
		buf_text(w->to, "(?i)");
		w->i += 4;
	}
	while (r == 0 && w->i < w->n)
		switch (w->text[w->i]) {
		case '(':
			r = open_group(w);
			break;
		case ')':
			r = close_group(w);
			break;
		case '|':
			next_alternative(w);
			break;
		case '[':
			begin_item(w, ITEM_CHARACTER);
			r = class(w) < 0 ? -1 : repeat(w);
			break;
		case '\\':
			r = escaped(w);
			break;
		default:
			r = character(w);
		}
	if (r == 0 && w->depth > 0)
		return fault(w, w->code, w->level[w->depth].place, "a group without its )");
	return r;
}

int
pattern_translate(const char *text, enum err_code code, struct buf *to, uint32_t *width,
                  struct err *e)
{
	struct walk w = { .text = text, .n = strlen(text), .code = code, .to = to, .e = e };

	*width = 0;
	if (w.n > PATTERN_LONGEST)
		return err_set(e, ERR_FORMAT, text, "a pattern of %zu bytes is not read, only up "
		               "to %d", w.n, PATTERN_LONGEST);
	w.level[0].width = 1;
	if (walk(&w) < 0)
		return -1;
	*width = w.level[0].width;
	return buf_string(to) ? 0 : err_memory(e);
}
