#ifdef __AVX512DQ__
#include <string.h>

#include "predict/rows/rows_fields.h"
#include "predict/rows/rows_numbers.h"

#define WINDOW 64
#define TOGETHER 8   /* fields that are read at once */
#define TOO_MANY 2   /* of them are too long: all are read one by one */
#define SOME 256     /* ends of fields that are found before they are read */

/* Where the fields of a line end, from the beginning `at`. */
struct ends {
	const char *at, *window, *end;
	size_t n;
	bool all;               /* the last one is the end of the line */
	uint32_t place[1 + SOME + WINDOW + TOGETHER]; /* place[i] ends field i - 1, and field i follows it */
};

/* Finds the ends of a window. Most have at most eight, whose loop has no branch. */
static inline void
find(struct ends *e, char between)
{
	size_t left = (size_t)(e->end - e->window), count;
	uint64_t m = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(e->window), _mm512_set1_epi8(between));
	uint32_t from = (uint32_t)(e->window - e->at), *to = e->place + 1 + e->n, k;

	e->all = left < WINDOW;
	if (e->all)
		m = (m & (((uint64_t)1 << left) - 1)) | (uint64_t)1 << left;
	count = (size_t)__builtin_popcountll(m);
	e->n += count;
	e->window += WINDOW;
	do {
		for (k = 0; k < 8; k++, m &= m - 1)
			to[k] = from + (uint32_t)_tzcnt_u64(m);
		to += 8;
	} while (m);
}

/* Four fields as their characters, each in 16 bytes with its last one in byte 15. */
struct four {
	__m512i text;   /* zeros in front */
	__m512i digits; /* values of digits; zeros elsewhere */
	__m512i point;  /* 33 and the place of a point, in each half of 16 bytes; 0: none */
	uint64_t wrong; /* bits of bytes that stop the vectors */
};

/* n: of each field, in each of its bytes. */
static inline struct four
four_fields(__m512i raw, __m512i n)
{
	const __m512i each = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
	const __m512i weights = _mm512_add_epi8(each, _mm512_set1_epi8(33));
	/* What a field may hold besides digits: a minus in front, or a point behind the first character. */
	const __m512i others = _mm512_broadcast_i32x4(_mm_setr_epi8('-', '.', '.', '.', '.', '.', '.', '.', '.', '.', '.',
	                                                            '.', '.', '.', '.', '.'));
	__m512i from = _mm512_add_epi8(n, _mm512_sub_epi8(each, _mm512_set1_epi8(16))), value, sum;
	struct four f;
	__mmask64 rest;

	f.text = _mm512_shuffle_epi8(raw, from);
	value = _mm512_sub_epi8(f.text, _mm512_set1_epi8('0'));
	rest = _mm512_cmpgt_epu8_mask(value, _mm512_set1_epi8(9));
	f.digits = _mm512_maskz_mov_epi8(~rest, value);
	f.wrong = (rest & 0x8000800080008000u) |
	          _mm512_mask_cmpneq_epi8_mask(rest, f.text, _mm512_shuffle_epi8(others, from));
	sum = _mm512_sad_epu8(_mm512_maskz_mov_epi8(_mm512_cmpeq_epi8_mask(f.text, _mm512_set1_epi8('.')), weights),
	                      _mm512_setzero_si512());
	f.point = _mm512_add_epi64(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
	return f;
}

/* The two numbers of eight digits of each field, in the 32-bit halves of each half of 16 bytes. */
static inline __m512i
four_values(const struct four *f)
{
	const __m512i weights = _mm512_broadcast_i32x4(_mm_setr_epi8(33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46,
	                                                             47, 48));
	/* Digits up to the point move by one. */
	__mmask64 up = _mm512_cmple_epu8_mask(weights, _mm512_shuffle_epi8(f->point, _mm512_setzero_si512()));
	__m512i d = _mm512_mask_mov_epi8(f->digits, up, _mm512_bslli_epi128(f->digits, 1));

	return _mm512_madd_epi16(_mm512_maddubs_epi16(d, _mm512_set1_epi16(0x010a)), _mm512_set1_epi32(0x00010064));
}

static inline __m128i
text_at(const char *p)
{
	return _mm_loadu_si128((const void *)p);
}

static inline __m512i
load_four(const char *at, const uint32_t *before)
{
	__m512i x = _mm512_castsi128_si512(text_at(at + (uint32_t)(before[0] + 1)));

	x = _mm512_inserti32x4(x, text_at(at + (uint32_t)(before[2] + 1)), 1);
	x = _mm512_inserti32x4(x, text_at(at + (uint32_t)(before[4] + 1)), 2);
	return _mm512_inserti32x4(x, text_at(at + (uint32_t)(before[6] + 1)), 3);
}

/* The lanes of eight whose two bytes are not zero. */
static inline __mmask8
lanes(uint64_t even, uint64_t odd)
{
	__m128i x = _mm_unpacklo_epi16(_mm_cvtsi64_si128((long long)even), _mm_cvtsi64_si128((long long)odd));

	return _mm_test_epi16_mask(x, x);
}

/* Reads the fields between eight ends and those before them. Returns a bit for each that is left to
 * rows_read_field. */
static inline __mmask8
eight(const char *at, const uint32_t *before, __m512d *to)
{
	const __m512i evens = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6);
	const __m512i odds = _mm512_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7);
	/* By the lowest four bits of 33 and the place of the point. */
	const __m512d low = _mm512_setr_pd(1e0, 1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9);
	const __m512d high = _mm512_setr_pd(1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1);
	const __m256i one = _mm256_set1_epi32(1), ones = _mm256_set1_epi32(0x01010101);
	__m256i n = _mm256_loadu_si256((const void *)(before + 1));
	__m512i raw_even = load_four(at, before), raw_odd = load_four(at, before + 1), all, v, point;
	struct four even, odd;
	__mmask8 wrong, minus;

	n = _mm256_sub_epi32(_mm256_sub_epi32(n, _mm256_loadu_si256((const void *)before)), one);
	wrong = _mm256_cmpgt_epu32_mask(_mm256_sub_epi32(n, one), _mm256_set1_epi32(15));
	*to = _mm512_setzero_pd();
	if (__builtin_expect(_mm_popcnt_u32(wrong) > TOO_MANY, 0))
		return 0xff;
	all = _mm512_castsi256_si512(_mm256_mullo_epi32(n, ones));
	even = four_fields(raw_even, _mm512_permutexvar_epi32(evens, all));
	odd = four_fields(raw_odd, _mm512_permutexvar_epi32(odds, all));
	if (__builtin_expect((even.wrong | odd.wrong) != 0, 0))
		wrong |= lanes(even.wrong, odd.wrong);
	v = _mm512_madd_epi16(_mm512_packus_epi32(four_values(&even), four_values(&odd)), _mm512_set1_epi32(0x00012710));
	v = _mm512_add_epi64(_mm512_mul_epu32(v, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(v, 32));
	point = _mm512_unpacklo_epi64(even.point, odd.point);
	wrong |= _mm512_cmpgt_epu64_mask(point, _mm512_set1_epi64(48)); /* two points */
	minus = _mm512_cmpeq_epi64_mask(_mm512_slli_epi64(_mm512_unpacklo_epi64(raw_even, raw_odd), 56),
	                                _mm512_set1_epi64((long long)((uint64_t)'-' << 56)));
	*to = _mm512_div_pd(_mm512_cvtepi64_pd(v), _mm512_permutex2var_pd(low, point, high));
	*to = _mm512_mask_xor_pd(*to, minus, *to, _mm512_set1_pd(-0.0));
	return wrong;
}

/* Reads the fields of a group that the vectors have not; the number up to one that is not read. */
static size_t
repair(const struct ends *e, size_t i, size_t n, __mmask8 wrong, char between, bool json, double *to)
{
	unsigned k;

	for (; wrong; wrong &= (__mmask8)(wrong - 1)) {
		k = (unsigned)__builtin_ctz(wrong);
		if (k >= n || !rows_read_field(e->at + (uint32_t)(e->place[i + k] + 1), e->at + e->place[i + k + 1], between, json, &to[k]))
			return k < n ? k : n;
	}
	return n;
}

/* Reads the first n fields; the number up to one that is not read. */
static size_t
read_some(const struct ends *e, size_t n, char between, bool json, double *to)
{
	size_t k, got, part;
	__mmask8 wrong;
	__m512d v;

	for (k = 0; k < n; k += part) {
		part = n - k < TOGETHER ? n - k : TOGETHER;
		wrong = eight(e->at, e->place + k, &v);
		_mm512_mask_storeu_pd(to + k, (__mmask8)((1u << part) - 1), v);
		if (__builtin_expect(wrong != 0, 0) && (got = repair(e, k, part, wrong, between, json, to + k)) < part)
			return k + got;
	}
	return n;
}

/* Finds ends of at most n fields, and writes the last one again, so that groups can read all places. */
static void
find_some(struct ends *e, char between, size_t n)
{
	while (!e->all && e->n < SOME && e->n < n)
		find(e, between);
	_mm256_storeu_si256((void *)(e->place + 1 + e->n), _mm256_set1_epi32((int)e->place[e->n]));
}

static size_t
read_avx512(const char **p, const char *end, char between, bool json, double *to, size_t n)
{
	struct ends e;
	size_t i = 0, part, got;
	bool last;

	e.at = e.window = *p;
	e.end = end;
	e.n = 0;
	e.all = false;
	e.place[0] = UINT32_MAX; /* the first field begins at place 0 */
	do {
		find_some(&e, between, n - i);
		last = e.all || e.n >= n - i;
		part = !last ? e.n / TOGETHER * TOGETHER : e.n < n - i ? e.n : n - i;
		got = read_some(&e, part, between, json, to + i);
		i += got;
		if (got > 0)
			*p = e.all && got == e.n ? NULL : e.at + (uint32_t)(e.place[got] + 1);
		e.n -= part;
		memmove(e.place, e.place + part, (1 + e.n) * sizeof *e.place);
	} while (!last && got == part);
	return i;
}

const struct rows_numbers rows_numbers_avx512 = { "avx512", read_avx512, rows_integers_avx2 };
#else
typedef int rows_numbers_avx512_unused;
#endif
