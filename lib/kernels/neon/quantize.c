/* Forms of activations with NEON: the bytes of ref/activation.c for finite values. Values
 * that are not finite may give other bytes.
 */
#include <arm_neon.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernels/neon/neon.h"

enum { WIDE = 4, PARTS = SMALL / WIDE };

static inline float
largest(const float *x, int n)
{
	float32x4_t most = vdupq_n_f32(0);
	int i;

	for (i = 0; i < n; i += WIDE)
		most = vmaxq_f32(vabsq_f32(vld1q_f32(x + i)), most);
	return vmaxvq_f32(most);
}

/* Sixteen integers as bytes. */
static inline int8x16_t
bytes_of(const int32x4_t *v)
{
	int16x8_t low = vcombine_s16(vmovn_s32(v[0]), vmovn_s32(v[1]));
	int16x8_t high = vcombine_s16(vmovn_s32(v[2]), vmovn_s32(v[3]));

	return vcombine_s8(vmovn_s16(low), vmovn_s16(high));
}

/* 32 values: the codes, and their sum. Returns the scale. */
static inline float
small_block(const float *x, uint8_t *code, int *sum)
{
	float d = largest(x, SMALL) / 127.0f, by = d != 0 ? 1.0f / d : 0;
	int32x4_t whole[PARTS], total = vdupq_n_s32(0);
	float32x4_t v;
	uint32x4_t held;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < PARTS; i++) {
		v = vmulq_n_f32(vld1q_f32(x + WIDE * i), by);
		/* A value that no code can hold, where 1 / d is infinite, becomes zero. */
		held = vcltq_f32(vabsq_f32(v), vdupq_n_f32(128));
		v = vreinterpretq_f32_u32(vandq_u32(held, vreinterpretq_u32_f32(v)));
		whole[i] = vcvtaq_s32_f32(v); /* halves away from zero */
		total = vaddq_s32(total, whole[i]);
	}
	vst1q_s8((int8_t *)code, bytes_of(whole));
	vst1q_s8((int8_t *)code + 16, bytes_of(whole + 4));
	*sum = vaddvq_s32(total);
	return d;
}

/* The first value of the largest magnitude. */
static inline float
extreme(const float *x)
{
	float most = largest(x, LARGE);
	int i;

	for (i = 0; most > 0 && i < LARGE; i++)
		if (x[i] == most || x[i] == -most)
			return x[i];
	return 0;
}

/* 32 codes, rounded to nearest, halves to even; and the sums of each 16. */
static inline void
large_part(const float *x, float by, uint8_t *code, int16_t *sums)
{
	int32x4_t whole[4];
	int i, k;

	for (k = 0; k < 2; k++, x += SUB, code += SUB) {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			whole[i] = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + WIDE * i), by));
			whole[i] = vminq_s32(whole[i], vdupq_n_s32(127));
		}
		vst1q_s8((int8_t *)code, bytes_of(whole));
		sums[k] = (int16_t)vaddvq_s32(vaddq_s32(vaddq_s32(whole[0], whole[1]),
		                                        vaddq_s32(whole[2], whole[3])));
	}
}

/* 32 codes of 16 bits. A value that is not finite makes the scale not finite. */
static inline void
i16_block(const float *x, int16_t *code, float *scale)
{
	uint32x4_t bits = vdupq_n_u32(0);
	int32x4_t whole[2];
	float most, by;
	uint32_t all;
	bool finite;
	int i;

	/* Magnitudes have the same order as integers; NaN is above all numbers. */
	for (i = 0; i < SMALL; i += WIDE)
		bits = vmaxq_u32(bits, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
	all = vmaxvq_u32(bits);
	memcpy(&most, &all, sizeof most);
	finite = isfinite(most) != 0;
	by = finite && most >= DOT_LEAST ? I16_MOST / most : 0;
	*scale = !finite ? NAN : by > 0 ? most / I16_MOST : 0;
	for (i = 0; i < SMALL; i += 2 * WIDE) {
		whole[0] = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + i), by));
		whole[1] = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + i + WIDE), by));
		if (!finite)
			whole[0] = whole[1] = vdupq_n_s32(0);
		vst1q_s16(code + i, vcombine_s16(vmovn_s32(whole[0]), vmovn_s32(whole[1])));
	}
}

#define QUANTIZERS quantizers_neon
#include "kernels/common/quantize_loops.h"
