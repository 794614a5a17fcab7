/* Unigram: sums and ties computed by hand, character maps made here, the three forms of a
 * vocabulary, and ids that llama.cpp gives (llama-tokenize, August 2026) for the cases t5 and
 * xlmroberta of the reference data.
 */
#include <string.h>

#include "core/base64.h"
#include "core/le.h"
#include "core/mem.h"
#include "file.h"
#include "test.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/normal.h"
#include "tokenizer/tokenizer.h"
#include "vocabulary.h"

#define B "\xe2\x96\x81" /* U+2581 */

static bool
same_ids(const struct tokens *has, const char *wants)
{
	char text[512] = "";
	size_t i, n = 0;

	for (i = 0; i < has->n && n < sizeof text - 16; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, i ? " %u" : "%u", has->id[i]);
	if (strcmp(text, wants) == 0)
		return true;
	printf("# has %s\n", text);
	return false;
}

static void
ids(struct tokenizer *t, const char *text, const char *wants)
{
	struct tokens list = { 0 };
	struct err e = ERR_INIT;

	test_ok(tokenizer_encode(t, text, strlen(text), TOKENIZER_BARE, &list, &e) == 0 &&
	        same_ids(&list, wants), "%zu bytes are %s %s", strlen(text), wants, e.fact);
	tokens_free(&list);
}

static struct tokenizer *
open_json(const char *parts, const char *model, struct err *e)
{
	struct buf b = { 0 };
	struct tokenizer *t;

	buf_printf(&b, "{%s\"model\":{\"type\":\"Unigram\",%s}}", parts, model);
	t = tokenizer_open_json(b.p, b.n, NULL, 0, "made", NULL, e);
	buf_free(&b);
	return t;
}

#define METASPACE "\"pre_tokenizer\":{\"type\":\"Metaspace\"},"
#define MODEL "\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"" B "\",-2],[\"a\",-3],[\"b\",-3],[\"ab\",-4]," \
	"[\"" B "a\",-3.5],[\"" B "ab\",-6],[\"bcd\",-9],[\"e\",-1],[\"ee\",-2],[\"<0x7A>\",-5]," \
	"[\"abab\",-7.75]]"

/* Sums: "▁ab" -6, "▁" "ab" -6 (the longer last token came first), "▁a" "b" -6.5. */
static void
sums(void)
{
	static const struct { const char *text, *ids; } rows[] = {
		{ "", "" }, { "a", "5" }, { "ab", "6" }, { "ab a", "6 5" }, { "b", "1 3" },
		{ "bcd", "1 7" }, /* c and d are not tokens */
		{ "bcc", "1 3 0" }, { "cbcdc", "1 0 7 0" },
		{ "e", "1 8" }, { "ee", "1 9" }, { "eee", "1 8 9" }, /* a tie */
		{ "eeee", "1 9 9" },
		{ "eab", "1 8 4" },
		{ "eabab", "1 8 11" }, { "aabab", "5 11" }, /* -11.25 or "▁a" "ab" "ab" -11.5 */
		{ "z", "1 0" }, { "\xc3\xa9" "e", "1 0 8" },
		{ "c c", "1 0 1 0" }
	};
	struct err e = ERR_INIT;
	struct tokenizer *t = open_json(METASPACE, MODEL, &e);
	size_t i;

	if (!test_ok(t != NULL, "a vocabulary opens %s", e.fact))
		return;
	test_ok(strcmp(tokenizer_kind(t), "Unigram") == 0, "its kind");
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		ids(t, rows[i].text, rows[i].ids);
	tokenizer_free(t);
	t = open_json(METASPACE, "\"byte_fallback\":true," MODEL, &e);
	test_about = "bytes for unknown text: ";
	ids(t, "zez", "1 10 8 10");
	ids(t, "zc", "1 10 0");
	test_about = "";
	tokenizer_free(t);
	/* Unknown characters of two words are two tokens, of one run one. */
	t = open_json("\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},", MODEL, &e);
	ids(t, "cc d", "0 0");
	tokenizer_free(t);
	t = open_json("", MODEL, &e);
	ids(t, "cc d", "0");
	tokenizer_free(t);
}

static void
refused(void)
{
	static const struct { const char *parts, *model, *fact; } rows[] = {
		{ "", "\"vocab\":{}", "has no vocabulary" },
		{ "", "\"vocab\":[]", "has no vocabulary" },
		{ "", "\"vocab\":[[\"a\"]]", "token 0 is not a text and a score" },
		{ "", "\"vocab\":[\"a\"]", "token 0 is not a text and a score" },
		{ "", "\"vocab\":[[\"a\",0],[\"a\",1]]", "has the text of token 0" },
		{ "", "\"unk_id\":1,\"vocab\":[[\"a\",0]]", "unk_id is not a token" },
		{ "", "\"unk_id\":\"a\",\"vocab\":[[\"a\",0]]", "unk_id is not a token" },
		{ "\"normalizer\":{\"type\":\"Precompiled\"},", MODEL, "Precompiled without a map" },
		{ "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"*\"},", MODEL,
		  "not base64" },
		{ "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"},", MODEL,
		  "the character map has 3 bytes" },
	};
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err each = ERR_INIT;
		struct tokenizer *t = open_json(rows[i].parts, rows[i].model, &each);

		test_ok(!t && strstr(each.fact, rows[i].fact), "%s: %s", rows[i].fact, each.fact);
		tokenizer_free(t);
	}
	buf_text(&b, "\"vocab\":[[\"");
	for (i = 0; i < 257; i++)
		buf_u8(&b, 'x');
	buf_text(&b, "\",0]]");
	test_ok(!open_json("", buf_string(&b), &e) && strstr(e.fact, "token 0 has 257 bytes"),
	        "a token that is too long: %s", e.fact);
	buf_free(&b);
}

/* Each token of a vocabulary begins with the one before it, and the text is one word. */
static void
long_word(void)
{
	struct buf b = { 0 }, text = { 0 };
	struct tokens list = { 0 };
	struct err e = ERR_INIT;
	struct tokenizer *t;
	size_t i, k;

	buf_text(&b, "\"unk_id\":0,\"vocab\":[[\"<unk>\",0]");
	for (i = 1; i <= 256; i++) {
		buf_text(&b, ",[\"");
		for (k = 0; k < i; k++)
			buf_u8(&b, 'x');
		buf_printf(&b, "\",%zu]", i);
	}
	buf_text(&b, "]");
	for (i = 0; i < 256 * 400 + 3; i++)
		buf_u8(&text, 'x');
	t = open_json("", buf_string(&b), &e);
	if (test_ok(t && tokenizer_encode(t, text.p, text.n, 0, &list, &e) == 0, "a long word %s",
	            e.fact))
		test_ok(list.n == 401 && list.id[0] == 3 && list.id[1] == 256 && list.id[400] == 256,
		        "all sums are the same: each end has its longest token, %zu", list.n);
	tokens_free(&list);
	tokenizer_free(t);
	buf_free(&b);
	buf_free(&text);
}

/* ---- character maps ---- */

#define UNITS 0x400

/* Rules: A becomes a, AB x, C nothing. */
static size_t
make_map(uint8_t *map)
{
	memset(map, 0, 4 + 4 * UNITS + 5);
	le32_put(map, 4 * UNITS);
	le32_put(map + 4, 0x100 << 10);
	le32_put(map + 4 + 4 * 0x141, 'A' | 0x100 | (0x141 ^ 0x200) << 10);
	le32_put(map + 4 + 4 * 0x200, 0x80000000u | 0);
	le32_put(map + 4 + 4 * (0x200 ^ 'B'), 'B' | 0x100 | (0x200 ^ 'B' ^ 0x300) << 10);
	le32_put(map + 4 + 4 * 0x300, 0x80000000u | 2);
	le32_put(map + 4 + 4 * 0x143, 'C' | 0x100 | (0x143 ^ 0x380) << 10);
	le32_put(map + 4 + 4 * 0x380, 0x80000000u | 4);
	memcpy(map + 4 + 4 * UNITS, "a\0x\0", 5);
	return 4 + 4 * UNITS + 5;
}

static void
runs(const struct charsmap *m, const char *text, const char *wants)
{
	struct work work = work_of(strlen(text));
	struct buf b = { 0 };
	struct err e = ERR_INIT;

	test_ok(charsmap_run(m, (const uint8_t *)text, strlen(text), &b, &work, &e) == 0 &&
	        b.n == strlen(wants) && (b.n == 0 || memcmp(b.p, wants, b.n) == 0),
	        "%zu bytes become %zu", strlen(text), strlen(wants));
	buf_free(&b);
}

static void
faulty(uint8_t *map, size_t n, size_t at, uint32_t v, const char *fact)
{
	struct charsmap m;
	struct err e = ERR_INIT;
	uint32_t old = le32(map + at);

	le32_put(map + at, v);
	test_ok(charsmap_open(&m, map, n, "map", &e) < 0 && e.code == ERR_CORRUPT &&
	        strstr(e.fact, fact), "%zu: %s", at, e.fact);
	charsmap_free(&m);
	le32_put(map + at, old);
}

static void
maps(void)
{
	uint8_t map[4 + 4 * UNITS + 5];
	size_t n = make_map(map), i;
	struct charsmap m;
	struct err e = ERR_INIT;
	struct buf text = { 0 }, to = { 0 };
	struct work work;

	test_ok(charsmap_open(&m, map, n, "map", &e) == 0, "a map opens %s", e.fact);
	test_about = "the longest rule applies: ";
	runs(&m, "AABCZ" B "\xff" "A", "axZ" B "\xef\xbf\xbd" "a");
	test_about = "";
	runs(&m, "", "");
	runs(&m, "CC", "");
	charsmap_free(&m);
	faulty(map, n, 0, 4 * UNITS + 2, "bytes of rules");
	faulty(map, n, 0, 4 * UNITS + 8, "bytes of rules");
	faulty(map, n, 0, 0, "bytes of rules");
	faulty(map, n, 0, 0xfffffffc, "bytes of rules");
	faulty(map, n, n - 4, 0x01000000, "ends within a text");
	faulty(map, n, 4 + 4 * 0x141, 'A' | 0x100 | 0x100000 << 10, "without a replacement");
	faulty(map, n, 4 + 4 * 0x200, 0x80000000u | 5, "without a replacement");
	/* The node of A leads back to itself; a text of A is a rule of any length. */
	le32_put(map + 4 + 4 * 0x141, 'A' | 'A' << 10);
	test_ok(charsmap_open(&m, map, n, "map", &e) == 0, "a circle opens");
	for (i = 0; i < 20000; i++)
		buf_u8(&text, 'A');
	work = work_of(text.n);
	test_ok(charsmap_run(&m, text.p, text.n, &to, &work, &e) < 0 && e.code == ERR_MEMORY,
	        "but ends: %s", e.fact);
	charsmap_free(&m);
	buf_free(&text);
	buf_free(&to);
}

/* A replacement that makes a text longer and longer. */
static void
growth(void)
{
	uint8_t map[4 + 4 * UNITS + 5] = { 0 };
	struct buf long_map = { 0 }, parts = { 0 }, text = { 0 };
	struct tokens list = { 0 };
	struct err e = ERR_INIT;
	struct tokenizer *t;
	size_t i;

	make_map(map);
	buf_put(&long_map, map, 4 + 4 * UNITS);
	for (i = 0; i < 3000; i++)
		buf_u8(&long_map, i == 2 || i == 4 ? 'y' : 'x');
	buf_u8(&long_map, 0);
	buf_text(&parts, "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
	base64_put(&parts, long_map.p, long_map.n);
	buf_text(&parts, "\"},");
	for (i = 0; i < 1000; i++)
		buf_text(&text, "A ");
	t = open_json(buf_string(&parts), MODEL, &e);
	test_ok(t && tokenizer_encode(t, text.p, text.n, 0, &list, &e) < 0 &&
	        e.code == ERR_MEMORY, "a text does not grow without end: %s", e.fact);
	tokens_free(&list);
	tokenizer_free(t);
	buf_free(&long_map);
	buf_free(&parts);
	buf_free(&text);
}

static void
spaces(void)
{
	static const struct { bool prefix, merge; const char *text, *wants; } rows[] = {
		{ true, true, "", "" }, { true, true, "   ", "" }, { true, true, " a  b ", B "a" B "b" },
		{ false, true, " a  b ", "a" B "b" }, { true, false, "a  b ", B "a" B B "b" B },
		{ true, false, " a", B B "a" }, { false, false, " a ", B "a" B },
		{ true, false, "  ", B B } /* no prefix */
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct work work = work_of(10);
		struct normal steps = { 0 };
		struct err e = ERR_INIT;
		struct buf b = { 0 };

		test_ok(normal_add_spaces(&steps, rows[i].prefix, rows[i].merge, &e) == 0 &&
		        normal_run(&steps, (const uint8_t *)rows[i].text, strlen(rows[i].text), &b,
		                   &work, &e) == 0 &&
		        b.n == strlen(rows[i].wants) && memcmp(b.p ? b.p : (const uint8_t *)"",
		                                               rows[i].wants, b.n) == 0,
		        "spaces alone and between words, %zu", i);
		normal_free(&steps);
		buf_free(&b);
	}
}

/* ---- the reference data ---- */

static const struct { const char *text, *ids[2]; } peer[] = {
	{ "Hello  world", { "148 77 12 167 102", "142 80 15 342" } },
	{ " a ", { "31", "32" } },
	{ "   ", { "", "" } },
	{ "The quick\tbrown\nfox", { "93 3 315 26 11 158 200 12 27 21 2 40 12 212",
	    "88 5 396 26 16 153 196 15 35 20 3 38 15 390" } },
	{ "\xef\xbc\xa1\xef\xbc\xa2 \xef\xbc\x8f" "1", { "65 234 3 2", "83 240 5 3" } },
	{ "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e!", { "3 21 7 2 71 3 2 57",
	    "5 20 9 3 97 5 3 53" } },
	{ "a\xff" "b\xe3\x81 c", { "31 2 62 2 53", "32 3 60 3 63" } },
	{ B "x " B " y" B "z", { "3 3 212 3 3 3 16 3 308", "5 5 390 5 5 5 19 5 352" } },
	{ "<extra_id_1></s> [PAD400]", { "3 2 6 212 10 15 7 2 11 9 2 5 2 3 2 312 112 217 2",
	    "5 3 264 10 14 9 3 146 3 6 3 5 3 393 173 220 3" } },
	{ "internationalization of the 1234567890", { "47 120 21 98 147 85 11 308 98 147 35 14 3 2",
	    "44 110 20 321 81 16 352 321 29 13 5 3" } },
};

static void
reference(const char *data)
{
	static const char *const names[] = { "t5", "xlmroberta" };
	char path[4096];
	size_t c, i;

	for (c = 0; c < 2; c++) {
		struct err e = ERR_INIT;
		struct tokenizer *t;

		snprintf(path, sizeof path, "%s/convert/%s/expected.gguf", data, names[c]);
		t = tokenizer_of_file(path, &e);
		if (!test_ok(t != NULL, "%s: %s", names[c], e.fact))
			continue;
		for (i = 0; i < sizeof peer / sizeof *peer; i++)
			ids(t, peer[i].text, peer[i].ids[c]);
		tokenizer_free(t);
	}
}

/* The SentencePiece model of T5 has the same ids, and adds the end. */
static void
pieces(const char *data)
{
	size_t i, n;
	uint8_t *p = file_read(&n, "%s/convert/t5/hf/spiece.model", data);
	struct err e = ERR_INIT;
	struct tokens list = { 0 };
	struct tokenizer *t = p ? tokenizer_open_sentencepiece(p, n, "t5", NULL, &e) : NULL;

	if (test_ok(t != NULL, "spiece.model %s", e.fact)) {
		for (i = 0; i < sizeof peer / sizeof *peer; i++)
			ids(t, peer[i].text, peer[i].ids[0]);
		test_ok(tokenizer_encode(t, " a ", 3, 0, &list, &e) == 0 && same_ids(&list, "31 1"),
		        "it ends with </s>");
	}
	tokens_free(&list);
	tokenizer_free(t);
	free(p);
}

int
main(void)
{
	const char *data = test_data();

	sums();
	refused();
	long_word();
	maps();
	growth();
	spaces();
	if (data) {
		reference(data);
		pieces(data);
	} else {
		test_skip("ids of llama.cpp", "no reference data in APR_TEST_DATA");
	}
	return test_done();
}
