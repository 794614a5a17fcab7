/* Q8_0 and Q4_0 with AVX2, as ref/type_q8_0.c and ref/type_q4_0.c define them. */
#include <immintrin.h>
#include <math.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/avx2/types.h"

enum { ITEMS = 32, WIDE = 8, PARTS = ITEMS / WIDE, Q8_BYTES = 34, Q4_BYTES = 18 };

static inline __m256
magnitude(__m256 v)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

/* The largest magnitude; NaN has none. */
static inline float
largest(const __m256 *v)
{
	__m256 most = _mm256_setzero_ps();
	__m128 half;
	int i;

	for (i = 0; i < PARTS; i++)
		most = _mm256_max_ps(magnitude(v[i]), most);
	half = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
	half = _mm_max_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

static inline void
load(const float *x, __m256 *v)
{
	int i;

	for (i = 0; i < PARTS; i++)
		v[i] = _mm256_loadu_ps(x + WIDE * i);
}

/* A value that no code can hold becomes zero. */
static inline __m256
held(__m256 v)
{
	return _mm256_and_ps(v, _mm256_cmp_ps(magnitude(v), _mm256_set1_ps(128), _CMP_LT_OQ));
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

static void
q8_0_encode(const float *x, uint8_t *y, size_t n)
{
	/* Packing works on halves of a vector; this brings groups of four bytes into order. */
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i code[PARTS];
	__m256 by, v[PARTS];
	float d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q8_BYTES) {
		load(x, v);
		d = largest(v) / 127.0f;
		le16_put(y, half_f32_f16(d));
		by = _mm256_set1_ps(d != 0 ? 1.0f / d : 0);
		for (i = 0; i < PARTS; i++)
			code[i] = nearest(held(_mm256_mul_ps(v[i], by)));
		code[0] = _mm256_packs_epi16(_mm256_packs_epi32(code[0], code[1]),
		                             _mm256_packs_epi32(code[2], code[3]));
		_mm256_storeu_si256((__m256i *)(y + 2),
		                    _mm256_permutevar8x32_epi32(code[0], order));
	}
}

/* The first value of that magnitude; 0 if that is 0. */
static inline float
first_of(const float *x, const __m256 *v, float most)
{
	const __m256 all = _mm256_set1_ps(most);
	unsigned found = 0;
	int i;

	for (i = 0; i < PARTS; i++)
		found |= (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(magnitude(v[i]), all,
		                                      _CMP_EQ_OQ)) << WIDE * i;
	return most > 0 ? x[__builtin_ctz(found)] : 0;
}

static void
q4_0_encode(const float *x, uint8_t *y, size_t n)
{
	const __m256i low = _mm256_set1_epi32(15), last = low;
	const __m256 shift = _mm256_set1_ps(8.5f);
	__m256i code[PARTS];
	__m256 by, v[PARTS];
	__m128i bytes;
	float d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q4_BYTES) {
		load(x, v);
		d = first_of(x, v, largest(v)) / -8.0f;
		le16_put(y, d == d ? half_f32_f16(d) : 0x7e00);
		by = _mm256_set1_ps(d != 0 ? 1.0f / d : 0);
		for (i = 0; i < PARTS; i++) {
			code[i] = _mm256_cvttps_epi32(held(_mm256_add_ps(
			                              _mm256_mul_ps(v[i], by), shift)));
			code[i] = _mm256_and_si256(_mm256_min_epi32(code[i], last), low);
		}
		for (i = 0; i < 2; i++)
			code[i] = _mm256_or_si256(code[i], _mm256_slli_epi32(code[i + 2], 4));
		code[0] = _mm256_permute4x64_epi64(_mm256_packus_epi32(code[0], code[1]), 0xd8);
		bytes = _mm_packus_epi16(_mm256_castsi256_si128(code[0]),
		                         _mm256_extracti128_si256(code[0], 1));
		_mm_storeu_si128((__m128i *)(y + 2), bytes);
	}
}

static void
q8_0_decode(const uint8_t *x, float *y, size_t n)
{
	__m256 d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += Q8_BYTES, y += ITEMS) {
		d = _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(le16(x))));
		for (i = 0; i < PARTS; i++)
			_mm256_storeu_ps(y + WIDE * i, _mm256_mul_ps(_mm256_cvtepi32_ps(
				_mm256_cvtepi8_epi32(_mm_loadl_epi64(
					(const __m128i *)(x + 2 + WIDE * i)))), d));
	}
}

const struct kernel avx2_q8_0 = {
	.dtype = "Q8_0", .encode = q8_0_encode, .decode = q8_0_decode
};
const struct kernel avx2_q4_0 = {
	.dtype = "Q4_0", .encode = q4_0_encode, .decode = nibbles_avx2_q4_0
};
