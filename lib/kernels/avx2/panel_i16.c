/* Many activations with weights of eight bits, as integers of 16 bits. Levels of IQ4_XS are
 * multiplied by their scales when they are unpacked, and still fit.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/panel_i16.h"

INLINE __m256i
low_words(__m256i v)
{
	return _mm256_cvtepi8_epi16(_mm256_castsi256_si128(v));
}

INLINE __m256i
high_words(__m256i v)
{
	return _mm256_cvtepi8_epi16(_mm256_extracti128_si256(v, 1));
}

/* Up to eight blocks. */
INLINE void
small_fill(struct panel *p, small_codes *codes, size_t bytes, const uint8_t *w, size_t stride,
           size_t rows, size_t blocks)
{
	__m256i low[ROWS], high[ROWS], v;
	float scale[ROWS];
	const uint8_t *x;
	size_t at, b, i;

	for (at = 0; at < vectors(rows); at++) {
		for (b = 0; b < blocks; b++) {
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++) {
				x = row_at(w, stride, rows, at * ROWS + i) + bytes * b;
				scale[i] = half_at(x);
				v = codes(x);
				low[i] = low_words(v);
				high[i] = high_words(v);
			}
			p->scale[at / 2][b][at % 2] = _mm256_loadu_ps(scale);
			columns_put(p->code[at / 2] + SMALL / 2 * b, low, high, at % 2);
		}
	}
}

INLINE void
small_panel(small_codes *codes, size_t bytes, const uint8_t *w, size_t stride,
            const struct job *o)
{
	size_t b, blocks;
	struct panel p;

	for (b = 0; b < o->n / SMALL; b += blocks) {
		blocks = o->n / SMALL - b < BLOCKS ? o->n / SMALL - b : BLOCKS;
		small_fill(&p, codes, bytes, w + bytes * b, stride, o->rows, blocks);
		rows_ahead(w + bytes * (b + blocks), stride, o->rows, bytes * blocks);
		all_multiply(&p, o, false, b, (int)blocks, SMALL);
	}
}

INLINE void
large_fill(struct panel *p, large_codes *codes, large_scales *scales, const uint8_t *w,
           size_t stride, size_t rows)
{
	__m256i low[ROWS], high[ROWS], v, by;
	int16_t scale[ROWS][LARGE / SUB];
	const uint8_t *x[ROWS];
	struct scales s;
	float d[ROWS];
	size_t at, i;
	int k;

	for (at = 0; at < vectors(rows); at++) {
#pragma GCC unroll 8
		for (i = 0; i < ROWS; i++) {
			x[i] = row_at(w, stride, rows, at * ROWS + i);
			s = scales(x[i]);
			_mm256_storeu_si256((__m256i *)scale[i], s.scale);
			d[i] = s.d;
		}
		p->scale[at / 2][0][at % 2] = _mm256_loadu_ps(d);
#pragma GCC unroll 8
		for (k = 0; k < LARGE / SMALL; k++) {
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++) {
				v = codes(x[i], k);
				by = _mm256_set1_epi16(scale[i][2 * k]);
				low[i] = _mm256_mullo_epi16(low_words(v), by);
				by = _mm256_set1_epi16(scale[i][2 * k + 1]);
				high[i] = _mm256_mullo_epi16(high_words(v), by);
			}
			columns_put(p->code[at / 2] + SMALL / 2 * k, low, high, at % 2);
		}
	}
}

INLINE void
large_panel(large_codes *codes, large_scales *scales, size_t bytes, const uint8_t *w,
            size_t stride, const struct job *o)
{
	struct panel p;
	size_t b;

	for (b = 0; b < o->n / LARGE; b++, w += bytes) {
		large_fill(&p, codes, scales, w, stride, o->rows);
		rows_ahead(w + bytes, stride, o->rows, bytes);
		all_multiply(&p, o, false, b, 1, LARGE);
	}
}

PANELS(q8_0_panels_avx2, small_panel(q8_0_codes, 34, w, stride, &o), false)
PANELS(iq4_nl_panels_avx2, small_panel(iq4_nl_codes, 18, w, stride, &o), false)
PANELS(iq4_xs_panels_avx2, large_panel(iq4_xs_codes, iq4_xs_scales, 136, w, stride, &o), false)
