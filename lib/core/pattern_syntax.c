#include "core/pattern_syntax.h"

#include <stdbool.h>
#include <string.h>

#include "core/pattern_walk.h"
#include "core/text.h"

#define MARK "(?C1)" /* see enum pattern_callout */
#define RUN "(?C2)"
#define UNBOUNDED UINT32_MAX

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
settle(struct pattern_walk *w)
{
	struct pattern_level *l = &w->level[w->depth];

	if (l->due == DUE_RUN)
		insert(w->to, l->item, MARK);
	if (l->due != DUE_NOTHING)
		buf_text(w->to, l->due == DUE_RUN ? RUN : MARK);
	l->due = DUE_NOTHING;
}

static int
add_width(struct pattern_walk *w, uint64_t more)
{
	struct pattern_level *l = &w->level[w->depth];

	if (more > PATTERN_WIDEST || l->width + more > PATTERN_WIDEST)
		return pattern_fault(w, ERR_FORMAT, w->i, "it compares more than %d characters",
		                     PATTERN_WIDEST);
	l->width += (uint32_t)more;
	return 0;
}

static void
begin_item(struct pattern_walk *w, enum item kind)
{
	struct pattern_level *l = &w->level[w->depth];

	settle(w);
	l->last = kind;
	l->item = w->to->n;
	l->item_width = 1;
}

/* ---- repeats ---- */

struct repeat {
	uint32_t least, most;
	bool interval;
	char mode;          /* '?', '+', or 0 */
};

/* Reads an interval such as "{2,3}". Returns 1; or 0 if the brace is only a character; or
 * -1. */
static int
interval(struct pattern_walk *w, struct repeat *r)
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
		return pattern_fault(w, ERR_FORMAT, w->i, "more than %d repeats are not read here",
		                     PATTERN_REPEATS);
	if (most < least)
		return pattern_fault(w, w->code, w->i, "at least %u and at most %u repeats",
		                     (unsigned)least, (unsigned)most);
	r->least = (uint32_t)least;
	r->most = to ? (uint32_t)most : UNBOUNDED;
	r->interval = true;
	w->i = (size_t)(p + 1 - w->text);
	return 1;
}

/* Reads a repeat. Returns 1 with *r set, 0 if there is none, or -1. */
static int
find_repeat(struct pattern_walk *w, struct repeat *r)
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

/* The callout that a repeated item needs after it. */
static enum due
due_behind(struct pattern_level *l, const struct repeat *r)
{
	if (l->last == ITEM_GROUP)
		return DUE_MARK;
	if (r->most > 1)
		return r->most == r->least ? DUE_NOTHING : DUE_RUN;
	/* A single optional part can at most double the paths through an alternative. */
	if (l->free)
		return DUE_MARK;
	l->free = true;
	return DUE_NOTHING;
}

/* Reads the repeat of an item, if there is one. */
static int
repeat(struct pattern_walk *w)
{
	struct pattern_level *l = &w->level[w->depth];
	size_t at = w->i;
	uint64_t width;
	struct repeat r;
	int got = find_repeat(w, &r);

	if (got <= 0)
		return got < 0 ? -1 : add_width(w, l->item_width);
	if (l->last == ITEM_NONE)
		return pattern_fault(w, w->code, at, "a repeat of nothing");
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
		return pattern_fault(w, ERR_FORMAT, at, "a repeat of a repeat is not read here");
	return got < 0 ? -1 : add_width(w, width);
}

/* ---- groups ---- */

static int
open_group(struct pattern_walk *w)
{
	static const struct { const char *text; bool looks; } kinds[] = {
		{ "(?:", false }, { "(?i:", false }, { "(?-i:", false }, { "(?=", true },
		{ "(?!", true }, { "(?<=", true }, { "(?<!", true }
	};
	size_t i, at = w->i;

	if (w->depth == PATTERN_DEEPEST)
		return pattern_fault(w, ERR_FORMAT, at, "more than %d groups within each other",
		                     PATTERN_DEEPEST);
	begin_item(w, ITEM_GROUP);
	for (i = 0; i < sizeof kinds / sizeof *kinds && !pattern_is_at(w, kinds[i].text); i++)
		;
	if (i == sizeof kinds / sizeof *kinds) {
		i = 0;
		if (pattern_is_at(w, "(?") || pattern_is_at(w, "(*"))
			return pattern_refuse(w, at, 2 + (w->text[at + 2] && (uint8_t)w->text[at + 2] < 0x80));
		w->i++;
	} else {
		w->i += strlen(kinds[i].text);
	}
	buf_text(w->to, kinds[i].text);
	w->level[++w->depth] = (struct pattern_level){ .place = at, .looks = kinds[i].looks,
		.width = 1, .body = w->to->n };
	return 0;
}

static void
next_alternative(struct pattern_walk *w)
{
	struct pattern_level *l = &w->level[w->depth];

	l->ways = true;
	l->free = false;
	l->last = ITEM_NONE;
	l->due = DUE_NOTHING;
	buf_text(w->to, "|");
	w->i++;
}

static int
close_group(struct pattern_walk *w)
{
	struct pattern_level *l = &w->level[w->depth], *outer = l - 1;

	if (w->depth == 0)
		return pattern_fault(w, w->code, w->i, "a ) without its (");
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
escaped(struct pattern_walk *w)
{
	uint32_t c;

	begin_item(w, ITEM_CHARACTER);
	if (w->text[w->i + 1] && strchr("AzZbB", w->text[w->i + 1])) {
		buf_put(w->to, w->text + w->i, 2);
		w->i += 2;
		w->level[w->depth].last = ITEM_NONE;
		return repeat(w);
	}
	if (pattern_escape(w, &c) < 0)
		return -1;
	if (c != NO_CHARACTER)
		pattern_put(w->to, c);
	return repeat(w);
}

static int
character(struct pattern_walk *w)
{
	char x = w->text[w->i];
	struct repeat r;
	uint32_t c;
	int got;

	if (strchr("*+?{", x)) {
		size_t at = w->i;

		got = find_repeat(w, &r);
		if (got != 0)
			return got < 0 ? -1 : pattern_fault(w, w->code, at, "a repeat of nothing");
	}
	begin_item(w, strchr("^$", x) ? ITEM_NONE : ITEM_CHARACTER);
	if (pattern_character(w, &c) < 0)
		return -1;
	if (strchr(".^$", x))
		buf_u8(w->to, (uint8_t)x);
	else
		pattern_put(w->to, c);
	return repeat(w);
}

static int
walk(struct pattern_walk *w)
{
	int r = 0;

	if (pattern_is_at(w, "(?i)")) {
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
			r = pattern_class(w) < 0 ? -1 : repeat(w);
			break;
		case '\\':
			r = escaped(w);
			break;
		default:
			r = character(w);
		}
	if (r == 0 && w->depth > 0)
		return pattern_fault(w, w->code, w->level[w->depth].place, "a group without its )");
	return r;
}

int
pattern_translate(const char *text, enum err_code code, struct buf *to, uint32_t *width,
                  struct err *e)
{
	struct pattern_walk w = { .text = text, .n = strlen(text), .code = code, .to = to, .e = e };

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
