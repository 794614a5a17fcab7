/* fuzz_meta: edits of metadata: a JSON file that is imported, or after a first byte of 's' lines
 * KEY[:TYPE]=VALUE. Applied to a model with a key of each type, they are refused with a message,
 * or give a plan that holds; each of its values, printed and read again, is the same.
 */
#include "fuzz.h"

#include "cli/meta/edited.h"
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

/* Lines of a command line. Files are not read. */
static int
set_lines(struct edits *x, const uint8_t *p, size_t n, struct err *e)
{
	while (n > 0) {
		const uint8_t *end = memchr(p, '\n', n);
		size_t part = end ? (size_t)(end - p) : n;
		char *line = strndup((const char *)p, part);
		int r = strstr(line, "=@") ? 0 : strchr(line, '=') ? edits_set(x, line, e) : edits_delete(x, line, e);

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
