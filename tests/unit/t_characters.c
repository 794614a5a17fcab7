/* The tables of characters that are made for the WebAssembly module (lib/core/wasm/characters.c) beside
 * utf8proc: each property of each code point, normal forms of characters, pairs and random texts. The
 * functions of the module, and the normal forms that stand on them, have names of their own here. */
#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>

#define character_category made_category
#define character_class made_class
#define character_lower made_lower
#define character_title made_title
#define character_decompose made_decompose
#define characters_compose made_compose
#define unicode_normalize made_normalize
#define unicode_put_lower made_put_lower
#define unicode_put_title made_put_title
#define unicode_is_space made_is_space
#define unicode_is_letter made_is_letter
#define unicode_is_number made_is_number
#define unicode_is_lower made_is_lower
#define unicode_is_upper made_is_upper
#define unicode_is_mark made_is_mark
#define unicode_combines made_combines
#define unicode_is_accent made_is_accent
#define unicode_is_other made_is_other

#include "core/wasm/characters.c"
#include "tokenizer/unicode.c"

#include "test.h"

#define CODES 0x110000u
#define NONE UINT32_MAX

/* Reports where the first difference is. */
__attribute__((format(printf, 2, 3))) static void
report(uint32_t wrong, const char *fmt, ...)
{
	char name[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof name, fmt, ap);
	va_end(ap);
	if (!test_ok(wrong == NONE, "%s", name))
		printf("# first at %x\n", (unsigned)wrong);
}

static const utf8proc_option_t whole[] = { /* in the order of enum unicode_form */
	UTF8PROC_STABLE | UTF8PROC_COMPOSE, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
	UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
	UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT
};
static const char *const form_names[] = { "NFC", "NFD", "NFKC", "NFKD" };

/* ---- single characters ---- */

static bool
same_properties(uint32_t c)
{
	const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)c);

	return (int)made_category(c) == (int)p->category && made_class(c) == (unsigned)p->combining_class;
}

static bool
same_cases(uint32_t c)
{
	return made_lower(c) == (uint32_t)utf8proc_tolower((utf8proc_int32_t)c) &&
	       made_title(c) == (uint32_t)utf8proc_totitle((utf8proc_int32_t)c);
}

static bool
same_bytes(uint32_t c)
{
	uint8_t p[4] = { 0 }, q[4] = { 0 };

	return text_encode(c, p) == (size_t)utf8proc_encode_char((utf8proc_int32_t)c, q) && memcmp(p, q, 4) == 0;
}

static bool
same_parts(uint32_t c)
{
	int32_t b[CHARACTER_LONGEST];
	uint32_t a[CHARACTER_LONGEST];
	utf8proc_ssize_t n;
	int compatible;

	for (compatible = 0; compatible < 2; compatible++) {
		n = utf8proc_decompose_char((utf8proc_int32_t)c, b, CHARACTER_LONGEST,
		                            whole[compatible ? UNICODE_NFKD : UNICODE_NFD], NULL);
		if (made_decompose(c, compatible, a) != (n > 0 ? (size_t)n : 0) ||
		    (n > 0 && memcmp(a, b, (size_t)n * sizeof *a) != 0))
			return false;
	}
	return true;
}

static void
test_each(const char *name, bool (*same)(uint32_t c))
{
	uint32_t c, wrong = NONE;

	for (c = 0; c < CODES + 300 && wrong == NONE; c++)
		if (!same(c))
			wrong = c;
	if (wrong == NONE && !same(UINT32_MAX))
		wrong = UINT32_MAX - 1;
	report(wrong, "%s are those of utf8proc for all code points", name);
}

/* ---- texts ---- */

static bool
same_form(const uint32_t *c, size_t n, enum unicode_form form)
{
	struct buf text = { 0 }, out = { 0 };
	struct err e = ERR_INIT;
	utf8proc_uint8_t *want = NULL;
	utf8proc_ssize_t length;
	size_t i;
	bool same;

	for (i = 0; i < n; i++)
		text_put(&text, c[i]);
	length = utf8proc_map(text.p, (utf8proc_ssize_t)text.n, &want, whole[form]);
	same = made_normalize(text.p, text.n, form, &out, &e) == 0 && length >= 0 &&
	       out.n == (size_t)length && memcmp(out.p, want, out.n) == 0;
	free(want);
	buf_free(&text);
	buf_free(&out);
	return same;
}

/* Whether c is one of those whose forms need a look: most of the others are not assigned. */
static bool
is_chosen(uint32_t c)
{
	return (c < 0xd800 || c > 0xdfff) && (c % 61 == 0 || c < 0x3000 || made_class(c) != 0 ||
	       (c >= HANGUL && c < HANGUL + 2 * HANGUL_TAILS) || form_find(c) != NULL);
}

static void
test_forms(void)
{
	uint32_t c, wrong;
	int form;

	for (form = 0; form < 4; form++) {
		wrong = NONE;
		for (c = 1; c < CODES && wrong == NONE; c++)
			if (is_chosen(c) && !same_form(&c, 1, (enum unicode_form)form))
				wrong = c;
		report(wrong, "%s of single characters", form_names[form]);
	}
}

static bool
same_pair(uint32_t a, uint32_t b)
{
	uint32_t made[] = { a, b };
	int32_t want[] = { (int32_t)a, (int32_t)b };
	size_t n = made_compose(made, 2);

	return (utf8proc_ssize_t)n == utf8proc_normalize_utf32(want, 2, whole[UNICODE_NFC]) &&
	       memcmp(made, want, n * sizeof *made) == 0;
}

/* All first and all second halves of what decomposes, each with each; the letters of Hangul. */
static void
test_pairs(void)
{
	static uint32_t half[2][CHARACTER_FORMS * 2];
	static bool has[2][CODES];
	size_t n[2] = { 0 }, i, k, composed = 0;
	int32_t parts[CHARACTER_LONGEST];
	uint32_t c, wrong = NONE;
	utf8proc_ssize_t got;

	for (c = 0; c < CODES; c++) {
		got = utf8proc_decompose_char((utf8proc_int32_t)c, parts, CHARACTER_LONGEST, whole[UNICODE_NFD],
		                              NULL);
		if (got < 2 || c - HANGUL < HANGUL_COUNT)
			continue;
		has[0][parts[0]] = has[1][parts[got - 1]] = true;
		has[0][c] = true;
	}
	for (c = 0; c < CODES; c++) {
		has[0][c] |= c - HANGUL_LEAD < HANGUL_LEADS + 2 || (c >= HANGUL - 2 && c < HANGUL + 60) ||
		             (c > HANGUL + HANGUL_COUNT - 3 && c < HANGUL + HANGUL_COUNT + 3);
		has[1][c] |= c - HANGUL_VOWEL + 2 < HANGUL_VOWELS + 4 || c - HANGUL_TAIL + 2 < HANGUL_TAILS + 4;
		for (i = 0; i < 2; i++)
			if (has[i][c])
				half[i][n[i]++] = c;
	}
	for (i = 0; i < n[0] && wrong == NONE; i++)
		for (k = 0; k < n[1]; k++) {
			composed += compose(half[0][i], half[1][k]) != 0;
			if (!same_pair(half[0][i], half[1][k]))
				wrong = half[0][i];
		}
	if (composed < CHARACTER_PAIRS + HANGUL_LEADS * HANGUL_VOWELS)
		wrong = 0;
	report(wrong, "%zu pairs compose as in utf8proc, %zu of them to one character", n[0] * n[1],
	       composed);
}

static uint32_t
chance(uint32_t below)
{
	static uint64_t state = 26;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* A letter, a mark, something that decomposes, a letter of Hangul, or anything. */
static uint32_t
any_character(void)
{
	uint32_t c;

	switch (chance(6)) {
	case 0:
		return 0x41 + chance(0x200);
	case 1:
		do
			c = 0x300 + chance(0x1eb00);
		while (made_class(c) == 0);
		return c;
	case 2:
		return tables.form[chance(CHARACTER_FORMS)].c;
	case 3:
		return 0x1100 + chance(0x100);
	case 4:
		return HANGUL + HANGUL_TAILS * chance(40);
	default:
		do
			c = 1 + chance(CODES - 1);
		while (c >= 0xd800 && c < 0xe000);
		return c;
	}
}

static void
test_random(void)
{
	uint32_t text[40];
	size_t round, n, i, wrong = 0;

	for (round = 0; round < 6000; round++) {
		n = 1 + chance(sizeof text / sizeof *text);
		for (i = 0; i < n; i++)
			text[i] = any_character();
		wrong += !same_form(text, n, (enum unicode_form)(round % 4));
	}
	test_ok(wrong == 0, "normal forms of 6000 random texts are those of utf8proc");
}

/* A base with very many marks, whose order takes a step for each. */
static void
test_marks(void)
{
	static const uint32_t marks[] = { 0x345, 0x301, 0x316, 0x334, 0x327, 0x5b0, 0x3099, 0x94d };
	struct buf text = { 0 }, out = { 0 };
	struct err e = ERR_INIT;
	unsigned last = 0;
	bool sorted = true;
	size_t i, n = 400000, at = 1;
	uint32_t c;

	text_put(&text, 'a');
	for (i = 0; i < n; i++)
		text_put(&text, marks[i % 8]);
	sorted = made_normalize(text.p, text.n, UNICODE_NFD, &out, &e) == 0 && out.n == text.n;
	while (sorted && at < out.n) {
		at += text_character((const char *)out.p + at, out.n - at, &c);
		sorted = made_class(c) >= last;
		last = made_class(c);
	}
	test_ok(sorted, "%zu marks of one base are put in order", n);
	buf_free(&text);
	buf_free(&out);
}

int
main(void)
{
	test_each("categories and classes", same_properties);
	test_each("lower and title case", same_cases);
	test_each("decompositions", same_parts);
	test_each("bytes", same_bytes);
	test_forms();
	test_pairs();
	test_random();
	test_marks();
	return test_done();
}
