/* Many activations at once with weights of at most six bits, and IQ2, with AVX2.
 *
 * Bytes without a sign times bytes with one make sums of two products in 16 bits. They are
 * added in 16 bits too, for a run of 16 or 32 columns, before they are made 32 bits and
 * scaled: two instructions then do 32 products, instead of three. In a run each of the 16
 * sums has 8 or 16 products. With codes of up to four bits these are at most
 * 16 × 15 × 127, with five bits 8 × 31 × 127, and fit. Codes that stand for numbers with a
 * sign may be larger: their sum is begun with -zero × the sum of activations, zero being
 * the code that stands for 0. What is added overflows on its way and comes back, since the
 * sum of numbers with a sign fits: 8 × 32 × 127 for codes of six bits, 16 × 16 × 127 for
 * five; and 4 × 43 × 127 for the levels of IQ2, in runs of 8 columns. Each product by itself
 * never overflows: 2 × 86 × 127.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/grids.h"
#include "kernels/avx2/panel.h"

enum { STEPS = LARGE / 4, GROUP = 4, RUNS = LARGE / SUB, EIGHT = 8 };

/* 256 columns of HEIGHT rows. */
struct panel {
	__m256i code[PAIRS][STEPS][2];    /* four columns in each lane */
	union {
		__m256i whole[PAIRS][RUNS][2]; /* of blocks of 256: twice in 16 bits */
		__m256 scale[PAIRS][LARGE / SMALL][2];
	};
	union {
		__m256i least[PAIRS][RUNS / 2][2]; /* two of 16 bits */
		__m256 lift[PAIRS][LARGE / SMALL][2]; /* what is added */
	};
	__m256 d[PAIRS][2], m[PAIRS][2]; /* what whole and least count */
};

/* What is computed once of the same columns of a group of activations: what sums of runs
 * begin with, and sums of two of what has a least each, as pairs of 16 bits. */
struct group {
	int32_t first[GROUP][2 * RUNS];
	int32_t sums[GROUP][RUNS / 2];
	const int8_t *code[GROUP];
	struct quantized q[GROUP];
};

/* sum[g][v] += the codes of four columns × those of activation g, steps times. */
INLINE void
multiply(__m256i (*sum)[2], const __m256i (*code)[2], const struct group *at, int first, int steps,
         int group)
{
	__m256i a;
	int g, k;

#pragma GCC unroll 8
	for (k = 0; k < steps; k++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = _mm256_set1_epi32(word_at(at->code[g] + 4 * (first + k)));
			sum[g][0] = kept(_mm256_add_epi16(
				sum[g][0], _mm256_maddubs_epi16(code[k][0], a)));
			sum[g][1] = kept(_mm256_add_epi16(
				sum[g][1], _mm256_maddubs_epi16(code[k][1], a)));
		}
	}
}

/* What the sums of run i begin with. */
INLINE void
begin(__m256i (*sum)[2], const struct group *at, int i, int zero, int group)
{
	int g;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		sum[g][0] = sum[g][1] = zero ? _mm256_set1_epi32(at->first[g][i])
		                             : _mm256_setzero_si256();
}

/* Sums of four columns of four vectors as pairs of 16 bits: of 16 columns each, in the
 * order of columns. */
INLINE __m256i
pairs_of_16(const int8_t *a)
{
	const __m256i one = _mm256_set1_epi8(1), order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i v[4], t[2];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 4; i++)
		v[i] = _mm256_maddubs_epi16(one, load(a + SMALL * i));
#pragma GCC unroll 8
	for (i = 0; i < 2; i++)
		t[i] = _mm256_add_epi16(_mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
		                        _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
	v[0] = _mm256_add_epi16(_mm256_unpacklo_epi64(t[0], t[1]),
	                        _mm256_unpackhi_epi64(t[0], t[1]));
	return _mm256_permutevar8x32_epi32(v[0], order);
}

/* Of 16 × 32 columns: of 32 each, in the first half of a vector. */
INLINE __m128i
pairs_of_32(__m256i v)
{
	const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);

	v = _mm256_permutevar8x32_epi32(v, order);
	return _mm_add_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Of 64 columns from a on: of 8 each. */
INLINE __m256i
pairs_of_8(const int8_t *a)
{
	const __m256i one = _mm256_set1_epi8(1);
	__m256 low = _mm256_castsi256_ps(_mm256_maddubs_epi16(one, load(a)));
	__m256 high = _mm256_castsi256_ps(_mm256_maddubs_epi16(one, load(a + SMALL)));
	__m256i v;

	v = _mm256_add_epi16(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88)),
	                     _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd)));
	return _mm256_permute4x64_epi64(v, 0xd8);
}

/* first, of 128 columns at a time up to columns: what lies behind them is read, but is
 * within the form. */
INLINE void
group_begin(struct group *at, int run, int zero, size_t columns, int group)
{
	const __m256i by = _mm256_set1_epi16((short)-zero);
	__m256i v;
	size_t k;
	int g;

	for (g = 0; zero && g < group; g++)
		for (k = 0; k < columns; k += 128) {
			if (run == EIGHT) {
				v = _mm256_mullo_epi16(pairs_of_8(at->code[g] + k), by);
				_mm256_storeu_si256((__m256i *)&at->first[g][k / 8], v);
				v = _mm256_mullo_epi16(pairs_of_8(at->code[g] + k + 64), by);
				_mm256_storeu_si256((__m256i *)&at->first[g][k / 8 + 8], v);
				continue;
			}
			v = _mm256_mullo_epi16(pairs_of_16(at->code[g] + k), by);
			if (run == SUB)
				_mm256_storeu_si256((__m256i *)&at->first[g][k / SUB], v);
			else
				_mm_storeu_si128((__m128i *)&at->first[g][k / SMALL],
				                 pairs_of_32(v));
		}
}

/* ---- blocks of 256 ---- */

/* Scales of eight rows, from vectors of 16 of 16 bits: with sub 32 each stands there
 * twice. */
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

/* Block b of activations from j on. */
INLINE void
large_begin(struct group *at, int sub, int run, int zero, bool least, const struct job *o,
            size_t b, size_t j, int group)
{
	__m256i v;
	int g;

#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		at->q[g] = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, LARGE);
		at->code[g] = at->q[g].code + LARGE * b;
		if (!least)
			continue;
		v = load((const int16_t *)at->q[g].sums + RUNS * b);
		if (sub == SMALL) {
			v = _mm256_madd_epi16(v, _mm256_set1_epi16(1));
			v = _mm256_packs_epi32(v, v);
			v = _mm256_permute4x64_epi64(v, 0x08);
		}
		_mm256_storeu_si256((__m256i *)at->sums[g], v);
	}
	group_begin(at, run, zero, LARGE, group);
}

INLINE void
large_pair(const struct panel *p, size_t pair, int sub, int run, int zero, bool least,
           const struct group *at, const struct job *o, size_t b, size_t j, int group)
{
	__m256i sum[GROUP][2], total[GROUP][2], lower;
	__m256 v, y;
	int g, h, i, k;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		total[g][0] = total[g][1] = _mm256_setzero_si256();
	for (i = 0; i < LARGE / run; i++) {
		begin(sum, at, i, zero, group);
		multiply(sum, p->code[pair] + run / 4 * i, at, run / 4 * i, run / 4, group);
#pragma GCC unroll 8
		for (g = 0; g < group; g++)
#pragma GCC unroll 8
			for (h = 0; h < 2; h++)
				total[g][h] = _mm256_add_epi32(total[g][h], _mm256_madd_epi16(
					sum[g][h], p->whole[pair][i * run / sub][h]));
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
#pragma GCC unroll 8
		for (h = 0; h < 2; h++) {
			v = _mm256_mul_ps(_mm256_cvtepi32_ps(total[g][h]), p->d[pair][h]);
			if (least) {
				lower = _mm256_setzero_si256();
				for (k = 0; k < LARGE / sub / 2; k++)
					lower = _mm256_add_epi32(lower, _mm256_madd_epi16(
						p->least[pair][k][h],
						_mm256_set1_epi32(at->sums[g][k])));
				v = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(lower), p->m[pair][h], v);
			}
			y = b ? get(results(o, pair, h, j + (size_t)g), rows_of(o, pair, h))
			      : _mm256_setzero_ps();
			y = _mm256_fmadd_ps(v, _mm256_set1_ps(at->q[g].scale[b]), y);
			put(results(o, pair, h, j + (size_t)g), rows_of(o, pair, h), y);
		}
	}
}

INLINE void
large_group(const struct panel *p, int sub, int run, int zero, bool least, const struct job *o,
            size_t b, size_t j, int group)
{
	struct group at;
	size_t i;

	large_begin(&at, sub, run, zero, least, o, b, j, group);
	for (i = 0; i * PAIR < o->rows; i++)
		large_pair(p, i, sub, run, zero, least, &at, o, b, j, group);
}

INLINE void
large_panel(large_codes *codes, large_scales *scales, size_t bytes, int sub, int run, int zero,
            bool least, const uint8_t *w, size_t stride, const struct job *o)
{
	struct panel p;
	size_t b, j;

	for (b = 0; b < o->n / LARGE; b++, w += bytes) {
		large_fill(&p, codes, scales, sub, least, w, stride, o->rows);
		rows_ahead(w + bytes, stride, o->rows, bytes);
		for (j = 0; j + GROUP <= o->many; j += GROUP)
			large_group(&p, sub, run, zero, least, o, b, j, GROUP);
		for (; j < o->many; j++)
			large_group(&p, sub, run, zero, least, o, b, j, 1);
	}
}

/* ---- blocks of 32 ---- */

/* Up to eight blocks. */
INLINE void
small_fill(struct panel *p, small_codes *codes, size_t bytes, bool least, const uint8_t *w,
           size_t stride, size_t rows, size_t blocks)
{
	float scale[LARGE / SMALL][ROWS], lift[LARGE / SMALL][ROWS];
	const uint8_t *x;
	__m256i v[ROWS];
	size_t at, b, i;

	for (at = 0; at < vectors(rows); at++) {
#pragma GCC unroll 8
		for (i = 0; i < ROWS; i++) {
			x = row_at(w, stride, rows, at * ROWS + i);
			for (b = 0; b < blocks; b++, x += bytes) {
				scale[b][i] = bytes == 17 ? power_at(x) : half_at(x);
				lift[b][i] = least ? half_at(x + 2) : 0;
			}
		}
		for (b = 0; b < blocks; b++) {
			p->scale[at / 2][b][at % 2] = _mm256_loadu_ps(scale[b]);
			if (least)
				p->lift[at / 2][b][at % 2] = _mm256_loadu_ps(lift[b]);
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++)
				v[i] = codes(row_at(w, stride, rows, at * ROWS + i) + bytes * b);
			turn(v);
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++)
				p->code[at / 2][SMALL / 4 * b + i][at % 2] = v[i];
		}
	}
}

/* total[g][v] = the sums of run i, or more of them. */
INLINE void
small_run(__m256i (*total)[2], const struct panel *p, size_t pair, int run, int zero,
          const struct group *at, int i, bool more, int group)
{
	const __m256i one = _mm256_set1_epi16(1);
	__m256i sum[GROUP][2];
	int g, h;

	begin(sum, at, i, zero, group);
	multiply(sum, p->code[pair] + run / 4 * i, at, run / 4 * i, run / 4, group);
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++) {
			sum[g][h] = _mm256_madd_epi16(sum[g][h], one);
			total[g][h] = more ? _mm256_add_epi32(total[g][h], sum[g][h]) : sum[g][h];
		}
}

/* blocks from b on, of which each is one run, or two. */
INLINE void
small_pair(const struct panel *p, size_t pair, int run, int zero, bool least,
           const struct group *at, const struct job *o, size_t b, int blocks, size_t j, int group)
{
	__m256i total[GROUP][2];
	__m256 acc[GROUP][2], a;
	int g, h, i;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++)
			acc[g][h] = b ? get(results(o, pair, h, j + (size_t)g), rows_of(o, pair, h))
			              : _mm256_setzero_ps();
	for (i = 0; i < blocks; i++) {
		small_run(total, p, pair, run, zero, at, SMALL / run * i, false, group);
		if (run == SUB)
			small_run(total, p, pair, run, zero, at, 2 * i + 1, true, group);
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = _mm256_set1_ps(at->q[g].scale[b + (size_t)i]);
#pragma GCC unroll 8
			for (h = 0; h < 2; h++)
				acc[g][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(total[g][h]),
				                            _mm256_mul_ps(p->scale[pair][i][h], a),
				                            acc[g][h]);
			if (!least)
				continue;
			a = _mm256_set1_ps(((const float *)at->q[g].sums)[b + (size_t)i]);
#pragma GCC unroll 8
			for (h = 0; h < 2; h++)
				acc[g][h] = _mm256_fmadd_ps(p->lift[pair][i][h], a, acc[g][h]);
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++)
			put(results(o, pair, h, j + (size_t)g), rows_of(o, pair, h), acc[g][h]);
}

INLINE void
small_group(const struct panel *p, int run, int zero, bool least, const struct job *o, size_t b,
            int blocks, size_t j, int group)
{
	struct group at;
	size_t i;
	int g;

#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		at.q[g] = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, SMALL);
		at.code[g] = at.q[g].code + SMALL * b;
	}
	group_begin(&at, run, zero, (size_t)blocks * SMALL, group);
	for (i = 0; i * PAIR < o->rows; i++)
		small_pair(p, i, run, zero, least, &at, o, b, blocks, j, group);
}

INLINE void
small_panel(small_codes *codes, size_t bytes, int run, int zero, bool least, const uint8_t *w,
            size_t stride, const struct job *o)
{
	size_t b, blocks, j;
	struct panel p;

	for (b = 0; b < o->n / SMALL; b += blocks) {
		blocks = o->n / SMALL - b < LARGE / SMALL ? o->n / SMALL - b : LARGE / SMALL;
		small_fill(&p, codes, bytes, least, w + bytes * b, stride, o->rows, blocks);
		rows_ahead(w + bytes * (b + blocks), stride, o->rows, bytes * blocks);
		for (j = 0; j + GROUP <= o->many; j += GROUP)
			small_group(&p, run, zero, least, o, b, (int)blocks, j, GROUP);
		for (; j < o->many; j++)
			small_group(&p, run, zero, least, o, b, (int)blocks, j, 1);
	}
}

/* ---- types ---- */

#define SMALL_PANELS(NAME, BYTES, RUN, ZERO, LEAST) \
	PANELS(NAME##_panels_avx2, \
	       small_panel(NAME##_codes, BYTES, RUN, ZERO, LEAST, w, stride, &o), false)
#define LARGE_PANELS(NAME, SCALES, BYTES, SUBS, RUN, ZERO, LEAST) \
	PANELS(NAME##_panels_avx2, large_panel(NAME##_codes, SCALES, BYTES, SUBS, RUN, ZERO, \
	                                          LEAST, w, stride, &o), false)

SMALL_PANELS(q4_0, 18, 32, 8, false)
SMALL_PANELS(q5_0, 22, 32, 16, false)
SMALL_PANELS(mxfp4, 17, 32, 12, false)
SMALL_PANELS(q4_1, 20, 32, 0, true)
SMALL_PANELS(q5_1, 24, 16, 0, true)
LARGE_PANELS(q2_k, q2_k_scales, 84, 16, 16, 0, true)
LARGE_PANELS(q3_k, q3_k_scales, 110, 16, 16, 4, false)
LARGE_PANELS(q4_k, q4_k_scales, 144, 32, 32, 0, true)
LARGE_PANELS(q5_k, q4_k_scales, 176, 32, 16, 0, true)
LARGE_PANELS(q6_k, q6_k_scales, 210, 16, 16, 32, false)
LARGE_PANELS(iq1_s, iq1_s_scales, 50, 32, 16, ZERO_IQ1, false)
LARGE_PANELS(iq1_m, iq1_m_scales, 56, 16, 16, ZERO_IQ1, false)
LARGE_PANELS(iq2_xxs, iq2_xxs_scales, 66, 32, EIGHT, ZERO_IQ2, false)
LARGE_PANELS(iq2_xs, iq2_xs_scales, 74, 16, EIGHT, ZERO_IQ2, false)
LARGE_PANELS(iq2_s, iq2_s_scales, 82, 16, EIGHT, ZERO_IQ2, false)
LARGE_PANELS(iq3_xxs, iq3_xxs_scales, 98, 32, 16, ZERO_IQ3_XXS, false)
LARGE_PANELS(iq3_s, iq3_s_scales, 110, 32, 16, ZERO_IQ3_S, false)
LARGE_PANELS(tq1_0, tq1_0_scales, 54, 32, 32, 1, false)
LARGE_PANELS(tq2_0, tq2_0_scales, 66, 32, 32, 1, false)
