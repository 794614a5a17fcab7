#include "check/jinja.h"

#include <string.h>

/* Statements that open a block, which end with "end" and their name. */
static const char *const blocks[] = { "if", "for", "macro", "call", "filter", "block", "raw",
	"generation", "autoescape", "trans", "with" };
#define BLOCKS (sizeof blocks / sizeof *blocks)
#define SET BLOCKS /* without "=", it opens a block as well */

struct scan {
	const char *p;
	size_t n, at;
	unsigned open[JINJA_DEPTH], depth;
	const char *fact;
};

static bool
wrong(struct scan *s, const char *fact)
{
	s->fact = fact;
	return false;
}

static bool
is(const struct scan *s, size_t at, const char *text)
{
	const size_t n = strlen(text);

	return n <= s->n - at && memcmp(s->p + at, text, n) == 0;
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word at s->at, which ends before *end. */
static size_t
word(const struct scan *s, size_t from)
{
	size_t end = from;

	while (end < s->n && is_word(s->p[end]))
		end++;
	return end;
}

static bool
word_is(const struct scan *s, size_t from, size_t end, const char *text)
{
	return end - from == strlen(text) && memcmp(s->p + from, text, end - from) == 0;
}

/* Past a text in quotes. */
static bool
skip_text(struct scan *s)
{
	const char quote = s->p[s->at++];

	for (; s->at < s->n; s->at++) {
		if (s->p[s->at] == '\\')
			s->at++;
		else if (s->p[s->at] == quote)
			return s->at++, true;
	}
	return wrong(s, "a text in quotes does not end");
}

/* Past an expression up to end ("%}" or "}}"). *assigns: it has "=" outside of brackets. */
static bool
skip_expression(struct scan *s, const char *end, bool *assigns)
{
	char closes[JINJA_DEPTH];
	unsigned depth = 0;

	while (s->at < s->n) {
		const char c = s->p[s->at];

		if (depth == 0 && (is(s, s->at, end) || (c == '-' && is(s, s->at + 1, end)))) {
			s->at += c == '-' ? 3 : 2;
			return true;
		}
		if (c == '"' || c == '\'') {
			if (!skip_text(s))
				return false;
			continue;
		}
		if (c == '(' || c == '[' || c == '{') {
			if (depth == JINJA_DEPTH)
				return wrong(s, "brackets nest too deep");
			closes[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
		} else if (c == ')' || c == ']' || c == '}') {
			if (depth == 0 || closes[--depth] != c)
				return wrong(s, "a bracket is closed that was not opened");
		} else if (c == '=' && depth == 0 && !is(s, s->at + 1, "=") &&
		           !strchr("=!<>", s->p[s->at - 1])) {
			*assigns = true;
		}
		s->at++;
	}
	return wrong(s, strcmp(end, "%}") == 0 ? "a statement does not end" : "an expression does not end");
}

static bool
push(struct scan *s, unsigned block)
{
	if (s->depth == JINJA_DEPTH)
		return wrong(s, "blocks nest too deep");
	s->open[s->depth++] = block;
	return true;
}

static bool
close_block(struct scan *s, size_t from, size_t end)
{
	unsigned i;

	for (i = 0; i <= BLOCKS; i++)
		if (word_is(s, from + 3, end, i == SET ? "set" : blocks[i])) {
			if (s->depth == 0 || s->open[s->depth - 1] != i)
				return wrong(s, "a block is closed that was not opened");
			s->depth--;
			return true;
		}
	return true;
}

/* Past the end of a raw block. */
static bool
skip_raw(struct scan *s)
{
	for (; s->at < s->n; s->at++)
		if (is(s, s->at, "{%")) {
			size_t from = s->at + 2, end;

			while (from < s->n && strchr(" \t\r\n-+", s->p[from]))
				from++;
			end = word(s, from);
			if (word_is(s, from, end, "endraw"))
				return true;
		}
	return wrong(s, "a raw block does not end");
}

static bool
statement(struct scan *s)
{
	const size_t start = s->at;
	bool assigns = false;
	size_t from, end;
	unsigned i;

	s->at += 2;
	while (s->at < s->n && s->p[s->at] && strchr(" \t\r\n-+", s->p[s->at]))
		s->at++;
	from = s->at;
	end = s->at = word(s, from);
	if (from == end) {
		s->at = start;
		return wrong(s, "a statement has no name");
	}
	if (!skip_expression(s, "%}", &assigns))
		return s->at = start, false;
	if (end - from > 3 && memcmp(s->p + from, "end", 3) == 0)
		return close_block(s, from, end) || (s->at = start, false);
	if (word_is(s, from, end, "raw") && !skip_raw(s))
		return s->at = start, false;
	for (i = 0; i < BLOCKS; i++)
		if (word_is(s, from, end, blocks[i]))
			return push(s, i);
	if (word_is(s, from, end, "set") && !assigns)
		return push(s, SET);
	if ((word_is(s, from, end, "else") || word_is(s, from, end, "elif")) && s->depth == 0)
		return s->at = start, wrong(s, "else stands outside of a block");
	return true;
}

static bool
comment(struct scan *s)
{
	const size_t start = s->at;

	for (s->at += 2; s->at < s->n; s->at++)
		if (is(s, s->at, "#}"))
			return s->at += 2, true;
	s->at = start;
	return wrong(s, "a comment does not end");
}

static bool
one(struct scan *s)
{
	const size_t start = s->at;
	bool assigns;

	if (is(s, s->at, "{%"))
		return statement(s);
	if (is(s, s->at, "{#"))
		return comment(s);
	if (!is(s, s->at, "{{"))
		return s->at++, true;
	s->at += 2;
	return skip_expression(s, "}}", &assigns) || (s->at = start, false);
}

bool
jinja_check(const char *text, size_t n, const char **fact, size_t *at)
{
	struct scan s = { .p = text, .n = n };
	bool ok = true;

	while (ok && s.at < s.n)
		ok = one(&s);
	if (ok && s.depth > 0)
		ok = wrong(&s, "a block is not closed");
	*fact = s.fact;
	*at = s.at;
	return ok;
}
