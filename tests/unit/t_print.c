/* What the WebAssembly module prints and reads numbers with (lib/core/wasm/print.c, scan.c, decimal.c) beside
 * libc: chosen and random numbers in all conversions. */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define vsnprintf made_vsnprintf
#define snprintf made_snprintf
#define strtod made_strtod
#define strtof made_strtof
#define strtol made_strtol
#define strtoul made_strtoul
#define strtoll made_strtoll
#define strtoull made_strtoull

int vsnprintf(char *p, size_t room, const char *f, va_list given);
int snprintf(char *p, size_t room, const char *f, ...);
double strtod(const char *s, char **end);
float strtof(const char *s, char **end);
long strtol(const char *s, char **end, int base);
unsigned long strtoul(const char *s, char **end, int base);
long long strtoll(const char *s, char **end, int base);
unsigned long long strtoull(const char *s, char **end, int base);

#include "core/wasm/decimal.c"
#include "core/wasm/print.c"
#include "core/wasm/scan.c"

#undef vsnprintf
#undef snprintf
#undef strtod
#undef strtof
#undef strtol
#undef strtoul
#undef strtoll
#undef strtoull

#include "test.h"

static unsigned wrong;

/* Counts a difference, and shows the first ones. */
static void
differs(const char *what, const char *want, const char *got)
{
	if (wrong++ < 5)
		printf("# %s: %s, not %s\n", what, got, want);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

#define SAME(format, ...) do { \
	char want_[1400], got_[1400]; \
	int n_ = snprintf(want_, sizeof want_, format, __VA_ARGS__); \
	int m_ = made_snprintf(got_, sizeof got_, format, __VA_ARGS__); \
	if (n_ != m_ || strcmp(want_, got_) != 0) \
		differs(format, want_, got_); \
} while (0)

static void
print_reals(double v)
{
	static const char *const formats[] = { "%g", "%.9g", "%.17g", "%.0f", "%.1f", "%.3f", "%f", "%.0e", "%.3e", "%e",
		"%12.6g", "%-12.3g|", "%+.2f", "% .3g", "%08.2f", "%#.3g", "%#.0f", "%G", "%.0g", "%.30g", "%.20f", "%-+12e|",
		"%.16e" };
	size_t i;

	for (i = 0; i < sizeof formats / sizeof *formats; i++)
		SAME(formats[i], v);
	SAME("%.*g", isfinite(v) ? (int)fmod(fabs(v), 20) - 1 : 3, v);
}

static void
compare_reads(const char *text)
{
	char *end, *made_end;
	double want = strtod(text, &end), got = made_strtod(text, &made_end);
	float narrow = strtof(text, NULL), made = made_strtof(text, NULL);
	char a[40], b[40];

	snprintf(a, sizeof a, "%a %a %d", want, (double)narrow, (int)(end - text));
	snprintf(b, sizeof b, "%a %a %d", got, (double)made, (int)(made_end - text));
	if (strcmp(a, b) != 0)
		differs(text, a, b);
}

static double
random_real(uint64_t bits)
{
	union { uint64_t u; double d; } x = { .u = bits };

	return x.d;
}

static uint64_t
mix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static const double chosen[] = { 0, -0.0, 1, -1, 0.5, 1.5, 2.5, 0.1, 0.25, 9.5, 99.5, 9.9999995, 999999.5, 1e5, 1e6, 1e-4,
	1e-5, 123456789, 1e15, 1e16, 1e17, 1e22, 1e23, 1e100, 1e-100, DBL_MAX, DBL_MIN, DBL_TRUE_MIN, FLT_MAX, FLT_MIN,
	HUGE_VAL, -HUGE_VAL, 0.045, 0.0005, 4503599627370496.5, 9007199254740994, 0.3, 1.0 / 3, 2.0 / 3 };

static void
texts_of_reals(void)
{
	uint64_t state = 1;
	size_t i;

	for (i = 0; i < sizeof chosen / sizeof *chosen; i++)
		print_reals(chosen[i]);
	print_reals(NAN);
	print_reals(-NAN);
	for (i = 0; i < 3000; i++) {
		uint64_t r = mix(&state);

		print_reals(random_real(r));
		print_reals((double)(int64_t)(r >> 40) / (double)(1 << (r % 20)));
		print_reals((float)random_real(r));
		print_reals((double)(r % 100000) / 1000);
	}
	test_ok(wrong == 0, "texts of real numbers");
}

static void
numbers_of_texts(void)
{
	static const char *const texts[] = { "", "-", ".", "1", "-1.5e3x", "1e", "1e+", " 1", "+.5", "5.", "00012", "0x1p3", "0x1.8",
		"0xg", "0x", "inf", "-Infinity", "nan", "infinit", "1e400", "-1e400", "1e-400", "1e99999999999", "0e99999999999",
		"9007199254740993", "9007199254740992.99999999", "9007199254740993.00000000000000000000001",
		"2.2250738585072011e-308", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
		"1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1.797693134862315808e308",
		"3.4028235677973366e38", "3.40282356e38", "1.1754943e-38", "7.0064923e-46", "7.0064924e-46", "16777217",
		"16777217.00000001", "8.5", "0.1", "123456789012345678901234567890", "0.000000000000000000000000000001",
		"1_0", "1e5.5", "\t\n7", "6.631236846766476e-316", "3.2378839133029012895883524125015321748630094e-324" };
	uint64_t state = 2;
	char text[1200];
	size_t i;

	wrong = 0;
	for (i = 0; i < sizeof texts / sizeof *texts; i++)
		compare_reads(texts[i]);
	for (i = 0; i < 8000; i++) {
		uint64_t r = mix(&state);
		double v = random_real(r), next = nextafter(v, 0);

		snprintf(text, sizeof text, "%.*g", (int)(r % 20) + 1, v);
		compare_reads(text);
		snprintf(text, sizeof text, "%.*e", (int)(mix(&state) % 20), (double)(float)v);
		compare_reads(text);
		snprintf(text, sizeof text, "%" PRIu64 "e%d", r >> (r % 60), (int)(r % 700) - 350);
		compare_reads(text);
		snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, r >> 44, mix(&state));
		compare_reads(text);
		/* The middle between two numbers, with all of its digits. */
		if (isfinite(v) && i < 1000 && fabs(v) < 1e200) {
			snprintf(text, sizeof text, "%.1100Lf", ((long double)v + next) / 2);
			compare_reads(text);
		}
	}
	test_ok(wrong == 0, "real numbers of texts");
}

static void
integers_and_strings(void)
{
	static const char *const texts[] = { "0", "-0", "12", " -12x", "0x1F", "017", "08", "zz", "0x", "18446744073709551615",
		"18446744073709551616", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "+7", "", "-" };
	static const int bases[] = { 0, 10, 16, 8, 36 };
	static const int64_t values[] = { 0, 1, -1, 9, 10, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
	char *end, *made_end;
	size_t i, j;

	wrong = 0;
	for (i = 0; i < sizeof values / sizeof *values; i++) {
		SAME("%" PRId64 " %5" PRIu64 " %-7" PRIx64 "|", values[i], (uint64_t)values[i], (uint64_t)values[i]);
		SAME("%d %u %x %X %+d % d %05d %-6d|", (int)values[i], (unsigned)values[i], (unsigned)values[i],
		     (unsigned)values[i], (int)values[i], (int)values[i], (int)values[i], (int)values[i]);
		SAME("%.3d %.0d %8.4x %#x %hd %hhu %ld %zu %#.4X", (int)values[i], (int)values[i], (unsigned)values[i],
		     (unsigned)values[i], (short)values[i], (unsigned char)values[i], (long)values[i], (size_t)values[i],
		     (unsigned)values[i]);
	}
	SAME("%s|%5s|%-5s|%.2s|%*s|%-*s|%.*s|%c|%3c|%-3c|%%", "ab", "ab", "ab", "abc", 4, "x", 4, "x", 1, "xy", 'c', 'd',
	     'e');
	SAME("%*s|%.*s|%p", -5, "x", -1, "abc", (void *)&end);
	for (i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (j = 0; j < sizeof bases / sizeof *bases; j++) {
			if (strtoull(texts[i], &end, bases[j]) != made_strtoull(texts[i], &made_end, bases[j]) || end != made_end)
				differs(texts[i], "strtoull", "another");
			if (strtoll(texts[i], &end, bases[j]) != made_strtoll(texts[i], &made_end, bases[j]) || end != made_end)
				differs(texts[i], "strtoll", "another");
			errno = 0;
			made_strtoul(texts[i], NULL, bases[j]);
			if ((errno == ERANGE) != (errno = 0, strtoul(texts[i], NULL, bases[j]), errno == ERANGE))
				differs(texts[i], "errno", "another");
			if (strtol(texts[i], NULL, bases[j]) != made_strtol(texts[i], NULL, bases[j]))
				differs(texts[i], "strtol", "another");
		}
	}
	test_ok(wrong == 0, "integers and strings");
}

static void
little_room(void)
{
	char text[4] = "zzz";

	test_ok(made_snprintf(text, 3, "%d", 12345) == 5 && strcmp(text, "12") == 0, "text is cut");
	test_ok(made_snprintf(text, 0, "%s", "abc") == 3 && strcmp(text, "12") == 0, "no room");
	test_ok(made_snprintf(NULL, 0, "%g", 0.1) == 3, "NULL without room");
}

int
main(void)
{
	texts_of_reals();
	numbers_of_texts();
	integers_and_strings();
	little_room();
	return test_done();
}
