/* panel_i16: panels of integers of 16 bits. Two products of bytes may not fit into 16 bits
 * with AVX2, so both sides are widened to 16 bits, and pairs of products have 32. Internal
 * to this folder.
 */
#ifndef DOT_WORDS_AVX2_H
#define DOT_WORDS_AVX2_H

#include "kernels/avx2/panel.h"

enum { STEPS = LARGE / 2, BLOCKS = LARGE / SMALL, GROUP = 4 };

/* 256 columns of HEIGHT rows. */
struct panel {
	__m256i code[PAIRS][STEPS][2];     /* two columns in each lane */
	__m256 scale[PAIRS][BLOCKS][2];    /* blocks of 256 use only the first */
};

/* The same columns of a group of activations; room holds codes that were widened. */
struct group {
	const int16_t *code[GROUP];
	const float *scale[GROUP];
	int16_t room[GROUP][LARGE];
};

/* sum[g][v] += the codes of columns from first on × those of activation g. */
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
			a = _mm256_set1_epi32(word_at(at->code[g] + first + 2 * k));
			sum[g][0] = kept(_mm256_add_epi32(
				sum[g][0], _mm256_madd_epi16(code[k][0], a)));
			sum[g][1] = kept(_mm256_add_epi32(
				sum[g][1], _mm256_madd_epi16(code[k][1], a)));
		}
	}
}

/* Columns from first on of the activations from j on, in blocks of that size. */
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
		at->code[g] = at->room[g];
		for (k = 0; k < columns; k += 16)
			_mm256_storeu_si256((__m256i *)(at->room[g] + k), _mm256_cvtepi8_epi16(
				_mm_loadu_si128((const __m128i *)(q.code + first + k))));
	}
}

/* The same for activations that are I16. */
INLINE void
group_i16(struct group *at, const struct job *o, size_t first, size_t j, int group)
{
	struct i16_row q;
	int g;

	for (g = 0; g < group; g++) {
		q = i16_row_at(o->a + (j + (size_t)g) * o->bytes, o->n);
		at->scale[g] = q.scale;
		at->code[g] = q.code + first;
	}
}

/* Blocks from b on; all columns of a block share a scale. */
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
group_multiply(const struct panel *p, const struct job *o, bool is_i16, size_t b, int blocks,
               int columns, size_t j, int group)
{
	size_t i, first = b * (size_t)columns, all = (size_t)(blocks * columns);
	struct group at;

	if (is_i16)
		group_i16(&at, o, first, j, group);
	else
		group_begin(&at, o, (size_t)columns, first, all, j, group);
	for (i = 0; i * PAIR < o->rows; i++)
		pair_multiply(p, i, &at, o, b, blocks, columns, j, group);
}

/* The panel times all activations. */
INLINE void
all_multiply(const struct panel *p, const struct job *o, bool is_i16, size_t b, int blocks,
             int columns)
{
	size_t j;

	for (j = 0; j + GROUP <= o->many; j += GROUP)
		group_multiply(p, o, is_i16, b, blocks, columns, j, GROUP);
	for (; j < o->many; j++)
		group_multiply(p, o, is_i16, b, blocks, columns, j, 1);
}

/* Store 32 columns of eight rows at code; low has the first 16. */
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

#endif
