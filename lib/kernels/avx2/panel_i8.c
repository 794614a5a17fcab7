/* panel_i8: a panel of bytes times all activations; see panel_i8.h. */
#include "kernels/avx2/panel_i8.h"

enum { GROUP = 4 };

/* The same columns of a group of activations, and what is computed from them once: the
 * values that sums of runs begin with, and sums of the columns that share a min, two in 32
 * bits. */
struct group {
	int32_t first[GROUP][2 * RUNS];
	int32_t sums[GROUP][RUNS / 2];
	const int8_t *code[GROUP];
	struct quantized q[GROUP];
};

/* sum[g][v] += the codes of vector v × those of activation g, for steps × four columns. */
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

/* The value that sums of run i begin with. */
INLINE void
begin(__m256i (*sum)[2], const struct group *at, int i, bool has_zero, int group)
{
	int g;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		sum[g][0] = sum[g][1] = has_zero ? _mm256_set1_epi32(at->first[g][i])
		                             : _mm256_setzero_si256();
}

/* Sums of 16 columns each, from a on, for eight runs in the order of columns. A sum is a
 * pair of 16 bits whose total counts. */
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

/* From sums of 16 columns, sums of 32 each, in a vector of half the width. */
INLINE __m128i
pairs_of_32(__m256i v)
{
	const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);

	v = _mm256_permutevar8x32_epi32(v, order);
	return _mm_add_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Sums of 8 columns each, of the 64 from a on. */
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

/* Fill first, 128 columns at a time. Bytes behind the columns are read too; they lie
 * within the row of activations. */
INLINE void
group_begin(struct group *at, int run, bool has_zero, int zero, size_t columns, int group)
{
	const __m256i by = _mm256_set1_epi16((short)-zero);
	__m256i v;
	size_t k;
	int g;

	for (g = 0; has_zero && g < group; g++)
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

/* Block b of the activations from j on. */
INLINE void
large_begin(struct group *at, int sub, int run, bool has_zero, int zero, bool least,
            const struct job *o, size_t b, size_t j, int group)
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
	group_begin(at, run, has_zero, zero, LARGE, group);
}

INLINE void
large_pair(const struct panel *p, size_t pair, int sub, int run, bool has_zero, bool least,
           const struct group *at, const struct job *o, size_t b, size_t j, int group)
{
	__m256i sum[GROUP][2], total[GROUP][2], lower;
	__m256 v, y;
	int g, h, i, k;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		total[g][0] = total[g][1] = _mm256_setzero_si256();
	for (i = 0; i < LARGE / run; i++) {
		begin(sum, at, i, has_zero, group);
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
large_group(const struct panel *p, int sub, int run, bool has_zero, int zero, bool least,
            const struct job *o, size_t b, size_t j, int group)
{
	struct group at;
	size_t i;

	large_begin(&at, sub, run, has_zero, zero, least, o, b, j, group);
	for (i = 0; i * PAIR < o->rows; i++)
		large_pair(p, i, sub, run, has_zero, least, &at, o, b, j, group);
}

#define LARGE_MULTIPLY(NAME, SUBS, RUN, HAS_ZERO, LEAST) \
void \
NAME(const struct panel *p, int zero, const struct job *o, size_t b) \
{ \
	const struct job job = *o; /* stays in registers: no store can change it */ \
	size_t j; \
\
	for (j = 0; j + GROUP <= job.many; j += GROUP) \
		large_group(p, SUBS, RUN, HAS_ZERO, zero, LEAST, &job, b, j, GROUP); \
	for (; j < job.many; j++) \
		large_group(p, SUBS, RUN, HAS_ZERO, zero, LEAST, &job, b, j, 1); \
}

LARGE_MULTIPLY(large_16_16_min, 16, 16, false, true)
LARGE_MULTIPLY(large_16_16_zero, 16, 16, true, false)
LARGE_MULTIPLY(large_32_32_min, 32, 32, false, true)
LARGE_MULTIPLY(large_32_16_min, 32, 16, false, true)
LARGE_MULTIPLY(large_32_16_zero, 32, 16, true, false)
LARGE_MULTIPLY(large_32_8_zero, 32, 8, true, false)
LARGE_MULTIPLY(large_16_8_zero, 16, 8, true, false)
LARGE_MULTIPLY(large_32_32_zero, 32, 32, true, false)

/* ---- blocks of 32 ---- */

/* total[g][v] = the sums of run i; with more, they are added to it. */
INLINE void
small_run(__m256i (*total)[2], const struct panel *p, size_t pair, int run, bool has_zero,
          const struct group *at, int i, bool more, int group)
{
	const __m256i one = _mm256_set1_epi16(1);
	__m256i sum[GROUP][2];
	int g, h;

	begin(sum, at, i, has_zero, group);
	multiply(sum, p->code[pair] + run / 4 * i, at, run / 4 * i, run / 4, group);
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++) {
			sum[g][h] = _mm256_madd_epi16(sum[g][h], one);
			total[g][h] = more ? _mm256_add_epi32(total[g][h], sum[g][h]) : sum[g][h];
		}
}

/* Blocks from b on; each has one run or two. */
INLINE void
small_pair(const struct panel *p, size_t pair, int run, bool has_zero, bool least,
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
		small_run(total, p, pair, run, has_zero, at, SMALL / run * i, false, group);
		if (run == SUB)
			small_run(total, p, pair, run, has_zero, at, 2 * i + 1, true, group);
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
small_group(const struct panel *p, int run, bool has_zero, int zero, bool least,
            const struct job *o, size_t b, int blocks, size_t j, int group)
{
	struct group at;
	size_t i;
	int g;

#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		at.q[g] = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, SMALL);
		at.code[g] = at.q[g].code + SMALL * b;
	}
	group_begin(&at, run, has_zero, zero, (size_t)blocks * SMALL, group);
	for (i = 0; i * PAIR < o->rows; i++)
		small_pair(p, i, run, has_zero, least, &at, o, b, blocks, j, group);
}

#define SMALL_MULTIPLY(NAME, RUN, HAS_ZERO, LEAST) \
void \
NAME(const struct panel *p, int zero, const struct job *o, size_t b, size_t blocks) \
{ \
	const struct job job = *o; \
	size_t j; \
\
	for (j = 0; j + GROUP <= job.many; j += GROUP) \
		small_group(p, RUN, HAS_ZERO, zero, LEAST, &job, b, (int)blocks, j, GROUP); \
	for (; j < job.many; j++) \
		small_group(p, RUN, HAS_ZERO, zero, LEAST, &job, b, (int)blocks, j, 1); \
}

SMALL_MULTIPLY(small_32_zero, 32, true, false)
SMALL_MULTIPLY(small_32_min, 32, false, true)
SMALL_MULTIPLY(small_16_min, 16, false, true)
