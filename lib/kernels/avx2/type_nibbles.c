/* The decoding of types whose codes lie as nibbles_pack says, with AVX2, as ref/type_q4_0.c,
 * type_q4_1.c, type_iq4.c and type_mxfp4.c define it.
 */

#include <immintrin.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/avx2/types.h"
#include "kernels/common/iq4.h"

enum { SUB = 32, SUBS = 8, WIDE = 8 };

/* Codes 0 to 15 in the lower half, 16 to 31 in the upper. */
static inline __m256i
codes(const uint8_t *x)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)x);

	return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes),
	                        _mm256_set1_epi8(15));
}

/* 16 where bit i of fifth is set, for byte i. */
static inline __m256i
fifths(uint32_t fifth)
{
	const __m256i from = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
	                                        0x0303030303030303);
	const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u);
	__m256i b = _mm256_shuffle_epi8(_mm256_set1_epi32((int)fifth), from);

	b = _mm256_cmpeq_epi8(_mm256_and_si256(b, bit), bit);
	return _mm256_and_si256(b, _mm256_set1_epi8(16));
}

/* The signed bytes 8 i to 8 i + 7. */
static inline __m256
floats(__m256i c, int i)
{
	__m128i half = i < 2 ? _mm256_castsi256_si128(c) : _mm256_extracti128_si256(c, 1);

	return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(i % 2 ? _mm_srli_si128(half, 8) : half));
}

/* Unrolled, here and in put_line: the speed of the short loop depends on its place in the
 * program, and is two thirds of this at best. */
static inline void
put_scaled(__m256i c, float d, float *y)
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < SUB / WIDE; i++)
		_mm256_storeu_ps(y + WIDE * i, _mm256_mul_ps(floats(c, i), _mm256_set1_ps(d)));
}

static inline void
put_line(__m256i c, float d, float m, float *y)
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < SUB / WIDE; i++)
		_mm256_storeu_ps(y + WIDE * i, _mm256_add_ps(_mm256_mul_ps(floats(c, i),
		                 _mm256_set1_ps(d)), _mm256_set1_ps(m)));
}

static inline float
half(const uint8_t *x)
{
	return _cvtsh_ss(le16(x));
}

void
nibbles_avx2_q4_0(const uint8_t *x, float *y, size_t n)
{
	for (; n >= SUB; n -= SUB, x += 18, y += SUB)
		put_scaled(_mm256_sub_epi8(codes(x + 2), _mm256_set1_epi8(8)), half(x), y);
}

static void
q5_0_decode(const uint8_t *x, float *y, size_t n)
{
	__m256i c;

	for (; n >= SUB; n -= SUB, x += 22, y += SUB) {
		c = _mm256_or_si256(codes(x + 6), fifths(le32(x + 2)));
		put_scaled(_mm256_sub_epi8(c, _mm256_set1_epi8(16)), half(x), y);
	}
}

static void
q4_1_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= SUB; n -= SUB, x += 20, y += SUB)
		put_line(codes(x + 4), half(x), half(x + 2), y);
}

static void
q5_1_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= SUB; n -= SUB, x += 24, y += SUB)
		put_line(_mm256_or_si256(codes(x + 8), fifths(le32(x + 4))), half(x),
		         half(x + 2), y);
}

/* ---- levels ---- */

static inline __m256i
table(const int8_t *levels)
{
	__m128i t = _mm_loadu_si128((const __m128i *)levels);

	return _mm256_set_m128i(t, t);
}

static void
iq4_nl_decode(const uint8_t *x, float *y, size_t n)
{
	__m256i levels = table(iq4_levels);

	for (; n >= SUB; n -= SUB, x += 18, y += SUB)
		put_scaled(_mm256_shuffle_epi8(levels, codes(x + 2)), half(x), y);
}

static void
iq4_xs_decode(const uint8_t *x, float *y, size_t n)
{
	__m256i levels = table(iq4_levels);
	const uint8_t *code;
	unsigned high;
	int j, scale;
	float d;

	for (; n >= SUB * SUBS; n -= SUB * SUBS, x += 136) {
		d = half(x);
		high = le16(x + 2);
		for (j = 0, code = x + 8; j < SUBS; j++, code += SUB / 2, y += SUB) {
			scale = (x[4 + j / 2] >> 4 * (j % 2) & 15) | (int)(high >> 2 * j & 3) << 4;
			put_scaled(_mm256_shuffle_epi8(levels, codes(code)),
			           d * (float)(scale - 32), y);
		}
	}
}

/* d is 2^(e - 128), for any e. */
static void
mxfp4_decode(const uint8_t *x, float *y, size_t n)
{
	static const int8_t numbers[16] = {
		0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12
	};
	__m256i levels = table(numbers);
	uint32_t u;
	float d;

	for (; n >= SUB; n -= SUB, x += 17, y += SUB) {
		u = x[0] < 2 ? 0x00200000u << x[0] : (uint32_t)(x[0] - 1) << 23;
		memcpy(&d, &u, sizeof d);
		put_scaled(_mm256_shuffle_epi8(levels, codes(x + 1)), d, y);
	}
}

const struct kernel avx2_q4_1 = { .dtype = "Q4_1", .decode = q4_1_decode };
const struct kernel avx2_q5_0 = { .dtype = "Q5_0", .decode = q5_0_decode };
const struct kernel avx2_q5_1 = { .dtype = "Q5_1", .decode = q5_1_decode };
const struct kernel avx2_iq4_nl = { .dtype = "IQ4_NL", .decode = iq4_nl_decode };
const struct kernel avx2_iq4_xs = { .dtype = "IQ4_XS", .decode = iq4_xs_decode };
const struct kernel avx2_mxfp4 = { .dtype = "MXFP4", .decode = mxfp4_decode };
