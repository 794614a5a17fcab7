/* vector: the operations of common/search_wide.h with NEON. NEON's own maximum and minimum
 * treat NaN and zeros of two signs differently, so these are comparisons and choices.
 */
#ifndef KERNELS_SEARCH_NEON_H
#define KERNELS_SEARCH_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/common/iq4.h"

enum { WIDE = 4 };
typedef float32x4_t wide;
typedef int32x4_t whole;
typedef uint32x4_t mask; /* all bits or none */

static inline wide
all(float v)
{
	return vdupq_n_f32(v);
}

static inline whole
all_whole(int v)
{
	return vdupq_n_s32(v);
}

static inline mask
other(mask m)
{
	return vmvnq_u32(m);
}

static inline bool
any(mask m)
{
	return vmaxvq_u32(m) != 0;
}

static inline mask
above(wide a, wide b)
{
	return vcgtq_f32(a, b);
}

static inline mask
equal(wide a, wide b)
{
	return vceqq_f32(a, b);
}

static inline wide
choose(mask m, wide a, wide b)
{
	return vbslq_f32(m, a, b);
}

static inline whole
choose_whole(mask m, whole a, whole b)
{
	return vbslq_s32(m, a, b);
}

static inline wide
keep(mask m, wide a)
{
	return vreinterpretq_f32_u32(vandq_u32(m, vreinterpretq_u32_f32(a)));
}

static inline wide
larger(wide a, wide b)
{
	return choose(above(a, b), a, b);
}

static inline wide
smaller(wide a, wide b)
{
	return choose(above(b, a), a, b);
}

static inline whole
larger_whole(whole a, whole b)
{
	return vmaxq_s32(a, b);
}

static inline whole
smaller_whole(whole a, whole b)
{
	return vminq_s32(a, b);
}

static inline wide
within(wide v, float most)
{
	return smaller(all(most), larger(v, all(0)));
}

static inline wide
magnitude(wide v)
{
	return vabsq_f32(v);
}

static inline wide
rounded(wide v)
{
	return vrndnq_f32(v);
}

static inline wide
root(wide v)
{
	return vsqrtq_f32(v);
}

static inline void
turn(wide *r)
{
	float32x4x2_t top = vtrnq_f32(r[0], r[1]), bottom = vtrnq_f32(r[2], r[3]);

	r[0] = vcombine_f32(vget_low_f32(top.val[0]), vget_low_f32(bottom.val[0]));
	r[1] = vcombine_f32(vget_low_f32(top.val[1]), vget_low_f32(bottom.val[1]));
	r[2] = vcombine_f32(vget_high_f32(top.val[0]), vget_high_f32(bottom.val[0]));
	r[3] = vcombine_f32(vget_high_f32(top.val[1]), vget_high_f32(bottom.val[1]));
}

/* The number of thresholds that v reaches; they rise. */
static inline whole
level_code(wide v)
{
	uint32x4_t less = vdupq_n_u32(0);
	wide twice = vaddq_f32(v, v);
	int i;

	/* true is -1 */
	for (i = 0; i < 15; i++)
		less = vaddq_u32(less, vcgeq_f32(twice, vdupq_n_f32(iq4_borders[i])));
	return vnegq_s32(vreinterpretq_s32_u32(less));
}

/* A table of sixteen bytes; each lane takes one, and indexes beyond it give 0. */
static inline wide
level_of(whole code)
{
	uint8x16_t at = vreinterpretq_u8_s32(vorrq_s32(code, vdupq_n_s32(-256)));
	int32x4_t level = vreinterpretq_s32_s8(vqtbl1q_s8(vld1q_s8(iq4_levels), at));

	/* The sign of the byte fills the three above it. */
	return vcvtq_f32_s32(vshrq_n_s32(vshlq_n_s32(level, 24), 24));
}

static inline whole
points_at(const uint16_t *p)
{
	return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
}

/* Numbers of the bytes of number code of a table. */
static inline uint8x16_t
bytes_of(whole code)
{
	return vreinterpretq_u8_s32(vmlaq_n_s32(vdupq_n_s32(0x03020100), code, 0x04040404));
}

static inline wide
pick_4(const wide *t, whole code)
{
	uint8x16_t at = bytes_of(vandq_s32(code, vdupq_n_s32(3)));

	return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(*t), at));
}

static inline wide
pick_8(const wide *t, whole code)
{
	uint8x16x2_t both = {{ vreinterpretq_u8_f32(t[0]), vreinterpretq_u8_f32(t[1]) }};

	return vreinterpretq_f32_u8(vqtbl2q_u8(both, bytes_of(vandq_s32(code, vdupq_n_s32(7)))));
}

static inline unsigned
mask_bits(mask m)
{
	const uint32x4_t bit = { 1, 2, 4, 8 };

	return vaddvq_u32(vandq_u32(m, bit));
}

static inline float
least_of(wide v)
{
	return vminvq_f32(v);
}

#endif
