/* vector: the operations of common/search_wide.h with AVX2. */
#ifndef KERNELS_SEARCH_AVX2_H
#define KERNELS_SEARCH_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/common/iq4.h"

enum { WIDE = 8 };
typedef float wide __attribute__((vector_size(32)));
typedef int32_t whole __attribute__((vector_size(32)));
typedef whole mask; /* all bits or none */

static inline wide
all(float v)
{
	return _mm256_set1_ps(v);
}

static inline whole
all_whole(int v)
{
	return (whole)_mm256_set1_epi32(v);
}

static inline mask
other(mask m)
{
	return ~m;
}

static inline bool
any(mask m)
{
	return _mm256_movemask_ps((__m256)m) != 0;
}

static inline mask
above(wide a, wide b)
{
	return a > b;
}

static inline mask
reaches(wide a, wide b)
{
	return a >= b;
}

static inline mask
equal(wide a, wide b)
{
	return a == b;
}

static inline wide
choose(mask m, wide a, wide b)
{
	return _mm256_blendv_ps(b, a, (wide)m);
}

static inline whole
choose_whole(mask m, whole a, whole b)
{
	return (whole)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)m);
}

static inline wide
keep(mask m, wide a)
{
	return (wide)((whole)a & m);
}

static inline wide
larger(wide a, wide b)
{
	return _mm256_max_ps(a, b);
}

static inline wide
smaller(wide a, wide b)
{
	return _mm256_min_ps(a, b);
}

static inline whole
larger_whole(whole a, whole b)
{
	return (whole)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

static inline whole
smaller_whole(whole a, whole b)
{
	return (whole)_mm256_min_epi32((__m256i)a, (__m256i)b);
}

/* Compared as integers, which have the order of the numbers from 0 on and do not wait for
 * the units that add floats. The NaN of an invalid operation has a sign, so it is below 0. */
static inline wide
within(wide v, float most)
{
	return (wide)smaller_whole(larger_whole((whole)v, (whole){ 0 }), (whole)all(most));
}

static inline wide
magnitude(wide v)
{
	return (wide)((whole)v & all_whole(0x7fffffff));
}

static inline wide
rounded(wide v)
{
	return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline wide
root(wide v)
{
	return _mm256_sqrt_ps(v);
}

static inline void
turn(wide *r)
{
	wide pairs[WIDE], fours[WIDE];
	int i;

	for (i = 0; i < WIDE; i += 2) {
		pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (i = 0; i < WIDE; i += 4) {
		fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
		fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
		fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
		fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
	}
	for (i = 0; i < 4; i++) {
		r[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
		r[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
	}
}

/* As iq4_code: each step looks its threshold up in a table of eight, by the result of the
 * steps before. */
static inline whole
level_code(wide v)
{
	const float *b = iq4_borders;
	const wide second = { b[3], b[11], b[3], b[11], b[3], b[11], b[3], b[11] };
	const wide third = { b[1], b[5], b[9], b[13], b[1], b[5], b[9], b[13] };
	const wide fourth = { b[0], b[2], b[4], b[6], b[8], b[10], b[12], b[14] };
	wide twice = v + v;
	whole code;

	/* true is -1 */
	code = -reaches(twice, all(b[7]));
	code = 2 * code - reaches(twice, _mm256_permutevar8x32_ps(second, (__m256i)code));
	code = 2 * code - reaches(twice, _mm256_permutevar8x32_ps(third, (__m256i)code));
	return 2 * code - reaches(twice, _mm256_permutevar8x32_ps(fourth, (__m256i)code));
}

static inline wide
level_of(whole code)
{
	wide low, high;
	int i;

	for (i = 0; i < WIDE; i++) {
		low[i] = iq4_levels[i];
		high[i] = iq4_levels[WIDE + i];
	}
	return choose(code > all_whole(7), _mm256_permutevar8x32_ps(high, (__m256i)code),
	              _mm256_permutevar8x32_ps(low, (__m256i)code));
}

static inline whole
points_at(const uint16_t *p)
{
	return (whole)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline wide
pick_4(const wide *t, whole code)
{
	return _mm256_permutevar_ps(*t, (__m256i)code);
}

static inline wide
pick_8(const wide *t, whole code)
{
	return _mm256_permutevar8x32_ps(*t, (__m256i)code);
}

static inline unsigned
mask_bits(mask m)
{
	return (unsigned)_mm256_movemask_ps((__m256)m);
}

static inline float
least_of(wide v)
{
	__m128 half = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

	half = _mm_min_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_min_ss(half, _mm_movehdup_ps(half)));
}

#endif
