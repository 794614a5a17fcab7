/* Expressions and conditions over members of an object. */
#include "arch/expr.h"

#include <string.h>

#include "test.h"

struct scope {
	struct expr_scope scope;
	json_t *o;
};

static json_t *
find(const struct expr_scope *s, const char *name)
{
	return json_incref(json_object_get(((const struct scope *)(const void *)s)->o, name));
}

static void
values(const struct expr_scope *s)
{
	static const struct { const char *text, *value, *fact; } cases[] = {
		{ "two", "2", "" }, { "none | two", "2", "" }, { "nothing | 'x'", "\"x\"", "" },
		{ "none", "", "" }, { "nothing", "", "" }, { "auto | 5", "5", "" }, { "", "", "" },
		{ "true", "true", "" }, { "[]", "[]", "" }, { "-3", "-3", "" }, { "1e-05", "1.0000000000000001e-5", "" },
		{ "text", "\"word\"", "" }, { "list", "[1]", "" },
		{ "two + 3", "5", "" }, { "two * half", "1.0", "" }, { "7 / two", "3", "" },
		{ "two * 7 / 4", "3", "" }, { "two - 5", "-3", "" }, { "half * 7 / 1", "3", "" },
		{ "100 + 15 / 16", "7", "" }, { "two : 5", "0.40000000000000002", "" },
		{ "none + 1 | 9", "9", "" }, { "two + none | 9", "9", "" }, { "1 + 2 | 9", "3", "" },
		{ "two / 0", "", "two / 0 is not a finite number" },
		{ "text + 1", "", "text is not a number" }, { "two + text", "", "text is not" },
		{ "1e308 * 1e308", "", "1e308 * 1e308 is not a finite number" },
		{ "two + none", "", "" },
	};
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;
		json_t *v = expr_value(s, cases[i].text, &e);

		buf_clear(&b);
		if (v)
			json_write(v, &b);
		test_ok(strcmp(buf_string(&b), cases[i].value) == 0 && strstr(e.fact, cases[i].fact) &&
		        (cases[i].fact[0] != '\0') == (e.code == ERR_CORRUPT), "%s is %s%s",
		        cases[i].text, buf_string(&b), e.fact);
		json_decref(v);
	}
	buf_free(&b);
}

/* A quotient times its divisor is never below the dividend, so that cutting it gives the
 * dividend again. */
static void
quotients(const struct expr_scope *s)
{
	int bad = 0, a, b;
	char text[64];

	for (a = 1; a < 100; a++)
		for (b = a; b < 100; b++) {
			struct err e = ERR_INIT;
			json_t *v;

			snprintf(text, sizeof text, "%d : %d", a, b);
			v = expr_value(s, text, &e);
			bad += (int)(json_real_value(v) * b) != a;
			json_decref(v);
		}
	test_ok(bad == 0, "%d quotients lose their dividend", bad);
}

static void
conditions(const struct expr_scope *s)
{
	static const struct { const char *text; bool holds; } cases[] = {
		{ "?two", true }, { "?none", false }, { "-none", true }, { "-two", false },
		{ "two!2", false }, { "two!3", true }, { "none!3", false }, { "yes!0", true },
		{ "yes!1", false }, { "text=word", true }, { "text=other", false },
		{ "none=word", false }, { "?two & -none", true }, { "?two & ?none", false }, { "", true },
	};
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		test_ok(expr_holds(s, cases[i].text) == cases[i].holds, "\"%s\" %s", cases[i].text,
		        cases[i].holds ? "holds" : "does not hold");
}

static void
names(void)
{
	const char *text = "a | b + 1 | 'c' | @d";
	char name[EXPR_NAME];

	test_ok(expr_alternative(&text, name) && strcmp(name, "a") == 0 &&
	        !expr_alternative(&text, name) && !expr_alternative(&text, name) &&
	        expr_alternative(&text, name) && strcmp(name, "@d") == 0 &&
	        !expr_alternative(&text, name) && !text, "alternatives that are one name");
	test_ok(strcmp(expr_name("2 * width | x", name), "width") == 0 &&
	        strcmp(expr_name("?x", name), "x") == 0 &&
	        strcmp(expr_name("x!0", name), "x") == 0 && *expr_name("7", name) == '\0',
	        "the first name");
}

int
main(void)
{
	struct err e = ERR_INIT;
	static const char text[] = "{\"two\":2,\"half\":0.5,\"none\":null,\"auto\":\"auto\","
		"\"text\":\"word\",\"list\":[1],\"yes\":true}";
	struct scope s = { { find, "test" },
		json_parse(text, sizeof text - 1, ERR_CORRUPT, "test", &e) };

	values(&s.scope);
	quotients(&s.scope);
	conditions(&s.scope);
	names();
	json_decref(s.o);
	return test_done();
}
