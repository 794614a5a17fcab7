/* Many activations with weights of F16, BF16 or F8, by products of 16-bit integers (VNNI): a
 * CPU begins twice as many of these in a cycle as of floats.
 *
 * The weights of a row become integers, 32 columns at a time: multiples of the power of two
 * that gives the largest of them thirteen bits. So weights above a quarter (F16), a
 * thirty-second (BF16) or a five-hundredth (F8_E4M3) of the largest are exact, and others
 * are off by half a multiple. Activations have codes of the same kind (I16). Sums of 32
 * products are exact.
 *
 * As in panel_i8.c a row is a lane, and two neighbouring columns lie side by side: 32 rows
 * of 256 columns, which stay in the nearest cache while all activations pass by.
 */
#include <math.h>

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/panel.h"

enum { PAIR = 2 * ROWS, COLUMNS = LARGE, BLOCKS = COLUMNS / SMALL, STEP = SMALL / 2 };

struct halves {
	__m512i w[BLOCKS][STEP][2]; /* of two columns, rows 0 to 15 and 16 to 31 */
	__m512 scale[BLOCKS][2];
};

/* The 32 numbers of 16 bits that the mask selects. */
INLINE __m512i
halves_at(const uint8_t *x, struct layout l, __mmask32 there)
{
	__m512i v;

	if (l.bytes == 2)
		return _mm512_maskz_loadu_epi16(there, x);
	v = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(there, x));
	return l.bias == 15 ? _mm512_slli_epi16(v, 8)
		: _mm512_andnot_si512(_mm512_set1_epi16(0x4000), _mm512_slli_epi16(v, 7));
}

INLINE __m512i
magnitude(__m512i v)
{
	return _mm512_and_si512(v, _mm512_set1_epi16(0x7fff));
}

/* Exponents less one; zero for subnormal numbers, which have the exponent of one. */
INLINE __m512i
exponents(__m512i v, struct layout l)
{
	return _mm512_subs_epu16(_mm512_srli_epi16(magnitude(v), (unsigned)l.low),
	                         _mm512_set1_epi16(1));
}

/* Values as multiples for the largest exponents given, rounded to nearest, halves away
 * from zero. */
INLINE __m512i
whole(__m512i v, __m512i most, struct layout l)
{
	__m512i e = exponents(v, l), m = magnitude(v);

	/* The hidden bit stays: fourteen bits, the last one for rounding. */
	m = _mm512_sub_epi16(m, _mm512_slli_epi16(e, (unsigned)l.low));
	m = _mm512_slli_epi16(m, (unsigned)(13 - l.low));
	m = _mm512_srlv_epi16(m, _mm512_sub_epi16(most, e));
	m = _mm512_avg_epu16(m, _mm512_setzero_si512());
	return _mm512_mask_sub_epi16(m, _mm512_movepi16_mask(v), _mm512_setzero_si512(), m);
}

/* The unit of integers for these largest magnitudes; infinite where one is infinite or
 * NaN. */
INLINE __m512
counts(__m512i most, struct layout l)
{
	const __m512i word = _mm512_set1_epi32(0xffff);
	__mmask16 none = _mm512_cmpge_epi32_mask(_mm512_and_si512(most, word),
	                                         _mm512_set1_epi32(l.none));
	__m512i e = _mm512_and_si512(exponents(most, l), word);
	__m512 power;

	/* In two steps: the power itself may be subnormal. */
	e = _mm512_slli_epi32(_mm512_add_epi32(e, _mm512_set1_epi32(128 - l.bias)), 23);
	power = _mm512_mul_ps(_mm512_castsi512_ps(e), _mm512_set1_ps(0x1p-12f));
	return _mm512_mask_mov_ps(power, none, _mm512_set1_ps(INFINITY));
}

/* A block of up to 32 columns of sixteen rows. */
INLINE void
block_fill(struct halves *p, struct layout l, const uint8_t *w, size_t stride, size_t count,
           int b, size_t columns, int half)
{
	__mmask32 there = columns >= SMALL ? 0xffffffff : (1u << columns) - 1;
	__m512i v[ROWS], most = _mm512_setzero_si512();
	int i;

	for (i = 0; i < ROWS; i++)
		v[i] = halves_at(row_at(w, stride, count, i), l, there);
	turn(v);
	for (i = 0; i < STEP; i++)
		most = _mm512_max_epu16(most, magnitude(v[i]));
	most = _mm512_max_epu16(most, _mm512_rol_epi32(most, 16));
	p->scale[b][half] = counts(most, l);
	most = exponents(most, l);
	for (i = 0; i < STEP; i++)
		p->w[b][i][half] = whole(v[i], most, l);
}

/* Up to 32 rows times the group of activations from j on, for blocks from number at on. */
INLINE void
group_multiply(const struct halves *p, const struct job *o, size_t rows, size_t at, int blocks,
               size_t j, int group)
{
	__mmask16 low = some(rows), high = rows > ROWS ? some(rows - ROWS) : 0;
	float *y = o->y + j * o->leading;
	const float *scale[GROUP];
	const int16_t *a[GROUP];
	__m512i sum[GROUP][2], v;
	__m512 acc[GROUP][2], s;
	struct i16_row q;
	int b, g, k;

#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		q = i16_row_at(o->a + (j + (size_t)g) * o->bytes, o->n);
		a[g] = q.code + SMALL * at;
		scale[g] = q.scale + at;
		acc[g][0] = acc[g][1] = _mm512_setzero_ps();
	}
	for (b = 0; b < blocks; b++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++)
			sum[g][0] = sum[g][1] = _mm512_setzero_si512();
#pragma GCC unroll 16
		for (k = 0; k < STEP; k++)
#pragma GCC unroll 8
			for (g = 0; g < group; g++) {
				v = _mm512_set1_epi32(word_at(a[g] + SMALL * b + 2 * k));
				sum[g][0] = _mm512_dpwssd_epi32(sum[g][0], p->w[b][k][0], v);
				sum[g][1] = _mm512_dpwssd_epi32(sum[g][1], p->w[b][k][1], v);
			}
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			s = _mm512_set1_ps(scale[g][b]);
			acc[g][0] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[g][0]), s),
			                            p->scale[b][0], acc[g][0]);
			acc[g][1] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[g][1]), s),
			                            p->scale[b][1], acc[g][1]);
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++, y += o->leading) {
		put(y, low, at, acc[g][0]);
		if (high)
			put(y + ROWS, high, at, acc[g][1]);
	}
}

INLINE void
halves_panel(struct layout l, const uint8_t *w, size_t stride, size_t count, const struct job *o)
{
	size_t at, columns, first, group, j;
	struct halves p;
	int b, blocks, half;

	for (at = 0; at < o->n; at += columns, w += l.bytes * columns) {
		columns = o->n - at < COLUMNS ? o->n - at : COLUMNS;
		blocks = (int)((columns + SMALL - 1) / SMALL);
		for (half = 0; half < 2; half++) {
			/* Where there is no second half, the last row is repeated. */
			first = half == 0 ? 0 : count > ROWS ? ROWS : count - 1;
			for (b = 0; b < blocks; b++)
				block_fill(&p, l, w + first * stride + l.bytes * SMALL * (size_t)b,
				           stride, count - first, b, columns - SMALL * (size_t)b, half);
		}
		rows_ahead(w + l.bytes * columns, stride, count, l.bytes * COLUMNS);
		for (j = 0; j < o->many; j += group) {
			group = group_of(o->many - j);
			if (group == GROUP)
				group_multiply(&p, o, count, at / SMALL, blocks, j, GROUP);
			else if (group == SMALLER)
				group_multiply(&p, o, count, at / SMALL, blocks, j, SMALLER);
			else
				group_multiply(&p, o, count, at / SMALL, blocks, j, 1);
		}
	}
}

#define HALVES_PANELS(NAME) \
PANELS(NAME##_panels_avx512, PAIR, halves_panel(layout_##NAME, w, stride, part, &o), false)

HALVES_PANELS(f16)
HALVES_PANELS(bf16)
HALVES_PANELS(f8_e4m3)
HALVES_PANELS(f8_e5m2)
