/* mutate_text: whole constructs of text formats: values of JSON, lines, and integers of binary files.
 * They are inline because a target may use only some. */
#ifndef MUTATE_TEXT_H
#define MUTATE_TEXT_H

#include <string.h>

#include "core/buf.h"
#include "dice.h"

struct text_span {
	size_t from, to;
};

/* Puts n bytes of p in the place of a part of b. */
static void
text_replace(struct buf *b, struct text_span at, const void *p, size_t n)
{
	struct buf made = { 0 };

	buf_put(&made, b->p, at.from);
	buf_put(&made, p, n);
	buf_put(&made, b->p + at.to, b->n - at.to);
	buf_clear(b);
	buf_put(b, made.p, made.n);
	buf_free(&made);
}

/* The end of the JSON value at i: of its brackets, its quotes, or its letters. */
static inline size_t
json_end(const struct buf *b, size_t i)
{
	size_t depth = 0;

	for (; i < b->n; i++) {
		uint8_t c = b->p[i];

		if (c == '"')
			for (i++; i < b->n && b->p[i] != '"'; i++)
				i += b->p[i] == '\\';
		else if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}' || c == ',' || c == ':') && depth == 0)
			return i;
		if ((c == ']' || c == '}') && --depth == 0)
			return i + 1;
		if (c == '"' && depth == 0)
			return i < b->n ? i + 1 : i;
	}
	return b->n;
}

/* A value behind a bracket, a comma or a colon, chosen by chance. */
static inline struct text_span
json_pick(const struct buf *b, struct dice *d)
{
	size_t i = b->n ? roll(d, (unsigned)b->n) : 0;

	while (i < b->n && !strchr("[{,:", b->p[i] ? b->p[i] : 'x'))
		i++;
	i += i < b->n;
	return (struct text_span){ i, json_end(b, i) };
}

static inline struct text_span
line_pick(const struct buf *b, struct dice *d)
{
	size_t i = b->n ? roll(d, (unsigned)b->n) : 0;
	const uint8_t *end = i < b->n ? memchr(b->p + i, '\n', b->n - i) : NULL;

	while (i > 0 && b->p[i - 1] != '\n')
		i--;
	return (struct text_span){ i, end ? (size_t)(end - b->p) + 1 : b->n };
}

/* Leaves out, doubles or exchanges a construct that pick chooses; between: what stands between two. */
static inline void
text_mutate(struct buf *b, struct dice *d, const char *between,
            struct text_span (*pick)(const struct buf *, struct dice *))
{
	struct text_span x = pick(b, d), y = pick(b, d);
	struct buf made = { 0 };

	switch (roll(d, 3)) {
	case 0: /* with what follows it, if that separates */
		x.to += x.to < b->n && *between && b->p[x.to] == (uint8_t)*between;
		text_replace(b, x, "", 0);
		break;
	case 1:
		buf_put(&made, b->p + x.from, x.to - x.from);
		buf_text(&made, between);
		buf_put(&made, b->p + x.from, x.to - x.from);
		text_replace(b, x, made.p, made.n);
		break;
	default:
		buf_put(&made, b->p + y.from, y.to - y.from);
		text_replace(b, x, made.p, made.n);
	}
	buf_free(&made);
}

/* Puts an integer at the border of its range, or the bytes of another place, over some bytes. */
static inline void
word_mutate(struct buf *b, struct dice *d)
{
	static const uint64_t words[] = { 0, 1, 2, UINT64_MAX, 0x7fffffff, 0x80000000, 0x7f, 0x80, 0x100,
		0x7fc00000, 0x7f800000, 0x0100000000000000, 0x01000000 };
	uint64_t v = ONE_OF(d, words);
	size_t n = (size_t)1 << roll(d, 4), at, from;

	if (b->n < 8)
		return;
	at = roll(d, (unsigned)(b->n - 7));
	from = roll(d, (unsigned)(b->n - 7));
	if (roll(d, 2))
		memcpy(b->p + at, &v, n);
	else
		memmove(b->p + at, b->p + from, n);
}

#endif
