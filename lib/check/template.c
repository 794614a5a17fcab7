#include "check/template.h"

#include <ctype.h>
#include <string.h>

#include "core/text.h"

/* Words of the code, and their place: '|' a filter, '(' a call, '.' a call of an attribute, '%' the
 * first word of a statement, ' ' any. */
static const struct {
	char place;
	const char *word, *what;
} words[] = {
	{ '|', "attr", "reaches for an attribute by name" },
	{ '(', "getattr", "reaches for an attribute by name" },
	{ '.', "mro", "reaches for the classes of a value" },
	{ '.', "subclasses", "reaches for the classes of a value" },
	{ ' ', "func_globals", "reaches for the globals of a function" },
	{ ' ', "gi_frame", "reaches for the frame of a generator" },
	{ ' ', "cr_frame", "reaches for the frame of a coroutine" },
	{ ' ', "f_globals", "reaches for the globals of a frame" },
	{ '.', "popen", "runs a program" },
	{ '.', "system", "runs a program" },
	{ ' ', "subprocess", "runs a program" },
	{ ' ', "importlib", "imports a module" },
	{ '(', "eval", "runs code" },
	{ '(', "exec", "runs code" },
	{ '(', "compile", "runs code" },
	{ '(', "open", "opens a file" },
	{ '%', "import", "loads another template" },
	{ '%', "from", "loads another template" },
	{ '%', "include", "loads another template" },
	{ '%', "extends", "loads another template" },
};

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void
report(struct template_sign *sign, const char *text, size_t from, size_t to, const char *what)
{
	size_t n = to - from < 40 ? to - from : 40;

	text_quote(sign->text, sizeof sign->text, text + from, n);
	sign->what = what;
	sign->offset = from;
}

/* Whether the word at [from, to) has two underscores on each side. */
static bool
is_special(const char *text, size_t from, size_t to)
{
	return to - from >= 5 && !memcmp(text + from, "__", 2) && !memcmp(text + to - 2, "__", 2) &&
	       text[from + 2] != '_';
}

/* before, after: the nearest characters of the code that are not blank; first: the word begins a
 * statement. */
static const char *
judge_word(const char *text, size_t from, size_t to, char before, char after, bool first)
{
	size_t i;

	if (is_special(text, from, to))
		return "reaches for the inside of a value";
	for (i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i].word) != to - from || memcmp(words[i].word, text + from, to - from))
			continue;
		switch (words[i].place) {
		case '|':
			if (before == '|')
				return words[i].what;
			break;
		case '.':
			if (before == '.' && after == '(')
				return words[i].what;
			break;
		case '(':
			if (after == '(' && before != '.')
				return words[i].what;
			break;
		case '%':
			if (first)
				return words[i].what;
			break;
		default:
			return words[i].what;
		}
	}
	return NULL;
}

/* A string of the code: names inside it that only reach for something, and escapes that spell an
 * underscore. */
static const char *
judge_string(const char *text, size_t from, size_t to)
{
	static const char *const hidden[] = { "\\x5f", "\\x5F", "\\u005f", "\\u005F", "\\137" };
	size_t i, k;

	for (i = from; i < to; i++) {
		size_t end = i;

		for (k = 0; text[i] == '\\' && k < sizeof hidden / sizeof *hidden; k++)
			if (to - i >= strlen(hidden[k]) && !memcmp(text + i, hidden[k], strlen(hidden[k])))
				return "hides an underscore in a string";
		if (!is_word(text[i]))
			continue;
		while (end < to && is_word(text[end]))
			end++;
		if (is_special(text, i, end))
			return "names the inside of a value";
		i = end - 1;
	}
	return to - from == 2 && !memcmp(text + from, "__", 2) ? "builds a name of underscores" : NULL;
}

static size_t
skip_blanks(const char *text, size_t n, size_t at)
{
	while (at < n && isspace((unsigned char)text[at]))
		at++;
	return at;
}

/* The end of the comment that begins at `at`. */
static size_t
skip_comment(const char *text, size_t n, size_t at)
{
	const char *end = memmem(text + at + 2, n - at - 2, "#}", 2);

	return end ? (size_t)(end - text) + 2 : n;
}

/* One token of code at *at. Returns what is wrong with it, or NULL. */
static const char *
token(const char *text, size_t n, size_t *at, size_t begin, struct template_sign *sign)
{
	size_t from = *at, to = from + 1, back = from, next;
	char c = text[from];
	const char *what;

	if (c == '"' || c == '\'') {
		for (; to < n && text[to] != c; to++)
			to += text[to] == '\\';
		to = to < n ? to : n;
		*at = to + (to < n);
		what = judge_string(text, from + 1, to);
	} else if (is_word(c)) {
		while (to < n && is_word(text[to]))
			to++;
		*at = to;
		while (back > begin && isspace((unsigned char)text[back - 1]))
			back--;
		next = to;
		while (next < n && next - to < 64 && isspace((unsigned char)text[next]))
			next++;
		what = judge_word(text, from, to, back > begin ? text[back - 1] : '\0',
		                  next < n ? text[next] : '\0', back == begin);
	} else {
		*at = to;
		return NULL;
	}
	if (what)
		report(sign, text, from + (c == '"' || c == '\''), to, what);
	return what;
}

/* The code that ends with "%}" or "}}" and begins before *at. Stops at a sign. */
static bool
code(const char *text, size_t n, size_t *at, char close, size_t begin, struct template_sign *sign)
{
	while (*at < n && !(text[*at] == close && *at + 1 < n && text[*at + 1] == '}')) {
		if (isspace((unsigned char)text[*at]))
			*at = skip_blanks(text, n, *at);
		else if (token(text, n, at, begin, sign))
			return true;
	}
	*at = *at + 2 < n ? *at + 2 : n;
	return false;
}

/* After a sign, the rest of its block is passed over: one sign is enough. */
bool
template_next(const char *text, size_t n, size_t *at, struct template_sign *sign)
{
	size_t begin = 0;
	char close;

	while (*at < n) {
		const char *open = memchr(text + *at, '{', n - *at);

		if (!open || (size_t)(open - text) + 1 >= n)
			break;
		*at = (size_t)(open - text);
		if (open[1] == '#') {
			*at = skip_comment(text, n, *at);
			continue;
		}
		if (open[1] != '{' && open[1] != '%') {
			(*at)++;
			continue;
		}
		close = open[1] == '{' ? '}' : '%';
		*at += 2;
		if (*at < n && (text[*at] == '-' || text[*at] == '+'))
			(*at)++;
		begin = *at = skip_blanks(text, n, *at);
		if (code(text, n, at, close, begin, sign))
			return true;
	}
	*at = n;
	return false;
}
