#include "predict/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

double
decimal_read(const char **p, const char *end)
{
	const char *s = *p, *from, *mark;
	uint64_t mantissa = 0;
	int digits = 0, places = 0, exponent = 0, any = 0;
	bool minus = s < end && *s == '-', down;
	double v;

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

void
decimal_write(struct buf *b, double v, bool single)
{
	char text[40];
	int digits, last = single ? 9 : 17;

	if (isnan(v)) {
		buf_text(b, "nan");
		return;
	}
	if (v == floor(v) && fabs(v) < 1e9) {
		buf_printf(b, "%s%.0f", signbit(v) && v == 0 ? "-" : "", fabs(v) == 0 ? 0.0 : v);
		return;
	}
	for (digits = last - 2; digits < last; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	if (digits == last)
		snprintf(text, sizeof text, "%.*g", last, v);
	buf_text(b, text);
}
