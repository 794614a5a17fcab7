/* patterns of files: what is read and what is refused, what matches, and what a match may
 * cost. */
#include "core/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "core/pattern_syntax.h"
#include "test.h"

/* Cuts of a text by all matches of a pattern, with "|" between them; "[" and "]" around
 * each match. */
static const char *
matches(const char *pattern, const char *text)
{
	static char said[1024];
	struct work work = work_of(strlen(text));
	size_t at = 0, from, to, i = 0, n = 0;
	struct err e = ERR_INIT;
	struct pattern p;
	int r = 0;

	if (pattern_open_text(&p, pattern, ERR_CORRUPT, &e) == 0)
		while ((r = pattern_find(&p, text, strlen(text), &at, &from, &to, &work, &e)) > 0) {
			n += (size_t)snprintf(said + n, sizeof said - n, "%.*s[%.*s]", (int)(from - i),
			                      text + i, (int)(to - from), text + from);
			i = to;
		}
	if (e.code != ERR_NONE)
		snprintf(said, sizeof said, "%d %s", (int)e.code, e.fact);
	else
		snprintf(said + n, sizeof said - n, "%s", text + i);
	pattern_close(&p);
	return said;
}

static void
test_matches(void)
{
	static const char *const rows[][3] = {
		{ "\\p{N}{1,3}| ?\\p{L}+|\\s+(?!\\S)|\\s+", "ab  c1234 ", "[ab][ ][ c][123][4][ ]" },
		{ "(?i:'s|'re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++", "We'RE it'S", "[We]['RE][ it]['S]" },
		{ "(?i)a", "aAb", "[a][A]b" },
		{ "(?-i:a)b", "ab", "[ab]" },
		{ "[^(\\s|[.,!?])]+", "ab, (c)|d!", "[ab], ([c])|[d]!" },
		{ "[]a]+", "a]b", "[a]]b" },
		{ "[\\w-]+", "a-b c", "[a-b] [c]" },
		{ "[a-c[x-z]]+", "abxyzd", "[abxyz]d" },
		{ "[[:alpha:]_]+", "a_1", "[a_]1" },
		{ "(?<=a)b|(?<!a)c", "ab cc", "a[b] [c][c]" },
		{ "(?=(\\d{3})+(?!\\d))", "1234567", "1[]234[]567" },
		{ "^b|b$", "b\nb\nab", "[b]\n[b]\na[b]" },
		{ "\\Aa|c\\z", "ac\nac", "[a]c\na[c]" },
		{ "a{,2}x", "aaax x", "a[aax] [x]" },
		{ "a{x}", "a{x}", "[a{x}]" },
		{ "a{1,2}+b", "aaab", "[aaab]" },   /* as Oniguruma: (?:a{1,2})+ */
		{ "a{2}?b", "aab b", "[aab] [b]" }, /* (?:a{2})? */
		{ "", "ab", "[]a[]b[]" },
		{ "(?:)|b", "ab", "[]a[]b[]" },
		{ "", "\xc3\xa9", "[]\xc3\xa9[]" },
		{ "\\x{e9}|\\u00e8|\\x41", "\xc3\xa9\xc3\xa8" "A", "[\xc3\xa9][\xc3\xa8][A]" },
		{ "\\pL+\\p{^L}", "ab1", "[ab1]" },
		{ "\\#\\/\\]]}-", "#/]]}-", "[#/]]}-]" },
		{ "(IMG)((A|B){1,4})Z", "IMGABZ", "[IMGABZ]" },
		{ "(?:a+b?)*?c|(?>=x)", "", "1 character 13 of the pattern: (?> is not read here" },
		{ "(?:(?:a*)*)*b", "aab", "[aab]" },
		{ ".+", "a\nb\r", "[a]\n[b\r]" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *said = matches(rows[i][0], rows[i][1]);

		test_ok(strcmp(said, rows[i][2]) == 0, "%s: %s", rows[i][0], said);
	}
}

static void
test_refused(void)
{
	static const char *const rows[][2] = {
		{ "\\C", "1 character 1 of the pattern: \\C is not read here" },
		{ "a\xc3\xa9\\K", "1 character 3 of the pattern: \\K is not read here" },
		{ "\\G", "1 character 1 of the pattern: \\G" }, { "\\R", "1 character 1" },
		{ "\\X", "1 character 1" }, { "\\Qa\\E", "1 character 1" }, { "\\h", "1 character 1" },
		{ "\\N", "1 character 1" }, { "\\v", "1 character 1" }, { "\\k<a>", "1 character 1" },
		{ "\\g1", "1 character 1" }, { "(a)\\1", "1 character 4 of the pattern: \\1 is not" },
		{ "\\0", "1 character 1" }, { "\\xe2", "1 character 1 of the pattern: \\xe2 is not" },
		{ "(?<=(?1))b|(\\Ka)", "1 character 5 of the pattern: (?1 is not read here" },
		{ "(?R)", "1 character 1 of the pattern: (?R" }, { "(?&a)", "1 character 1" },
		{ "(?P>a)", "1 character 1" }, { "(?C)", "1 character 1 of the pattern: (?C" },
		{ "(?#a)", "1 character 1" }, { "(?|a)", "1 character 1" }, { "(?>a)", "1 character 1" },
		{ "(?<n>a)", "1 character 1 of the pattern: (?<" }, { "(?'n'a)", "1 character 1" },
		{ "(?(1)a)", "1 character 1 of the pattern: (?(" }, { "(*UTF)a", "1 character 1" },
		{ "(*SKIP)", "1 character 1 of the pattern: (*S" }, { "a(?i)b", "1 character 2" },
		{ "(?x: a)", "1 character 1" }, { "(?s:.)", "1 character 1" }, { "(?^:a)", "1 character 1" },
		{ "(*pla:a)", "1 character 1" }, { "[a&&b]", "1 character 3 of the pattern: an inter" },
		{ "[a[^b]]", "1 character 3" }, { "[a-[b]]", "1 character 3 of the pattern: a range" },
		{ "a{1001}", "1 character 2 of the pattern: more than 1000 repeats" },
		{ "a**", "1 character 3 of the pattern: a repeat of a repeat" },
		{ "(?:(?:a{1000}){1000}){1000}", "1 character 21 of the pattern: it compares more" },
		{ "(", "2 character 1 of the pattern: a group without its )" },
		{ "a)", "2 character 2 of the pattern: a ) without its (" },
		{ "[a", "2 character 1 of the pattern: a class without its ]" },
		{ "[b-a]", "2 character 3 of the pattern: a range that" }, { "*a", "2 character 1" },
		{ "a|+", "2 character 3 of the pattern: a repeat of nothing" },
		{ "(?=a)*", "2 character 6" }, { "^*", "2 character 2" }, { "a{2,1}", "2 character 2" },
		{ "a\\", "2 character 2 of the pattern: a backslash" }, { "\\x{110000}", "2 character 1" },
		{ "\\x{d800}", "2 character 1" }, { "\\x{}", "2 character 1" }, { "\\p{", "2 character 1" },
		{ "\\p{Nothing}", "2 is not a pattern: unknown property" },
		{ "\\u12", "2 character 1" }, { "\xc3", "2 character 1 of the pattern: it is not UTF-8" },
		{ "(?<=a+)b", "2 is not a pattern: lookbehind" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *said = matches(rows[i][0], "ab");

		test_ok(strncmp(said, rows[i][1], strlen(rows[i][1])) == 0, "%s: %s", rows[i][0], said);
	}
}

/* c, n times. */
static char *
run_of(char c, size_t n)
{
	char *s = malloc(n + 1);

	if (s) {
		memset(s, c, n);
		s[n] = 0;
	}
	return s;
}

static void
test_sizes(void)
{
	char *groups = run_of('(', PATTERN_DEEPEST + 1), *longest = run_of('a', PATTERN_LONGEST + 1);

	test_ok(groups && longest && strstr(matches(groups, ""), "more than 32 groups"),
	        "deep groups are refused");
	test_ok(longest && strstr(matches(longest, ""), "a pattern of 8193 bytes"),
	        "long patterns are refused");
	free(groups);
	free(longest);
}

/* Patterns whose work is a power of the length of the text, or of the pattern. */
static void
test_work(void)
{
	static const char *const slow[] = { "(?:.*x)?a", "(?:.*?x)?a", "(?:a|aa)+$[xy]", "(a+)+[xy]",
		"[ab]+[xy]", "a(?=.*[xy])", "(?:[ab]++|[ab]++)[xy]|[ab]+[xy]",
		"(?:a?){60}[xy]", "(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)"
		"(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)[xy]",
		"(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)"
		"(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)(?:a?b?)[xy]" };
	static const char *const quick[] = { "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+| ?[^\\s]+", "a+|b",
		"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{M}]*[\\p{Ll}\\p{M}]+(?:'s)?|[\\p{Lu}\\p{M}]+|.",
		"(?=(\\d{3})+(?!\\d))", "(?:a|b)+" };
	char *text[] = { run_of('a', 100000), run_of(' ', 100000), run_of('A', 100000) };
	struct work work;
	size_t i, k;

	for (i = 0; i < 2 * (sizeof slow / sizeof *slow + sizeof quick / sizeof *quick); i++) {
		bool fast = i / 2 >= sizeof slow / sizeof *slow;
		const char *s = fast ? quick[i / 2 - sizeof slow / sizeof *slow] : slow[i / 2];
		int r = 1;

		for (k = 0; k < (fast ? 3 : 1); k++) {
			size_t at = 0, from, to, n = strlen(text[k]);
			struct err e = ERR_INIT;
			struct pattern p;

			work = work_of(n);
			r = pattern_open_text(&p, s, ERR_CORRUPT, &e);
			for (r = r < 0 ? -2 : 1; r > 0;)
				r = pattern_find(&p, text[k], n, &at, &from, &to, &work, &e);
			pattern_close(&p);
			if (fast)
				test_ok(r == 0 && (work_of(n).steps - work.steps) / n < 8, "%s: %zu steps", s,
				        (size_t)(work_of(n).steps - work.steps));
		}
		if (!fast)
			test_ok(r == -1 && work.steps == 0, "%s ends", s);
	}
	for (k = 0; k < 3; k++)
		free(text[k]);
}

/* A person's pattern, and names of tensors. */
static void
test_names(void)
{
	char *name = run_of('a', 400);
	struct err e = ERR_INIT;
	struct pattern p;
	size_t i;
	int r = 0;

	test_ok(pattern_open(&p, "(a?){14}[bc]", &e) == 0, "a person's pattern");
	for (i = 0; i < 1000000 && r == 0; i++)
		r = pattern_match(&p, "aaaaaaaaaaa", &e);
	test_ok(r < 0 && i > 2 && i < 10000, "names together are limited: %zu", i);
	pattern_close(&p);
	e = (struct err)ERR_INIT;
	test_ok(pattern_open(&p, "(a+)+[bc]", &e) == 0 && pattern_match(&p, name, &e) < 0 &&
	        strstr(e.fact, "takes too long"), "so is each");
	pattern_close(&p);
	e = (struct err)ERR_INIT;
	test_ok(pattern_open(&p, "(?<=(?1))b|(\\Ka)", &e) == 0 && pattern_match(&p, "ab", &e) == 1,
	        "where it matches does not matter");
	pattern_close(&p);
	e = (struct err)ERR_INIT;
	test_ok(pattern_open(&p, "\\C", &e) < 0, "a part of a character is not matched");
	pattern_close(&p);
	free(name);
}

int
main(void)
{
	test_matches();
	test_refused();
	test_sizes();
	test_work();
	test_names();
	return test_done();
}
