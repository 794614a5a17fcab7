/* One row of activations with blocks of 256, with AVX-512. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/streams.h"

/* ---- codes of up to six bits ----
 *
 * Two products make a sum of 16 bits (of codes below 64 and activations of up to 127), two
 * of these times their scale one of 32; so whole numbers are all there is up to the end of
 * a block. Scales of four rows are unpacked side by side, a row in each 16 bytes.
 */

/* The scales of four rows. */
struct large_scales4 {
	__m512i scale;       /* a byte for each sub-block */
	__m512i least[2];    /* 16 bits: for sub-blocks 0 to 7, 8 to 15 */
	__m128 d, m;         /* their units */
};

/* The order of 128 codes in two vectors, and of the activations with them: as stored, or
 * numbers 0 and 2 of each four 32s first, then 1 and 3. */
enum order { IN_ORDER, CROSSED };

typedef struct large_scales4 large_unpack(const uint8_t *const w[STREAMS]);
/* 128 codes from number 128 × half on. */
typedef void large_wide(const uint8_t *block, int half, __m512i v[2]);

INLINE __m512i
four_lanes(const uint8_t *const w[STREAMS], size_t at)
{
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(w[0] + at)));

	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(w[1] + at)), 1);
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(w[2] + at)), 2);
	return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(w[3] + at)), 3);
}

/* The halves at that place in blocks of four rows. */
INLINE __m128
halves_at(const uint8_t *const w[STREAMS], size_t at)
{
	__m128i v = _mm_cvtsi32_si128(le16(w[0] + at));

	v = _mm_insert_epi16(v, le16(w[1] + at), 1);
	v = _mm_insert_epi16(v, le16(w[2] + at), 2);
	v = _mm_insert_epi16(v, le16(w[3] + at), 3);
	return _mm_cvtph_ps(v);
}

/* Which of 16 scales, for sub values each, belongs to each sum of two in vector v of the
 * four of a block. */
INLINE __m512i
scale_places(enum order order, int sub, int v)
{
	int16_t which[32];
	int i, at;

	for (i = 0; i < 32; i++) {
		at = 64 * v + 2 * i;
		if (order == CROSSED)
			at = 128 * (v / 2) + 64 * (i / 16) + 32 * (v % 2) + 2 * (i % 16);
		which[i] = (int16_t)(at / sub);
	}
	return _mm512_loadu_si512(which);
}

INLINE void
large_streams(large_wide *codes, large_unpack *unpack, size_t bytes, int sub, bool sign,
              enum order order, const uint8_t *const w[STREAMS], const uint8_t *activation,
              size_t n, float *y)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	struct quantized q = quantized_at(activation, n, LARGE);
	const uint8_t *x[STREAMS] = { w[0], w[1], w[2], w[3] };
	__m512 acc[STREAMS], leasts = _mm512_setzero_ps(), d, m;
	__m512i which[4], a[4], v[2], sum, scale, low, high, of0, of1;
	const int16_t *of = q.sums;
	const size_t far = dot_ahead_now();
	struct large_scales4 s;
	__m256i sums;
	__m128i bytes16;
	size_t b;
	int i, k;

	for (k = 0; k < 4; k++)
		which[k] = scale_places(order, sub, k);
	for (i = 0; i < STREAMS; i++)
		acc[i] = _mm512_setzero_ps();
	for (b = 0; b < n / LARGE; b++, of += LARGE / SUB, q.code += LARGE) {
#pragma GCC unroll 2
		for (k = 0; k < 4; k += 2) {
			low = load(q.code + 64 * k);
			high = load(q.code + 64 * k + 64);
			a[k] = order == CROSSED ? _mm512_shuffle_i64x2(low, high, 0x44) : low;
			a[k + 1] = order == CROSSED ? _mm512_shuffle_i64x2(low, high, 0xee) : high;
		}
		s = unpack(x);
		sums = _mm256_loadu_si256((const __m256i *)(const void *)of);
		if (sub == SUB) {
			of0 = _mm512_broadcast_i32x4(_mm256_castsi256_si128(sums));
			of1 = _mm512_broadcast_i32x4(_mm256_extracti128_si256(sums, 1));
			sum = _mm512_dpwssd_epi32(_mm512_madd_epi16(s.least[0], of0), s.least[1], of1);
		} else {
			of0 = _mm512_broadcast_i32x4(_mm_hadd_epi16(
				_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
			sum = _mm512_madd_epi16(s.least[0], of0);
		}
		d = _mm512_castps128_ps512(_mm_mul_ps(s.d, _mm_set1_ps(q.scale[b])));
		m = _mm512_castps128_ps512(_mm_mul_ps(s.m, _mm_set1_ps(q.scale[b])));
		leasts = scaled(leasts, sum, m, lanes);
#pragma GCC unroll 4
		for (i = 0; i < STREAMS; i++) {
			bytes16 = i == 0 ? _mm512_extracti32x4_epi32(s.scale, 0)
				: i == 1 ? _mm512_extracti32x4_epi32(s.scale, 1)
				: i == 2 ? _mm512_extracti32x4_epi32(s.scale, 2)
				: _mm512_extracti32x4_epi32(s.scale, 3);
			scale = _mm512_castsi256_si512(sign ? _mm256_cvtepi8_epi16(bytes16)
			                                    : _mm256_cvtepu8_epi16(bytes16));
			sum = _mm512_setzero_si512();
#pragma GCC unroll 4
			for (k = 0; k < 4; k++) {
				if (k % 2 == 0)
					codes(x[i], k / 2, v);
				sum = _mm512_dpwssd_epi32(sum, _mm512_maddubs_epi16(v[k % 2], a[k]),
				                          _mm512_permutexvar_epi16(which[k], scale));
			}
			acc[i] = scaled(acc[i], sum, d, _mm512_set1_epi32(i));
			if (far)
				ask(x[i] + far, bytes);
			x[i] += bytes;
		}
	}
#pragma GCC unroll 4
	for (i = 0; i < STREAMS; i++)
		y[i] = _mm512_reduce_add_ps(acc[i]) -
			_mm512_mask_reduce_add_ps((__mmask16)(0xf << 4 * i), leasts);
}

/* The bits of v in the mask low (3 or 15), and those of high in the mask above, which lies
 * above low. */
INLINE __m512i
joined(__m512i v, int low, __m512i high, int above)
{
	enum { CHOOSE = 0xe4 }; /* a where the bits of mask are set, else b */

	v = _mm512_ternarylogic_epi64(v, high, _mm512_set1_epi8((char)low), CHOOSE);
	return _mm512_and_si512(v, _mm512_set1_epi8((char)(low | above)));
}

/* Both halves rotated left; bits that cross into another byte are masked later. */
INLINE __m512i
turned(__m512i v, int low, int high)
{
	return _mm512_rolv_epi64(v, _mm512_inserti64x4(_mm512_set1_epi64(low & 63),
	                                               _mm256_set1_epi64x(high & 63), 1));
}

/* Two halves from the first four bytes of each lane. */
INLINE void
two_halves(__m512i v, struct large_scales4 *s)
{
	const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
	const __m128i apart = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
	__m128i h = _mm512_castsi512_si128(_mm512_permutexvar_epi32(firsts, v));
	__m256 f = _mm256_cvtph_ps(_mm_shuffle_epi8(h, apart));

	s->d = _mm256_castps256_ps128(f);
	s->m = _mm256_extractf128_ps(f, 1);
}

/* Mins that are scales times less. */
INLINE void
from_scales(struct large_scales4 *s, const uint8_t *const w[STREAMS], size_t at, float less)
{
	s->least[0] = _mm512_srai_epi16(_mm512_unpacklo_epi8(s->scale, s->scale), 8);
	s->least[1] = _mm512_srai_epi16(_mm512_unpackhi_epi8(s->scale, s->scale), 8);
	s->d = halves_at(w, at);
	s->m = _mm_mul_ps(s->d, _mm_set1_ps(less));
}

/* Scales of six bits, 12 bytes as three words a, b, c. a has the first four scales, b their
 * mins; the last four have their lower bits in c, and their upper bits in the bits that a
 * and b have left. */
INLINE struct large_scales4
q4_k_unpack(const uint8_t *const w[STREAMS])
{
	const __m512i by = _mm512_set4_epi32(2, 0, 2, 0), from = _mm512_set4_epi32(4, 0, 0, 0);
	const __m512i mask = _mm512_set4_epi32(0x30303030, 0x3f3f3f3f, 0x30303030, 0x3f3f3f3f);
	const __m512i low = _mm512_set4_epi32(0x0f0f0f0f, 0, 0x0f0f0f0f, 0);
	__m512i v = four_lanes(w, 0), above, below;
	struct large_scales4 s;

	above = _mm512_and_si512(_mm512_srlv_epi32(_mm512_shuffle_epi32(v, 0xa5), by), mask);
	below = _mm512_and_si512(_mm512_srlv_epi32(_mm512_shuffle_epi32(v, 0xff), from), low);
	s.scale = _mm512_or_si512(above, below);
	s.least[0] = _mm512_unpackhi_epi8(s.scale, _mm512_setzero_si512());
	s.least[1] = _mm512_setzero_si512();
	two_halves(v, &s);
	return s;
}

INLINE void
q4_k_wide(const uint8_t *x, int half, __m512i v[2])
{
	__m512i codes = load(x + 16 + 64 * half), mask = _mm512_set1_epi8(15);

	v[0] = _mm512_and_si512(codes, mask);
	v[1] = _mm512_and_si512(_mm512_srli_epi16(codes, 4), mask);
}

INLINE void
q5_k_wide(const uint8_t *x, int half, __m512i v[2])
{
	__m512i codes = load(x + 48 + 64 * half), fifth = twice(x + 16);
	int by = 4 - 4 * half;

	v[0] = joined(codes, 15, turned(fifth, by, by - 2), 16);
	v[1] = joined(_mm512_srli_epi16(codes, 4), 15, turned(fifth, by - 1, by - 3), 16);
}

INLINE struct large_scales4
q6_k_unpack(const uint8_t *const w[STREAMS])
{
	struct large_scales4 s;

	s.scale = four_lanes(w, 192);
	from_scales(&s, w, 208, 32);
	return s;
}

INLINE void
q6_k_wide(const uint8_t *x, int half, __m512i v[2])
{
	__m512i low = load(x + 64 * half), high = twice(x + 128 + 32 * half);

	v[0] = joined(low, 15, turned(high, 4, 2), 0x30);
	v[1] = joined(_mm512_srli_epi16(low, 4), 15, turned(high, 0, -2), 0x30);
}

INLINE struct large_scales4
q2_k_unpack(const uint8_t *const w[STREAMS])
{
	const __m512i mask = _mm512_set1_epi8(15), zero = _mm512_setzero_si512();
	__m512i v = four_lanes(w, 0), least = _mm512_and_si512(_mm512_srli_epi16(v, 4), mask);
	struct large_scales4 s;

	s.scale = _mm512_and_si512(v, mask);
	s.least[0] = _mm512_unpacklo_epi8(least, zero);
	s.least[1] = _mm512_unpackhi_epi8(least, zero);
	s.d = halves_at(w, 80);
	s.m = halves_at(w, 82);
	return s;
}

INLINE void
q2_k_wide(const uint8_t *x, int half, __m512i v[2])
{
	v[0] = q2_k_codes(x, 2 * half);
	v[1] = q2_k_codes(x, 2 * half + 1);
}

/* Scales of six bits less 32: the lower four bits of 16 in two words a and b, the upper two
 * of all in a third, which is rotated so that they lie above the others. */
INLINE struct large_scales4
q3_k_unpack(const uint8_t *const w[STREAMS])
{
	const __m512i from = _mm512_set4_epi32(4, 4, 0, 0), by = _mm512_set4_epi32(2, 0, 30, 28);
	__m512i v = _mm512_bsrli_epi128(four_lanes(w, 94), 2); /* so that nothing behind the block is read */
	__m512i low = _mm512_srlv_epi32(_mm512_shuffle_epi32(v, 0x44), from);
	__m512i high = _mm512_rorv_epi32(_mm512_shuffle_epi32(v, 0xaa), by);
	struct large_scales4 s;

	s.scale = _mm512_sub_epi8(joined(low, 15, high, 0x30), _mm512_set1_epi8(32));
	from_scales(&s, w, 108, 4);
	return s;
}

INLINE void
q3_k_wide(const uint8_t *x, int half, __m512i v[2])
{
	__m512i low = twice(x + 32 + 32 * half), third = twice(x);
	int by = 2 - 4 * half;

	v[0] = joined(turned(low, 0, -2), 3, turned(third, by, by - 1), 4);
	v[1] = joined(turned(low, -4, -6), 3, turned(third, by - 2, by - 3), 4);
}

#define LARGE_STREAMS(NAME, UNPACK, BYTES, SUBS, SIGN, ORDER) \
static void \
NAME##_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n, float *y) \
{ \
	large_streams(NAME##_wide, UNPACK##_unpack, BYTES, SUBS, SIGN, ORDER, w, a, n, y); \
} \
STREAM_ROWS(NAME)

LARGE_STREAMS(q2_k, q2_k, 84, SUB, false, IN_ORDER)
LARGE_STREAMS(q3_k, q3_k, 110, SUB, true, IN_ORDER)
LARGE_STREAMS(q4_k, q4_k, 144, SMALL, false, CROSSED)
LARGE_STREAMS(q5_k, q4_k, 176, SMALL, false, CROSSED)
LARGE_STREAMS(q6_k, q6_k, 210, SUB, true, IN_ORDER)

/* ---- levels, and codes that share one scale ---- */

static void
iq4_xs_streams(const uint8_t *const w[STREAMS], const uint8_t *activation, size_t n, float *y)
{
	const __m512i level = _mm512_broadcast_i64x4(levels_128()), mask = _mm512_set1_epi8(15);
	const __m512i which = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	struct quantized q = quantized_at(activation, n, LARGE);
	__m512 acc[STREAMS], z;
	__m512i a[4], low, high, v;
	__m256 leasts[STREAMS];
	const int16_t *of = q.sums;
	__m256i sums;
	struct scales s;
	const uint8_t *x;
	size_t b;
	int i, k;

	for (i = 0; i < STREAMS; i++) {
		acc[i] = _mm512_setzero_ps();
		leasts[i] = _mm256_setzero_ps();
	}
	for (b = 0; b < n / LARGE; b++, of += LARGE / SUB, q.code += LARGE) {
		/* The first 16 of each 32, which are in the lower halves of bytes, then the
		 * last. */
#pragma GCC unroll 2
		for (k = 0; k < 4; k += 2) {
			low = load(q.code + 64 * k);
			high = load(q.code + 64 * k + 64);
			a[k] = _mm512_shuffle_i64x2(low, high, 0x88);
			a[k + 1] = _mm512_shuffle_i64x2(low, high, 0xdd);
		}
		sums = _mm256_loadu_si256((const __m256i *)(const void *)of);
#pragma GCC unroll 4
		for (i = 0; i < STREAMS; i++) {
			x = w[i] + 136 * b;
			s = iq4_xs_scales(x);
			z = _mm512_mul_ps(_mm512_cvtepi32_ps(s.scale), _mm512_set1_ps(s.d * q.scale[b]));
#pragma GCC unroll 2
			for (k = 0; k < 2; k++) {
				v = load(x + 8 + 64 * k);
				low = _mm512_shuffle_epi8(level, _mm512_and_si512(v, mask));
				high = _mm512_shuffle_epi8(level, _mm512_and_si512(
					_mm512_srli_epi16(v, 4), mask));
				v = four(four(_mm512_setzero_si512(), low, a[2 * k]), high, a[2 * k + 1]);
				acc[i] = scaled(acc[i], v, z, _mm512_add_epi32(which,
				                                               _mm512_set1_epi32(4 * k)));
			}
			leasts[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_madd_epi16(s.least16, sums)),
			                            _mm256_set1_ps(s.m * q.scale[b]), leasts[i]);
		}
	}
	for (i = 0; i < STREAMS; i++)
		y[i] = _mm512_reduce_add_ps(acc[i]) - add_eight(leasts[i]);
}

/* Codes 0 to 2 stand for -1 to 1; the scale is behind the codes. */
INLINE void
ternary_streams(large_codes *codes, size_t bytes, const uint8_t *const w[STREAMS],
                const uint8_t *activation, size_t n, float *y)
{
	struct quantized q = quantized_at(activation, n, LARGE);
	const int16_t *of = q.sums;
	__m512 acc[STREAMS];
	__m512i sum, below;
	const uint8_t *x;
	size_t b;
	int i, k;

	for (i = 0; i < STREAMS; i++)
		acc[i] = _mm512_setzero_ps();
	for (b = 0; b < n / LARGE; b++, of += LARGE / SUB, q.code += LARGE) {
		below = _mm512_zextsi256_si512(_mm256_madd_epi16(_mm256_set1_epi16(-1),
			_mm256_loadu_si256((const __m256i *)(const void *)of)));
#pragma GCC unroll 4
		for (i = 0; i < STREAMS; i++) {
			x = w[i] + bytes * b;
			sum = below;
#pragma GCC unroll 4
			for (k = 0; k < 4; k++)
				sum = four(sum, codes(x, k), load(q.code + 64 * k));
			acc[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
			                         _mm512_set1_ps(half_at(x + bytes - 2) * q.scale[b]), acc[i]);
		}
	}
	for (i = 0; i < STREAMS; i++)
		y[i] = _mm512_reduce_add_ps(acc[i]);
}

static void
tq1_0_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n, float *y)
{
	ternary_streams(tq1_0_codes, 54, w, a, n, y);
}

static void
tq2_0_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n, float *y)
{
	ternary_streams(tq2_0_codes, 66, w, a, n, y);
}

STREAM_ROWS(iq4_xs)
STREAM_ROWS(tq1_0)
STREAM_ROWS(tq2_0)
