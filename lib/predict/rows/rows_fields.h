/* rows_fields: the number in one field, for the levels of rows_numbers.h that have vectors.
 * ROWS_NUMBERS_SLACK bytes can be read behind a field. */
#ifndef PREDICT_ROWS_FIELDS_H
#define PREDICT_ROWS_FIELDS_H

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict/decimal.h"
#include "predict/decimal_parts.h"

/* Where a byte of a number comes from, once its last digit is byte 15: from byte i + n - 16 of n, which is
 * none if negative; and up to the point one less. */
static const int8_t rows_places[32] = { -16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const int8_t rows_point[32] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };

static const double rows_tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* The value of 16 digits. */
static inline uint64_t
rows_join(__m128i digits)
{
	const __m128i by10 = _mm_set1_epi16(0x010a), by100 = _mm_set1_epi32(0x00010064);
	const __m128i by10000 = _mm_set1_epi32(0x00012710);
	__m128i v = _mm_madd_epi16(_mm_maddubs_epi16(digits, by10), by100);
	uint64_t both;

	v = _mm_madd_epi16(_mm_packus_epi32(v, v), by10000);
	both = (uint64_t)_mm_cvtsi128_si64(v);
	return (both & 0xffffffff) * 100000000 + (both >> 32);
}

/* The 16 bytes at p, minus those of '0'. */
static inline __m128i
rows_load(const char *p)
{
	return _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
}

/* The bytes of x that are not digits, among the first n. */
static inline uint32_t
rows_others_of(__m128i x, size_t n)
{
	__m128i digits = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(9)), x);

	return ~(uint32_t)_mm_movemask_epi8(digits) & ((2u << (n - 1)) - 1);
}

/* The value of the first n bytes of x. behind: digits behind the point, which is one of the bytes; 16: none. */
static inline uint64_t
rows_value_of(__m128i x, size_t n, size_t behind)
{
	__m128i from = _mm_add_epi8(_mm_loadu_si128((const __m128i *)(const void *)(rows_places + n)),
	                            _mm_loadu_si128((const __m128i *)(const void *)(rows_point + behind)));

	return rows_join(_mm_shuffle_epi8(x, from));
}

/* Reads digits with at most one point, at most 16 characters. With a point there are 15 digits, so that
 * mantissa and power of ten are exact and their quotient is rounded once; without, the mantissa is. 16
 * bytes can be read at p. */
static inline bool
rows_read_digits(const char *p, size_t n, uint64_t *mantissa, size_t *behind)
{
	__m128i x = rows_load(p);
	uint32_t others;

	if (n - 1 > 15)
		return false;
	others = rows_others_of(x, n);
	*behind = 16; /* no point: nothing moves */
	if (others) {
		*behind = n - 1 - (size_t)__builtin_ctz(others);
		if ((others & (others - 1)) || p[n - 1 - *behind] != '.' || n == 1)
			return false;
	}
	*mantissa = rows_value_of(x, n, *behind);
	return true;
}

/* The same with 17 to 24 characters: the last 16 of them, and those before; at most 19 digits, and the
 * number has a point. */
static inline bool
rows_read_long(const char *p, size_t n, uint64_t *mantissa, size_t *behind)
{
	__m128i x = rows_load(p), y = rows_load(p + n - 16);
	size_t first = n - 16;
	uint32_t others = rows_others_of(x, first), last = rows_others_of(y, 16), both = others << 16 | last;
	uint64_t high;

	if (both == 0 || (both & (both - 1)))
		return false;
	*behind = last ? 15 - (size_t)__builtin_ctz(last) : first - 1 - (size_t)__builtin_ctz(others);
	high = rows_value_of(x, first, last ? 16 : *behind);
	*mantissa = rows_value_of(y, 16, last ? *behind : 16) + high * (last ? 1000000000000000 : 10000000000000000);
	*behind += last ? 0 : 16;
	return high < 1000 && p[n - 1 - *behind] == '.';
}

/* Takes an exponent of one or two digits off a number of at least 4 characters. */
static inline size_t
rows_cut_exponent(const char *p, size_t n, int *exponent)
{
	unsigned a = (unsigned char)p[n - 1] - (unsigned)'0', b = (unsigned char)p[n - 2] - (unsigned)'0';
	size_t digits = b < 10 ? 2 : 1, e = n - digits - 1;
	bool minus = p[e] == '-';

	e -= minus || p[e] == '+';
	if (a > 9 || (p[e] | 0x20) != 'e')
		return n;
	*exponent = (int)(b < 10 ? 10 * b + a : a);
	*exponent = minus ? -*exponent : *exponent;
	return e;
}

/* Reads n characters, for which rows_read_digits is not enough. */
static inline bool
rows_read_more(const char *p, size_t n, double *v)
{
	uint64_t mantissa;
	size_t behind;
	int exponent = 0;

	n = n < 5 ? n : rows_cut_exponent(p, n, &exponent);
	if (n - 1 > 23 || !(n > 16 ? rows_read_long(p, n, &mantissa, &behind) : rows_read_digits(p, n, &mantissa, &behind)))
		return false;
	exponent -= n > 16 || behind < 16 ? (int)behind : 0;
	if (mantissa <= (uint64_t)1 << 53 && exponent <= 0 && exponent >= -22)
		*v = (double)(int64_t)mantissa / rows_tens[-exponent];
	else
		return decimal_scale(mantissa, exponent, v);
	return true;
}

/* The value of the field from p to end. */
static inline bool
rows_read_field(const char *p, const char *end, char between, bool json, double *v)
{
	const char *from = p += *p == ' ' && between != ' ' && p < end;
	bool minus = *p == '-';
	size_t n = (size_t)(end - p) - minus, behind;
	uint64_t mantissa;

	if (json && !minus && (unsigned char)(*p - '0') > 9)
		return false;
	if (__builtin_expect(rows_read_digits(p + minus, n, &mantissa, &behind), 1)) {
		*v = (double)(int64_t)mantissa / rows_tens[behind & 15];
		*v = minus ? -*v : *v;
		return true;
	}
	if (rows_read_more(p + minus, n, v)) {
		*v = minus ? -*v : *v;
		return true;
	}
	if (p == end) {
		*v = (double)NAN;
		return between != ' ' && !json;
	}
	*v = decimal_read(&from, end);
	return from == end;
}

#endif
