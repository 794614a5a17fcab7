/* One row of activations with blocks of 32, four blocks at a time. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/streams.h"

/* Codes of four blocks in two vectors. With halves, the first 16 of each block and then the
 * last 16, as they are in the two halves of bytes; else two blocks and two. */
typedef void small_wide(const uint8_t *w, __m512i v[2]);

/* Add the rest of a row to sum, block by block. */
INLINE float
small_rest(small_codes *codes, size_t bytes, int zero, bool least, const uint8_t *w,
           const struct quantized *q, size_t b, size_t blocks, float sum)
{
	const __m512i zeros = _mm512_set1_epi8((char)zero);
	const float *values = q->sums;
	__m512i a, v;

	for (; b < blocks; b++, w += bytes) {
		a = _mm512_castsi256_si512(_mm256_loadu_si256(
			(const __m256i *)(const void *)(q->code + SMALL * b)));
		v = four(_mm512_setzero_si512(), _mm512_castsi256_si512(codes(w)), a);
		v = _mm512_sub_epi32(v, four(_mm512_setzero_si512(), zeros, a));
		sum += (bytes == 17 ? power_at(w) : half_at(w)) * q->scale[b] *
			(float)_mm512_mask_reduce_add_epi32(0xff, v);
		if (least)
			sum += half_at(w + 2) * values[b];
	}
	return sum;
}

INLINE void
small_streams(small_wide *wide, small_codes *codes, bool halves, size_t bytes, int zero,
              bool least, const uint8_t *const w[STREAMS], const uint8_t *activation, size_t n,
              float *y)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	const __m512i first = _mm512_srli_epi32(lanes, 1);
	const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(2));
	struct quantized q = quantized_at(activation, n, SMALL);
	const uint8_t *x[STREAMS] = { w[0], w[1], w[2], w[3] };
	__m512 acc[STREAMS], z;
	__m512i a0, a1, v[2], below0, below1;
	__m128 leasts[STREAMS], values, scale;
	const size_t far = dot_ahead_now();
	size_t b;
	int i;

	for (i = 0; i < STREAMS; i++) {
		acc[i] = _mm512_setzero_ps();
		leasts[i] = _mm_setzero_ps();
	}
	for (b = 0; b + 4 <= n / SMALL; b += 4) {
		v[0] = load(q.code + SMALL * b);
		v[1] = load(q.code + SMALL * (b + 2));
		a0 = halves ? _mm512_shuffle_i64x2(v[0], v[1], 0x88) : v[0];
		a1 = halves ? _mm512_shuffle_i64x2(v[0], v[1], 0xdd) : v[1];
		below0 = below1 = _mm512_setzero_si512();
		if (zero) {
			below0 = _mm512_sub_epi32(below0, four(below1, _mm512_set1_epi8((char)zero), a0));
			below1 = _mm512_sub_epi32(below1, four(below1, _mm512_set1_epi8((char)zero), a1));
		}
		if (halves)
			below0 = _mm512_add_epi32(below0, below1);
		scale = _mm_loadu_ps(q.scale + b);
		values = _mm_loadu_ps((const float *)q.sums + b);
#pragma GCC unroll 4
		for (i = 0; i < STREAMS; i++) {
			z = _mm512_castps128_ps512(_mm_mul_ps(scale, bytes == 17
				? four_powers(x[i], bytes) : four_halves(x[i], bytes)));
			wide(x[i], v);
			if (halves) {
				acc[i] = scaled(acc[i], four(four(below0, v[0], a0), v[1], a1), z, lanes);
			} else {
				acc[i] = scaled(acc[i], four(below0, v[0], a0), z, first);
				acc[i] = scaled(acc[i], four(below1, v[1], a1), z, second);
			}
			if (least)
				leasts[i] = _mm_fmadd_ps(four_halves(x[i] + 2, bytes), values, leasts[i]);
			if (far)
				ask(x[i] + far, 4 * bytes);
			x[i] += 4 * bytes;
		}
	}
#pragma GCC unroll 4
	for (i = 0; i < STREAMS; i++)
		y[i] = small_rest(codes, bytes, zero, least, x[i], &q, b, n / SMALL,
		                  _mm512_reduce_add_ps(acc[i]) + add_four(leasts[i]));
}

/* Four times 16 bytes, at addresses bytes apart. */
INLINE void
nibbles_wide(const uint8_t *x, size_t bytes, __m512i v[2])
{
	const __m512i mask = _mm512_set1_epi8(15);
	__m512i all = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)x));

	all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)(x + bytes)), 1);
	all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)(x + 2 * bytes)), 2);
	all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i *)(x + 3 * bytes)), 3);
	v[0] = _mm512_and_si512(all, mask);
	v[1] = _mm512_and_si512(_mm512_srli_epi16(all, 4), mask);
}

/* Add 16 where the bits of four blocks, bytes apart, are set. */
INLINE void
fifths_wide(const uint8_t *x, size_t bytes, __m512i v[2])
{
	const __m128i apart = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
	const __m512i fifth = _mm512_set1_epi8(16);
	__m128i bits = _mm_setr_epi32((int)le32(x), (int)le32(x + bytes), (int)le32(x + 2 * bytes),
	                              (int)le32(x + 3 * bytes));

	bits = _mm_shuffle_epi8(bits, apart);
	v[0] = _mm512_mask_add_epi8(v[0], (__mmask64)_mm_cvtsi128_si64(bits), v[0], fifth);
	v[1] = _mm512_mask_add_epi8(v[1], (__mmask64)_mm_extract_epi64(bits, 1), v[1], fifth);
}

INLINE void
q4_0_wide(const uint8_t *x, __m512i v[2])
{
	nibbles_wide(x + 2, 18, v);
}

INLINE void
q4_1_wide(const uint8_t *x, __m512i v[2])
{
	nibbles_wide(x + 4, 20, v);
}

INLINE void
q5_0_wide(const uint8_t *x, __m512i v[2])
{
	nibbles_wide(x + 6, 22, v);
	fifths_wide(x + 2, 22, v);
}

INLINE void
q5_1_wide(const uint8_t *x, __m512i v[2])
{
	nibbles_wide(x + 8, 24, v);
	fifths_wide(x + 4, 24, v);
}

INLINE void
q8_0_wide(const uint8_t *x, __m512i v[2])
{
	v[0] = _mm512_inserti64x4(_mm512_castsi256_si512(q8_0_codes(x)), q8_0_codes(x + 34), 1);
	v[1] = _mm512_inserti64x4(_mm512_castsi256_si512(q8_0_codes(x + 68)), q8_0_codes(x + 102),
	                          1);
}

INLINE void
iq4_nl_wide(const uint8_t *x, __m512i v[2])
{
	const __m512i level = _mm512_broadcast_i64x4(levels_128());

	nibbles_wide(x + 2, 18, v);
	v[0] = _mm512_shuffle_epi8(level, v[0]);
	v[1] = _mm512_shuffle_epi8(level, v[1]);
}

INLINE void
mxfp4_wide(const uint8_t *x, __m512i v[2])
{
	const __m512i level = _mm512_broadcast_i64x4(levels_mxfp4());

	nibbles_wide(x + 1, 17, v);
	v[0] = _mm512_shuffle_epi8(level, v[0]);
	v[1] = _mm512_shuffle_epi8(level, v[1]);
}

#define SMALL_STREAMS(NAME, HALVES, BYTES, ZERO, LEAST) \
static void \
NAME##_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n, float *y) \
{ \
	small_streams(NAME##_wide, NAME##_codes, HALVES, BYTES, ZERO, LEAST, w, a, n, y); \
} \
STREAM_ROWS(NAME)

SMALL_STREAMS(q4_0, true, 18, 8, false)
SMALL_STREAMS(q5_0, true, 22, 16, false)
SMALL_STREAMS(q8_0, false, 34, 128, false)
SMALL_STREAMS(iq4_nl, true, 18, 128, false)
SMALL_STREAMS(mxfp4, true, 17, 12, false)
SMALL_STREAMS(q4_1, true, 20, 0, true)
SMALL_STREAMS(q5_1, true, 24, 0, true)
