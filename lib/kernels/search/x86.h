/* x86: what search_wide.h asks of a CPU, with AVX2. */
#ifndef KERNELS_X86_H
#define KERNELS_X86_H

#include <immintrin.h>

#include "kernels/blocks/iq4.h"
#include "kernels/search/search_wide.h"

static inline wide
choose(whole mask, wide a, wide b)
{
	return _mm256_blendv_ps(b, a, (wide)mask);
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

static inline wide
root(wide v)
{
	return _mm256_sqrt_ps(v);
}

static inline void
turn(wide *r)
{
	wide pairs[LANES], fours[LANES];
	int i;

	for (i = 0; i < LANES; i += 2) {
		pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (i = 0; i < LANES; i += 4) {
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

/* As iq4_code: the borders of a step are in a table of eight, looked up by what
 * the steps before it have left. */
static inline wide
level(wide v)
{
	const float *b = iq4_borders;
	const wide second = { b[3], b[11], b[3], b[11], b[3], b[11], b[3], b[11] };
	const wide third = { b[1], b[5], b[9], b[13], b[1], b[5], b[9], b[13] };
	const wide fourth = { b[0], b[2], b[4], b[6], b[8], b[10], b[12], b[14] };
	wide low, high, twice = v + v;
	whole code;
	int i;

	/* A comparison that holds is -1. */
	code = -(twice >= all(b[7]));
	code = 2 * code - (twice >= _mm256_permutevar8x32_ps(second, (__m256i)code));
	code = 2 * code - (twice >= _mm256_permutevar8x32_ps(third, (__m256i)code));
	code = 2 * code - (twice >= _mm256_permutevar8x32_ps(fourth, (__m256i)code));
	for (i = 0; i < LANES; i++) {
		low[i] = iq4_levels[i];
		high[i] = iq4_levels[LANES + i];
	}
	return choose(code > all_whole(7), _mm256_permutevar8x32_ps(high, (__m256i)code),
	              _mm256_permutevar8x32_ps(low, (__m256i)code));
}

#endif
