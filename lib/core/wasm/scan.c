/* What libc reads numbers with. */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/wasm/decimal.h"

#define FAR 100000 /* exponents beyond are as good as this one */

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips blanks and a sign: whether it was a minus. */
static bool
skip_sign(const char **s)
{
	while (is_blank(**s))
		++*s;
	if (**s != '-' && **s != '+')
		return false;
	return *(*s)++ == '-';
}

/* The value of a digit, or 36. */
static unsigned
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 : 36;
}

static bool
is_hex(const char *s)
{
	return s[0] == '0' && (s[1] | 0x20) == 'x';
}

/* ---- real numbers ---- */

/* Numbers m * 2^e, m below 2^bits. */
struct kind {
	int bits, least, most;
};

static const struct kind doubles = { DBL_MANT_DIG, DBL_MIN_EXP - DBL_MANT_DIG, DBL_MAX_EXP - DBL_MANT_DIG };
static const struct kind floats = { FLT_MANT_DIG, FLT_MIN_EXP - FLT_MANT_DIG, FLT_MAX_EXP - FLT_MANT_DIG };

/* Reads "e" and a number behind it, if it is one. */
static int
read_exponent(const char **s, char letter)
{
	const char *p = *s + 1;
	int n = 0;
	bool minus = false;

	if ((**s | 0x20) != letter)
		return 0;
	if (*p == '-' || *p == '+')
		minus = *p++ == '-';
	if (digit_value(*p) > 9)
		return 0;
	for (; digit_value(*p) < 10; p++)
		n = n < FAR ? 10 * n + (int)digit_value(*p) : n;
	*s = p;
	return minus ? -n : n;
}

/* Reads digits with a point. False if there is none. More digits than there is room for only tell that the
 * number is larger. */
static bool
read_decimal(const char **s, struct decimal *d)
{
	const char *p = *s;
	bool any = false, behind = false;
	int64_t point = 0;

	for (d->n = 0; digit_value(*p) < 10 || (*p == '.' && !behind); p++) {
		if (*p == '.') {
			behind = true;
			continue;
		}
		any = true;
		if (d->n > 0 || *p != '0')
			point += !behind;
		else
			point -= behind;
		if (d->n == 0 && *p == '0')
			continue;
		if (d->n < DECIMAL_DIGITS)
			d->digit[d->n++] = *p;
		else if (*p != '0')
			d->digit[DECIMAL_DIGITS - 1] = '1'; /* it lies behind those of any number that ends */
	}
	if (!any)
		return false;
	point += read_exponent(&p, 'e');
	d->point = (int)(point < -FAR ? -FAR : point > FAR ? FAR : point);
	*s = p;
	return true;
}

/* The number near d, off by a few units. */
static double
estimate(const struct decimal *d)
{
	static const double tens[] = { 1e1, 1e2, 1e4, 1e8, 1e16, 1e32, 1e64, 1e128, 1e256 };
	int i, power, n = d->n < 18 ? d->n : 18;
	uint64_t whole = 0;
	double v;

	for (i = 0; i < n; i++)
		whole = 10 * whole + (uint64_t)(d->digit[i] - '0');
	v = (double)whole;
	power = d->point - n;
	for (i = 8; i >= 0; i--)
		if (abs(power) >> i & 1)
			v = power < 0 ? v / tens[i] : v * tens[i];
	return v;
}

/* Compares d with the middle between m * 2^e and the next number, or that below. */
static int
beside(const struct decimal *d, uint64_t m, int e, bool above, const struct kind *k)
{
	struct decimal middle;

	if (above)
		decimal_set(&middle, 2 * m + 1, e - 1);
	else if (m == (uint64_t)1 << (k->bits - 1) && e > k->least) /* numbers below are nearer to each other */
		decimal_set(&middle, 4 * m - 1, e - 2);
	else
		decimal_set(&middle, 2 * m - 1, e - 1);
	return decimal_compare(d, &middle);
}

/* The number of this kind that is nearest to d, of two the even one. */
static double
nearest(const struct decimal *d, const struct kind *k)
{
	double v = estimate(d);
	uint64_t m, one = (uint64_t)1 << k->bits;
	int e;

	if (d->n == 0 || d->point < -400)
		return 0;
	if (d->point > 400)
		return HUGE_VAL;
	v = frexp(isinf(v) ? DBL_MAX : v, &e);
	e = v > 0 ? e - k->bits : k->least;
	if (e > k->most) {
		e = k->most;
		v = 1 - 0x1p-53;
	} else if (e < k->least) {
		v = ldexp(v, e - k->least);
		e = k->least;
	}
	m = (uint64_t)ldexp(v, k->bits);
	for (;;) {
		int r = beside(d, m, e, true, k);

		if (r > 0 || (r == 0 && m % 2)) {
			if (++m == one && ++e)
				m /= 2;
			if (e > k->most)
				return HUGE_VAL;
			continue;
		}
		r = m ? beside(d, m, e, false, k) : 1;
		if (r > 0 || (r == 0 && m % 2 == 0))
			return ldexp((double)m, e);
		if (--m < one / 2 && e > k->least) {
			m = one - 1;
			e--;
		}
	}
}

/* A number of up to 15 digits and a small power of ten, exactly. */
static bool
is_short(const struct decimal *d, double *v)
{
	int power = d->point - d->n, i;
	double ten = 1;

	if (d->n > 15 || abs(power) > 22)
		return false;
	*v = 0;
	for (i = 0; i < d->n; i++)
		*v = 10 * *v + (d->digit[i] - '0');
	for (i = 0; i < abs(power); i++)
		ten *= 10;
	*v = power < 0 ? *v / ten : *v * ten;
	return true;
}

/* Hexadecimal digits behind "0x", exactly if they have up to 53 bits. */
static bool
read_hex(const char **s, double *v)
{
	const char *p = *s + 2;
	bool any = false, behind = false;
	int e = 0;

	for (*v = 0; digit_value(*p) < 16 || (*p == '.' && !behind); p++) {
		if (*p == '.') {
			behind = true;
			continue;
		}
		any = true;
		*v = 16 * *v + digit_value(*p);
		e -= 4 * behind;
	}
	if (any) {
		*v = ldexp(*v, e + read_exponent(&p, 'p'));
		*s = p;
	}
	return any;
}

static bool
read_name(const char **s, double *v)
{
	if (strncasecmp(*s, "inf", 3) != 0 && strncasecmp(*s, "nan", 3) != 0)
		return false;
	*v = (**s | 0x20) == 'n' ? NAN : HUGE_VAL;
	*s += strncasecmp(*s, "infinity", 8) == 0 ? 8 : 3;
	return true;
}

static double
read_real(const char *s, char **end, const struct kind *k)
{
	const char *p = s;
	struct decimal d;
	double v = 0;
	bool minus = skip_sign(&p);

	if (read_name(&p, &v) || (is_hex(p) && read_hex(&p, &v))) {
		s = p;
	} else if (read_decimal(&p, &d)) {
		s = p;
		if (k != &doubles || !is_short(&d, &v))
			v = nearest(&d, k);
		if (isinf(v) || (d.n > 0 && v < ldexp(1, k->least + k->bits - 1)))
			errno = ERANGE;
	}
	if (end)
		*end = (char *)(uintptr_t)s;
	return minus && s == p ? -v : v;
}

double
strtod(const char *s, char **end)
{
	return read_real(s, end, &doubles);
}

float
strtof(const char *s, char **end)
{
	return (float)read_real(s, end, &floats);
}

/* ---- integers ---- */

/* Reads an integer from -least to most. */
static uint64_t
read_integer(const char *s, char **end, int base, uint64_t least, uint64_t most)
{
	const char *p = s, *from;
	bool minus = skip_sign(&p), over = false;
	uint64_t v = 0;

	if ((base == 0 || base == 16) && is_hex(p) && digit_value(p[2]) < 16) {
		p += 2;
		base = 16;
	}
	if (base == 0)
		base = *p == '0' ? 8 : 10;
	for (from = p; digit_value(*p) < (unsigned)base; p++)
		over |= __builtin_mul_overflow(v, (uint64_t)base, &v) ||
			__builtin_add_overflow(v, (uint64_t)digit_value(*p), &v);
	if (end)
		*end = (char *)(uintptr_t)(p > from ? p : s);
	if (over || v > (minus ? least : most)) {
		errno = ERANGE;
		return minus && least != most ? -least : most;
	}
	return minus ? -v : v;
}

long
strtol(const char *s, char **end, int base)
{
	return (long)read_integer(s, end, base, (uint64_t)LONG_MAX + 1, LONG_MAX);
}

unsigned long
strtoul(const char *s, char **end, int base)
{
	return (unsigned long)read_integer(s, end, base, ULONG_MAX, ULONG_MAX);
}

long long
strtoll(const char *s, char **end, int base)
{
	return (long long)read_integer(s, end, base, (uint64_t)LLONG_MAX + 1, LLONG_MAX);
}

unsigned long long
strtoull(const char *s, char **end, int base)
{
	return read_integer(s, end, base, ULLONG_MAX, ULLONG_MAX);
}
