/* codes: blocks of weights as codes with a sign, and scales; floats. Internal to this
 * folder.
 */
#ifndef DOT_CODES_NEON_H
#define DOT_CODES_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "core/le.h"
#include "kernels/common/iq4.h"
#include "kernels/common/rows.h"

#define INLINE static inline __attribute__((always_inline))

INLINE float
half_at(const uint8_t *x)
{
	uint16_t bits = le16(x);
#ifdef __aarch64__
	__fp16 v;

	memcpy(&v, &bits, sizeof v);
	return v;
#else /* where the compiler calls a function for that */
	return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
#endif
}

/* The halves at x, x + bytes and so on, of four blocks. */
INLINE float32x4_t
four_halves(const uint8_t *x, size_t bytes)
{
	uint16x4_t v = { le16(x), le16(x + bytes), le16(x + 2 * bytes), le16(x + 3 * bytes) };

	return vcvt_f32_f16(vreinterpret_f16_u16(v));
}

/* A scale of MXFP4: 2^(e - 128), subnormal below 2. */
INLINE float
power_at(const uint8_t *x)
{
	uint32_t u = *x < 2 ? 0x00200000u << *x : (uint32_t)(*x - 1) << 23;
	float v;

	memcpy(&v, &u, sizeof v);
	return v;
}

INLINE float32x4_t
four_powers(const uint8_t *x, size_t bytes)
{
	float32x4_t v = { power_at(x), power_at(x + bytes), power_at(x + 2 * bytes),
	                  power_at(x + 3 * bytes) };

	return v;
}

/* The low and the high part of 32 bytes, shifted right by low and high bits and masked. */
INLINE uint8x16x2_t
low_bits(const uint8_t *x, int shift, int mask)
{
	uint8x16x2_t v;

	v.val[0] = vandq_u8(vld1q_u8(x) >> shift, vdupq_n_u8((uint8_t)mask));
	v.val[1] = vandq_u8(vld1q_u8(x + 16) >> shift, vdupq_n_u8((uint8_t)mask));
	return v;
}

INLINE int8x16x2_t
less(uint8x16x2_t v, int zero)
{
	int8x16x2_t y;

	y.val[0] = vreinterpretq_s8_u8(vsubq_u8(v.val[0], vdupq_n_u8((uint8_t)zero)));
	y.val[1] = vreinterpretq_s8_u8(vsubq_u8(v.val[1], vdupq_n_u8((uint8_t)zero)));
	return y;
}

/* v, plus value where bit part of the 32 bytes at x is set. */
INLINE uint8x16x2_t
with_bit(uint8x16x2_t v, const uint8_t *x, int part, int value)
{
	const uint8x16_t bit = vdupq_n_u8((uint8_t)(1u << part)), y = vdupq_n_u8((uint8_t)value);

	v.val[0] = vorrq_u8(v.val[0], vandq_u8(vtstq_u8(vld1q_u8(x), bit), y));
	v.val[1] = vorrq_u8(v.val[1], vandq_u8(vtstq_u8(vld1q_u8(x + 16), bit), y));
	return v;
}

/* ---- blocks of 32 ---- */

/* Codes of a block: with a sign; without one for types with mins. */
typedef int8x16x2_t small_codes(const uint8_t *block);

INLINE uint8x16x2_t
nibbles(const uint8_t *x)
{
	uint8x16_t v = vld1q_u8(x);
	uint8x16x2_t y;

	y.val[0] = vandq_u8(v, vdupq_n_u8(15));
	y.val[1] = vshrq_n_u8(v, 4);
	return y;
}

/* v, plus 16 where bit i of 32 is set: byte i / 8 moves to place i. */
INLINE uint8x16x2_t
with_fifths(uint8x16x2_t v, const uint8_t *x)
{
	const uint8x16_t first = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
	const uint8x16_t bit = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
	const uint8x16_t fifth = vdupq_n_u8(16);
	uint8x16_t all = vreinterpretq_u8_u32(vdupq_n_u32(le32(x)));
	uint8x16_t low = vtstq_u8(vqtbl1q_u8(all, first), bit);
	uint8x16_t high = vtstq_u8(vqtbl1q_u8(all, vaddq_u8(first, vdupq_n_u8(2))), bit);

	v.val[0] = vorrq_u8(v.val[0], vandq_u8(low, fifth));
	v.val[1] = vorrq_u8(v.val[1], vandq_u8(high, fifth));
	return v;
}

/* The levels of codes of four bits. */
INLINE int8x16x2_t
levels_of(uint8x16x2_t code, const int8_t *levels)
{
	int8x16_t table = vld1q_s8(levels);
	int8x16x2_t y;

	y.val[0] = vqtbl1q_s8(table, code.val[0]);
	y.val[1] = vqtbl1q_s8(table, code.val[1]);
	return y;
}

INLINE int8x16x2_t
q4_0_codes(const uint8_t *x)
{
	return less(nibbles(x + 2), 8);
}

INLINE int8x16x2_t
q4_1_codes(const uint8_t *x)
{
	return less(nibbles(x + 4), 0);
}

INLINE int8x16x2_t
q5_0_codes(const uint8_t *x)
{
	return less(with_fifths(nibbles(x + 6), x + 2), 16);
}

INLINE int8x16x2_t
q5_1_codes(const uint8_t *x)
{
	return less(with_fifths(nibbles(x + 8), x + 4), 0);
}

INLINE int8x16x2_t
q8_0_codes(const uint8_t *x)
{
	uint8x16x2_t v = { { vld1q_u8(x + 2), vld1q_u8(x + 18) } };

	return less(v, 0);
}

INLINE int8x16x2_t
iq4_nl_codes(const uint8_t *x)
{
	return levels_of(nibbles(x + 2), iq4_levels);
}

INLINE int8x16x2_t
mxfp4_codes(const uint8_t *x)
{
	static const int8_t levels[16] = {
		0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12
	};

	return levels_of(nibbles(x + 1), levels);
}

/* ---- blocks of 256 ---- */

/* Codes of 32 values from number 32 × part on: with a sign; without one for types with
 * mins. */
typedef int8x16x2_t large_codes(const uint8_t *block, int part);

/* Scales of each 16 or 32 values, and mins, as integers in units of d and m. Types without
 * mins leave those unset. */
struct scales {
	int32x4_t scale[LARGE / SUB / 4];
	int16x8_t least[LARGE / SUB / 8];
	float d, m;
};
typedef struct scales large_scales(const uint8_t *block);

/* Eight or sixteen scales. */
INLINE void
widen(struct scales *s, int16x8_t v, int at)
{
	s->scale[at] = vmovl_s16(vget_low_s16(v));
	s->scale[at + 1] = vmovl_high_s16(v);
}

INLINE void
widen_all(struct scales *s, int8x16_t v)
{
	widen(s, vmovl_s8(vget_low_s8(v)), 0);
	widen(s, vmovl_high_s8(v), 2);
}

INLINE int8x16x2_t
q4_k_codes(const uint8_t *x, int part)
{
	return less(low_bits(x + 16 + 32 * (part / 2), 4 * (part % 2), 15), 0);
}

/* Eight scales and eight mins of six bits. */
INLINE struct scales
q4_k_scales(const uint8_t *x)
{
	const uint32_t low = 0x0f0f0f0f, high = 0x30303030, six = 0x3f3f3f3f;
	uint32_t a = le32(x + 4), b = le32(x + 8), c = le32(x + 12);
	uint64_t scale = (uint64_t)((c & low) | (a >> 2 & high)) << 32 | (a & six);
	uint64_t least = (uint64_t)((c >> 4 & low) | (b >> 2 & high)) << 32 | (b & six);
	struct scales s;

	widen(&s, vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(scale))), 0);
	s.least[0] = vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(least)));
	s.d = half_at(x);
	s.m = half_at(x + 2);
	return s;
}

INLINE int8x16x2_t
q5_k_codes(const uint8_t *x, int part)
{
	uint8x16x2_t low = low_bits(x + 48 + 32 * (part / 2), 4 * (part % 2), 15);

	return less(with_bit(low, x + 16, part, 16), 0);
}

INLINE int8x16x2_t
q6_k_codes(const uint8_t *x, int part)
{
	uint8x16x2_t low = low_bits(x + 64 * (part / 4) + 32 * (part % 2), part % 4 / 2 * 4, 15);
	uint8x16x2_t high = low_bits(x + 128 + 32 * (part / 4), 2 * (part % 4), 3);

	low.val[0] = vorrq_u8(low.val[0], vshlq_n_u8(high.val[0], 4));
	low.val[1] = vorrq_u8(low.val[1], vshlq_n_u8(high.val[1], 4));
	return less(low, 32);
}

INLINE struct scales
q6_k_scales(const uint8_t *x)
{
	struct scales s;

	widen_all(&s, vreinterpretq_s8_u8(vld1q_u8(x + 192)));
	s.d = half_at(x + 208);
	return s;
}

INLINE int8x16x2_t
q2_k_codes(const uint8_t *x, int part)
{
	return less(low_bits(x + 16 + 32 * (part / 4), 2 * (part % 4), 3), 0);
}

INLINE struct scales
q2_k_scales(const uint8_t *x)
{
	uint8x16_t v = vld1q_u8(x), least = vshrq_n_u8(v, 4);
	struct scales s;

	widen_all(&s, vreinterpretq_s8_u8(vandq_u8(v, vdupq_n_u8(15))));
	s.least[0] = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(least)));
	s.least[1] = vreinterpretq_s16_u16(vmovl_high_u8(least));
	s.d = half_at(x + 80);
	s.m = half_at(x + 82);
	return s;
}

INLINE int8x16x2_t
q3_k_codes(const uint8_t *x, int part)
{
	uint8x16x2_t low = low_bits(x + 32 + 32 * (part / 4), 2 * (part % 4), 3);

	return less(with_bit(low, x, part, 4), 4);
}

/* Sixteen scales of six bits, less 32. */
INLINE struct scales
q3_k_scales(const uint8_t *x)
{
	const uint32_t low = 0x0f0f0f0f, high = 0x30303030;
	uint32_t a = le32(x + 96), b = le32(x + 100), c = le32(x + 104);
	uint32x4_t v = { (a & low) | (c << 4 & high), (b & low) | (c << 2 & high),
	                 (a >> 4 & low) | (c & high), (b >> 4 & low) | (c >> 2 & high) };
	struct scales s;

	widen_all(&s, vsubq_s8(vreinterpretq_s8_u32(v), vdupq_n_s8(32)));
	s.d = half_at(x + 108);
	return s;
}

INLINE int8x16x2_t
iq4_xs_codes(const uint8_t *x, int part)
{
	return levels_of(nibbles(x + 8 + 16 * part), iq4_levels);
}

/* Eight scales of six bits, less 32. */
INLINE struct scales
iq4_xs_scales(const uint8_t *x)
{
	const int16x8_t by = { 0, -2, -4, -6, -8, -10, -12, -14 };
	uint8x8_t v = vcreate_u8(le32(x + 4));
	uint16x8_t low = vmovl_u8(vzip1_u8(vand_u8(v, vdup_n_u8(15)), vshr_n_u8(v, 4)));
	uint16x8_t high = vandq_u16(vshlq_u16(vdupq_n_u16(le16(x + 2)), by), vdupq_n_u16(3));
	struct scales s;

	low = vorrq_u16(low, vshlq_n_u16(high, 4));
	widen(&s, vsubq_s16(vreinterpretq_s16_u16(low), vdupq_n_s16(32)), 0);
	s.d = half_at(x);
	return s;
}

INLINE int8x16x2_t
tq2_0_codes(const uint8_t *x, int part)
{
	return less(low_bits(x + 32 * (part / 4), 2 * (part % 4), 3), 1);
}

INLINE struct scales
tq2_0_scales(const uint8_t *x)
{
	struct scales s;

	s.scale[0] = s.scale[1] = vdupq_n_s32(1);
	s.d = half_at(x + 64);
	return s;
}

/* ---- floats ---- */

typedef float32x4_t load_floats(const uint8_t *p);
typedef float load_float(const uint8_t *p);

INLINE float32x4_t
f32_load(const uint8_t *p)
{
	return vreinterpretq_f32_u8(vld1q_u8(p));
}

INLINE float
f32_one(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof v);
	return v;
}

INLINE float32x4_t
f16_load(const uint8_t *p)
{
	return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}

INLINE float32x4_t
bf16_load(const uint8_t *p)
{
	return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}

INLINE float
bf16_one(const uint8_t *p)
{
	uint32_t bits = (uint32_t)le16(p) << 16;
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

#endif
