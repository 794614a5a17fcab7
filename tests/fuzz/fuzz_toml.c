/* fuzz_toml: documents of TOML (wire/toml.h), and edits of them.
 *
 *     1. A document is refused as damaged with a message that can be printed and names a line and
 *        a column, or it is read.
 *     2. A document that is read says where its keys are: the text of each value, alone, is the
 *        same value; paths are different from each other.
 *     3. A key that is set has the new value, and the others have theirs; a key that is removed
 *        is gone, and only that one. The result of an edit is a document.
 *
 * The mutator writes whole documents: headers, keys and values that are right, or nearly.
 */
#include "mutate.h"

#include "dice.h"
#include "wire/toml.h"

/* Whether two values are the same, NaN included. */
static bool
same(const struct toml_value *a, const struct toml_value *b)
{
	size_t i;

	if (a->type != b->type)
		return false;
	switch (a->type) {
	case TOML_TEXT:
		return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
	case TOML_INTEGER:
		return a->integer == b->integer;
	case TOML_FLOAT:
		return memcmp(&a->real, &b->real, sizeof a->real) == 0;
	case TOML_BOOLEAN:
		return a->yes == b->yes;
	case TOML_ARRAY:
		for (i = 0; i < a->n && i < b->n && same(&a->items[i], &b->items[i]); i++)
			;
		return a->n == b->n && i == a->n;
	}
	return false;
}

static void
prove_entry(const struct toml *t, const struct toml_entry *x, const char *p, size_t n)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct toml alone;

	must(x->line_at <= x->key_at && x->key_at <= x->last_at && x->last_at < x->value_at &&
	     x->value_at < x->value_end && x->value_end <= x->line_end && x->line_end <= n);
	must(toml_find(t, x->path) == x && x->parent < strlen(x->path));
	buf_text(&b, "v=");
	buf_put(&b, p + x->value_at, x->value_end - x->value_at);
	must(buf_ok(&b));
	must_say(toml_parse(&alone, "alone", b.p, b.n, &e) == 0, &e);
	must(alone.n == 1 && same(&alone.entries[0].value, &x->value));
	toml_free(&alone);
	buf_free(&b);
}

/* `after` has the keys of `before` with their values, except those with this path. */
static void
prove_rest(const struct toml *before, const struct toml *after, const char *path)
{
	const struct toml_entry *x, *y;
	size_t i;

	for (i = 0; i < before->n; i++) {
		x = &before->entries[i];
		y = toml_find(after, x->path);
		if (strcmp(x->path, path) == 0)
			continue;
		must(y && same(&x->value, &y->value));
	}
}

static void
set(const struct toml *t, const char *p, size_t n)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct toml after;
	const bool old = toml_find(t, "defaults.color") != NULL;

	if (toml_set(t, "set", p, n, "defaults", "color", "\"never\"", &b, &e) == 0) {
		must_say(toml_parse(&after, "after", b.p, b.n, &e) == 0, &e);
		must(after.n == t->n + !old);
		must(strcmp(toml_find(&after, "defaults.color")->value.text, "never") == 0);
		prove_rest(t, &after, "defaults.color");
		toml_free(&after);
	} else {
		must_say(e.code == ERR_NO, &e);
		fuzz_printable(e.fact);
	}
	buf_free(&b);
}

static void
unset(const struct toml *t, const struct toml_entry *x, const char *p, size_t n)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct toml after;

	toml_unset(x, p, n, &b);
	must(buf_ok(&b));
	/* What a dotted key had defined may be a table of its own now, never less of a document. */
	must_say(toml_parse(&after, "after", b.p ? (char *)b.p : "", b.n, &e) == 0, &e);
	must(after.n == t->n - 1 && !toml_find(&after, x->path));
	prove_rest(t, &after, x->path);
	toml_free(&after);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct toml t;
	/* Exactly as many bytes as there are, so that reading beyond them is found. */
	char *text = malloc(size ? size : 1);
	size_t i;

	must(text);
	memcpy(text, data, size);
	if (toml_parse(&t, "fuzz", text, size, &e) == 0) {
		for (i = 0; i < t.n; i++)
			prove_entry(&t, &t.entries[i], text, size);
		set(&t, text, size);
		if (t.n > 0)
			unset(&t, &t.entries[size % t.n], text, size);
	} else {
		must_say(e.code == ERR_CORRUPT || e.code == ERR_MEMORY, &e);
		must_say(size > TOML_BYTES || strncmp(e.object, "fuzz:", 5) == 0, &e);
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
	}
	toml_free(&t);
	free(text);
	return 0;
}

/* ---- whole documents ---- */

static const char *const parts[] = { "a", "b", "c", "defaults", "color", "\"a\"", "'b'", "\"\"",
	"\"x.y\"", "'\"'", "\"\\u0061\"", "1", "-", "a\xc3\xbc", "\"\xc3\xbc\"", "true" };
static const char *const values[] = { "1", "-0", "0x1F", "0o7", "0b1", "1_000", "1__0", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "1.5", "-1e10", "1e400", "inf", "-nan", "0.0", "01",
	"true", "false", "True", "\"\"", "\"a\\tb\\u00fc\\\\\"", "'a\\b'", "\"\\x\"", "\"\\ud800\"",
	"\"\"\"a\"\"\"", "'''a'''", "1979-05-27", "07:32:00", "{ a = 1 }", "[]", "[1, 2,]", "[1,, 2]",
	"[\n1, # c\n\t'x'\n]", "[[1]]", "[1", "\"open", "# c", "" };
static const char *const ends[] = { "\n", "\n", "\n", "\r\n", " # c\n", "\t\n\n", "\r", " x\n", "" };

static void
put_key(struct buf *b, struct dice *d)
{
	unsigned n = 1 + roll(d, roll(d, 8) ? 3 : 10);

	for (; n > 0; n--)
		buf_printf(b, "%s%s", ONE_OF(d, parts), n > 1 ? roll(d, 6) ? "." : " . " : "");
}

static void
put_line(struct buf *b, struct dice *d)
{
	if (!roll(d, 4))
		buf_text(b, "  ");
	if (roll(d, 4)) {
		put_key(b, d);
		buf_printf(b, "%s%s", roll(d, 3) ? " = " : "=", ONE_OF(d, values));
	} else {
		buf_text(b, roll(d, 10) ? "[" : "[[");
		put_key(b, d);
		buf_text(b, roll(d, 10) ? "]" : "]]");
	}
	buf_text(b, ONE_OF(d, ends));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	struct buf b = { 0 };
	unsigned n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	/* A new document, or lines after the old one. */
	if (seed % 4)
		buf_put(&b, data, size);
	for (n = 1 + roll(&d, 8); n > 0; n--)
		put_line(&b, &d);
	return mutate_done(&b, data, size, max);
}
