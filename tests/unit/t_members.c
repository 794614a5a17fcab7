#include "test.h"

#include <string.h>

#include "core/json.h"
#include "formats/members.h"

static const struct members_rules strict = { .depth = 2048, .members = 3u << 20,
	.strict = true };

/* Is the text an object for members_scan? */
static bool
scans(const struct buf *b, struct err *e)
{
	struct members m = { 0 };
	struct spool s = { 0 };
	int r;

	*e = (struct err)ERR_INIT;
	r = spool_put(&s, b->p, b->n, e);
	if (r == 0)
		r = members_scan(&m, &s, 0, b->n, &strict, "in", 0, e);
	members_free(&m);
	spool_free(&s);
	return r == 0;
}

/* And for the library that makes a tree of it? */
static bool
parses(const struct buf *b)
{
	struct err e = ERR_INIT;
	json_t *v = json_parse(b->p, b->n, ERR_CORRUPT, "in", &e);
	bool good = v != NULL;

	json_decref(v);
	return good;
}

static void
test_texts(void)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{ "{\"a\":{\"a\":1,\"b\":{\"a\":2}},\"b\":[{\"a\":1},{\"a\":1}]}", true },
		{ "{\"a\":{\"a\":1,\"b\":{\"a\":2},\"a\":3}}", false },
		{ "{\"a\":[{},{\"b\":1,\"\\u0062\":2}]}", false },
		{ "{\"a\":{\"\\ud83d\\ude00\\u20ac\\u00e9\\n\":1,\"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9\\u000a\":2}}",
		  false },
		{ "{\"a\":{\"\\/\\b\\f\\t\\r\\\\\\\"\":1,\"/\\u0008\\u000c\\u0009\\u000d\\u005c\\u0022\":2}}",
		  false },
		{ "{\"a\":{\"\":1,\"b\":2,\"\":3}}", false },
		{ "{\"a\":{\"\":{\"\":{\"\":1}}}}", true },
		{ "{\"a\":[9223372036854775807,-9223372036854775808,-0,0]}", true },
		{ "{\"a\":9223372036854775808}", false },
		{ "{\"a\":-9223372036854775809}", false },
		{ "{\"a\":10000000000000000000}", false },
		{ "{\"a\":[1e308,-1.7976931348623157e308,1e-999,0e999,0.0e5,1E+2,123456789.5]}", true },
		{ "{\"a\":1e309}", false },
		{ "{\"a\":1.7976931348623158e308}", true },
		{ "{\"a\":1.7976931348623159e308}", false },
		{ "{\"a\":-2e308}", false },
		{ "{\"a\":0.0001e400}", false },
		{ "{\"a\":0.0000000000000000001e320}", true },
		{ "{\"a\":1e99999999999999999999}", false },
		{ "{\"a\":1e-99999999999999999999}", true },
		{ "{\"a\":0.000e99999999999999999999}", true },
		{ "{\"a\":\"\\u0000\"}", false },
		{ "{\"a\":{\"\\u0000\":1}}", false },
		{ "{\"a\":\"\\ud800\"}", false },
		{ "{\"a\":01}", false },
		{ "{\"a\":1.}", false },
		{ "{\"a\":-}", false },
		{ "{\"a\":truex}", false },
		{ "{\"a\":[1,]}", false },
		{ " {\t\"a\" : [ 1 , true , null ]\r\n} ", true },
	};
	struct buf b = { 0 };
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&b);
		buf_text(&b, rows[i].text);
		test_ok(scans(&b, &e) == rows[i].good && parses(&b) == rows[i].good, "%s: %s",
		        rows[i].text, e.fact);
	}
	buf_free(&b);
}

/* n nested lists, the innermost of which holds text. */
static void
make_deep(struct buf *b, size_t n, const char *text)
{
	size_t i;

	buf_clear(b);
	buf_text(b, "{\"a\":");
	for (i = 0; i < n; i++)
		buf_text(b, "[");
	buf_text(b, text);
	for (i = 0; i < n; i++)
		buf_text(b, "]");
	buf_text(b, "}");
}

static void
test_depth(void)
{
	struct buf b = { 0 };
	struct err e;
	size_t n;

	for (n = 2044; n < 2050; n++) {
		make_deep(&b, n, "");
		test_ok(scans(&b, &e) == parses(&b) && parses(&b) == (n < 2048),
		        "%zu empty lists: %s", n, e.fact);
		make_deep(&b, n, "1");
		test_ok(scans(&b, &e) == parses(&b) && parses(&b) == (n < 2047),
		        "%zu lists with a number: %s", n, e.fact);
	}
	buf_free(&b);
}

/* Random numbers around the limits, with digits in all places. */
static void
test_numbers(void)
{
	uint64_t state = 88172645463325252u;
	size_t i, j, n, wrong = 0, good = 0;
	struct buf b = { 0 };
	struct err e;

	for (i = 0; i < 20000; i++) {
		buf_clear(&b);
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		buf_printf(&b, "{\"a\":%s%u", state & 1 ? "-" : "", 1 + (unsigned)(state >> 8) % 9);
		n = (size_t)(state >> 16) % (state & 2 ? 20 : 340);
		for (j = 0; j < n; j++)
			buf_printf(&b, "%u", (unsigned)(state >> j % 60) % 10);
		if (state & 4)
			buf_printf(&b, ".%0*u", 1 + (int)(state >> 24) % 400, (unsigned)(state >> 32));
		if (state & 8)
			buf_printf(&b, "e%d", (int)((state >> 40) % 640) - 320);
		buf_text(&b, "}");
		wrong += scans(&b, &e) != parses(&b);
		good += parses(&b);
	}
	test_ok(wrong == 0 && good > 1000 && good < 19000,
	        "numbers: %zu judged otherwise than by the library, %zu valid", wrong, good);
	buf_free(&b);
}

/* An object of more names than one pass compares; the last may be the first again. */
static void
test_many(void)
{
	const size_t n = 2300000;
	struct buf b = { 0 };
	struct err e;
	size_t i;

	buf_text(&b, "{\"a\":{");
	for (i = 0; i < n; i++)
		buf_printf(&b, "\"%zx\":0,", i);
	buf_text(&b, "\"x\":0}}");
	test_ok(scans(&b, &e), "%zu names: %s", n, e.fact);
	b.p[b.n - 6] = '7'; /* was x */
	test_ok(!scans(&b, &e) && strstr(e.fact, "have one name"), "one of them twice: %s", e.fact);
	buf_free(&b);
}

int
main(void)
{
	test_texts();
	test_depth();
	test_numbers();
	test_many();
	return test_done();
}
