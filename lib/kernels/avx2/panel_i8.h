/* panel_i8: many activations at once with weights of at most six bits, IQ1, IQ2 and IQ3.
 * Internal to this folder.
 *
 * One of the files panel_i8_*.c unpacks a panel for a type; panel_i8.c multiplies it by all
 * activations. How depends on few things, so that types share the code:
 *
 *	sub    columns with a scale of their own: 16 or 32
 *	run    columns whose products are added in 16 bits: 8, 16 or 32
 *	zero   the code that stands for 0, if codes are numbers with a sign
 *	min    whether values are scale × code - min
 *
 * An instruction multiplies bytes without a sign by bytes with one and makes sums of two
 * products in 16 bits. These are added in 16 bits too, for a run of columns, before they
 * become 32 bits and are scaled: two instructions for 32 products in place of three. In a
 * run each of the 16 sums has run / 2 products. Codes of up to four bits make at most
 * 16 × 15 × 127, of five bits 8 × 31 × 127, and both fit.
 *
 * Codes of numbers with a sign may be larger: their sum begins with -zero × the sum of
 * activations. It may overflow on the way, but ends within 16 bits, since the sum of the
 * numbers fits: 8 × 32 × 127 for codes of six bits, 16 × 16 × 127 for five, 4 × 43 × 127
 * for the levels of IQ2 in runs of 8 columns. A single sum of two never overflows: it is at
 * most 2 × 86 × 127.
 */
#ifndef KERNELS_AVX2_PANEL_I8_H
#define KERNELS_AVX2_PANEL_I8_H

#include "kernels/avx2/panel.h"

enum { STEPS = LARGE / 4, RUNS = LARGE / SUB, EIGHT = 8 };

/* 256 columns of HEIGHT rows. */
struct panel {
	__m256i code[PAIRS][STEPS][2];     /* four columns in each lane */
	union {
		__m256i whole[PAIRS][RUNS][2]; /* scales of blocks of 256: twice, in 16 bits */
		__m256 scale[PAIRS][LARGE / SMALL][2];
	};
	union {
		__m256i least[PAIRS][RUNS / 2][2]; /* mins of blocks of 256: two of 16 bits */
		__m256 lift[PAIRS][LARGE / SMALL][2]; /* added to blocks of 32 */
	};
	__m256 d[PAIRS][2], m[PAIRS][2];   /* units of whole and least */
};

/* Add, to the results of o, the panel × all activations: block b of 256 columns, or blocks
 * of 32 columns from number b on. Each name is SUB_RUN or RUN, then what a type has: zero,
 * min or neither. */
typedef void large_multiply(const struct panel *p, int zero, const struct job *o, size_t b);
large_multiply large_16_16_min, large_16_16_zero, large_32_32_min, large_32_16_min,
	large_32_16_zero, large_32_8_zero, large_16_8_zero, large_32_32_zero;

typedef void small_multiply(const struct panel *p, int zero, const struct job *o, size_t b,
                            size_t blocks);
small_multiply small_32_zero, small_32_min, small_16_min;

/* ---- blocks of 256: unpacking ---- */

/* Scales of eight rows, from vectors of 16 scales of 16 bits; with sub 32 each scale is
 * there twice. */
INLINE void
scales_fill(struct panel *p, __m256i *v, int sub, size_t pair, size_t half)
{
	__m256i high[ROWS];
	int i;

	if (sub == SMALL) {
		turn(v);
#pragma GCC unroll 8
		for (i = 0; i < ROWS; i++)
			p->whole[pair][i][half] = v[i];
		return;
	}
#pragma GCC unroll 8
	for (i = 0; i < ROWS; i++) {
		high[i] = _mm256_unpackhi_epi16(v[i], v[i]);
		v[i] = _mm256_unpacklo_epi16(v[i], v[i]);
	}
	turn(v);
	turn(high);
	/* v has scales 0 to 3 and 8 to 11. */
#pragma GCC unroll 8
	for (i = 0; i < ROWS; i++) {
		p->whole[pair][i + i / 4 * 4][half] = v[i];
		p->whole[pair][i + i / 4 * 4 + 4][half] = high[i];
	}
}

INLINE void
leasts_fill(struct panel *p, __m256i *v, int sub, size_t pair, size_t half)
{
	int i;

	turn(v);
#pragma GCC unroll 8
	for (i = 0; i < ROWS; i++) {
		if (sub == SUB)
			p->least[pair][i][half] = v[i];
		else if (i % 2)
			p->least[pair][i / 2][half] = _mm256_blend_epi16(v[i - 1], v[i], 0xaa);
	}
}

INLINE void
large_fill(struct panel *p, large_codes *codes, large_scales *scales, int sub, bool least,
           const uint8_t *w, size_t stride, size_t rows)
{
	__m256i v[ROWS], leasts[ROWS];
	float d[ROWS], m[ROWS];
	const uint8_t *x[ROWS];
	struct scales s;
	size_t at, i;
	int k;

	for (at = 0; at < vectors(rows); at++) {
#pragma GCC unroll 8
		for (i = 0; i < ROWS; i++) {
			x[i] = row_at(w, stride, rows, at * ROWS + i);
			s = scales(x[i]);
			v[i] = s.scale;
			leasts[i] = s.least;
			d[i] = s.d;
			m[i] = s.m;
		}
		scales_fill(p, v, sub, at / 2, at % 2);
		if (least)
			leasts_fill(p, leasts, sub, at / 2, at % 2);
		p->d[at / 2][at % 2] = _mm256_loadu_ps(d);
		p->m[at / 2][at % 2] = _mm256_loadu_ps(m);
		for (k = 0; k < LARGE / SMALL; k++) {
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++)
				v[i] = codes(x[i], k);
			turn(v);
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++)
				p->code[at / 2][ROWS * k + (int)i][at % 2] = v[i];
		}
	}
}

INLINE void
large_panel(large_codes *codes, large_scales *scales, size_t bytes, int sub, int zero, bool least,
            large_multiply *multiply, const uint8_t *w, size_t stride, const struct job *o)
{
	struct panel p;
	size_t b;

	for (b = 0; b < o->n / LARGE; b++, w += bytes) {
		large_fill(&p, codes, scales, sub, least, w, stride, o->rows);
		rows_ahead(w + bytes, stride, o->rows, bytes);
		multiply(&p, zero, o, b);
	}
}

#define LARGE_PANELS(NAME, SCALES, BYTES, SUBS, RUN, KIND, ZERO, LEAST) \
	PANELS(NAME##_panels_avx2, large_panel(NAME##_codes, SCALES, BYTES, SUBS, ZERO, LEAST, \
	       large_##SUBS##_##RUN##_##KIND, w, stride, &o), false)

#endif
