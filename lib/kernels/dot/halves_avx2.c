/* Many activations at once with weights that are F16, BF16 or F8, with AVX2: 32 columns of a
 * row at a time become words, whole numbers of thirteen bits and a sign that share a power
 * of two, as in halves_avx512.c.
 */
#ifdef __x86_64__
#include <math.h>

#include "kernels/dot/words_avx2.h"

/* How a number lies in 16 bits: a sign, an exponent, and below it so many bits; from a
 * magnitude of none on there are no numbers. In memory it has so many bytes. */
struct layout {
	int low, bias, none;
	size_t bytes;
	void (*load)(const uint8_t *x, __m256i v[2]); /* 32 of them */
	__m256 (*floats)(__m128i v);                  /* 2^-less of what they are */
	int less;
};

INLINE void
halves_load(const uint8_t *x, __m256i v[2])
{
	v[0] = _mm256_loadu_si256((const __m256i *)x);
	v[1] = _mm256_loadu_si256((const __m256i *)(x + 32));
}

INLINE void
f8_e5m2_load(const uint8_t *x, __m256i v[2])
{
	int i;

	for (i = 0; i < 2; i++)
		v[i] = _mm256_slli_epi16(_mm256_cvtepu8_epi16(
			_mm_loadu_si128((const __m128i *)(x + 16 * i))), 8);
}

/* As halves whose exponents are 8 higher. */
INLINE void
f8_e4m3_load(const uint8_t *x, __m256i v[2])
{
	const __m256i more = _mm256_set1_epi16(0x4000);
	int i;

	for (i = 0; i < 2; i++)
		v[i] = _mm256_andnot_si256(more, _mm256_slli_epi16(_mm256_cvtepi8_epi16(
			_mm_loadu_si128((const __m128i *)(x + 16 * i))), 7));
}

INLINE __m256
f16_floats(__m128i v)
{
	return _mm256_cvtph_ps(v);
}

INLINE __m256
bf16_floats(__m128i v)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* The largest magnitude of 32 values. */
INLINE int
largest(__m256i first, __m256i last)
{
	const __m256i most = _mm256_set1_epi16(0x7fff);
	__m256i v = _mm256_max_epu16(_mm256_and_si256(first, most), _mm256_and_si256(last, most));
	__m128i half = _mm_max_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	/* The least of what is missing to the largest number. */
	half = _mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)));
	return 0xffff - _mm_extract_epi16(half, 0);
}

INLINE float
power(int exponent)
{
	uint32_t bits = (uint32_t)(exponent + 127) << 23;
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

/* Sixteen of them as words: multiples of 1 / by, to the nearest. */
INLINE __m256i
whole(struct layout l, __m256i v, __m256 by)
{
	__m256 low = l.floats(_mm256_castsi256_si128(v)), high = l.floats(_mm256_extracti128_si256(v, 1));

	return _mm256_permute4x64_epi64(_mm256_packs_epi32(
		_mm256_cvtps_epi32(_mm256_mul_ps(low, by)),
		_mm256_cvtps_epi32(_mm256_mul_ps(high, by))), 0xd8);
}

/* 32 of them. Returns what the words count. */
INLINE float
halves_codes(struct layout l, const uint8_t *x, __m256i *low, __m256i *high)
{
	int e, most;
	__m256i v[2];
	float by;

	l.load(x, v);
	most = largest(v[0], v[1]);
	e = most >> l.low;
	e = (e ? e : 1) - l.bias;
	by = e < -100 ? 0 : power(12 - e + l.less);
	*low = whole(l, v[0], _mm256_set1_ps(by));
	*high = whole(l, v[1], _mm256_set1_ps(by));
	return most >= l.none ? NAN : by > 0 ? power(e - 12) : 0;
}

/* Up to eight blocks; of the last need not all columns be there. */
INLINE void
halves_fill(struct panel *p, struct layout l, const uint8_t *w, size_t stride, size_t rows,
            size_t columns)
{
	__m256i low[ROWS], high[ROWS];
	uint8_t part[2 * SMALL];
	float scale[ROWS];
	const uint8_t *x;
	size_t at, b, i;

	for (at = 0; at < vectors(rows); at++) {
		for (b = 0; b * SMALL < columns; b++) {
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++) {
				x = row_at(w, stride, rows, at * ROWS + i) + l.bytes * SMALL * b;
				if (columns - b * SMALL < SMALL) {
					memset(part, 0, sizeof part);
					memcpy(part, x, l.bytes * (columns - b * SMALL));
					x = part;
				}
				scale[i] = halves_codes(l, x, &low[i], &high[i]);
			}
			p->scale[at / 2][b][at % 2] = _mm256_loadu_ps(scale);
			columns_put(p->code[at / 2] + SMALL / 2 * b, low, high, at % 2);
		}
	}
}

INLINE void
halves_panel(struct layout l, const uint8_t *w, size_t stride, const struct job *o)
{
	size_t at, columns;
	struct panel p;

	for (at = 0; at < o->n; at += columns, w += l.bytes * columns) {
		columns = o->n - at < LARGE ? o->n - at : LARGE;
		halves_fill(&p, l, w, stride, o->rows, columns);
		rows_ahead(w + l.bytes * columns, stride, o->rows, l.bytes * columns);
		all_multiply(&p, o, true, at / SMALL, (int)((columns + SMALL - 1) / SMALL), SMALL);
	}
}

static const struct layout f16 = { 10, 15, 0x7c00, 2, halves_load, f16_floats, 0 };
static const struct layout bf16 = { 7, 127, 0x7f80, 2, halves_load, bf16_floats, 0 };
static const struct layout e4m3 = { 10, 7, 0x3f80, 1, f8_e4m3_load, f16_floats, 8 };
static const struct layout e5m2 = { 10, 15, 0x7c00, 1, f8_e5m2_load, f16_floats, 0 };

PANELS(static, f16_panels, halves_panel(f16, w, stride, &o), false)
PANELS(static, bf16_panels, halves_panel(bf16, w, stride, &o), false)
PANELS(static, f8_e4m3_panels, halves_panel(e4m3, w, stride, &o), false)
PANELS(static, f8_e5m2_panels, halves_panel(e5m2, w, stride, &o), false)

const struct dot_many halves_avx2[] = {
	{ "F16", f16_panels }, { "BF16", bf16_panels }, { "F8_E4M3", f8_e4m3_panels },
	{ "F8_E5M2", f8_e5m2_panels }, { NULL, NULL }
};
#else
typedef int nothing_here;
#endif
