/* json: parsing in several threads, and text that needs too much memory. */
#include "core/json.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "test.h"

#define ROUNDS 2000

/* Parses and frees; every third text is faulty in its middle. */
static void *
parses(void *id)
{
	static const char *const texts[] = { "{\"a\":[1,2,{\"b\":\"text\"}],\"c\":null}",
		"{\"x\":{\"y\":[[],[0.5]]}}", "{\"a\":[1,2,{\"b\":1,\"b\":2}]}" };
	bool good = true;
	json_t *held = NULL;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct err e = ERR_INIT;
		const char *text = texts[i % 3];
		json_t *v = json_parse(text, strlen(text), ERR_CORRUPT, "text", &e);

		good &= (v == NULL) == (i % 3 == 2) && (v != NULL || e.code == ERR_CORRUPT);
		if (v) {
			json_decref(held);
			held = v;
		}
	}
	json_decref(held);
	*(bool *)id = good;
	return NULL;
}

static void
threads(void)
{
	enum { THREADS = 4 };
	pthread_t thread[THREADS];
	bool good[THREADS] = { false };
	size_t i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, parses, &good[i]))
			abort();
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	test_ok(good[0] && good[1] && good[2] && good[3], "four threads parse at the same time");
}

/* A value of one thread, freed by another while that parses. */
static void *
frees(void *value)
{
	json_decref(value);
	return NULL;
}

static void
other_thread(void)
{
	struct err e = ERR_INIT;
	pthread_t thread;
	bool good = true;
	int i;

	for (i = 0; i < 20; i++) {
		json_t *v = json_parse("{\"a\":[1,2,3],\"b\":\"text\"}", 24, ERR_CORRUPT, "text", &e);
		bool one;

		good &= v != NULL && !pthread_create(&thread, NULL, frees, v);
		parses(&one);
		pthread_join(thread, NULL);
		good &= one;
	}
	test_ok(good, "a value is freed by another thread");
}

/* Needs more than the library may have: what it had is freed, and the next text parses. */
static void
too_much(void)
{
	enum { N = 40000000 };
	char *text = malloc(N);
	struct err e = ERR_INIT;
	json_t *v;
	int i;

	memset(text, '[', N);
	for (i = 1; i < N; i++)
		text[i] = i % 2 ? '0' : ',';
	memcpy(text + N - 2, "0]", 2);
	v = json_parse_any(text, N, ERR_CORRUPT, "text", &e);
	test_ok(!v && e.code == ERR_MEMORY, "a text that needs too much memory");
	free(text);
	v = json_parse("{\"a\":1}", 7, ERR_CORRUPT, "text", &e);
	test_ok(v != NULL, "and the next text parses");
	json_decref(v);
}

static void
pretty(void)
{
	static const struct { double v; const char *text; } rows[] = {
		{ 0.6, "0.6" }, { 1e-6, "1e-06" }, { 10000, "10000.0" }, { 1, "1.0" }, { 0, "0.0" },
		{ -0.0, "-0.0" }, { 1e16, "1e+16" }, { 123456.75, "123456.75" }, { 0.0001, "0.0001" },
		{ 1.5e-5, "1.5e-05" }, { 0.1 + 0.2, "0.30000000000000004" }, { 1e15, "1000000000000000.0" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" }, { 5e-324, "5e-324" },
	};
	json_t *v = json_pack("{s:[i,f,{}],s:{s:s},s:[]}", "a", 1, 0.6, "b", "c", "d\n", "e");
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&b);
		json_put_real(&b, rows[i].v);
		test_ok(buf_string(&b) && strcmp((char *)b.p, rows[i].text) == 0, "%s", (char *)b.p);
	}
	buf_clear(&b);
	test_ok(json_pretty(v, &b) == 0 && buf_string(&b) &&
	        strcmp((char *)b.p, "{\n  \"a\": [\n    1,\n    0.6,\n    {}\n  ],\n"
	               "  \"b\": {\n    \"c\": \"d\\n\"\n  },\n  \"e\": []\n}") == 0,
	        "pretty JSON");
	json_decref(v);
	buf_free(&b);
}

/* Integers beyond 64 bits are real numbers, wherever they stand; texts stay as they are. */
static void
wide(void)
{
	static const char text[] = "{\"n\":[1000000000000000019884624838656,-99999999999999999999,"
		"9223372036854775807,1.5e300],\"s\":\"\\\"99999999999999999999\",\"z\":7}";
	struct err e = ERR_INIT;
	json_t *v = json_parse(text, strlen(text), ERR_CORRUPT, "text", &e), *n;

	test_ok(!v && e.code == ERR_CORRUPT, "an integer beyond 64 bits is refused");
	e = (struct err)ERR_INIT;
	v = json_parse_wide(text, strlen(text), ERR_CORRUPT, "text", &e);
	n = json_object_get(v, "n");
	test_ok(json_real_value(json_array_get(n, 0)) == 1000000000000000019884624838656.0 &&
	        json_real_value(json_array_get(n, 1)) == -1e20 &&
	        json_integer_value(json_array_get(n, 2)) == INT64_MAX &&
	        json_real_value(json_array_get(n, 3)) == 1.5e300 &&
	        json_integer_value(json_object_get(v, "z")) == 7, "it can become a real number");
	test_ok(v && strcmp(json_string_value(json_object_get(v, "s")), "\"99999999999999999999")
	        == 0, "digits in a string stay");
	json_decref(v);
	v = json_parse_wide("{\"n\":[1}", 8, ERR_CORRUPT, "text", &e);
	test_ok(!v && e.code == ERR_CORRUPT, "other errors stay");
}

int
main(void)
{
	threads();
	wide();
	other_thread();
	too_much();
	pretty();
	return test_done();
}
