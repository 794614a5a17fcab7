/* Forms of activations with AVX2: the bytes of ref/activation.c for finite values. Values
 * that are not finite may give other bytes.
 */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernels/avx2/avx2.h"

enum { WIDE = 8 };

static inline __m256
magnitude(__m256 v)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

static inline float
largest(__m256 v)
{
	__m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

	half = _mm_max_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

/* The integers of four vectors as 32 bytes. */
static inline __m256i
bytes_of(const __m256i *v)
{
	__m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]),
	                                    _mm256_packs_epi32(v[2], v[3]));

	return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* The nearest integer, halves away from zero. */
static inline __m256i
nearest(__m256 v)
{
	__m256i whole = _mm256_cvttps_epi32(v), more, less;
	__m256 rest = _mm256_sub_ps(v, _mm256_cvtepi32_ps(whole));

	/* true is -1 */
	more = _mm256_castps_si256(_mm256_cmp_ps(rest, _mm256_set1_ps(0.5f), _CMP_GE_OQ));
	less = _mm256_castps_si256(_mm256_cmp_ps(rest, _mm256_set1_ps(-0.5f), _CMP_LE_OQ));
	return _mm256_add_epi32(_mm256_sub_epi32(whole, more), less);
}

static inline int
add_whole(__m256i v)
{
	__m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
	return _mm_cvtsi128_si32(half);
}

/* 32 values: the codes, and their sum. Returns the scale. */
static inline float
small_block(const float *x, uint8_t *code, int *sum)
{
	__m256 by, most = _mm256_setzero_ps(), v[4];
	__m256i whole[4];
	float d;
	int i;

	for (i = 0; i < 4; i++) {
		v[i] = _mm256_loadu_ps(x + WIDE * i);
		most = _mm256_max_ps(magnitude(v[i]), most);
	}
	d = largest(most) / 127.0f;
	by = _mm256_set1_ps(d != 0 ? 1.0f / d : 0);
	for (i = 0; i < 4; i++) {
		v[i] = _mm256_mul_ps(v[i], by);
		/* A value that no code can hold, where 1 / d is infinite, becomes zero. */
		v[i] = _mm256_and_ps(v[i], _mm256_cmp_ps(magnitude(v[i]), _mm256_set1_ps(128),
		                                         _CMP_LT_OQ));
		whole[i] = nearest(v[i]);
	}
	_mm256_storeu_si256((__m256i *)code, bytes_of(whole));
	*sum = add_whole(_mm256_add_epi32(_mm256_add_epi32(whole[0], whole[1]),
	                                  _mm256_add_epi32(whole[2], whole[3])));
	return d;
}

/* The first value of the largest magnitude. */
static inline float
extreme(const float *x)
{
	__m256 most = _mm256_setzero_ps(), all;
	float m;
	int found, i;

	for (i = 0; i < LARGE; i += WIDE)
		most = _mm256_max_ps(magnitude(_mm256_loadu_ps(x + i)), most);
	m = largest(most);
	all = _mm256_set1_ps(m);
	for (i = 0; m > 0 && i < LARGE; i += WIDE) {
		found = _mm256_movemask_ps(_mm256_cmp_ps(magnitude(_mm256_loadu_ps(x + i)), all,
		                                         _CMP_EQ_OQ));
		if (found)
			return x[i + __builtin_ctz((unsigned)found)];
	}
	return 0;
}

/* 32 codes, rounded to nearest, halves to even; and the sums of each 16. */
static inline void
large_part(const float *x, float inverse, uint8_t *code, int16_t *sums)
{
	const __m256 by = _mm256_set1_ps(inverse);
	__m256i whole[4], sum;
	__m128i pair;
	int i;

	for (i = 0; i < 4; i++) {
		whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + WIDE * i), by));
		whole[i] = _mm256_min_epi32(whole[i], _mm256_set1_epi32(127));
	}
	_mm256_storeu_si256((__m256i *)code, bytes_of(whole));
	sum = _mm256_hadd_epi32(_mm256_add_epi32(whole[0], whole[1]),
	                        _mm256_add_epi32(whole[2], whole[3]));
	pair = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
	sums[0] = (int16_t)(_mm_extract_epi32(pair, 0) + _mm_extract_epi32(pair, 1));
	sums[1] = (int16_t)(_mm_extract_epi32(pair, 2) + _mm_extract_epi32(pair, 3));
}

/* 32 codes of 16 bits. A value that is not finite makes the scale not finite. */
static inline void
i16_block(const float *x, int16_t *code, float *scale)
{
	const __m256i infinite = _mm256_set1_epi32(0x7f800000);
	__m256i bits = _mm256_setzero_si256(), whole[4];
	__m256 v[4], by;
	float most;
	int i;

	for (i = 0; i < 4; i++) {
		v[i] = _mm256_loadu_ps(x + WIDE * i);
		/* Magnitudes have the same order as integers; NaN is above all numbers. */
		bits = _mm256_max_epi32(bits, _mm256_castps_si256(magnitude(v[i])));
	}
	most = largest(_mm256_castsi256_ps(bits));
	if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(infinite, bits)) != -1)
		most = NAN;
	*scale = most >= DOT_LEAST || isnan(most) ? most / I16_MOST : 0;
	by = _mm256_set1_ps(most >= DOT_LEAST ? I16_MOST / most : 0);
	for (i = 0; i < 4; i++)
		whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(isnan(most) ? _mm256_setzero_ps() : v[i],
		                                            by));
	for (i = 0; i < 4; i += 2)
		_mm256_storeu_si256((__m256i *)(void *)(code + 8 * i), _mm256_permute4x64_epi64(
			_mm256_packs_epi32(whole[i], whole[i + 1]), 0xd8));
}

#define QUANTIZERS quantizers_avx2
#include "kernels/common/quantize_loops.h"
