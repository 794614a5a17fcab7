#ifdef __AVX2__
#include <immintrin.h>

#define VECTOR 32
#define CHOOSE(V, m, a, b) \
	((V)_mm256_blendv_epi8((__m256i)(a), (__m256i)(b), m))
#define BYTES(x, t, a, b) CHOOSE(bytes_of, _mm256_cmpgt_epi8((__m256i)(x), (__m256i)(t)), a, b)
#define WORDS(x, t, a, b) CHOOSE(words_of, _mm256_cmpgt_epi16((__m256i)(x), (__m256i)(t)), a, b)

#include "predict/cuts_loops.h"

/* One step of eight searches. Where it is 0, they have ended: x is not greater than itself. */
static inline __m256i
advance(const float *values, __m256 x, __m256i from, __m256i at, __m256i step)
{
	__m256 left = _mm256_castsi256_ps(_mm256_cmpgt_epi32(step, _mm256_setzero_si256()));
	__m256i place = _mm256_add_epi32(from, _mm256_add_epi32(at, step));
	__m256 v = _mm256_mask_i32gather_ps(x, values, place, left, 4);

	return _mm256_add_epi32(at, _mm256_and_si256(step, _mm256_castps_si256(_mm256_cmp_ps(x, v, _CMP_GT_OQ))));
}

static inline __m256i
load(const uint32_t *p)
{
	return _mm256_loadu_si256((const void *)p);
}

static void
search_lists(const struct cuts_lists *l, const float *values, size_t n, uint32_t *rank)
{
	const __m256i one = _mm256_set1_epi32(1);
	size_t i;

	for (i = 0; i < n; i += 16) {
		__m256i from1 = _mm256_sub_epi32(load(l->from + i), one), step1 = load(l->half + i), at1 = _mm256_setzero_si256();
		__m256i from2 = _mm256_sub_epi32(load(l->from + i + 8), one), step2 = load(l->half + i + 8), at2 = at1;
		__m256 x1 = _mm256_loadu_ps(values + i), x2 = _mm256_loadu_ps(values + i + 8);
		__m256i both;

		while (both = _mm256_or_si256(step1, step2), !_mm256_testz_si256(both, both)) {
			at1 = advance(l->values, x1, from1, at1, step1);
			at2 = advance(l->values, x2, from2, at2, step2);
			step1 = _mm256_srli_epi32(step1, 1);
			step2 = _mm256_srli_epi32(step2, 1);
		}
		_mm256_storeu_si256((void *)(rank + i), at1);
		_mm256_storeu_si256((void *)(rank + i + 8), at2);
	}
}

const struct cuts_level cuts_avx2 = { "avx2", search_lists, NULL, NULL, cuts_bytes, cuts_words };
#else
typedef int cuts_avx2_unused;
#endif
