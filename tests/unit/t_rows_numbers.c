/* rows_numbers: numbers of lines are those that strtod reads, at every level; numbers are written as the C
 * library writes them. With an operand: this number of lines and of numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/decimal.h"
#include "predict/decimal_parts.h"
#include "predict/rows/rows_numbers.h"
#include "test.h"

#define FIELDS 24
#define MANY 700 /* fields of some lines */
#define ROOM 1200 /* bytes of a field, at most */

static uint64_t state = 88172645463325252u;

static uint64_t
chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static double
any_double(void)
{
	union { uint64_t u; double d; } x = { .u = chance() };

	return isfinite(x.d) ? x.d : 0.5;
}

/* The middle between two doubles, and what is a little above or below: all digits count. */
static void
put_middle(char *to)
{
	int places = 30 + (int)(chance() % 25), exponent = (int)(chance() % 60) - 50;
	char *p = to + sprintf(to, "%.*Lf", places + 60, ldexpl((long double)((chance() >> 11 | (uint64_t)1 << 52) * 2 + 1),
	                                                       exponent - 1));

	if (chance() % 3 == 0)
		p[-1] = (char)('0' + chance() % 10);
}

static void
put_field(char *to)
{
	static const char *const others[] = { "", "nan", "-inf", "Infinity", "-", ".", "1.2.3", "1e", "1e5", "0x1p3",
		"\"1\"", "NA", "1 ", " 2", "  3", "+4", "-.5", "6.", "--7", "8-", "0.1234567890123456", "9007199254740993",
		"9007199254740992", "1234567890123456", ".123456789012345", "-0", "-0.0", "123456789012345678901",
		"1e400", "4.9e-324", "2.4703282292062328e-324", "1.7976931348623159e308", "\xc3\xa9", "5;" };
	uint64_t a = chance(), b = chance();

	switch (chance() % 14) {
	case 0:
		strcpy(to, others[a % (sizeof others / sizeof *others)]);
		return;
	case 1:
		sprintf(to, "%.17g", any_double());
		return;
	case 2:
		put_middle(to);
		return;
	case 3:
		sprintf(to, "%.*e", (int)(a % 20), any_double());
		return;
	case 4:
		sprintf(to, "%llu.%0*llu", (unsigned long long)(a % 1000000), 1 + (int)(b % 18), (unsigned long long)(b % 100000));
		return;
	case 5:
		sprintf(to, "%s%llu", a & 1 ? "-" : " ", (unsigned long long)(b >> a % 64));
		return;
	case 6: /* as %.17g writes numbers from 0.1 to 10 */
		sprintf(to, "%s%.17g", a & 1 ? "-" : "", (double)(b >> 11) / 9007199254740992.0 * (a & 2 ? 1 : 10));
		return;
	case 7: /* up to 33 digits with a point anywhere; zeros in front */
		sprintf(to, "%0*llu%0*llu", (int)(a % 16), (unsigned long long)(b % 1000), 1 + (int)(a / 16 % 18),
		        (unsigned long long)(chance() % 1000000000000));
		if (a >> 32 & 1)
			to[a / 512 % strlen(to)] = '.';
		return;
	default:
		sprintf(to, "%s0.%0*llu", a & 1 ? "-" : "", 1 + (int)(a % 14), (unsigned long long)(b % 1000000));
		return;
	}
}

/* What is expected of a field. False: the caller has to read it. */
static bool
expected(const char *text, char between, bool json, double *v)
{
	char *end;

	if (!*text && !json && between != ' ') {
		*v = (double)NAN;
		return true;
	}
	text += *text == ' ' && between != ' ';
	if (strpbrk(text, " xX(") || !*text || (json && !strchr("-0123456789", *text)))
		return false;
	*v = strtod(text, &end);
	return end != text && !*end;
}

static bool
same(double a, double b)
{
	return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* Reads a line of these fields in steps; the fields that are wrong. */
static size_t
read_line(const struct rows_numbers *l, char between, bool json, char fields[][ROOM], size_t n, size_t most)
{
	static char line[MANY * ROOM + ROWS_NUMBERS_SLACK];
	const char *p = line, *end, *from;
	size_t i, k, got, wrong = 0;
	double v[MANY], want;
	char *to = line;

	for (i = 0; i < n; i++)
		to += sprintf(to, "%s%.1s", fields[i], i + 1 < n ? &between : "");
	end = to;
	strcpy(to, "\n1,2-3,.5\n"); /* must not be seen */
	for (i = 0; i < n && p; i += got) {
		from = p;
		got = l->read(&p, end, between, json, v, most);
		for (k = 0; k < got && i + k < n; k++)
			wrong += !expected(fields[i + k], between, json, &want) || !same(v[k], want);
		if (got == 0) { /* the caller's turn */
			wrong += p != from || expected(fields[i], between, json, &want);
			p = memchr(p, between, (size_t)(end - p));
			p = p ? p + 1 : NULL;
			got = 1;
		}
	}
	return wrong + (i != n || p);
}

static void
test_lines(const struct rows_numbers *l, size_t lines)
{
	static char fields[MANY][ROOM];
	static const char betweens[] = { ',', '\t', ' ' };
	size_t i, k, n, wrong = 0;

	for (i = 0; i < lines; i++) {
		char between = betweens[i % 3];

		n = 1 + chance() % (i % 100 ? FIELDS : MANY);
		for (k = 0; k < n; k++) {
			put_field(fields[k]);
			while (between == ' ' && strchr(fields[k], ' '))
				put_field(fields[k]);
		}
		k = read_line(l, between, i / 3 % 2, fields, n, 1 + chance() % (i % 100 ? FIELDS : MANY));
		if (k && wrong == 0)
			printf("# line %zu\n", i);
		wrong += k;
	}
	test_ok(wrong == 0, "%s: fields are read as strtod reads them, or left to the caller", l->name);
}

/* Whether integers reads the n bytes at p. */
static bool
is_integer(const char *p, size_t n)
{
	size_t i, minus = n > 0 && *p == '-';

	for (i = minus; i < n; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return n - minus >= 1 && n - minus <= 8;
}

static void
test_integers(const struct rows_numbers *l, size_t lines)
{
	static const char *const others[] = { "", "-", "--1", "123456789", "-12345678", "1.", "1e3", "+1", " 1", "-123456789" };
	char line[FIELDS * 16 + ROWS_NUMBERS_SLACK];
	double v[FIELDS + 1];
	size_t i, k, n, got, wrong = 0;

	for (i = 0; i < lines; i++) {
		char between = i & 1 ? ',' : ' ', *to = line;
		const char *p = line, *at = line, *end, *stop;

		n = 1 + chance() % FIELDS;
		for (k = 0; k < n; k++) {
			if (chance() % 50 == 0)
				to += sprintf(to, "%s", others[chance() % (sizeof others / sizeof *others)]);
			else
				to += sprintf(to, "%s%u", chance() & 1 ? "-" : "", (unsigned)(chance() >> (37 + chance() % 27)) % 100000000);
			*to++ = k + 1 < n ? between : '\n';
		}
		end = to - 1;
		strcpy(to, "1 2,3 -4,");
		got = l->integers(&p, end, between, v, FIELDS);
		for (k = 0; k <= got && at; k++) {
			stop = memchr(at, between, (size_t)(end - at));
			stop = stop ? stop : end;
			if (k == got) {
				wrong += p != at || is_integer(at, (size_t)(stop - at));
				break;
			}
			wrong += !is_integer(at, (size_t)(stop - at)) || !same(v[k], strtod(at, NULL));
			at = stop < end ? stop + 1 : NULL;
		}
		wrong += !at && p;
	}
	test_ok(wrong == 0, "%s: short integers are read, and nothing else", l->name);
}

/* A mantissa beside the one whose value with this power lies in the middle between two doubles. */
static unsigned long long
near_middle(unsigned power)
{
	long double ten = powl(10, (int)power), v = (long double)(chance() % 9000000000000000000u + 1000000000000000000u) / ten;
	double below = (double)v;

	v = ((long double)below + (long double)nextafter(below, HUGE_VAL)) / 2 * ten;
	return (unsigned long long)v + chance() % 3 - 1;
}

/* Mantissas of all lengths with each power of ten that has a row of its own, with zeros in front, too. */
static void
test_powers(size_t n)
{
	char text[80];
	const char *p;
	size_t i, wrong = 0;
	double v, want;

	for (i = 0; i < n; i++) {
		unsigned power = (unsigned)(i % 47), shift = (unsigned)(i / 47 % 16);

		if (i % 2)
			sprintf(text, "%llue-%u", near_middle(power), power);
		else if (i % 5)
			sprintf(text, "%llue-%u", (unsigned long long)(chance() >> shift), power);
		else
			sprintf(text, "0.%0*llu", (int)(20 + power), (unsigned long long)(chance() >> shift) % 10000000000000000000u);
		p = text;
		v = decimal_read(&p, text + strlen(text));
		want = strtod(text, NULL);
		if ((*p || !same(v, want)) && wrong++ == 0)
			printf("# %s is %a, not %a\n", text, v, want);
	}
	test_ok(wrong == 0, "long mantissas are rounded once, whatever the power of ten");
}

static double
to_write(unsigned kind, bool single)
{
	double part = (double)(chance() >> 11) / 9007199254740992.0, v;

	switch (kind) {
	case 0:
		v = any_double();
		break;
	case 1:
		v = part * pow(10, (int)(chance() % 16) - 5);
		break;
	case 2:
		v = (double)(chance() % 100000000) / pow(10, (int)(chance() % 10));
		break;
	case 3:
		v = (double)(chance() % 2000001) / (double)(1u << chance() % 24);
		break;
	default: /* beside a power of ten */
		v = pow(10, (int)(chance() % 14) - 4);
		v = single ? (double)nextafterf((float)v, chance() & 1 ? HUGE_VALF : 0) : nextafter(v, chance() & 1 ? HUGE_VAL : 0);
	}
	v = chance() & 1 ? -v : v;
	return single ? (double)(float)v : v;
}

static void
test_written(size_t n)
{
	struct buf a = { 0 }, b = { 0 };
	size_t i, wrong = 0;

	for (i = 0; i < n; i++) {
		bool single = i & 1;
		double v = to_write((unsigned)(i / 2 % 5), single);

		if (v == floor(v) && fabs(v) < 1e9)
			continue;
		buf_clear(&a);
		buf_clear(&b);
		decimal_write(&a, v, single);
		decimal_write_plain(&b, v, single);
		if (strcmp(buf_string(&a), buf_string(&b)) != 0 && wrong++ == 0)
			printf("# %s, not %s\n", (char *)a.p, (char *)b.p);
	}
	buf_free(&a);
	buf_free(&b);
	test_ok(wrong == 0, "numbers are written as the C library writes them");
}

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)atol(argv[1]) : 4000;
	const struct rows_numbers *l;
	unsigned i;

	for (i = 0; (l = rows_numbers_level(i)); i++) {
		test_lines(l, n);
		test_integers(l, n);
	}
	test_powers(n * 10);
	test_written(n * 10);
	return test_done();
}
