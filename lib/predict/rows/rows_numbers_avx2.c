#ifdef __AVX2__
#include "core/le.h"
#include "predict/rows/rows_fields.h"
#include "predict/rows/rows_numbers.h"

#define WINDOW 64

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
			if (!rows_read_field(at, stop, between, json, &to[i]))
				return i;
			i++;
			at = stop + 1;
			*p = stop < end ? at : NULL;
			if (stop == end)
				return i;
		}
	return i;
}

/* The value of n digits, 1 to 8; 8 bytes can be read at p. False for all else. */
static inline bool
few_digits(const char *p, size_t n, uint32_t *v)
{
	uint64_t x = le64((const uint8_t *)p) ^ 0x3030303030303030u;

	if (n - 1 > 7)
		return false;
	x <<= 64 - 8 * n; /* zeros in front */
	if (((x + 0x7676767676767676u) | x) & 0x8080808080808080u)
		return false;
	x = x * 10 + (x >> 8);
	*v = (uint32_t)(((x & 0x000000ff000000ffu) * 0x000f424000000064u +
	                 (x >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32);
	return true;
}

size_t
rows_integers_avx2(const char **p, const char *end, char between, double *to, size_t n)
{
	const char *at = *p, *window, *stop;
	uint64_t ends;
	size_t i = 0;
	uint32_t v;
	bool minus;

	for (window = at; i < n; window += WINDOW)
		for (ends = ends_of(window, (size_t)(end - window), between); ends && i < n; ends &= ends - 1) {
			stop = window + __builtin_ctzll(ends);
			minus = *at == '-';
			if (!few_digits(at + minus, (size_t)(stop - at) - minus, &v))
				return i;
			to[i++] = minus ? -(double)(int32_t)v : (double)(int32_t)v;
			at = stop + 1;
			*p = stop < end ? at : NULL;
			if (stop == end)
				return i;
		}
	return i;
}

const struct rows_numbers rows_numbers_avx2 = { "avx2", read_avx2, rows_integers_avx2 };
#else
typedef int rows_numbers_avx2_unused;
#endif
