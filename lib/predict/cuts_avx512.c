#ifdef __AVX512BW__
#include <immintrin.h>

#define VECTOR 64
#define BYTES(x, t, a, b) ((bytes_of)_mm512_mask_blend_epi8( \
	_mm512_cmpgt_epi8_mask((__m512i)(x), (__m512i)(t)), (__m512i)(a), (__m512i)(b)))
#define WORDS(x, t, a, b) ((words_of)_mm512_mask_blend_epi16( \
	_mm512_cmpgt_epi16_mask((__m512i)(x), (__m512i)(t)), (__m512i)(a), (__m512i)(b)))

#include "predict/cuts_loops.h"

/* The pivots are in four registers; bit 5 of a place chooses two of them. */
struct pivots {
	__m512 a, b, c, d;
};

static inline __m512
pivot(const struct pivots *p, __m512i at, __mmask16 high)
{
	return _mm512_mask_blend_ps(high, _mm512_permutex2var_ps(p->a, at, p->b),
	                            _mm512_permutex2var_ps(p->c, at, p->d));
}

/* Adds step to the places of those x that are greater than v. */
static inline __m512i
advance(__m512i at, __m512 x, __m512 v, int step)
{
	return _mm512_mask_add_epi32(at, _mm512_cmp_ps_mask(x, v, _CMP_GT_OQ), at,
	                             _mm512_set1_epi32(step));
}

static void
search(const struct cuts_list *l, const float *values, uint32_t *rank)
{
	const struct pivots p = { _mm512_loadu_ps(l->pivots), _mm512_loadu_ps(l->pivots + 16),
		_mm512_loadu_ps(l->pivots + 32), _mm512_loadu_ps(l->pivots + 48) };
	unsigned rest = l->levels - CUTS_LEVELS;
	size_t i;
	int step;

	for (i = 0; i < CUTS_ROWS; i += 16) {
		__m512 x = _mm512_loadu_ps(values + i);
		__mmask16 high = _mm512_cmp_ps_mask(x, _mm512_set1_ps(l->pivots[31]), _CMP_GT_OQ);
		__m512i at = _mm512_maskz_set1_epi32(high, 32);

		for (step = 16; step; step /= 2)
			at = advance(at, x, pivot(&p, _mm512_add_epi32(at, _mm512_set1_epi32(step - 1)), high),
			             step);
		at = _mm512_sll_epi32(at, _mm_cvtsi32_si128((int)rest));
		for (step = 1 << rest >> 1; step; step /= 2)
			at = advance(at, x, _mm512_i32gather_ps(_mm512_add_epi32(at,
			             _mm512_set1_epi32(step - 1)), l->values, 4), step);
		_mm512_storeu_si512(rank + i, at);
	}
}

static void
search_lists(const struct cuts_lists *l, const float *values, size_t n, uint32_t *rank)
{
	const __m512i one = _mm512_set1_epi32(1);
	size_t i;

	for (i = 0; i < n; i += 16) {
		__m512 x = _mm512_loadu_ps(values + i), v;
		__m512i from = _mm512_sub_epi32(_mm512_loadu_si512(l->from + i), one);
		__m512i step = _mm512_loadu_si512(l->half + i), at = _mm512_setzero_si512();
		__mmask16 left;

		while ((left = _mm512_test_epi32_mask(step, step)) != 0) {
			v = _mm512_mask_i32gather_ps(x, left, _mm512_add_epi32(from,
			                             _mm512_add_epi32(at, step)), l->values, 4);
			left = _mm512_mask_cmp_ps_mask(left, x, v, _CMP_GT_OQ);
			at = _mm512_mask_add_epi32(at, left, at, step);
			step = _mm512_srli_epi32(step, 1);
		}
		_mm512_storeu_si512(rank + i, at);
	}
}

/* ---- one row, several trees ---- */

/* The ranks of a row, in registers: a search for a column needs no load. */
struct row {
	__m512i part[CUTS_COLUMNS / 32];
};

/* The ranks in 32 columns: of each quarter of the row, then the right one by bits 6 and 7. */
static inline __m512i
row_ranks(const struct row *r, __m512i column)
{
	__mmask32 odd = _mm512_test_epi16_mask(column, _mm512_set1_epi16(64));
	__mmask32 high = _mm512_test_epi16_mask(column, _mm512_set1_epi16(128));
	__m512i low = _mm512_mask_blend_epi16(odd,
		_mm512_permutex2var_epi16(r->part[0], column, r->part[1]),
		_mm512_permutex2var_epi16(r->part[2], column, r->part[3]));
	__m512i up = _mm512_mask_blend_epi16(odd,
		_mm512_permutex2var_epi16(r->part[4], column, r->part[5]),
		_mm512_permutex2var_epi16(r->part[6], column, r->part[7]));

	return _mm512_mask_blend_epi16(high, low, up);
}

static inline __m512i
two_triples(const struct cuts_triple *a, const struct cuts_triple *b)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)a)),
	                          _mm256_loadu_si256((const void *)b), 1);
}

/* Bit i of byte k: the row goes right in node i of triple k. a has triples 0 and 1, b 2 and 3. */
static inline uint32_t
four_triples(const struct row *r, __m512i a, __m512i b)
{
	return _mm512_cmpgt_epi16_mask(row_ranks(r, _mm512_shuffle_i64x2(a, b, 0x88)),
	                               _mm512_shuffle_i64x2(a, b, 0xdd));
}

/* The way down for the bits of a triple, 8 to 15. */
#define DOWN(b) (uint8_t)(4 + 2 * ((b) >> 1 & 1) + ((b) >> (2 + ((b) >> 1 & 1)) & 1))
#define WAY(b) (uint8_t)(2 * DOWN(b) + ((b) >> DOWN(b) & 1))
#define WAYS4(b) WAY(b), WAY((b) + 1), WAY((b) + 2), WAY((b) + 3)
#define WAYS16(b) WAYS4(b), WAYS4((b) + 4), WAYS4((b) + 8), WAYS4((b) + 12)
#define WAYS64(b) WAYS16(b), WAYS16((b) + 16), WAYS16((b) + 32), WAYS16((b) + 48)

static const uint8_t ways[256] = { WAYS64(0), WAYS64(64), WAYS64(128), WAYS64(192) };

/* The place below three levels in tree i, from CUTS_TRIPLE on. */
static inline uint32_t
way(uint32_t bits, unsigned i)
{
	return ways[bits >> 8 * i & 255];
}

/* Four trees. Their places stay in registers: vectors of them would wait for their own stores. */
static inline void
four_trees(const struct row *r, const struct cuts_triple (*below)[CUTS_TRIPLE], uint32_t bits,
           uint32_t *at)
{
	uint32_t a = way(bits, 0), b = way(bits, 1), c = way(bits, 2), d = way(bits, 3);

	bits = four_triples(r, two_triples(below[0] + (a - CUTS_TRIPLE), below[1] + (b - CUTS_TRIPLE)),
	                    two_triples(below[2] + (c - CUTS_TRIPLE), below[3] + (d - CUTS_TRIPLE)));
	at[0] = (a - 1) * CUTS_TRIPLE + way(bits, 0);
	at[1] = (b - 1) * CUTS_TRIPLE + way(bits, 1);
	at[2] = (c - 1) * CUTS_TRIPLE + way(bits, 2);
	at[3] = (d - 1) * CUTS_TRIPLE + way(bits, 3);
}

static void
trees(const struct cuts_trees *t, const int16_t *ranks, uint32_t *at)
{
	const struct cuts_triple *top = t->top;
	struct row r;
	uint32_t a, b;
	size_t i;

	for (i = 0; i < CUTS_COLUMNS / 32; i++)
		r.part[i] = _mm512_loadu_si512(ranks + 32 * i);
	a = four_triples(&r, _mm512_loadu_si512(top), _mm512_loadu_si512(top + 2));
	b = four_triples(&r, _mm512_loadu_si512(top + 4), _mm512_loadu_si512(top + 6));
	four_trees(&r, t->below, a, at);
	four_trees(&r, t->below + 4, b, at + 4);
}

const struct cuts_level cuts_avx512 = {
	"avx512", search_lists, search, trees, cuts_bytes, cuts_words
};
#else
typedef int cuts_avx512_unused;
#endif
