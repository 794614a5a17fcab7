/* yaml: values of YAML, hostile YAML, and the way back. */
#include "wire/yaml.h"

#include <string.h>

#include "core/text.h"
#include "test.h"

static json_t *
parse(const char *text, struct err *e)
{
	return yaml_parse(text, strlen(text), "in", 1, e);
}

/* The text is the same value as the JSON. */
static void
is(const char *text, const char *json)
{
	struct err e = ERR_INIT;
	json_t *v = parse(text, &e), *want = json_loads(json, JSON_DECODE_ANY, NULL);
	char shown[200];

	test_ok(v && want && json_equal(v, want), "%s is %s %s",
	        text_quote(shown, sizeof shown, text, strlen(text)), json, e.fact);
	json_decref(v);
	json_decref(want);
}

static void
fails(const char *text, size_t n, enum err_code code, const char *fact)
{
	struct err e = ERR_INIT;
	json_t *v = yaml_parse(text, n, "in", 1, &e);
	char shown[60];

	test_ok(!v && e.code == code && strstr(e.fact, fact), "%s: %s",
	        text_quote(shown, sizeof shown, text, n), e.fact);
	json_decref(v);
}

static void
values(void)
{
	is("", "null");
	is("a: 1\nb: [x, \"y\", 'z']\n", "{\"a\":\"1\",\"b\":[\"x\",\"y\",\"z\"]}");
	is("version: 2.10\ndate: 2024-01-02\nyes: no\n",
	   "{\"version\":\"2.10\",\"date\":\"2024-01-02\",\"yes\":\"no\"}");
	is("a:\nb: ~\nc: null\nd: \"null\"\ne: NULL\n",
	   "{\"a\":null,\"b\":null,\"c\":null,\"d\":\"null\",\"e\":null}");
	is("a: >-\n  two\n  lines\nb: |\n  one\n", "{\"a\":\"two lines\",\"b\":\"one\\n\"}");
	is("a:\n\t- tab\n", "{\"a\":[\"tab\"]}");
	is("a: &x [1, {b: c}]\nd: *x\n",
	   "{\"a\":[\"1\",{\"b\":\"c\"}],\"d\":[\"1\",{\"b\":\"c\"}]}");
	is("a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":\"1\",\"b\":\"2\",\"c\":\"2\"}");
	is("a: !!int 3\nb: !own t\n", "{\"a\":\"3\",\"b\":\"t\"}");
	is("- a\n- \xc3\xbc\r\n", "[\"a\",\"\xc3\xbc\"]");
}

/* Lists that each repeat the list before them: ten times, and many levels deep. */
static void
bomb(void)
{
	struct buf b = { 0 };
	unsigned i, k;

	buf_text(&b, "a0: &a0 x\n");
	for (i = 1; i < 10; i++) {
		buf_printf(&b, "a%u: &a%u [*a%u", i, i, i - 1);
		for (k = 1; k < 10; k++)
			buf_printf(&b, ", *a%u", i - 1);
		buf_text(&b, "]\n");
	}
	fails((char *)b.p, b.n, ERR_MEMORY, "repeat too much");
	buf_clear(&b);
	buf_text(&b, "a0: &a0 x\n");
	for (i = 1; i < 80; i++)
		buf_printf(&b, "a%u: &a%u [*a%u]\n", i, i, i - 1);
	fails((char *)b.p, b.n, ERR_MEMORY, "repeat too much");
	buf_clear(&b);
	for (i = 0; i <= YAML_ANCHORS; i++)
		buf_printf(&b, "a%u: &a%u x\n", i, i);
	fails((char *)b.p, b.n, ERR_MEMORY, "too many anchors");
	buf_free(&b);
}

static void
repeated(const char *unit, size_t times, enum err_code code, const char *fact)
{
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < times; i++)
		buf_text(&b, unit);
	fails((char *)b.p, b.n, code, fact);
	buf_free(&b);
}

static void
hostile(void)
{
	static const struct { const char *text; enum err_code code; const char *fact; } rows[] = {
		{ "a: 1\nb: [1,\n", ERR_CORRUPT, "line 3" },
		{ "a: 1\na: 2\n", ERR_CORRUPT, "line 2: a second a" },
		{ "? [a, b]\n: c\n", ERR_CORRUPT, "a key that is not text" },
		{ "a: *b\n", ERR_CORRUPT, "an alias of an unknown" },
		{ "a: &a [*a]\n", ERR_CORRUPT, "an alias of an unknown or unfinished" },
		{ "a: 1\n---\nb: 2\n", ERR_CORRUPT, "a second document" },
		{ "a: \"\\0\"\n", ERR_CORRUPT, "a NUL" },
		{ "a: \xff\n", ERR_CORRUPT, "invalid" },
		{ "a: \x01\n", ERR_CORRUPT, "control characters" },
		{ "a: b: c\n", ERR_CORRUPT, "mapping values" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		fails(rows[i].text, strlen(rows[i].text), rows[i].code, rows[i].fact);
	fails("a: \0b\n", 7, ERR_CORRUPT, "control characters");
	repeated("[", 1000, ERR_MEMORY, "nested too deeply");
	repeated("- ", 1000, ERR_MEMORY, "nested too deeply");
	repeated("- a\n", YAML_WEIGHT + 1, ERR_MEMORY, "too many values");
	repeated("- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", YAML_BYTES / 30, ERR_MEMORY, "bytes");
	bomb();
}

static void
round_trip(const char *json)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	json_t *v = json_loads(json, 0, NULL), *back = NULL;

	if (v && yaml_write(v, &b, &e) == 0)
		back = yaml_parse((char *)b.p, b.n, "again", 1, &e);
	test_ok(back && json_equal(v, back), "%s is written and read %s", json, e.fact);
	if (back && !json_equal(v, back))
		printf("# %.*s\n", (int)b.n, (char *)b.p);
	json_decref(v);
	json_decref(back);
	buf_free(&b);
}

static void
writes(void)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	json_t *v = json_pack("{s:s,s:[s,s],s:i}", "license", "apache-2.0", "language", "en", "no",
	                      "count", 3);

	test_ok(yaml_write(v, &b, &e) == 0 && buf_string(&b) &&
	        strcmp((char *)b.p, "license: apache-2.0\nlanguage:\n- en\n- \"no\"\n"
	               "count: \"3\"\n") == 0, "text is quoted only if it has to be");
	json_decref(v);
	buf_clear(&b);
	v = json_object();
	test_ok(yaml_write(v, &b, &e) == 0 && b.n == 0, "an empty object is nothing");
	json_decref(v);
	buf_free(&b);
	round_trip("{\"a\":\"no\",\"b\":\"1.0\",\"c\":\"\",\"d\":null,\"e\":\"null\",\"f\":\"~\"}");
	round_trip("{\"a\":\"two\\nlines\\n\",\"b\":\" spaces \",\"c\":\"tab\\tx\\\\\"}");
	round_trip("{\"a\":\"- x\",\"b\":\"k: v\",\"c\":\"# no\",\"d\":\"---\",\"e\":\"*x\",\"f\":\"@\"}");
	round_trip("{\"a\":[],\"b\":{},\"c\":[[\"x\"],{\"y\":[\"z\"]}]}");
	round_trip("{\"\xc3\xbc\":\"\xe2\x80\xa8\xf0\x9f\x98\x80\\u0085\\u001b\\u007f\\ufeff\"}");
	round_trip("{\"a very long key, so long that a YAML writer does not take it for a simple key, "
	           "which ends after one hundred and twenty-eight characters\":\"v\",\"yes\":\"y\"}");
}

static void
front(void)
{
	static const struct { const char *text, *front, *body; } rows[] = {
		{ "---\na: b\n---\n# T\n", "a: b\n", "# T\n" },
		{ "---\r\na: b\r\n---\r\nT", "a: b\r\n", "T" },
		{ "---\n---\n", "", "" },
		{ "---\na: b\n", "a: b\n", "" },
		{ "# T\n---\na: b\n---\n", NULL, "# T\n---\na: b\n---\n" },
		{ "--- \na: b\n", NULL, "--- \na: b\n" },
		{ "", NULL, "" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *f = NULL, *body;
		size_t n = 0;
		bool is_there = yaml_front(rows[i].text, strlen(rows[i].text), &f, &n, &body);

		test_ok(is_there == (rows[i].front != NULL) && strcmp(body, rows[i].body) == 0 &&
		        (!is_there || (n == strlen(rows[i].front) &&
		                       memcmp(f, rows[i].front, n) == 0)), "front matter %zu", i);
	}
}

int
main(void)
{
	values();
	hostile();
	writes();
	front();
	return test_done();
}
