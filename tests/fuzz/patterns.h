/* patterns: random whole patterns and whole steps of a tokenizer.json. Three patterns in
 * four hold only syntax that real tokenizers use; the fourth mixes in what must be
 * refused (\K, \C, recursion, verbs), above all in groups and lookarounds. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include "core/buf.h"
#include "core/json.h"
#include "dice.h"

static const char *const plain_items[] = { "a", "b", "a", "b", "x", " ", "1", "\xc3\xa9",
	".", "\\s", "\\S", "\\d", "\\w", "\\p{L}", "\\P{N}", "\\pL", "\\n", "\\x{e9}", "\\u0061",
	"^", "$", "\\b", "\\A", "\\z", "[ab]", "[^a]", "[a-c\\d]", "[^\\s\\p{L}]", "[[:alpha:]_]",
	"[a[bc]]", "[]b]", "{", "]", "" };
static const char *const odd_items[] = { "\\K", "\\K", "\\C", "\\C", "(?1)", "(?1)", "(?1)",
	"(?R)", "(?2)", "\\1", "\\G", "\\R", "\\X", "(*SKIP)", "(*ACCEPT)", "(*PRUNE)", "(?C1)",
	"(?(1)a|b)", "(?i)", "\\Qa", "\\N", "(?#a)", "[a&&b]", "(*UTF)", "\\g{-1}" };
static const char *const groups[] = { "(", "(", "(", "(?:", "(?i:", "(?>", "(?<n>", "(?|" };
static const char *const looks[] = { "(?=", "(?!", "(?<=", "(?<=", "(?<!" };
static const char *const repeats[] = { "*", "+", "?", "*?", "+?", "??", "*+", "++", "{2}",
	"{1,3}", "{,2}", "{2,}", "{60}", "{1,3}+", "{2}?", "{1000}" };

static const char *const calls[] = { "(?1)", "(?1)", "(?R)", "(?2)", "\\g<1>" };

static void put_pattern(struct dice *d, unsigned depth, struct buf *b);

/* A lookaround that calls a group, or a group that moves the start of the match: each is
 * harmless, together they make a match that ends before it starts. */
static void
put_odd_group(struct dice *d, unsigned depth, struct buf *b)
{
	if (roll(d, 2)) {
		buf_text(b, ONE_OF(d, looks));
		buf_text(b, ONE_OF(d, calls));
	} else {
		buf_text(b, "(\\K");
		put_pattern(d, depth + 1, b);
	}
	buf_text(b, ")");
}

/* Both, side by side: what the lookaround calls begins in the other alternative. */
static void
put_odd_pattern(struct dice *d, struct buf *b)
{
	bool looks_first = roll(d, 2);
	unsigned i;

	for (i = 0; i < 2; i++) {
		buf_text(b, i ? "|" : "");
		if (looks_first == (i == 0)) {
			buf_text(b, ONE_OF(d, looks));
			buf_text(b, ONE_OF(d, calls));
			buf_text(b, ")");
			buf_text(b, ONE_OF(d, plain_items));
		} else {
			buf_text(b, "(\\K");
			buf_text(b, ONE_OF(d, plain_items));
			buf_text(b, ")");
		}
	}
}

static void
put_group(struct dice *d, unsigned depth, struct buf *b)
{
	if (d->odd && roll(d, 3) == 0) {
		put_odd_group(d, depth, b);
		return;
	}
	buf_text(b, roll(d, 2) ? ONE_OF(d, groups) : ONE_OF(d, looks));
	put_pattern(d, depth + 1, b);
	buf_text(b, ")");
}

static void
put_item(struct dice *d, unsigned depth, struct buf *b)
{
	unsigned kind = roll(d, depth < 4 ? 16 : 10);

	if (kind >= 10)
		put_group(d, depth, b);
	else if (kind < 2 && d->odd)
		buf_text(b, ONE_OF(d, odd_items));
	else
		buf_text(b, ONE_OF(d, plain_items));
	if (roll(d, 4) == 0)
		buf_text(b, ONE_OF(d, repeats));
}

static void
put_pattern(struct dice *d, unsigned depth, struct buf *b)
{
	unsigned i, k, alternatives = roll(d, 3) ? 1 + (depth == 0) : 2, items;

	for (i = 0; i < alternatives; i++) {
		if (i > 0)
			buf_text(b, "|");
		items = roll(d, 3) ? 1 + roll(d, 2) : roll(d, 4);
		for (k = 0; k < items && b->n < 400; k++)
			put_item(d, depth, b);
	}
}

/* A pattern as JSON's text. */
static void
put_quoted(struct dice *d, struct buf *to)
{
	struct buf b = { 0 };

	d->odd = roll(d, 4) == 0;
	if (d->odd && roll(d, 3) == 0)
		put_odd_pattern(d, &b);
	else
		put_pattern(d, 0, &b);
	json_quote(to, b.p ? (char *)b.p : "", b.n);
	buf_free(&b);
}

static const char *const texts[] = { "", "a", "b", "aa", "ab", " ", "\xe2\x96\x81", "xx" };

static void
put_match(struct dice *d, struct buf *to)
{
	if (roll(d, 5)) {
		buf_text(to, "\"pattern\":{\"Regex\":");
		put_quoted(d, to);
		buf_text(to, "}");
	} else {
		buf_printf(to, "\"pattern\":{\"String\":\"%s\"}", ONE_OF(d, texts));
	}
}

/* A step that normalizes. */
static void
put_normalizer(struct dice *d, struct buf *to)
{
	static const char *const others[] = { "{\"type\":\"NFC\"}", "{\"type\":\"NFKD\"}",
		"{\"type\":\"Lowercase\"}", "{\"type\":\"StripAccents\"}", "{\"type\":\"Strip\"}",
		"{\"type\":\"BertNormalizer\"}", "{\"type\":\"Prepend\",\"prepend\":\"ab\"}" };

	if (roll(d, 3) == 0) {
		buf_text(to, ONE_OF(d, others));
		return;
	}
	buf_text(to, "{\"type\":\"Replace\",");
	put_match(d, to);
	buf_printf(to, ",\"content\":\"%s\"}", ONE_OF(d, texts));
}

/* A step that cuts. */
static void
put_cut(struct dice *d, struct buf *to)
{
	static const char *const others[] = { "{\"type\":\"ByteLevel\"}",
		"{\"type\":\"ByteLevel\",\"use_regex\":false}",
		"{\"type\":\"Metaspace\",\"split\":false}", "{\"type\":\"Metaspace\"}",
		"{\"type\":\"Digits\",\"individual_digits\":true}", "{\"type\":\"Punctuation\"}",
		"{\"type\":\"Whitespace\"}", "{\"type\":\"WhitespaceSplit\"}",
		"{\"type\":\"BertPreTokenizer\"}" };
	static const char *const ways[] = { "Isolated", "Removed", "MergedWithPrevious",
		"MergedWithNext", "Contiguous" };

	if (roll(d, 4) == 0) {
		buf_text(to, ONE_OF(d, others));
		return;
	}
	buf_text(to, "{\"type\":\"Split\",");
	put_match(d, to);
	buf_printf(to, ",\"behavior\":\"%s\",\"invert\":%s}", ONE_OF(d, ways),
	           roll(d, 5) ? "false" : "true");
}

/* A few steps, sometimes many times the same. */
static void
put_steps(struct dice *d, const char *list, unsigned most,
          void (*put)(struct dice *d, struct buf *to), struct buf *to)
{
	unsigned n = roll(d, most + 1), times = roll(d, 16) ? 1 : 1 + roll(d, 40), i;
	struct buf step = { 0 };

	buf_printf(to, "{\"type\":\"Sequence\",\"%s\":[", list);
	for (i = 0; i < n * times; i++) {
		if (i % times == 0) {
			buf_clear(&step);
			put(d, &step);
		}
		if (i > 0)
			buf_text(to, ",");
		buf_put(to, step.p, step.n);
	}
	buf_text(to, "]}");
	buf_free(&step);
}

/* Something to cut, as JSON's text. */
static void
put_text(struct dice *d, struct buf *to)
{
	static const char *const words[] = { "a", "b", "ab", "aaaaaaaaaaaaaaaa", " ", "  ", "x",
		"1", "12345", "\xc3\xa9", "A", ".", "\\n", "bbbb", "\xe2\x96\x81" };
	unsigned n = roll(d, 12);

	buf_text(to, "\"");
	for (; n > 0; n--)
		buf_text(to, ONE_OF(d, words));
	buf_text(to, "\"");
}

#endif
