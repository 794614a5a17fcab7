#include "predict/decimal.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/le.h"

#define DIGITS 800 /* longer texts are not taken for numbers */

/* Powers of ten that doubles hold exactly. */
static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Reads nan, inf and infinity. */
static double
read_word(const char **p, const char *end)
{
	const char *s = *p;
	bool minus = s < end && *s == '-';
	size_t left;

	s += s < end && (*s == '-' || *s == '+');
	left = (size_t)(end - s);
	if (left >= 3 && strncasecmp(s, "nan", 3) == 0) {
		*p = s + 3;
		return (double)NAN;
	}
	if (left < 3 || strncasecmp(s, "inf", 3) != 0)
		return 0;
	*p = s + (left >= 8 && strncasecmp(s, "infinity", 8) == 0 ? 8 : 3);
	return minus ? -HUGE_VAL : HUGE_VAL;
}

/* The bytes from s to end as the C library reads them. */
static double
read_long(const char *s, const char *end)
{
	char text[DIGITS + 1];
	size_t n = (size_t)(end - s);

	memcpy(text, s, n);
	text[n] = 0;
	return strtod(text, NULL);
}

/* ---- numbers of usual lengths ---- */

#define USUAL 19 /* digits, which a mantissa of 64 bits holds */

#if LDBL_MANT_DIG == 64
#define TEN 27 /* the highest power of ten that 64 bits of mantissa hold exactly */
static const long double long_tens[] = { 1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L,
	1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L,
	1e24L, 1e25L, 1e26L, 1e27L };

/* Mantissa times a power of ten, rounded to 64 bits and then to the 53 of a double. Both roundings
 * together are one unless the first result lies in the middle between two doubles: false then. */
static bool
scale(uint64_t mantissa, int exponent, double *v)
{
	union { long double v; uint64_t mantissa; } x = { .v = (long double)mantissa };

	if (exponent < -TEN || exponent > TEN)
		return false;
	x.v = exponent < 0 ? x.v / long_tens[-exponent] : x.v * long_tens[exponent];
	*v = (double)x.v;
	return (x.mantissa & 0x7ff) != 0x400;
}
#else
static bool
scale(uint64_t mantissa, int exponent, double *v)
{
	*v = (double)mantissa;
	return exponent == 0;
}
#endif

/* Reads up to eight digits at once into the mantissa, which overflows if there are too many in all; their
 * number. Neighbours are joined to numbers of two, four and eight digits by products whose parts do
 * not touch. */
static unsigned
eight(const char *s, uint64_t *mantissa)
{
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
	uint64_t v = le64((const uint8_t *)s) - 0x3030303030303030u;
	uint64_t others = ((v + 0x7676767676767676u) | v) & 0x8080808080808080u;
	unsigned n = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;

	if (n == 0)
		return 0;
	v <<= 64 - 8 * n; /* zeros in front */
	v = v * 10 + (v >> 8);
	v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
	     (v >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
	*mantissa = *mantissa * powers[n] + v;
	return n;
}

/* Reads digits at s into the mantissa. */
static inline const char *
take_digits(const char *s, const char *end, uint64_t *mantissa)
{
	unsigned n = 8;

	for (; n == 8 && end - s >= 8; s += n)
		n = eight(s, mantissa);
	for (; n == 8 && s < end && *s >= '0' && *s <= '9'; s++)
		*mantissa = *mantissa * 10 + (uint64_t)(*s - '0');
	return s;
}

/* Reads an exponent of at most four digits; NULL if there is none behind the e. */
static const char *
take_exponent(const char *s, const char *end, int *exponent)
{
	bool down = s < end && *s == '-';
	const char *from;
	int v = 0;

	s += s < end && (*s == '-' || *s == '+');
	for (from = s; s < end && *s >= '0' && *s <= '9' && s - from < 5; s++)
		v = v * 10 + (*s - '0');
	*exponent += down ? -v : v;
	return s == from || s - from > 4 ? NULL : s;
}

/* decimal_read for numbers of at most USUAL digits and a small exponent; false for all else. */
static bool
read_usual(const char **p, const char *end, double *v)
{
	const char *s = *p, *from, *point;
	bool minus = s < end && *s == '-';
	uint64_t mantissa = 0;
	int exponent = 0;

	s += s < end && (*s == '-' || *s == '+');
	from = s;
	point = s = take_digits(s, end, &mantissa);
	if (s < end && *s == '.') {
		s = take_digits(s + 1, end, &mantissa);
		exponent = (int)(point + 1 - s);
		from++;
	}
	if (s <= from || s - from > USUAL)
		return false;
	if (s < end && (*s == 'e' || *s == 'E') && !(s = take_exponent(s + 1, end, &exponent)))
		return false;
	if (mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22)
		*v = exponent < 0 ? (double)(int64_t)mantissa / tens[-exponent] : (double)(int64_t)mantissa * tens[exponent];
	else if (!scale(mantissa, exponent, v))
		return false;
	*v = minus ? -*v : *v;
	*p = s;
	return true;
}

double
decimal_read(const char **p, const char *end)
{
	const char *s = *p, *from, *mark;
	uint64_t mantissa = 0;
	int digits = 0, places = 0, exponent = 0, any = 0;
	bool minus = s < end && *s == '-', down;
	double v;

	if (read_usual(p, end, &v))
		return v;
	s += s < end && (*s == '-' || *s == '+');
	from = s;
	for (; s < end && *s >= '0' && *s <= '9'; s++, any++)
		if (mantissa || *s != '0') {
			mantissa = digits < 19 ? mantissa * 10 + (uint64_t)(*s - '0') : mantissa;
			digits++;
		}
	if (s < end && *s == '.')
		for (s++; s < end && *s >= '0' && *s <= '9'; s++, any++, places++)
			if (mantissa || *s != '0') {
				mantissa = digits < 19 ? mantissa * 10 + (uint64_t)(*s - '0') : mantissa;
				digits++;
			}
	if (!any)
		return read_word(p, end);
	mark = s;
	if (s < end && (*s == 'e' || *s == 'E')) {
		s++;
		down = s < end && *s == '-';
		s += s < end && (*s == '-' || *s == '+');
		if (s == end || *s < '0' || *s > '9')
			s = mark; /* an e without digits is not part of the number */
		for (; s > mark && s < end && *s >= '0' && *s <= '9'; s++)
			exponent = exponent < 100000 ? exponent * 10 + (*s - '0') : exponent;
		exponent = s == mark ? 0 : down ? -exponent : exponent;
	}
	if (s - from > DIGITS)
		return 0;
	*p = s;
	exponent -= places;
	/* Mantissa and power are exact, so the result is rounded once. */
	if (digits <= 19 && mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22)
		v = exponent < 0 ? (double)mantissa / tens[-exponent]
		                 : (double)mantissa * tens[exponent];
	else
		v = read_long(from, s);
	return minus ? -v : v;
}
