/* Many activations at once with weights of eight bits, with AVX2: two products of bytes
 * need not fit into 16 bits there, so both sides are made 16 bits, and pairs of products
 * are 32. Levels of IQ4_XS are multiplied by their scales when they are unpacked, and
 * still fit.
 *
 * F16 and BF16 are made whole numbers of thirteen bits and a sign, 32 columns at a time,
 * that share a power of two, as in halves_avx512.c.
 */
#ifdef __x86_64__
#include <math.h>

#include "kernels/dot/panel_avx2.h"

enum { STEPS = LARGE / 2, BLOCKS = LARGE / SMALL, GROUP = 4 };

/* 256 columns of HEIGHT rows. */
struct panel {
	__m256i code[PAIRS][STEPS][2];     /* two columns in each lane */
	__m256 scale[PAIRS][BLOCKS][2];    /* of blocks of 256 only the first */
};

/* The same columns of a group of activations. */
struct group {
	int16_t code[GROUP][LARGE];
	const float *scale[GROUP];
};

INLINE __m256i
two_codes(const int16_t *a)
{
	int32_t v;

	memcpy(&v, a, sizeof v);
	return _mm256_set1_epi32(v);
}

/* sum[g][v] += the codes of columns first and up × those of activation g. */
INLINE void
multiply(__m256i (*sum)[2], const __m256i (*code)[2], const struct group *at, int first,
         int columns, int group)
{
	__m256i a;
	int g, k;

#pragma GCC unroll 16
	for (k = 0; k < columns / 2; k++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = two_codes(at->code[g] + first + 2 * k);
			sum[g][0] = kept(_mm256_add_epi32(
				sum[g][0], _mm256_madd_epi16(code[k][0], a)));
			sum[g][1] = kept(_mm256_add_epi32(
				sum[g][1], _mm256_madd_epi16(code[k][1], a)));
		}
	}
}

/* columns of activations from j on, in blocks of so many; from column first on. */
INLINE void
group_begin(struct group *at, const struct job *o, size_t block, size_t first, size_t columns,
            size_t j, int group)
{
	struct quantized q;
	size_t k;
	int g;

	for (g = 0; g < group; g++) {
		q = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, block);
		at->scale[g] = q.scale;
		for (k = 0; k < columns; k += 16)
			_mm256_storeu_si256((__m256i *)(at->code[g] + k), _mm256_cvtepi8_epi16(
				_mm_loadu_si128((const __m128i *)(q.code + first + k))));
	}
}

/* The same of activations that are words. */
INLINE void
group_words(struct group *at, const struct job *o, size_t first, size_t columns, size_t j,
            int group)
{
	struct words q;
	int g;

	for (g = 0; g < group; g++) {
		q = words_at(o->a + (j + (size_t)g) * o->bytes, o->n);
		at->scale[g] = q.scale;
		memcpy(at->code[g], q.code + first, columns * sizeof *q.code);
	}
}

/* blocks from b on, of columns each, which share a scale. */
INLINE void
pair_multiply(const struct panel *p, size_t pair, const struct group *at, const struct job *o,
              size_t b, int blocks, int columns, size_t j, int group)
{
	__m256i sum[GROUP][2];
	__m256 acc[GROUP][2], a;
	int g, h, i, k;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++)
			acc[g][h] = b ? get(results(o, pair, h, j + (size_t)g), rows_of(o, pair, h))
			              : _mm256_setzero_ps();
	for (i = 0; i < blocks; i++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++)
			sum[g][0] = sum[g][1] = _mm256_setzero_si256();
		for (k = columns * i; k < columns * (i + 1); k += SMALL)
			multiply(sum, p->code[pair] + k / 2, at, k, SMALL, group);
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = _mm256_set1_ps(at->scale[g][b + (size_t)i]);
#pragma GCC unroll 8
			for (h = 0; h < 2; h++)
				acc[g][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[g][h]),
				                            _mm256_mul_ps(p->scale[pair][i][h], a),
				                            acc[g][h]);
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++)
			put(results(o, pair, h, j + (size_t)g), rows_of(o, pair, h), acc[g][h]);
}

INLINE void
group_multiply(const struct panel *p, const struct job *o, bool words, size_t b, int blocks,
               int columns, size_t j, int group)
{
	size_t i, first = b * (size_t)columns, all = (size_t)(blocks * columns);
	struct group at;

	if (words)
		group_words(&at, o, first, all, j, group);
	else
		group_begin(&at, o, (size_t)columns, first, all, j, group);
	for (i = 0; i * PAIR < o->rows; i++)
		pair_multiply(p, i, &at, o, b, blocks, columns, j, group);
}

/* All activations with what the panel has. */
INLINE void
all_multiply(const struct panel *p, const struct job *o, bool words, size_t b, int blocks,
             int columns)
{
	size_t j;

	for (j = 0; j + GROUP <= o->many; j += GROUP)
		group_multiply(p, o, words, b, blocks, columns, j, GROUP);
	for (; j < o->many; j++)
		group_multiply(p, o, words, b, blocks, columns, j, 1);
}

/* 32 columns of eight rows, of which low has the first 16, are put where code points. */
INLINE void
columns_put(__m256i (*code)[2], __m256i *low, __m256i *high, size_t half)
{
	int i;

	turn(low);
	turn(high);
#pragma GCC unroll 8
	for (i = 0; i < ROWS; i++) {
		code[i][half] = low[i];
		code[ROWS + i][half] = high[i];
	}
}

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

/* ---- halves ---- */

/* How a number lies in 16 bits: below its exponent so many bits; and from where on, but
 * for the sign, there are no numbers. */
struct layout {
	int low, bias;
	unsigned none;
};

/* The largest magnitude of 32 values. */
INLINE unsigned
largest(__m256i first, __m256i last)
{
	const __m256i most = _mm256_set1_epi16(0x7fff);
	__m256i v = _mm256_max_epu16(_mm256_and_si256(first, most), _mm256_and_si256(last, most));
	__m128i half = _mm_max_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	/* The least of what is missing to the largest number. */
	half = _mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)));
	return 0xffff - (unsigned)_mm_extract_epi16(half, 0);
}

INLINE float
power(int exponent)
{
	uint32_t bits = (uint32_t)(exponent + 127) << 23;
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

/* Sixteen halves as words: multiples of 1 / by, to the nearest. */
INLINE __m256i
whole(load_floats *get_floats, const uint8_t *x, __m256 by)
{
	__m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(get_floats(x), by));
	__m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(get_floats(x + 16), by));

	return _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
}

/* 32 halves as words. Returns what these count. */
INLINE float
halves_codes(load_floats *get_floats, struct layout l, const uint8_t *x, __m256i *low,
             __m256i *high)
{
	unsigned most = largest(_mm256_loadu_si256((const __m256i *)x),
	                        _mm256_loadu_si256((const __m256i *)(x + 32)));
	int e = (int)(most >> l.low);
	float by;

	e = (e ? e : 1) - l.bias;
	by = e < -100 ? 0 : power(12 - e);
	*low = whole(get_floats, x, _mm256_set1_ps(by));
	*high = whole(get_floats, x + 32, _mm256_set1_ps(by));
	return most >= l.none ? NAN : by > 0 ? power(e - 12) : 0;
}

/* Up to eight blocks; of the last need not all columns be there. */
INLINE void
halves_fill(struct panel *p, load_floats *get_floats, struct layout l, const uint8_t *w,
            size_t stride, size_t rows, size_t columns)
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
				x = row_at(w, stride, rows, at * ROWS + i) + 2 * SMALL * b;
				if (columns - b * SMALL < SMALL) {
					memset(part, 0, sizeof part);
					memcpy(part, x, 2 * (columns - b * SMALL));
					x = part;
				}
				scale[i] = halves_codes(get_floats, l, x, &low[i], &high[i]);
			}
			p->scale[at / 2][b][at % 2] = _mm256_loadu_ps(scale);
			columns_put(p->code[at / 2] + SMALL / 2 * b, low, high, at % 2);
		}
	}
}

INLINE void
halves_panel(load_floats *get_floats, struct layout l, const uint8_t *w, size_t stride,
             const struct job *o)
{
	size_t at, columns;
	struct panel p;

	for (at = 0; at < o->n; at += columns, w += 2 * columns) {
		columns = o->n - at < LARGE ? o->n - at : LARGE;
		halves_fill(&p, get_floats, l, w, stride, o->rows, columns);
		rows_ahead(w + 2 * columns, stride, o->rows, 2 * columns);
		all_multiply(&p, o, true, at / SMALL, (int)((columns + SMALL - 1) / SMALL), SMALL);
	}
}

static const struct layout f16 = { 10, 15, 0x7c00 }, bf16 = { 7, 127, 0x7f80 };

PANELS(static, f16_panels, halves_panel(f16_load, f16, w, stride, &o), false)
PANELS(static, bf16_panels, halves_panel(bf16_load, bf16, w, stride, &o), false)
PANELS(static, q8_0_panels, small_panel(q8_0_codes, 34, w, stride, &o), false)
PANELS(static, iq4_nl_panels, small_panel(iq4_nl_codes, 18, w, stride, &o), false)
PANELS(static, iq4_xs_panels, large_panel(iq4_xs_codes, iq4_xs_scales, 136, w, stride, &o), false)

const struct dot_many words_avx2[] = {
	{ "F16", f16_panels }, { "BF16", bf16_panels },
	{ "Q8_0", q8_0_panels }, { "IQ4_NL", iq4_nl_panels }, { "IQ4_XS", iq4_xs_panels },
	{ NULL, NULL }
};
#else
typedef int nothing_here;
#endif
