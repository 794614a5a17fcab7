/* vector: the operations of common/search_wide.h with AVX-512 (F, BW, DQ, VL). */
#ifndef KERNELS_SEARCH_AVX512_H
#define KERNELS_SEARCH_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/common/iq4.h"

enum { WIDE = 16 };
typedef float wide __attribute__((vector_size(64)));
typedef int32_t whole __attribute__((vector_size(64)));
typedef __mmask16 mask;

static inline wide
all(float v)
{
	return _mm512_set1_ps(v);
}

static inline whole
all_whole(int v)
{
	return (whole)_mm512_set1_epi32(v);
}

static inline mask
other(mask m)
{
	return (mask)~m;
}

static inline bool
any(mask m)
{
	return m != 0;
}

static inline mask
above(wide a, wide b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

static inline mask
reaches(wide a, wide b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}

static inline mask
equal(wide a, wide b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

static inline wide
choose(mask m, wide a, wide b)
{
	return _mm512_mask_blend_ps(m, b, a);
}

static inline whole
choose_whole(mask m, whole a, whole b)
{
	return (whole)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a);
}

static inline wide
keep(mask m, wide a)
{
	return _mm512_maskz_mov_ps(m, a);
}

static inline wide
larger(wide a, wide b)
{
	return _mm512_max_ps(a, b);
}

static inline wide
smaller(wide a, wide b)
{
	return _mm512_min_ps(a, b);
}

static inline whole
larger_whole(whole a, whole b)
{
	return (whole)_mm512_max_epi32((__m512i)a, (__m512i)b);
}

static inline whole
smaller_whole(whole a, whole b)
{
	return (whole)_mm512_min_epi32((__m512i)a, (__m512i)b);
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
	return _mm512_abs_ps(v);
}

static inline wide
rounded(wide v)
{
	return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline wide
root(wide v)
{
	return _mm512_sqrt_ps(v);
}

static inline void
turn(wide *r)
{
	wide pairs[WIDE], fours[WIDE], eights[WIDE];
	int i;

	for (i = 0; i < WIDE; i += 2) {
		pairs[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		pairs[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	for (i = 0; i < WIDE; i += 4) {
		fours[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
		fours[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
		fours[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
		fours[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
	}
	/* Quarter q of fours[i] holds column 4 q + i % 4 of the four rows from 4 (i / 4) on. */
	for (i = 0; i < 4; i++) {
		eights[i] = _mm512_shuffle_f32x4(fours[i], fours[i + 4], 0x88);
		eights[i + 4] = _mm512_shuffle_f32x4(fours[i], fours[i + 4], 0xdd);
		eights[i + 8] = _mm512_shuffle_f32x4(fours[i + 8], fours[i + 12], 0x88);
		eights[i + 12] = _mm512_shuffle_f32x4(fours[i + 8], fours[i + 12], 0xdd);
	}
	for (i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_f32x4(eights[i], eights[i + 8], 0x88);
		r[i + 4] = _mm512_shuffle_f32x4(eights[i + 4], eights[i + 12], 0x88);
		r[i + 8] = _mm512_shuffle_f32x4(eights[i], eights[i + 8], 0xdd);
		r[i + 12] = _mm512_shuffle_f32x4(eights[i + 4], eights[i + 12], 0xdd);
	}
}

/* As iq4_code: each step looks its threshold up in a table, by the result of the steps
 * before. */
static inline whole
level_code(wide v)
{
	const float *b = iq4_borders;
	const wide second = {
		b[3], b[11], b[3], b[11], b[3], b[11], b[3], b[11],
		b[3], b[11], b[3], b[11], b[3], b[11], b[3], b[11],
	};
	const wide third = {
		b[1], b[5], b[9], b[13], b[1], b[5], b[9], b[13],
		b[1], b[5], b[9], b[13], b[1], b[5], b[9], b[13],
	};
	const wide fourth = {
		b[0], b[2], b[4], b[6], b[8], b[10], b[12], b[14],
		b[0], b[2], b[4], b[6], b[8], b[10], b[12], b[14],
	};
	const whole one = all_whole(1);
	wide twice = v + v;
	whole code;
	mask m;

	m = reaches(twice, all(b[7]));
	code = (whole)_mm512_maskz_mov_epi32(m, (__m512i)one);
	m = reaches(twice, _mm512_permutexvar_ps((__m512i)code, second));
	code += code;
	code = (whole)_mm512_mask_add_epi32((__m512i)code, m, (__m512i)code, (__m512i)one);
	m = reaches(twice, _mm512_permutexvar_ps((__m512i)code, third));
	code += code;
	code = (whole)_mm512_mask_add_epi32((__m512i)code, m, (__m512i)code, (__m512i)one);
	m = reaches(twice, _mm512_permutexvar_ps((__m512i)code, fourth));
	code += code;
	return (whole)_mm512_mask_add_epi32((__m512i)code, m, (__m512i)code, (__m512i)one);
}

static inline wide
level_of(whole code)
{
	wide levels16;
	int i;

	for (i = 0; i < WIDE; i++)
		levels16[i] = iq4_levels[i];
	return _mm512_permutexvar_ps((__m512i)code, levels16);
}

static inline whole
points_at(const uint16_t *p)
{
	return (whole)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline wide
pick_4(const wide *t, whole code)
{
	return _mm512_permutevar_ps(*t, (__m512i)code);
}

static inline wide
pick_8(const wide *t, whole code)
{
	return _mm512_permutexvar_ps((__m512i)code, *t);
}

static inline unsigned
mask_bits(mask m)
{
	return m;
}

static inline float
least_of(wide v)
{
	return _mm512_reduce_min_ps(v);
}

#endif
