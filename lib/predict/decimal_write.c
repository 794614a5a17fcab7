#include "predict/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/decimal_parts.h"

/* ---- the definition ---- */

void
decimal_write_plain(struct buf *b, double v, bool single)
{
	char text[40];
	int digits, last = single ? 9 : 17;

	for (digits = last - 2; digits < last; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	if (digits == last)
		snprintf(text, sizeof text, "%.*g", last, v);
	buf_text(b, text);
}

/* ---- the same in integers, for numbers of usual sizes ---- */

#if defined __SIZEOF_INT128__ && !defined __wasm__
__extension__ typedef unsigned __int128 wide;

/* A number mantissa / 2^shift, whose mantissa has the bits of its type. */
struct binary {
	uint64_t mantissa;
	unsigned shift;
	bool single;
};

/* A number value / 10^places. */
struct digits {
	uint64_t value;
	int places;
};

static const uint64_t tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
	10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
	10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u };

/* 10^n, for n up to 38. */
static wide
ten(int n)
{
	return n < 20 ? tens[n] : (wide)tens[n - 19] * tens[19];
}

/* Takes a number apart: false if it has no fraction, or is not between 10^-4 and 10^9, so that all
 * products fit into 128 bits: 2^53 * 10^20, and 10^17 * 2^66. A power of two is left out, since its
 * neighbour below is nearer. */
static bool
take_apart(double v, bool single, struct binary *x)
{
	union { double d; uint64_t u; } bits = { .d = v };
	unsigned gone = single ? 29 : 0; /* bits of a double that a float does not have */

	if (!(v >= 1e-4 && v < 1e9))
		return false;
	x->mantissa = bits.u & (((uint64_t)1 << 52) - 1);
	if (x->mantissa == 0 || (x->mantissa & (((uint64_t)1 << gone) - 1)))
		return false;
	x->mantissa = (x->mantissa | (uint64_t)1 << 52) >> gone;
	x->shift = 1075 - (unsigned)(bits.u >> 52) - gone;
	x->single = single;
	return x->shift < 80;
}

/* The nearest number with this many places, of two the even one. */
static uint64_t
nearest(const struct binary *x, int places)
{
	wide all = (wide)x->mantissa * ten(places), half = (wide)1 << x->shift >> 1;
	wide rest = all & (((wide)1 << x->shift) - 1);
	uint64_t v = (uint64_t)(all >> x->shift);

	return v + (rest > half || (rest == half && v & 1));
}

/* Whether the digits are read as this number again: they lie within half of a unit of its last place. */
static bool
reads_back(const struct binary *x, struct digits d)
{
	wide a = (wide)d.value << x->shift, power = ten(d.places), b = (wide)x->mantissa * power;
	wide off = 2 * (a > b ? a - b : b - a);

	return off < power || (off == power && !(x->mantissa & 1));
}

/* The number rounded to n digits, as printf does. scale: of its first digit, 10^scale, or one less. */
static struct digits
round_to(const struct binary *x, int n, int scale)
{
	struct digits d = { .places = n - 1 - scale };

	d.value = nearest(x, d.places);
	if (d.value >= tens[n]) {
		d.places--;
		d.value = nearest(x, d.places);
	}
	return d;
}

/* Appends the digits with a point, without zeros at the end. */
static void
put_digits(struct buf *b, struct digits d, bool minus)
{
	char text[48], *p = text + sizeof text, *point;

	for (; d.places > 0 && d.value % 10 == 0; d.places--)
		d.value /= 10;
	for (point = p - d.places; p > point; d.value /= 10)
		*--p = (char)('0' + d.value % 10);
	if (d.places > 0)
		*--p = '.';
	do
		*--p = (char)('0' + d.value % 10);
	while (d.value /= 10);
	if (minus)
		*--p = '-';
	buf_put(b, p, (size_t)(text + sizeof text - p));
}

/* The scale of a number from 10^-4 on, or one less. */
static int
scale_of(double v)
{
	static const double from[] = { 1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8 };
	int n = 0;

	while (n < 12 && v >= from[n] * (1 + 1e-15))
		n++;
	return n - 4;
}

static bool
write_usual(struct buf *b, double v, bool single)
{
	struct binary x;
	struct digits d;
	int last = single ? 9 : 17, n = last - 2, scale;

	if (!take_apart(fabs(v), single, &x))
		return false;
	for (scale = scale_of(fabs(v)); n <= last; n++) {
		d = round_to(&x, n, scale);
		if (n == last || reads_back(&x, d))
			break;
	}
	if (d.value < tens[n - 1]) /* below 10^-4, or not as many digits as asked for */
		return false;
	put_digits(b, d, v < 0);
	return true;
}
#else
static bool
write_usual(struct buf *b, double v, bool single)
{
	(void)b;
	(void)v;
	(void)single;
	return false;
}
#endif

/* Appends an integer of at most nine digits. */
static void
put_integer(struct buf *b, double v)
{
	char text[12], *p = text + sizeof text;
	uint32_t n = (uint32_t)fabs(v);

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	if (signbit(v))
		*--p = '-';
	buf_put(b, p, (size_t)(text + sizeof text - p));
}

void
decimal_write(struct buf *b, double v, bool single)
{
	if (isnan(v))
		buf_text(b, "nan");
	else if (v == floor(v) && fabs(v) < 1e9)
		put_integer(b, v);
	else if (!write_usual(b, v, single))
		decimal_write_plain(b, v, single);
}
