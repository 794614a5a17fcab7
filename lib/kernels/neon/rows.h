/* rows: products with one row of activations. The file that includes this defines VARIANT
 * (neon.h), and is compiled with or without the instructions for sums of four products of
 * bytes (SDOT).
 */
#include "kernels/neon/codes.h"
#include "kernels/neon/neon.h"

/* Four sums, which together are sixteen products. Two products fit into 16 bits, since
 * activations are never -128. */
INLINE int32x4_t
sixteen(int8x16_t w, int8x16_t a)
{
#ifdef __ARM_FEATURE_DOTPROD
	return vdotq_s32(vdupq_n_s32(0), w, a);
#elif defined WASM_SIXTEEN
	return WASM_SIXTEEN(vdupq_n_s32(0), w, a);
#else
	return vpaddlq_s16(vmlal_high_s8(vmull_s8(vget_low_s8(w), vget_low_s8(a)), w, a));
#endif
}

INLINE int32x4_t
thirty_two(int8x16x2_t w, const int8_t *a)
{
	int32x4_t sum = sixteen(w.val[0], vld1q_s8(a));
	int8x16_t v = vld1q_s8(a + 16);

#ifdef __ARM_FEATURE_DOTPROD
	return vdotq_s32(sum, w.val[1], v);
#elif defined WASM_SIXTEEN
	return WASM_SIXTEEN(sum, w.val[1], v);
#else
	return vpadalq_s16(sum, vmlal_high_s8(vmull_s8(vget_low_s8(w.val[1]), vget_low_s8(v)),
	                                      w.val[1], v));
#endif
}

/* The totals of four vectors, side by side. */
INLINE int32x4_t
four_totals(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
	return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}

/* ---- blocks of 32 ---- */

#ifndef WASM_SIXTEEN
INLINE float
small_row(small_codes *codes, size_t bytes, bool least, const uint8_t *w, const uint8_t *a,
          size_t n)
{
	struct quantized q = quantized_at(a, n, SMALL);
	float32x4_t acc = vdupq_n_f32(0), scales;
	const float *values = q.sums;
	int32x4_t sums;
	float sum;
	size_t b;

	for (b = 0; b + 4 <= n / SMALL; b += 4, w += 4 * bytes, q.code += 4 * SMALL) {
		sums = four_totals(thirty_two(codes(w), q.code),
		                   thirty_two(codes(w + bytes), q.code + 32),
		                   thirty_two(codes(w + 2 * bytes), q.code + 64),
		                   thirty_two(codes(w + 3 * bytes), q.code + 96));
		scales = bytes == 17 ? four_powers(w, bytes) : four_halves(w, bytes);
		scales = vmulq_f32(scales, vld1q_f32(q.scale + b));
		acc = vfmaq_f32(acc, vcvtq_f32_s32(sums), scales);
		if (least)
			acc = vfmaq_f32(acc, four_halves(w + 2, bytes), vld1q_f32(values + b));
	}
	sum = vaddvq_f32(acc);
	for (; b < n / SMALL; b++, w += bytes, q.code += SMALL) {
		sum += (bytes == 17 ? power_at(w) : half_at(w)) * q.scale[b] *
			(float)vaddvq_s32(thirty_two(codes(w), q.code));
		if (least)
			sum += half_at(w + 2) * values[b];
	}
	return sum;
}
#endif

/* ---- blocks of 256 ---- */

/* Four sums whose total is codes × activations × scales. With 16 values a scale, two parts
 * give four sums; with 32, four parts do. */
INLINE int32x4_t
scaled(large_codes *codes, const struct scales *s, int sub, const uint8_t *w, const int8_t *a)
{
	int32x4_t sum = vdupq_n_s32(0), p[4];
	int8x16x2_t c;
	int i, k;

#pragma GCC unroll 4
	for (i = 0; i < LARGE / sub / 4; i++) {
#pragma GCC unroll 4
		for (k = 0; k < sub / 8; k++, a += SMALL) {
			c = codes(w, sub / 8 * i + k);
			if (sub == SMALL) {
				p[k] = thirty_two(c, a);
			} else {
				p[2 * k] = sixteen(c.val[0], vld1q_s8(a));
				p[2 * k + 1] = sixteen(c.val[1], vld1q_s8(a + 16));
			}
		}
		sum = vmlaq_s32(sum, four_totals(p[0], p[1], p[2], p[3]), s->scale[i]);
	}
	return sum;
}

/* Four sums of mins × sums of 16 codes each. */
INLINE int32x4_t
taken(const struct scales *s, int sub, const int16_t *of)
{
	int16x8_t v = vld1q_s16(of), next = vld1q_s16(of + 8);
	int32x4_t sum;

	if (sub == SMALL)
		v = vpaddq_s16(v, next);
	sum = vmull_s16(vget_low_s16(s->least[0]), vget_low_s16(v));
	sum = vmlal_high_s16(sum, s->least[0], v);
	if (sub == SMALL)
		return sum;
	sum = vmlal_s16(sum, vget_low_s16(s->least[1]), vget_low_s16(next));
	return vmlal_high_s16(sum, s->least[1], next);
}

#ifdef WASM_SIXTEEN
#include "kernels/neon/rows_i16.h"
#else
INLINE float
large_row(large_codes *codes, large_scales *scales, size_t bytes, int sub, bool least,
          const uint8_t *w, const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, LARGE);
	float32x4_t acc = vdupq_n_f32(0), leasts = acc;
	const int16_t *of = q.sums;
	struct scales s;
	int32x4_t sum;
	size_t b;

	for (b = 0; b < n / LARGE; b++, w += bytes, of += LARGE / SUB, q.code += LARGE) {
		s = scales(w);
		sum = scaled(codes, &s, sub, w, q.code);
		acc = vfmaq_n_f32(acc, vcvtq_f32_s32(sum), s.d * q.scale[b]);
		if (least)
			leasts = vfmaq_n_f32(leasts, vcvtq_f32_s32(taken(&s, sub, of)),
			                     s.m * q.scale[b]);
	}
	return vaddvq_f32(acc) - vaddvq_f32(leasts);
}

#define SMALL_ROWS(NAME, BYTES, LEAST) \
void \
VARIANT(NAME##_rows)(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                     float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = small_row(NAME##_codes, BYTES, LEAST, w, a, n); \
}

#define LARGE_ROWS(NAME, SCALES, BYTES, D, SUBS, LEAST) \
void \
VARIANT(NAME##_rows)(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                     float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = large_row(NAME##_codes, SCALES, BYTES, SUBS, LEAST, w, a, n); \
}

SMALL_ROWS(q4_0, 18, false)
SMALL_ROWS(q8_0, 34, false)
LARGE_ROWS(q4_k, q4_k_scales, 144, 0, 32, true)
LARGE_ROWS(q6_k, q6_k_scales, 210, 208, 16, false)
#endif
SMALL_ROWS(q5_0, 22, false)
SMALL_ROWS(iq4_nl, 18, false)
SMALL_ROWS(mxfp4, 17, false)
SMALL_ROWS(q4_1, 20, true)
SMALL_ROWS(q5_1, 24, true)
LARGE_ROWS(q2_k, q2_k_scales, 84, 80, 16, true)
LARGE_ROWS(q3_k, q3_k_scales, 110, 108, 16, false)
LARGE_ROWS(q5_k, q4_k_scales, 176, 0, 32, true)
LARGE_ROWS(iq4_xs, iq4_xs_scales, 136, 0, 32, false)
LARGE_ROWS(tq2_0, tq2_0_scales, 66, 64, 32, false)

/* ---- floats ---- */

INLINE float
float_row(load_floats *get, load_float *one, size_t bytes, const uint8_t *w, const uint8_t *a,
          size_t n)
{
	float32x4_t acc[4];
	float sum;
	size_t i, k;

	for (k = 0; k < 4; k++)
		acc[k] = vdupq_n_f32(0);
	for (i = 0; i + 16 <= n; i += 16)
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			acc[k] = vfmaq_f32(acc[k], get(w + bytes * (i + 4 * k)),
			                   f32_load(a + sizeof(float) * (i + 4 * k)));
	sum = vaddvq_f32(vaddq_f32(vaddq_f32(acc[0], acc[1]), vaddq_f32(acc[2], acc[3])));
	for (; i < n; i++)
		sum += one(w + bytes * i) * f32_one(a + sizeof(float) * i);
	return sum;
}

#define FLOAT_ROWS(NAME, ONE, BYTES) \
void \
VARIANT(NAME##_rows)(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, \
                     float *y) \
{ \
	for (; count > 0; count--, w += stride) \
		*y++ = float_row(NAME##_load, ONE, BYTES, w, a, n); \
}

FLOAT_ROWS(f32, f32_one, 4)
FLOAT_ROWS(f16, half_at, 2)
FLOAT_ROWS(bf16, bf16_one, 2)
