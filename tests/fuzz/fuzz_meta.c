/* fuzz_meta: edits of metadata: a JSON file that is imported, or after a first byte of 's' lines
 * KEY[:TYPE]=VALUE, KEY (to delete) and >OLD NEW (to rename). Applied to a model with a key of each type, they are refused with a message,
 * or give a plan that holds; each of its values, printed and read again, is the same.
 *
 * The mutator writes whole edits: keys, items, types, values and arrays that nest, in each form of
 * a file.
 */
#include "mutate.h"

#include "cli/meta/edited.h"
#include "dice.h"
#include "model/value_text.h"

/* A model whose only blob holds the array "long". */
struct small {
	struct source source;
	struct model plan;
	struct buf blob;
	bool sent, read;
};

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct small *s = (struct small *)source;

	(void)e;
	*item = (struct item){ .kind = ITEM_BLOB, .bytes = s->blob.n };
	return s->sent ? 0 : (s->sent = true);
}

static int
read_blob(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct small *s = (struct small *)source;

	(void)e;
	*p = s->blob.p;
	*n = s->read ? 0 : s->blob.n;
	s->read = true;
	return 0;
}

static void
make_small(struct small *s)
{
	static const struct source_ops ops = { .next = next, .read = read_blob };
	static const struct {
		const char *key, *type, *text;
	} rows[] = {
		{ "u8", "u8", "1" }, { "i64", "i64", "-1" }, { "f32", "f32", "0.5" },
		{ "s", "string", "text" }, { "b", "bool", "true" }, { "j", "json", "[1]" },
		{ "a", "array:string", "[\"x\",\"y\"]" }, { "n", "array:array:u8", "[[1],[]]" },
		{ "tokenizer.ggml.tokens", "array:string", "[\"a\",\"b\"]" },
		{ "tokenizer.ggml.scores", "array:f32", "[1,2]" },
	};
	struct value_type t, long_type = { 1, VALUE_I32 };
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	size_t i;

	*s = (struct small){ .read = false };
	must(model_init(&s->plan, &e) == 0);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&b);
		must(value_type_parse(rows[i].type, &t) == 0);
		must(value_parse(t, rows[i].text, strlen(rows[i].text), false, "k", &b, &e) == 0);
		must(model_add_meta(&s->plan, rows[i].key, strlen(rows[i].key), t, b.p, b.n, &e) == 0);
	}
	buf_u32(&s->blob, VALUE_I32);
	buf_u64(&s->blob, 100);
	buf_zeros(&s->blob, 400);
	must(model_add_meta_blob(&s->plan, "long", 4, long_type, s->blob.n, &e) == 0);
	buf_free(&b);
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = "small" };
}

/* One line of a command line. Files are not read. */
static int
add_line(struct edits *x, char *line, struct err *e)
{
	char *to;

	if (strstr(line, "=@"))
		return 0;
	if (*line == '>' && (to = strchr(line, ' ')) != NULL) {
		*to = '\0';
		return edits_rename(x, line + 1, to + 1, e);
	}
	return strchr(line, '=') ? edits_set(x, line, e) : edits_delete(x, line, e);
}

static int
set_lines(struct edits *x, const uint8_t *p, size_t n, struct err *e)
{
	while (n > 0) {
		const uint8_t *end = memchr(p, '\n', n);
		size_t part = end ? (size_t)(end - p) : n;
		char *line = strndup((const char *)p, part);
		int r = add_line(x, line, e);

		free(line);
		if (r < 0)
			return -1;
		p += part + (end != NULL);
		n -= part + (end != NULL);
	}
	return 0;
}

/* Printed and read again. Text of type json keeps its escapes. */
static void
again(const char *key, struct value_type t, const uint8_t *wire, size_t n)
{
	struct buf text = { 0 }, back = { 0 };
	struct err e = ERR_INIT;
	struct value_check check;

	value_check_begin(&check, t);
	value_check_add(&check, wire, n);
	must(value_check_end(&check));
	if (t.leaf != VALUE_JSON && t.leaf != VALUE_ARRAY) {
		must(value_show(t, wire, n, &text, NULL, &e) == 0);
		must_say(value_parse(t, (char *)text.p, text.n, true, key, &back, &e) == 0, &e);
		must(back.n == n && memcmp(back.p, wire, n) == 0);
	}
	buf_free(&text);
	buf_free(&back);
}

static void
check_all(struct edited *d, struct err *e)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		struct spool space = { 0 };
		const uint8_t *p;

		if (d->rows[i].gone)
			continue;
		must(edited_wire(d, &d->rows[i], &space, &p, e) == 0);
		again(d->rows[i].key, d->rows[i].type, p, (size_t)d->rows[i].n);
		spool_free(&space);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct edits x = { .file_name = "file" };
	struct edited d = { .from = NULL };
	struct small s;
	int r;

	make_small(&s);
	if (size > 0 && *data == 's') {
		r = set_lines(&x, data + 1, size - 1, &e);
	} else {
		buf_put(&x.file, data, size);
		r = edits_import(&x, &e);
	}
	if (r == 0 && (r = edited_open(&d, &s.source, &x, &e)) == 0)
		check_all(&d, &e);
	must((r == 0) == (e.code == ERR_NONE));
	if (r < 0) {
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
		fuzz_printable(e.hint);
		must(*e.fact);
	}
	edited_close(&d);
	edits_free(&x);
	model_free(&s.plan);
	buf_free(&s.blob);
	return 0;
}

/* ---- whole edits ---- */

static const char *const leaves[] = { "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32",
	"f64", "bool", "string", "json" };

static void
put_key(struct dice *d, struct buf *b)
{
	static const char *const keys[] = { "u8", "i64", "f32", "s", "b", "j", "a", "n", "long",
		"tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type",
		"general.name", "general.tags", "general.alignment", "general.parameter_count", "new",
		"new.two", "\xc3\xa9", "a.b:c", "" };

	buf_text(b, ONE_OF(d, keys));
}

static void
put_type(struct dice *d, struct buf *b)
{
	unsigned depth = roll(d, 3) ? roll(d, 2) : roll(d, 12);

	while (depth-- > 0)
		buf_text(b, "array:");
	buf_text(b, roll(d, 20) ? ONE_OF(d, leaves) : "u33");
}

static void
put_number(struct dice *d, struct buf *b)
{
	static const char *const edges[] = { "0", "-1", "1", "127", "128", "-129", "255", "256",
		"65535", "65536", "4294967295", "4294967296", "9007199254740993", "9223372036854775807",
		"18446744073709551615", "18446744073709551616", "-9223372036854775808", "0.1", "1e-300",
		"3.5e38", "1e999", "\"inf\"", "\"-inf\"", "\"nan\"", "nan", "-0", "1.0", "007",
		"\"18446744073709551615\"" };

	if (roll(d, 2))
		buf_text(b, ONE_OF(d, edges));
	else
		buf_printf(b, "%u", roll(d, 300));
}

static void
put_string(struct dice *d, struct buf *b)
{
	static const char *const parts[] = { "a", "text", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud800",
		"\xe2\x96\x81", "\\\"", "\\\\", "@", "=", "[1]", "\\u0000", " ", "null" };
	unsigned n = roll(d, 4);

	buf_u8(b, '"');
	while (n-- > 0)
		buf_text(b, ONE_OF(d, parts));
	buf_u8(b, '"');
}

/* A value in JSON; an array has items of one kind, mostly. */
static void
put_json(struct dice *d, unsigned depth, unsigned kind, struct buf *b)
{
	unsigned n, inner;

	switch (roll(d, 12) ? kind : roll(d, 5)) {
	case 0:
		put_number(d, b);
		break;
	case 1:
		put_string(d, b);
		break;
	case 2:
		buf_text(b, roll(d, 2) ? "true" : "false");
		break;
	case 3:
		n = depth > 0 ? roll(d, roll(d, 8) ? 4 : 120) : 0;
		inner = roll(d, 4);
		buf_u8(b, '[');
		while (n-- > 0) {
			put_json(d, depth - 1, inner, b);
			buf_text(b, n > 0 ? "," : "");
		}
		buf_u8(b, ']');
		break;
	default:
		buf_text(b, roll(d, 2) ? "{\"x\":[1]}" : "null");
	}
}

static void
put_value(struct dice *d, struct buf *b)
{
	put_json(d, roll(d, 4), roll(d, 4), b);
}

/* A line of the command line. */
static void
put_line(struct dice *d, struct buf *b)
{
	unsigned way = roll(d, 8);

	if (way == 0)
		buf_u8(b, '>');
	put_key(d, b);
	if (way == 0) {
		buf_u8(b, ' ');
		put_key(d, b);
	} else if (way > 1) {
		if (way == 2)
			buf_printf(b, "[%u]", roll(d, 3) ? roll(d, 3) : 99 + roll(d, 2));
		if (roll(d, 3) == 0) {
			buf_u8(b, ':');
			put_type(d, b);
		}
		buf_u8(b, '=');
		put_value(d, b);
	}
}

static void
put_quoted_key(struct dice *d, struct buf *b)
{
	buf_u8(b, '"');
	put_key(d, b);
	if (roll(d, 12) == 0)
		buf_printf(b, "[%u]", roll(d, 3));
	buf_u8(b, '"');
}

/* "key":K,"type":T,"value":V, or the last two of them. */
static void
put_members(struct dice *d, bool key, struct buf *b)
{
	if (key) {
		buf_text(b, "\"key\":");
		put_quoted_key(d, b);
		buf_u8(b, ',');
	}
	if (roll(d, 8)) {
		buf_text(b, "\"type\":\"");
		put_type(d, b);
		buf_text(b, "\",");
	}
	buf_text(b, "\"value\":");
	put_value(d, b);
}

/* An edit in one of the forms of a file: a member, a row, an object, an object on a line. */
static void
put_edit(struct dice *d, unsigned form, struct buf *b)
{
	if (form == 0) {
		put_quoted_key(d, b);
		buf_u8(b, ':');
		if (roll(d, 2)) {
			put_value(d, b);
			return;
		}
	} else if (form == 1 && roll(d, 2)) {
		buf_u8(b, '[');
		put_quoted_key(d, b);
		buf_text(b, ",\"");
		put_type(d, b);
		buf_text(b, "\",");
		put_value(d, b);
		buf_u8(b, ']');
		return;
	}
	buf_u8(b, '{');
	put_members(d, form != 0, b);
	buf_u8(b, '}');
}

static void
put_edits(struct dice *d, struct buf *b)
{
	static const char *const open[] = { "{", "[", "" }, *const close[] = { "}", "]", "" };
	unsigned form = roll(d, 4), n = 1 + roll(d, 6);

	if (form == 3) {
		buf_u8(b, 's');
		for (; n > 0; n--) {
			put_line(d, b);
			buf_u8(b, '\n');
		}
		return;
	}
	buf_text(b, open[form]);
	for (; n > 0; n--) {
		put_edit(d, form, b);
		buf_text(b, form == 2 ? "\n" : n > 1 ? "," : "");
	}
	buf_text(b, close[form]);
}

/* The text with an edit put in, in its own form, after a comma or a line's end. */
static bool
put_in(struct dice *d, const uint8_t *data, size_t size, struct buf *b)
{
	char end = size > 0 && (*data == '{' || *data == '[') && !memchr(data, '\n', size) ? ',' : '\n';
	size_t i = roll(d, (unsigned)size + 1);

	while (i < size && data[i] != (uint8_t)end)
		i++;
	if (i == size)
		return false;
	buf_put(b, data, i + 1);
	if (*data == 's')
		put_line(d, b);
	else
		put_edit(d, *data == '[' ? 1 : end == ',' ? 0 : 2, b);
	buf_u8(b, (uint8_t)end);
	buf_put(b, data + i + 1, size - i - 1);
	return true;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	unsigned way = roll(&d, 6);
	struct buf b = { 0 };

	if (way < 2 || (way < 5 && !put_in(&d, data, size, &b)))
		return LLVMFuzzerMutate(data, size, max);
	if (b.n == 0)
		put_edits(&d, &b);
	return mutate_done(&b, data, size, max);
}
