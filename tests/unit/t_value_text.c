#include "test.h"

#include <string.h>

#include "core/crc32.h"
#include "core/json_items.h"
#include "core/le.h"
#include "model/value_text.h"

/* Text of each type, and the text that it is printed as. */
static const struct {
	const char *type, *text, *shown;
} good[] = {
	{ "u8", "0", "0" }, { "u8", " 255 ", "255" }, { "i8", "-128", "-128" },
	{ "u16", "65535", "65535" }, { "i16", "-32768", "-32768" },
	{ "u32", "4294967295", "4294967295" }, { "i32", "-2147483648", "-2147483648" },
	{ "u64", "18446744073709551615", "\"18446744073709551615\"" },
	{ "i64", "-9223372036854775808", "\"-9223372036854775808\"" },
	{ "i64", "9007199254740992", "9007199254740992" },
	{ "f32", "0.1", "0.1" }, { "f32", "1e-45", "1.4013e-45" }, { "f32", "16777217", "16777216" },
	{ "f32", "inf", "\"inf\"" }, { "f32", "-inf", "\"-inf\"" }, { "f32", "nan", "\"nan\"" },
	{ "f64", "0.1", "0.1" }, { "f64", "5e-324", "4.94065645841247e-324" },
	{ "bool", "true", "true" }, { "bool", "false", "false" },
	{ "string", "", "\"\"" }, { "string", " a\t\"b\\ ", "\" a\\t\\\"b\\\\ \"" },
	{ "json", " {\"a\" : [1]} ", "{\"a\" : [1]}" },
	{ "array:u8", "[]", "[]" }, { "array:u8", " [ 1 ,2,\t3 ] ", "[1,2,3]" },
	{ "array:i64", "[\"9223372036854775807\",1]", "[\"9223372036854775807\",1]" },
	{ "array:f32", "[\"nan\",1,2.5]", "[\"nan\",1,2.5]" },
	{ "array:bool", "[true,false]", "[true,false]" },
	{ "array:string", "[\"\",\"a,]\\\"\",\"\\u00e9\"]", "[\"\",\"a,]\\\"\",\"\xc3\xa9\"]" },
	{ "array:array:u8", "[[],[1],[2,3]]", "[[],[1],[2,3]]" },
	{ "array:array:array:string", "[[[\"x\"]]]", "[[[\"x\"]]]" },
};

static const struct {
	const char *type, *text;
} bad[] = {
	{ "u8", "" }, { "u8", "256" }, { "u8", "-1" }, { "u8", "+1" }, { "u8", "1.0" },
	{ "u8", "0x1" }, { "u8", "1 2" }, { "u8", "\"1\"" }, { "i8", "128" }, { "i8", "-129" },
	{ "i8", "--1" }, { "u64", "18446744073709551616" }, { "i64", "9223372036854775808" },
	{ "f32", "1e39" }, { "f32", "0x1p2" }, { "f32", "infinity" }, { "f32", "." },
	{ "f32", "1e" }, { "f32", "1,5" }, { "f64", "1e400" }, { "bool", "1" }, { "bool", "TRUE" },
	{ "json", "" }, { "json", "{" }, { "json", "{\"a\":1,\"a\":2}" }, { "json", "1 2" },
	{ "string", "\xff" }, { "array:u8", "" }, { "array:u8", "1" }, { "array:u8", "[" },
	{ "array:u8", "[1" }, { "array:u8", "[1,]" }, { "array:u8", "[,1]" },
	{ "array:u8", "[1 2]" }, { "array:u8", "[1]x" }, { "array:u8", "[[1]]" },
	{ "array:u8", "{}" }, { "array:string", "[a]" }, { "array:string", "[\"a]" },
	{ "array:string", "[\"\\ud800\"]" }, { "array:string", "[\"a\\u0000\"]x" },
	{ "array:array:u8", "[]" }, { "array:array:u8", "[1]" }, { "array:bool", "[1]" },
};

static const struct {
	const char *text, *type; /* NULL: no type */
} guesses[] = {
	{ "1", "u32" }, { "-1", "i32" }, { "4294967296", "u64" }, { "-2147483649", "i64" },
	{ "1.5", "f32" }, { "1e3", "f32" }, { "true", "bool" }, { "\"x\"", "string" },
	{ "{}", "json" }, { "[1,2]", "array:i32" }, { "[1,-3000000000]", "array:i64" },
	{ "[3000000000]", "array:i64" }, { "[1,0.5]", "array:f32" }, { "[\"a\"]", "array:string" },
	{ "[true]", "array:bool" }, { "[]", NULL }, { "[1,\"a\"]", NULL }, { "[[1]]", NULL },
	{ "null", NULL }, { "", NULL }, { "[1", NULL }, { "[{}]", NULL },
};

static int
parse(const char *type, const char *text, struct value_type *t, struct buf *b, struct err *e)
{
	*e = (struct err)ERR_INIT;
	buf_clear(b);
	if (value_type_parse(type, t) < 0)
		return -1;
	return value_parse(*t, text, strlen(text), false, "key", b, e);
}

static void
test_texts(struct buf *b, struct buf *shown)
{
	struct value_check check;
	struct value_type t;
	struct err e;
	size_t i;
	int r;

	for (i = 0; i < sizeof good / sizeof *good; i++) {
		r = parse(good[i].type, good[i].text, &t, b, &e);
		buf_clear(shown);
		if (r == 0)
			r = value_show(t, b->p, b->n, shown, NULL, &e);
		test_ok(r == 0 && buf_string(shown) && strcmp((char *)shown->p, good[i].shown) == 0,
		        "%s: %s (%s)", good[i].type, good[i].text, r == 0 ? (char *)shown->p : e.fact);
		value_check_begin(&check, t);
		value_check_add(&check, b->p, b->n);
		test_ok(value_check_end(&check), "its wire bytes are whole");
	}
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		test_ok(parse(bad[i].type, bad[i].text, &t, b, &e) < 0 && e.code == ERR_USAGE,
		        "%s is not %s (%s)", bad[i].text, bad[i].type, e.fact);
}

static void
test_guesses(void)
{
	char text[VALUE_TYPE_TEXT];
	struct value_type t;
	size_t i;
	int r;

	for (i = 0; i < sizeof guesses / sizeof *guesses; i++) {
		r = value_guess(guesses[i].text, strlen(guesses[i].text), &t);
		test_ok(guesses[i].type ? r == 0 && !strcmp(value_type_text(t, text), guesses[i].type)
		                        : r < 0, "guess: %s", guesses[i].text);
	}
}

static void
test_items(struct buf *b)
{
	struct value_type t, item;
	size_t at, span;
	struct err e;

	test_ok(parse("array:string", "[\"a\",\"bcd\",\"\"]", &t, b, &e) == 0 &&
	        value_count(t, b->p, b->n) == 3 &&
	        value_item(t, b->p, b->n, 1, &at, &span, &item) == 0 && span == 11 &&
	        memcmp(b->p + at + 8, "bcd", 3) == 0 && item.depth == 0, "an item in the middle");
	test_ok(value_item(t, b->p, b->n, 3, &at, &span, &item) < 0 &&
	        value_item(t, b->p, b->n, UINT64_MAX, &at, &span, &item) < 0, "no such item");
	le64_put(b->p + 12, UINT64_MAX);
	test_ok(value_item(t, b->p, b->n, 0, &at, &span, &item) < 0, "an item that is too long");
	test_ok(parse("array:u32", "[7,8]", &t, b, &e) == 0, "an array of numbers");
	le64_put(b->p + 4, UINT64_MAX);
	test_ok(value_item(t, b->p, b->n, 2, &at, &span, &item) < 0, "an array that is too short");
}

/* A message whose CRC stays after a change. */
static void
test_patch(void)
{
	uint8_t p[200], q[200];
	uint32_t want, x;
	size_t at, i;
	int same = 1;

	for (i = 0; i < sizeof p; i++)
		p[i] = (uint8_t)(i * 7);
	want = crc32_add(0, p, sizeof p);
	for (at = 0; at + 4 <= sizeof p; at += 7) {
		memcpy(q, p, sizeof q);
		q[150] ^= (uint8_t)(at + 1);
		q[3] ^= 0x55;
		x = crc32_patch(crc32_add(0, q, sizeof q), want, sizeof q - at - 4);
		le32_put(q + at, le32(q + at) ^ x);
		same &= crc32_add(0, q, sizeof q) == want;
	}
	test_ok(same, "four bytes restore a CRC at any place");
	test_ok(crc32_patch(5, 5, 1000) == 0 && crc32_patch(0, 1, UINT64_C(1) << 40) != 0,
	        "no change for the same CRC, and a change far from the end");
}

static void
test_deep(struct buf *b)
{
	struct json_part name, item;
	struct json_items w;
	size_t i;

	buf_clear(b);
	for (i = 0; i < 1000000; i++)
		buf_u8(b, '[');
	json_items_begin(&w, '[', (char *)b->p, b->n);
	test_ok(json_items_next(&w, &name, &item) < 0, "a million brackets take no stack");
}

/* Arrays in arrays are not followed: neither the stack nor the square of the text is needed. */
static void
test_nested(void)
{
	enum { LEVELS = 1 << 20 };
	static char text[2 * LEVELS];
	struct value_type t;

	memset(text, '[', LEVELS);
	memset(text + LEVELS, ']', LEVELS);
	test_ok(value_guess(text, sizeof text, &t) < 0, "a million arrays in each other");
}

/* Integers of each type that value_u64 gives, and what it refuses. */
static void
test_u64(void)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	static const uint8_t some[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const struct { uint8_t leaf; uint64_t ones, some; } rows[] = {
		{ VALUE_U8, 255, 1 }, { VALUE_U16, 65535, 0x201 }, { VALUE_U32, 0xffffffff, 0x4030201 },
		{ VALUE_U64, UINT64_MAX, 0x807060504030201 }, { VALUE_I8, 0, 1 }, { VALUE_I16, 0, 0x201 },
		{ VALUE_I32, 0, 0x4030201 }, { VALUE_I64, 0, 0x807060504030201 },
	};
	static const uint8_t others[] = { VALUE_F32, VALUE_F64, VALUE_BOOL, VALUE_STRING, VALUE_ARRAY,
		VALUE_JSON };
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct value_type t = { 0, rows[i].leaf };
		size_t n = value_leaf_bytes(t.leaf);

		test_ok(value_u64(t, some, n, &v) == 0 && v == rows[i].some, "%u: an integer", t.leaf);
		v = 0;
		test_ok((value_u64(t, ones, n, &v) == 0) == (rows[i].ones > 0) && v == rows[i].ones,
		        "%u: all bits", t.leaf);
		test_ok(value_u64(t, ones, n - 1, &v) < 0, "%u: too short", t.leaf);
	}
	for (i = 0; i < sizeof others; i++)
		test_ok(value_u64((struct value_type){ 0, others[i] }, some, 8, &v) < 0,
		        "%u is not an integer", others[i]);
	test_ok(value_u64((struct value_type){ 1, VALUE_U8 }, some, 8, &v) < 0, "nor is an array");
}

int
main(void)
{
	struct buf b = { 0 }, shown = { 0 };

	test_texts(&b, &shown);
	test_guesses();
	test_nested();
	test_items(&b);
	test_patch();
	test_u64();
	test_deep(&b);
	buf_free(&b);
	buf_free(&shown);
	return test_done();
}
