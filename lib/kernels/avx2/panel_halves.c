/* Many activations with weights of F16, BF16 or F8. 32 columns of a row at a time become
 * integers of thirteen bits and a sign that share a power of two, as in
 * avx512/panel_halves.c.
 */
#include <math.h>

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/panel_i16.h"

/* 32 numbers in 16 bits. */
INLINE void
halves_at(const uint8_t *x, struct layout l, __m256i v[2])
{
	const __m256i more = _mm256_set1_epi16(0x4000);
	int i;

	for (i = 0; i < 2; i++, x += 16 * l.bytes) {
		if (l.bytes == 2) {
			v[i] = _mm256_loadu_si256((const __m256i *)x);
			continue;
		}
		v[i] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
		v[i] = l.bias == 15 ? _mm256_slli_epi16(v[i], 8)
			: _mm256_andnot_si256(more, _mm256_slli_epi16(v[i], 7));
	}
}

/* Eight of the numbers. F8_E4M3 is laid out as a half with a bias of 8 less: the result is
 * 2^-8 times the number. */
INLINE __m256
floats(__m128i v, struct layout l)
{
	return l.low == 10 ? _mm256_cvtph_ps(v)
		: _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* The largest magnitude of 32 values. */
INLINE int
largest(__m256i first, __m256i last)
{
	const __m256i most = _mm256_set1_epi16(0x7fff);
	__m256i v = _mm256_max_epu16(_mm256_and_si256(first, most), _mm256_and_si256(last, most));
	__m128i half = _mm_max_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	/* The smallest of the distances to the largest number. */
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

/* Sixteen of the numbers as integers: multiples of 1 / by, rounded to nearest. */
INLINE __m256i
whole(struct layout l, __m256i v, __m256 by)
{
	__m256 low = floats(_mm256_castsi256_si128(v), l);
	__m256 high = floats(_mm256_extracti128_si256(v, 1), l);

	return _mm256_permute4x64_epi64(_mm256_packs_epi32(
		_mm256_cvtps_epi32(_mm256_mul_ps(low, by)),
		_mm256_cvtps_epi32(_mm256_mul_ps(high, by))), 0xd8);
}

/* 32 of the numbers. Returns the unit of the integers. */
INLINE float
halves_codes(struct layout l, const uint8_t *x, __m256i *low, __m256i *high)
{
	const int more = l.low == 10 ? 15 - l.bias : 0; /* more powers of two than floats have */
	int e, most;
	__m256i v[2];
	float by;

	halves_at(x, l, v);
	most = largest(v[0], v[1]);
	e = most >> l.low;
	e = (e ? e : 1) - l.bias;
	by = e < -100 ? 0 : power(12 - e + more);
	*low = whole(l, v[0], _mm256_set1_ps(by));
	*high = whole(l, v[1], _mm256_set1_ps(by));
	return most >= l.none ? NAN : by > 0 ? power(e - 12) : 0;
}

/* Up to eight blocks; the last may be short. */
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

#define HALVES_PANELS(NAME) \
PANELS(NAME##_panels_avx2, halves_panel(layout_##NAME, w, stride, &o), false)

HALVES_PANELS(f16)
HALVES_PANELS(bf16)
HALVES_PANELS(f8_e4m3)
HALVES_PANELS(f8_e5m2)
