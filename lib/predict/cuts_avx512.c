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

const struct cuts_level cuts_avx512 = { "avx512", search_lists, search, cuts_bytes, cuts_words };
#else
typedef int cuts_avx512_unused;
#endif
