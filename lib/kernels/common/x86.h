/* x86: what the products with AVX2 and AVX-512 share: scales, and the layout of numbers of
 * 16 bits. Internal to kernels. */
#ifndef DOT_X86_H
#define DOT_X86_H

#include <immintrin.h>
#include <string.h>

#include "core/le.h"
#include "kernels/common/iq4.h"

/* The distance in bytes at which weights are prefetched: memory takes as long as some
 * hundred products, more than the CPU looks ahead. */
enum { AHEAD = 4096 };

/* The layout of a number in 16 bits: a sign, an exponent with this bias, and low bits below
 * it; magnitudes from none on are infinite or NaN. bytes is its size in memory. F8 lies
 * as in F16, with another bias and zeros below. */
struct layout {
	int low, bias, none;
	size_t bytes;
};
static const struct layout layout_f16 = { 10, 15, 0x7c00, 2 };
static const struct layout layout_bf16 = { 7, 127, 0x7f80, 2 };
static const struct layout layout_f8_e4m3 = { 10, 7, 0x3f80, 1 };
static const struct layout layout_f8_e5m2 = { 10, 15, 0x7c00, 1 };

static inline float
half_at(const uint8_t *x)
{
	return _cvtsh_ss(le16(x));
}

/* Four bytes, to be broadcast to all lanes. */
static inline int
word_at(const void *p)
{
	int v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* The halves at x, x + bytes and so on, of four blocks. */
static inline __m128
four_halves(const uint8_t *x, size_t bytes)
{
	__m128i v = _mm_cvtsi32_si128(le16(x));

	v = _mm_insert_epi16(v, le16(x + bytes), 1);
	v = _mm_insert_epi16(v, le16(x + 2 * bytes), 2);
	v = _mm_insert_epi16(v, le16(x + 3 * bytes), 3);
	return _mm_cvtph_ps(v);
}

/* A scale of MXFP4: 2^(e - 128), subnormal below 2. */
static inline float
power_at(const uint8_t *x)
{
	uint32_t u = *x < 2 ? 0x00200000u << *x : (uint32_t)(*x - 1) << 23;
	float v;

	memcpy(&v, &u, sizeof v);
	return v;
}

static inline __m128
four_powers(const uint8_t *x, size_t bytes)
{
	return _mm_setr_ps(power_at(x), power_at(x + bytes), power_at(x + 2 * bytes),
	                   power_at(x + 3 * bytes));
}

static inline float
add_four(__m128 v)
{
	v = _mm_add_ps(v, _mm_movehl_ps(v, v));
	return _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)));
}

static inline float
add_eight(__m256 v)
{
	return add_four(_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}

/* Levels of IQ4_NL and IQ4_XS plus 128, and those of MXFP4 plus 12, for a shuffle in each
 * half. */
static inline __m256i
levels_128(void)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)iq4_levels);

	return _mm256_broadcastsi128_si256(_mm_xor_si128(v, _mm_set1_epi8(-128)));
}

static inline __m256i
levels_mxfp4(void)
{
	return _mm256_broadcastsi128_si256(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11,
	                                                 10, 9, 8, 6, 4, 0));
}

/* Q4_K and Q5_K: eight scales and eight mins, in the first bytes of a vector each. */
struct six {
	__m128i scale, least;
};

static inline struct six
six_at(const uint8_t *x)
{
	const uint32_t low = 0x0f0f0f0f, high = 0x30303030, six = 0x3f3f3f3f;
	uint32_t a = le32(x), b = le32(x + 4), c = le32(x + 8);
	struct six y;

	y.scale = _mm_cvtsi64_si128((long long)((uint64_t)((c & low) | (a >> 2 & high)) << 32 |
	                                        (a & six)));
	y.least = _mm_cvtsi64_si128((long long)((uint64_t)((c >> 4 & low) | (b >> 2 & high)) << 32 |
	                                        (b & six)));
	return y;
}

/* Eight bytes as 16 numbers of 16 bits, each twice. */
static inline __m256i
doubled(__m128i v)
{
	return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(v, v));
}

/* Sixteen scales of six bits, less 32. */
static inline __m128i
q3_k_scales_at(const uint8_t *x)
{
	const uint32_t low = 0x0f0f0f0f, high = 0x30303030;
	uint32_t a = le32(x), b = le32(x + 4), c = le32(x + 8);
	__m128i v;

	v = _mm_setr_epi32((int)((a & low) | (c << 4 & high)), (int)((b & low) | (c << 2 & high)),
	                   (int)((a >> 4 & low) | (c & high)),
	                   (int)((b >> 4 & low) | (c >> 2 & high)));
	return _mm_sub_epi8(v, _mm_set1_epi8(32));
}

/* Eight scales of six bits, less 32, in the first bytes. */
static inline __m128i
iq4_xs_scales_at(const uint8_t *x)
{
	const __m128i by = _mm_setr_epi32(0, 2, 4, 6), next = _mm_setr_epi32(8, 10, 12, 14);
	__m128i low = _mm_cvtsi32_si128((int)le32(x + 4)), high = _mm_set1_epi32(le16(x + 2));
	__m128i two;

	low = _mm_and_si128(_mm_unpacklo_epi8(low, _mm_srli_epi16(low, 4)), _mm_set1_epi8(15));
	two = _mm_packs_epi32(_mm_and_si128(_mm_srlv_epi32(high, by), _mm_set1_epi32(3)),
	                      _mm_and_si128(_mm_srlv_epi32(high, next), _mm_set1_epi32(3)));
	two = _mm_slli_epi16(_mm_packs_epi16(two, two), 4);
	return _mm_sub_epi8(_mm_or_si128(low, two), _mm_set1_epi8(32));
}

#endif
