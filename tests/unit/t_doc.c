/* t_doc: lists of numbers in JSON and UBJSON, which have paths of their own, and numbers as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/decimal.h"
#include "predict/doc.h"
#include "test.h"

/* Reads {"a": LIST, "b": 7}: a as numbers, or skipped. The sum of i * number i, and 1000 * b. */
static double
sum_of(const char *text, size_t n, bool binary, bool skip, size_t *count, struct err *e)
{
	struct doc *d = malloc(sizeof *d);
	struct buf list = { 0 };
	double sum = 0, v;
	size_t i;

	if (!d)
		return -1;
	doc_begin(d, binary, text, n, "m", e);
	doc_object(d);
	while (doc_member(d))
		if (doc_named(d, "b"))
			sum += 1000 * doc_number(d);
		else if (skip)
			doc_skip(d);
		else
			doc_numbers(d, &list);
	*count = list.n / sizeof v;
	for (i = 0; i < *count; i++) {
		memcpy(&v, list.p + i * sizeof v, sizeof v);
		sum += (double)(i + 1) * v;
	}
	sum = doc_end(d) < 0 ? -1 : sum;
	buf_free(&list);
	free(d);
	return sum;
}

#define M(LIST) "{\"a\":" LIST ",\"b\":7}"

static void
test_json(void)
{
	static const struct {
		const char *text;
		size_t count;
		double sum;
	} good[] = {
		{ M("[]"), 0, 0 },
		{ M("[ ]"), 0, 0 },
		{ M("[1]"), 1, 1 },
		{ M("[1,2,3]"), 3, 14 },
		{ M("[1, 2, 3]"), 3, 14 },
		{ M("[0,1,2,3,4,5,6,7,8]"), 9, 240 },
		{ M("[-1,0,1,0,1,10,-3,1,2,3,4]"), 11, 46 + 8 + 18 + 30 + 44 },
		{ M("[1,\n  2 ,3\n]"), 3, 14 },
		{ M("[1,\"2\",3]"), 3, 14 },
		{ M("[1.5E0,-2,3e0]"), 3, 6.5 },
		{ M("[123456789,1234567890]"), 2, 123456789.0 + 2469135780.0 },
		{ M("[true,false,1]"), 3, 4 },
	};
	static const char *const bad[] = { M("[1 2]"), M("[1,,2]"), M("[1,]"), M("[1,2,3,4,]"), M("[1,2,3,4,5"), M("[1,2,3,:,5]"), M("[1,/,3,4,5]"),
		M("[1,x]"), M("[1"), "{\"a\":[1,2",
		"{\"a\":[1", "{\"a\":[", M("[1,[2]]"), M("[1}") };
	struct err e;
	size_t i, n, wrong = 0;
	double sum;

	for (i = 0; i < sizeof good / sizeof *good; i++) {
		e = (struct err)ERR_INIT;
		sum = sum_of(good[i].text, strlen(good[i].text), false, false, &n, &e);
		wrong += sum != good[i].sum + 7000 || n != good[i].count;
	}
	test_ok(wrong == 0, "lists of numbers in JSON");
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		e = (struct err)ERR_INIT;
		wrong += sum_of(bad[i], strlen(bad[i]), false, false, &n, &e) != -1 || e.code == ERR_NONE;
	}
	test_ok(wrong == 0, "lists of numbers that are wrong");
}

static void
test_skipped(void)
{
	static const char *const lists[] = { M("[]"), M("[1,2]"), M("[[1],[2,[]]]"), M("[\"]\",1]"),
		M("[{\"c\":[1,\"]}\"]},2]"), M("[ 1 , 2 ]"), M("{\"c\":[]}") };
	static const char typed[] = "{U\1a[$d#U\2\0\0\0\0\0\0\0\0U\1bU\7}";
	static const char cut[] = "{U\1a[$d#U\2\0\0\0\0\0\0\0";
	struct err e = ERR_INIT;
	size_t i, n, wrong = 0;

	for (i = 0; i < sizeof lists / sizeof *lists; i++)
		wrong += sum_of(lists[i], strlen(lists[i]), false, true, &n, &e) != 7000;
	wrong += sum_of(typed, sizeof typed - 1, true, true, &n, &e) != 7000;
	test_ok(wrong == 0 && e.code == ERR_NONE, "values that are skipped");
	test_ok(sum_of(cut, sizeof cut - 1, true, true, &n, &e) == -1,
	        "a list with a type that the file does not hold");
}

/* Lists of every type, big-endian, each with the numbers 1 and -2 (255 if it has no sign). */
static void
test_ubjson(void)
{
	static const struct {
		char type;
		const char *items;
		size_t bytes;
		double second;
	} types[] = {
		{ 'i', "\1\376", 2, -2 },
		{ 'U', "\1\377", 2, 255 },
		{ 'I', "\0\1\377\376", 4, -2 },
		{ 'l', "\0\0\0\1\377\377\377\376", 8, -2 },
		{ 'L', "\0\0\0\0\0\0\0\1\377\377\377\377\377\377\377\376", 16, -2 },
		{ 'd', "\77\200\0\0\300\0\0\0", 8, -2 },
		{ 'D', "\77\360\0\0\0\0\0\0\300\0\0\0\0\0\0\0", 16, -2 },
	};
	struct err e = ERR_INIT;
	size_t i, n, wrong = 0;

	for (i = 0; i < sizeof types / sizeof *types; i++) {
		struct buf b = { 0 };

		buf_put(&b, "{U\1a[$", 6);
		buf_put(&b, &types[i].type, 1);
		buf_put(&b, "#U\2", 3);
		buf_put(&b, types[i].items, types[i].bytes);
		buf_put(&b, "U\1bU\7}", 6);
		wrong += sum_of((char *)b.p, b.n, true, false, &n, &e) != 7001 + 2 * types[i].second || n != 2;
		b.n -= 7; /* the last byte of the list and what follows */
		wrong += sum_of((char *)b.p, b.n, true, false, &n, &e) != -1;
		e = (struct err)ERR_INIT;
		buf_free(&b);
	}
	test_ok(wrong == 0, "lists with a type in UBJSON");
}

static uint64_t
chance(void)
{
	static uint64_t s = 88172645463325252u;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s;
}

/* Texts of many lengths, among them the middles between two doubles and what is next to them. */
static void
put_number(char *to, size_t room, unsigned kind)
{
	uint64_t a = chance(), b = chance();
	int places = (int)(b % 18);

	if (kind == 0)
		snprintf(to, room, "%.*g", places + 1, (double)a / 1.8e19 * pow(10, (double)(b % 60) - 30));
	else if (kind == 1)
		snprintf(to, room, "%.*f", places, (double)(a % 1000000) / (double)(1 + b % 1000));
	else if (kind == 2)
		snprintf(to, room, "-.%llue%d", (unsigned long long)(a >> b % 64), (int)(b >> 32 & 63) - 32);
	else if (kind == 3)
		snprintf(to, room, "%llu.%llu", (unsigned long long)(a % 1000), (unsigned long long)b);
	else
		snprintf(to, room, "%llu.%s", (unsigned long long)((1ull << 53) + a % (1ull << 53)),
		         b & 1 ? "5" : "500000000000000001");
}

static void
test_random(void)
{
	char text[400];
	size_t i, wrong = 0;

	for (i = 0; i < 100000; i++) {
		const char *p = text;
		char *end;

		put_number(text, sizeof text, (unsigned)(i % 5));
		wrong += decimal_read(&p, text + strlen(text)) != strtod(text, &end) || p != end;
	}
	test_ok(wrong == 0, "numbers of all lengths are the nearest doubles");
}

int
main(void)
{
	test_json();
	test_skipped();
	test_ubjson();
	test_random();
	return test_done();
}
