#include "predict/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/le.h"
#include "predict/decimal_parts.h"

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

#if defined __SIZEOF_INT128__ && !defined __wasm__
__extension__ typedef unsigned __int128 wide;

/* 1 / 5^k for k from 1 on: the first 128 bits, without the rest. */
#define FIFTHS 43
static const uint64_t fifths[FIFTHS][2] = {
	{ 0xcccccccccccccccc, 0xcccccccccccccccc }, { 0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a3 },
	{ 0x83126e978d4fdf3b, 0x645a1cac083126e9 }, { 0xd1b71758e219652b, 0xd3c36113404ea4a8 },
	{ 0xa7c5ac471b478423, 0x0fcf80dc33721d53 }, { 0x8637bd05af6c69b5, 0xa63f9a49c2c1b10f },
	{ 0xd6bf94d5e57a42bc, 0x3d32907604691b4c }, { 0xabcc77118461cefc, 0xfdc20d2b36ba7c3d },
	{ 0x89705f4136b4a597, 0x31680a88f8953030 }, { 0xdbe6fecebdedd5be, 0xb573440e5a884d1b },
	{ 0xafebff0bcb24aafe, 0xf78f69a51539d748 }, { 0x8cbccc096f5088cb, 0xf93f87b7442e45d3 },
	{ 0xe12e13424bb40e13, 0x2865a5f206b06fb9 }, { 0xb424dc35095cd80f, 0x538484c19ef38c94 },
	{ 0x901d7cf73ab0acd9, 0x0f9d37014bf60a10 }, { 0xe69594bec44de15b, 0x4c2ebe687989a9b3 },
	{ 0xb877aa3236a4b449, 0x09befeb9fad487c2 }, { 0x9392ee8e921d5d07, 0x3aff322e62439fcf },
	{ 0xec1e4a7db69561a5, 0x2b31e9e3d06c32e5 }, { 0xbce5086492111aea, 0x88f4bb1ca6bcf584 },
	{ 0x971da05074da7bee, 0xd3f6fc16ebca5e03 }, { 0xf1c90080baf72cb1, 0x5324c68b12dd6338 },
	{ 0xc16d9a0095928a27, 0x75b7053c0f178293 }, { 0x9abe14cd44753b52, 0xc4926a9672793542 },
	{ 0xf79687aed3eec551, 0x3a83ddbd83f52204 }, { 0xc612062576589dda, 0x95364afe032a819d },
	{ 0x9e74d1b791e07e48, 0x775ea264cf55347d }, { 0xfd87b5f28300ca0d, 0x8bca9d6e188853fc },
	{ 0xcad2f7f5359a3b3e, 0x096ee45813a04330 }, { 0xa2425ff75e14fc31, 0xa1258379a94d028d },
	{ 0x81ceb32c4b43fcf4, 0x80eacf948770ced7 }, { 0xcfb11ead453994ba, 0x67de18eda5814af2 },
	{ 0xa6274bbdd0fadd61, 0xecb1ad8aeacdd58e }, { 0x84ec3c97da624ab4, 0xbd5af13bef0b113e },
	{ 0xd4ad2dbfc3d07787, 0x955e4ec64b44e864 }, { 0xaa242499697392d2, 0xdde50bd1d5d0b9e9 },
	{ 0x881cea14545c7575, 0x7e50d64177da2e54 }, { 0xd9c7dced53c72255, 0x96e7bd358c904a21 },
	{ 0xae397d8aa96c1b77, 0xabec975e0a0d081a }, { 0x8b61313bbabce2c6, 0x2323ac4b3b3da015 },
	{ 0xdf01e85f912e37a3, 0x6b6c46dec52f6688 }, { 0xb267ed1940f1c61c, 0x55f038b237591ed3 },
	{ 0x8eb98a7a9a5b04e3, 0x77f3608e92adb242 }
};

/* A mantissa of more than 53 bits, times 10^exponent. The product has an error below two units of the lower 64
 * bits, so it is rounded the right way unless they are next to zero: false then. */
bool
decimal_scale(uint64_t mantissa, int exponent, double *v)
{
	unsigned k = (unsigned)-exponent, zeros, gone, bits = (k * 152170 >> 16) + 1; /* of 5^k */
	union { uint64_t u; double d; } power;
	wide low, high;
	uint64_t top;

	if (exponent >= 0 || k > FIFTHS || mantissa == 0) {
		*v = (double)mantissa;
		return exponent == 0 || mantissa == 0;
	}
	zeros = (unsigned)__builtin_clzll(mantissa);
	low = (wide)(mantissa << zeros) * fifths[k - 1][1];
	high = (wide)(mantissa << zeros) * fifths[k - 1][0] + (uint64_t)(low >> 64);
	top = (uint64_t)(high >> 64);
	gone = 10 + (unsigned)(top >> 63);
	power.u = (uint64_t)(1023 + gone + 1 - zeros - bits - k) << 52;
	*v = (double)(int64_t)(((top >> (gone - 1)) + 1) >> 1) * power.d;
	return (uint64_t)high + 2 > 4;
}
#else
bool
decimal_scale(uint64_t mantissa, int exponent, double *v)
{
	*v = (double)mantissa;
	return exponent == 0 || mantissa == 0;
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

/* The zeros in front of the other digits of a number that ends at end. */
static int
zeros_at(const char *s, const char *end)
{
	int n = 0;

	for (; s < end && (*s < '1' || *s > '9'); s++)
		n += *s == '0';
	return n;
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
	if (s <= from || (s - from > USUAL && s - from - zeros_at(*p, s) > USUAL))
		return false;
	if (s < end && (*s == 'e' || *s == 'E') && !(s = take_exponent(s + 1, end, &exponent)))
		return false;
	if (mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22)
		*v = exponent < 0 ? (double)(int64_t)mantissa / tens[-exponent] : (double)(int64_t)mantissa * tens[exponent];
	else if (!decimal_scale(mantissa, exponent, v))
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
