/* What libc prints into memory. Conversions: d i u x X p c s e f g, with h, l, ll, z, j and t; numbers with
 * exactly the digits that they have. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wasm/decimal.h"

struct output {
	char *p;
	size_t room, n; /* n: bytes of the whole text, which may have more than there is room for */
};

struct conversion {
	bool left, zeros, plus, space, marked;
	int width, precision; /* precision -1: none */
	char size;            /* 'l': 64 bits, 'L': a long of 32, 'h' and 'H': 16 and 8, or 0 */
	char kind;
};

static void
put(struct output *o, char c)
{
	if (o->n < o->room)
		o->p[o->n] = c;
	o->n++;
}

static void
put_text(struct output *o, const char *s, size_t n)
{
	while (n-- > 0)
		put(o, *s++);
}

static void
put_many(struct output *o, char c, int n)
{
	while (n-- > 0)
		put(o, c);
}

/* Puts what stands before n characters of a number: blanks, sign or "0x", and zeros. */
static void
put_before(struct output *o, const struct conversion *c, const char *sign, int n)
{
	int blanks = c->width - n - (int)strlen(sign);

	if (!c->left && !c->zeros)
		put_many(o, ' ', blanks);
	put_text(o, sign, strlen(sign));
	if (!c->left && c->zeros)
		put_many(o, '0', blanks);
}

static const char *
sign_of(const struct conversion *c, bool minus)
{
	return minus ? "-" : c->plus ? "+" : c->space ? " " : "";
}

static void
put_integer(struct output *o, struct conversion *c, uint64_t v, const char *sign)
{
	const char *digits = c->kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned base = c->kind == 'x' || c->kind == 'X' ? 16 : 10;
	char text[24], *p = text + sizeof text;
	int n, zeros;

	if (c->marked && base == 16 && v)
		sign = c->kind == 'X' ? "0X" : "0x";
	for (; v > 0; v /= base)
		*--p = digits[v % base];
	n = (int)(text + sizeof text - p);
	zeros = (c->precision < 0 ? 1 : c->precision) - n;
	if (c->precision >= 0)
		c->zeros = false;
	put_before(o, c, sign, n + (zeros > 0 ? zeros : 0));
	put_many(o, '0', zeros);
	put_text(o, p, (size_t)n);
}

/* Digits `from` to `to` - 1 of a number. */
static void
put_digits(struct output *o, const struct decimal *d, int from, int to)
{
	for (; from < to; from++)
		put(o, decimal_digit(d, from));
}

/* With an exponent: one digit before the point, `places` after it. */
static void
put_scaled(struct output *o, const struct conversion *c, const struct decimal *d, int places, const char *sign)
{
	int power = d->n ? d->point - 1 : 0, size = abs(power);
	bool point = places > 0 || c->marked, long_power = size > 99;

	put_before(o, c, sign, 1 + point + places + (long_power ? 5 : 4));
	put_digits(o, d, 0, 1);
	if (point)
		put(o, '.');
	put_digits(o, d, 1, 1 + places);
	put(o, c->kind < 'a' ? 'E' : 'e');
	put(o, power < 0 ? '-' : '+');
	if (long_power)
		put(o, (char)('0' + size / 100));
	put(o, (char)('0' + size / 10 % 10));
	put(o, (char)('0' + size % 10));
}

static void
put_plain(struct output *o, const struct conversion *c, const struct decimal *d, int places, const char *sign)
{
	int before = d->n && d->point > 0 ? d->point : 1, start = d->n ? d->point : 1;
	bool point = places > 0 || c->marked;

	put_before(o, c, sign, before + point + places);
	put_digits(o, d, start - before, start);
	if (point)
		put(o, '.');
	put_digits(o, d, start, start + places);
}

/* "g": the digits that are not zeros at the end, with an exponent if that is small or large. */
static void
put_general(struct output *o, const struct conversion *c, struct decimal *d, const char *sign)
{
	int digits = c->precision < 0 ? 6 : c->precision > 0 ? c->precision : 1, power;

	decimal_round(d, digits);
	power = d->n ? d->point - 1 : 0;
	if (!c->marked) {
		while (d->n > 0 && d->digit[d->n - 1] == '0')
			d->n--;
	}
	if (power < -4 || power >= digits)
		put_scaled(o, c, d, (c->marked ? digits : d->n ? d->n : 1) - 1, sign);
	else if (c->marked || d->n > d->point)
		put_plain(o, c, d, (c->marked ? digits : d->n ? d->n : 1) - 1 - power, sign);
	else
		put_plain(o, c, d, 0, sign);
}

static void
put_real(struct output *o, struct conversion *c, double v)
{
	const char *sign = sign_of(c, signbit(v)), *name;
	struct decimal d;
	int e, places = c->precision < 0 ? 6 : c->precision;
	double m;

	if (isnan(v) || isinf(v)) {
		name = c->kind < 'a' ? (isnan(v) ? "NAN" : "INF") : isnan(v) ? "nan" : "inf";
		c->zeros = false;
		put_before(o, c, sign, 3);
		put_text(o, name, 3);
		return;
	}
	m = frexp(fabs(v), &e);
	decimal_set(&d, (uint64_t)ldexp(m, 53), v == 0 ? 0 : e - 53);
	if (c->kind == 'g' || c->kind == 'G') {
		put_general(o, c, &d, sign);
	} else if (c->kind == 'e' || c->kind == 'E') {
		decimal_round(&d, places + 1);
		put_scaled(o, c, &d, places, sign);
	} else {
		decimal_round(&d, d.point + places);
		put_plain(o, c, &d, places, sign);
	}
}

static void
put_string(struct output *o, const struct conversion *c, const char *s)
{
	size_t n;

	s = s ? s : "(null)";
	n = c->precision < 0 ? strlen(s) : strnlen(s, (size_t)c->precision);
	if (!c->left && n < INT_MAX)
		put_many(o, ' ', c->width - (int)n);
	put_text(o, s, n);
}

/* ---- the format ---- */

static int
number(const char **f, va_list *ap)
{
	int n = 0;

	if (**f == '*') {
		++*f;
		return va_arg(*ap, int);
	}
	for (; **f >= '0' && **f <= '9'; ++*f)
		n = 10 * n + (**f - '0');
	return n;
}

/* Takes the conversion behind a "%" apart. */
static struct conversion
parse(const char **f, va_list *ap)
{
	static const char flags[] = "-0+ #";
	struct conversion c = { .precision = -1 };
	bool *const set[] = { &c.left, &c.zeros, &c.plus, &c.space, &c.marked };
	const char *flag;

	for (; **f && (flag = strchr(flags, **f)); ++*f)
		*set[flag - flags] = true;
	c.width = number(f, ap);
	if (c.width < 0) {
		c.left = true;
		c.width = -c.width;
	}
	if (**f == '.') {
		++*f;
		c.precision = number(f, ap);
		if (c.precision < 0)
			c.precision = -1;
	}
	for (; **f && strchr("hljzt", **f); ++*f) {
		if (**f == 'h')
			c.size = c.size == 'h' ? 'H' : 'h';
		else if (**f == 'j' || c.size == 'L' || sizeof(long) == 8)
			c.size = 'l';
		else if (**f == 'l')
			c.size = 'L';
	}
	c.kind = *(*f)++;
	return c;
}

static int64_t
signed_argument(const struct conversion *c, va_list *ap)
{
	if (c->size == 'l')
		return va_arg(*ap, int64_t);
	return c->size == 'h' ? (short)va_arg(*ap, int) : c->size == 'H' ? (signed char)va_arg(*ap, int)
	                                                                 : va_arg(*ap, int);
}

static uint64_t
unsigned_argument(const struct conversion *c, va_list *ap)
{
	if (c->size == 'l')
		return va_arg(*ap, uint64_t);
	return c->size == 'h' ? (unsigned short)va_arg(*ap, unsigned)
	                      : c->size == 'H' ? (unsigned char)va_arg(*ap, unsigned) : va_arg(*ap, unsigned);
}

static void
convert(struct output *o, struct conversion *c, va_list *ap)
{
	size_t from = o->n;
	int64_t i;

	if (c->kind == 's') {
		put_string(o, c, va_arg(*ap, const char *));
	} else if (c->kind == 'c') {
		put_before(o, &(struct conversion){ .width = c->width, .left = c->left }, "", 1);
		put(o, (char)va_arg(*ap, int));
	} else if (c->kind == 'd' || c->kind == 'i') {
		i = signed_argument(c, ap);
		put_integer(o, c, i < 0 ? -(uint64_t)i : (uint64_t)i, sign_of(c, i < 0));
	} else if (c->kind == 'p') {
		c->kind = 'x';
		c->marked = true;
		put_integer(o, c, (uintptr_t)va_arg(*ap, void *), "");
	} else if (c->kind && strchr("uxX", c->kind)) {
		put_integer(o, c, unsigned_argument(c, ap), "");
	} else if (c->kind && strchr("efgEFG", c->kind)) {
		put_real(o, c, va_arg(*ap, double));
	} else if (c->kind == '%') {
		put(o, '%');
	} else {
		abort(); /* no text of the library asks for another */
	}
	if (c->left && o->n - from < INT_MAX)
		put_many(o, ' ', c->width - (int)(o->n - from));
}

int
vsnprintf(char *p, size_t room, const char *f, va_list given)
{
	struct output o = { .p = p, .room = room };
	struct conversion c;
	va_list ap;

	va_copy(ap, given);
	while (*f) {
		if (*f != '%') {
			put(&o, *f++);
			continue;
		}
		f++;
		c = parse(&f, &ap);
		convert(&o, &c, &ap);
	}
	va_end(ap);
	if (room > 0)
		p[o.n < room ? o.n : room - 1] = '\0';
	return o.n > INT_MAX ? -1 : (int)o.n;
}

int
snprintf(char *p, size_t room, const char *f, ...)
{
	va_list ap;
	int n;

	va_start(ap, f);
	n = vsnprintf(p, room, f, ap);
	va_end(ap);
	return n;
}
