#ifdef __AVX2__
#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "predict/decimal.h"
#include "predict/rows/rows_numbers.h"

#define WINDOW 64

/* Where a byte of a number comes from, once its last digit is byte 15: from byte i + n - 16 of n, which is
 * none if negative; and up to the point one less. */
static const int8_t places[32] = { -16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const int8_t point[32] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };

static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15 };

/* The value of 16 digits. */
static inline uint64_t
join(__m128i digits)
{
	const __m128i by10 = _mm_set1_epi16(0x010a), by100 = _mm_set1_epi32(0x00010064);
	const __m128i by10000 = _mm_set1_epi32(0x00012710);
	__m128i v = _mm_madd_epi16(_mm_maddubs_epi16(digits, by10), by100);
	uint64_t both;

	v = _mm_madd_epi16(_mm_packus_epi32(v, v), by10000);
	both = (uint64_t)_mm_cvtsi128_si64(v);
	return (both & 0xffffffff) * 100000000 + (both >> 32);
}

/* Reads digits with at most one point, at most 16 characters. With a point there are 15 digits, so that
 * mantissa and power of ten are exact and the quotient is rounded once; without, the mantissa is. 16
 * bytes can be read at p. */
static inline bool
read_digits(const char *p, size_t n, double *v)
{
	__m128i x = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
	__m128i digits = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(9)), x), from;
	uint32_t others = ~(uint32_t)_mm_movemask_epi8(digits);
	size_t behind = 16; /* no point: nothing moves */

	if (n - 1 > 15)
		return false;
	others &= (2u << (n - 1)) - 1;
	if (others) {
		behind = n - 1 - (size_t)__builtin_ctz(others);
		if ((others & (others - 1)) || p[n - 1 - behind] != '.' || n == 1)
			return false;
	}
	from = _mm_add_epi8(_mm_loadu_si128((const __m128i *)(const void *)(places + n)),
	                    _mm_loadu_si128((const __m128i *)(const void *)(point + behind)));
	*v = (double)(int64_t)join(_mm_shuffle_epi8(x, from)) / tens[behind & 15];
	return true;
}

/* The value of the field from p to end. */
static inline bool
read_field(const char *p, const char *end, char between, bool json, double *v)
{
	const char *from = p += *p == ' ' && between != ' ' && p < end;
	bool minus = *p == '-';

	if (json && !minus && (unsigned char)(*p - '0') > 9)
		return false;
	if (__builtin_expect(read_digits(p + minus, (size_t)(end - p) - minus, v), 1)) {
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

/* The characters among WINDOW bytes that end a field; the line ends after n bytes. */
static inline uint64_t
ends_of(const char *p, size_t n, char between)
{
	const __m256i *at = (const __m256i *)(const void *)p, c = _mm256_set1_epi8(between);
	uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(at), c));
	uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(at + 1), c));
	uint64_t all = (uint64_t)high << 32 | low;

	return n >= WINDOW ? all : (all & (((uint64_t)1 << n) - 1)) | (uint64_t)1 << n;
}

static size_t
read_avx2(const char **p, const char *end, char between, bool json, double *to, size_t n)
{
	const char *at = *p, *window, *stop;
	uint64_t ends;
	size_t i = 0;

	for (window = at; i < n; window += WINDOW)
		for (ends = ends_of(window, (size_t)(end - window), between); ends && i < n; ends &= ends - 1) {
			stop = window + __builtin_ctzll(ends);
			if (!read_field(at, stop, between, json, &to[i]))
				return i;
			i++;
			at = stop + 1;
			*p = stop < end ? at : NULL;
			if (stop == end)
				return i;
		}
	return i;
}

const struct rows_numbers rows_numbers_avx2 = { "avx2", read_avx2 };
#else
typedef int rows_numbers_avx2_unused;
#endif
