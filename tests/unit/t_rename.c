/* Rules and schemas that rename tensors. */
#include <string.h>
#include <time.h>

#include "adapt/names/rename.h"
#include "test.h"

static struct err e;

static void
model(struct model *m, const char *const *names)
{
	static const uint64_t dims[] = { 2 };

	e = (struct err)ERR_INIT;
	model_init(m, &e);
	for (; *names; names++)
		model_add_tensor(m, tensor_new(*names, strlen(*names), dtype_by_name("F32"), 1, dims,
		                               TENSOR_OWN_SIZE, "test", &e), &e);
}

/* The names of a model after the rules, joined by spaces; or the error. */
static const char *
joined(struct rename *r, struct model *m)
{
	static struct buf b;
	struct renames n;
	size_t i;

	buf_clear(&b);
	if (rename_find(r, m, "test", &n, &e) == 0 && renames_apply(&n, m, &e) == 0)
		for (i = 0; i < m->tensor_count; i++)
			buf_printf(&b, "%s%s", i ? " " : "", tensor_name(m->tensors[i]));
	else
		buf_printf(&b, "%d %s: %s", (int)e.code, e.object, e.fact);
	renames_free(&n);
	return buf_string(&b);
}

static void
rules(const char *const *rule, const char *const *names, const char *want)
{
	struct rename r = { .count = 0 };
	struct model m;
	const char *got;
	const char *first = *rule;

	model(&m, names);
	for (; *rule && rename_add(&r, *rule, &e) == 0; rule++)
		;
	got = e.code == ERR_NONE ? joined(&r, &m) : e.fact;
	test_ok(strstr(got, want) != NULL, "%s: %s", first, got);
	model_free(&m);
	rename_free(&r);
}

#define LIST(...) (const char *const[]){ __VA_ARGS__, NULL }

static void
test_rules(void)
{
	rules(LIST("a=b"), LIST("a.a", "c"), "b.a c");
	rules(LIST("^(\\w+)\\.(\\w+)$=\\2.\\1"), LIST("a.b"), "b.a");
	rules(LIST("a=b", "b=c"), LIST("a", "x"), "c x");
	rules(LIST("x(y)?=<\\1\\0\\\\>"), LIST("x"), "<x\\>");
	rules(LIST("x(?=y)=z"), LIST("xy"), "zy");
	rules(LIST("(?=ab\\K)=z"), LIST("abc"), "is not a pattern");
	rules(LIST("a=b=c"), LIST("a=b"), "c");
	rules(LIST("\\d+$=9"), LIST("a1", "a2"), "11 a9: would be the name of both a1 and a2");
	rules(LIST("a="), LIST("a"), "11 a: would have an empty name");
	rules(LIST("b=a"), LIST("a"), "matches no tensor");
	rules(LIST("a"), LIST("a"), "is not a rule");
	rules(LIST("=a"), LIST("a"), "is not a rule");
	rules(LIST("a=\\1"), LIST("a"), "has no group 1");
	rules(LIST("a=\\x"), LIST("a"), "neither a digit");
	rules(LIST("a=\\"), LIST("a"), "neither a digit");
	rules(LIST("(=x"), LIST("a"), "is not a pattern");
	rules(LIST("a=\xff"), LIST("a"), "not UTF-8");
	rules(LIST("(a*)*b|c=x"), LIST("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
	      "takes too long");
}

/* A name that doubles with each rule ends at its limit, not at that of memory. */
static void
test_growth(void)
{
	struct rename r = { .count = 0 };
	struct model m;
	int i;

	model(&m, LIST("aaaaaaaa"));
	for (i = 0; i < 60; i++)
		rename_add(&r, "^.*$=\\0\\0", &e);
	test_ok(strstr(joined(&r, &m), "more than 65535") != NULL, "growth: %s", e.fact);
	model_free(&m);
	rename_free(&r);
}

static void
schema(bool map, bool strict, const char *text, const char *const *names, const char *want)
{
	struct rename r = { .strict = strict };
	struct model m;
	const char *got = e.fact;
	int ok;

	model(&m, names);
	ok = map ? schema_read_map(&r.schema, text, strlen(text), "file", &e)
	         : schema_read(&r.schema, text, strlen(text), "file", &e);
	if (ok == 0)
		got = joined(&r, &m);
	test_ok(strstr(got, want) != NULL, "%.60s: %s", text, got);
	model_free(&m);
	rename_free(&r);
}

static void
test_maps(void)
{
	schema(true, false, "{\"a\":\"b\",\"b\":\"a\"}", LIST("a", "b", "c"), "b a c");
	schema(true, false, "{\"a#\":\"{N}\",\"zz\":\"y\"}", LIST("a#", "a1"), "{N} a1");
	schema(true, true, "{\"a\":\"b\"}", LIST("a", "c"), "UnknownTensor: 1 tensor has no rule: c");
	schema(true, true, "{\"a\":\"b\"}", LIST("b"), "b");
	schema(true, true, "{\"a\":\"b\",\"c\":\"d\"}", LIST("a"),
	       "MissingTensor: there is no tensor d");
	schema(true, false, "{\"a\":\"c\",\"b\":\"c\"}", LIST("a", "b"), "both a and b");
	schema(true, false, "{\"a\":\"c\"}", LIST("a", "c"), "both");
	schema(true, false, "{\"a\":\"\"}", LIST("a"), "a name is empty");
	schema(true, false, "{\"\":\"b\"}", LIST("a"), "a name is empty");
	schema(true, false, "{\"a\":1}", LIST("a"), "not text");
	schema(true, false, "{\"a\":\"b\",\"a\":\"c\"}", LIST("a"), "duplicate");
	schema(true, false, "[]", LIST("a"), "");
	schema(true, false, "{}", LIST("a"), "names no tensor");
}

#define ROWS(rows) "{\"tensors\":[" rows "]}"

static void
test_schemas(void)
{
	schema(false, false, ROWS("{\"from\":\"b.#.q\",\"to\":\"l.#.q\"}"),
	       LIST("b.0.q", "b.12.q", "b.x.q", "b..q"), "l.0.q l.12.q b.x.q b..q");
	schema(false, false, ROWS("{\"from\":\"b.{N}.e.{E}\",\"to\":\"e{E}.b{N}\"}"),
	       LIST("b.3.e.4"), "e4.b3");
	schema(false, false, ROWS("{\"from\":\"b.#.c1\",\"to\":\"x.#\"},"
	                          "{\"from\":\"b.#.c2\",\"to\":\"y.#\"},"
	                          "{\"from\":\"b.7.c2\",\"to\":\"seven\"}"),
	       LIST("b.0.c1", "b.0.c2", "b.7.c2", "b.0.c3"), "x.0 y.0 seven b.0.c3");
	schema(false, true, ROWS("{\"from\":[\"a\",\"/a\"],\"to\":\"n\",\"required\":true}"),
	       LIST("/a"), "n");
	schema(false, true, ROWS("{\"from\":\"b.#\",\"to\":\"l.#\",\"required\":true}"),
	       LIST("b.0", "b.2"), "MissingTensor: there is no tensor l.1");
	schema(false, true, ROWS("{\"from\":\"b.#\",\"to\":\"l.#\",\"required\":true}"),
	       LIST("b.0", "b.4000000000"), "MissingTensor: there is no tensor l.1");
	schema(false, true, ROWS("{\"from\":\"b.#\",\"to\":\"l.#\",\"required\":true},"
	                         "{\"from\":\"l.#.x\",\"to\":\"l.#.y\",\"required\":true}"),
	       LIST("b.0", "l.0.x", "b.1"), "MissingTensor: there is no tensor l.1.y");
	schema(false, false, ROWS("{\"from\":\"a\",\"mean\":[0,1],\"std\":[0.5,0.5],"
	                          "\"note\":\"x\"}"), LIST("a"), "a");
	schema(false, false, ROWS("{\"from\":\"a\",\"mean\":[1,0]}"), LIST("a"), "in order");
	schema(false, false, ROWS("{\"from\":\"a\",\"mean\":[1]}"), LIST("a"), "in order");
	schema(false, false, ROWS("{\"from\":\"a\",\"to\":\"b.#\"}"), LIST("a"), "has a number");
	schema(false, false, ROWS("{\"from\":\"a.#.{N}\",\"to\":\"b\"}"), LIST("a"), "both # and");
	schema(false, false, ROWS("{\"from\":\"a.{N}.{N}\",\"to\":\"b\"}"), LIST("a"), "the same letter");
	schema(false, false, ROWS("{\"from\":\"#.#.#.#.#.#.#\",\"to\":\"b\"}"), LIST("a"), "too many");
	schema(false, false, ROWS("{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"a\",\"to\":\"c\"}"),
	       LIST("a"), "two new names");
	schema(false, false, ROWS("{\"from\":\"a\",\"too\":\"b\"}"), LIST("a"), "too is not a member");
	schema(false, false, ROWS("{\"to\":\"b\"}"), LIST("a"), "from is missing");
	schema(false, false, ROWS("3"), LIST("a"), "not an object");
	schema(false, false, ROWS("{\"from\":[]}"), LIST("a"), "neither a name");
	schema(false, false, ROWS("{\"from\":[1],\"to\":\"a\"}"), LIST("a"), "neither a name");
	schema(false, false, ROWS("{\"from\":\"a\\u0001\"}"), LIST("a"), "control character");
	schema(false, false, "{\"a\":\"b\"}", LIST("a"), "not a member of a schema");
	schema(false, false, "{}", LIST("a"), "not a schema");
	schema(false, false, ROWS("{\"from\":\"b.#.q\",\"to\":\"l.#.q\"}"),
	       LIST("b.1\1", "b\1.q"), "b.1\1 b\1.q");
}

/* 10,000 rows and 100,000 tensors, all with numbers, within seconds. */
static void
test_large(void)
{
	struct rename r = { .strict = true };
	static char text[64];
	struct model m;
	struct renames n = { 0 };
	struct timespec from, to;
	unsigned i;

	model(&m, LIST("first"));
	schema_add(&r.schema, "first", "last", true, &e);
	for (i = 0; i < 10000; i++) {
		char other[64];

		snprintf(text, sizeof text, "w%u.#.q", i);
		snprintf(other, sizeof other, "v%u.#.q", i);
		schema_add(&r.schema, text, other, true, &e);
	}
	for (i = 0; i < 100000; i++) {
		size_t k = (size_t)snprintf(text, sizeof text, "w%u.%u.q", i % 10000, i / 10000);

		model_add_tensor(&m, tensor_new(text, k, dtype_by_name("F32"), 0, NULL,
		                                TENSOR_OWN_SIZE, "test", &e), &e);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	test_ok(schema_finish(&r.schema, &e) == 0 && rename_find(&r, &m, "test", &n, &e) == 0 &&
	        n.changed == 100001 && n.unknown == 0, "100,000 tensors and 10,000 rows: %s",
	        e.fact);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	test_ok(to.tv_sec - from.tv_sec < 20, "in %.2f s of CPU", (double)(to.tv_sec - from.tv_sec) +
	        (double)(to.tv_nsec - from.tv_nsec) / 1e9);
	renames_free(&n);
	model_free(&m);
	rename_free(&r);
}

int
main(void)
{
	test_rules();
	test_growth();
	test_maps();
	test_schemas();
	test_large();
	return test_done();
}
