/* F16 and BF16 with NEON, as ref/type_float.c defines them. */
#include <arm_neon.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/neon/types.h"

enum { WIDE = 4 };

static void
f16_encode(const float *x, uint8_t *y, size_t n)
{
	const uint32x4_t sign = vdupq_n_u32(0x80000000), quiet = vdupq_n_u32(0x7fc00000);
	float32x4_t v;
	uint32x4_t nan;

	for (; n >= WIDE; n -= WIDE, x += WIDE, y += 2 * WIDE) {
		v = vld1q_f32(x);
		/* All NaNs become one, with their sign. */
		nan = vorrq_u32(quiet, vandq_u32(sign, vreinterpretq_u32_f32(v)));
		v = vbslq_f32(vceqq_f32(v, v), v, vreinterpretq_f32_u32(nan));
		vst1_u8(y, vreinterpret_u8_f16(vcvt_f16_f32(v)));
	}
	for (; n > 0; n--, x++, y += 2)
		le16_put(y, half_f32_f16(*x));
}

static void
f16_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= WIDE; n -= WIDE, x += 2 * WIDE, y += WIDE)
		vst1q_f32(y, vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(x))));
	for (; n > 0; n--, x += 2, y++)
		*y = half_f16_f32(le16(x));
}

static void
bf16_encode(const float *x, uint8_t *y, size_t n)
{
	const uint32x4_t one = vdupq_n_u32(1), most = vdupq_n_u32(0x7fff);
	const uint32x4_t quiet = vdupq_n_u32(0x400000);
	uint32x4_t rounded, u;
	float32x4_t v;

	for (; n >= WIDE; n -= WIDE, x += WIDE, y += 2 * WIDE) {
		v = vld1q_f32(x);
		u = vreinterpretq_u32_f32(v);
		/* Half of the part that is cut off, less one if the part that stays is even. */
		rounded = vaddq_u32(u, vaddq_u32(most, vandq_u32(vshrq_n_u32(u, 16), one)));
		u = vbslq_u32(vceqq_f32(v, v), rounded, vorrq_u32(u, quiet));
		vst1_u8(y, vreinterpret_u8_u16(vshrn_n_u32(u, 16)));
	}
	for (; n > 0; n--, x++, y += 2)
		le16_put(y, half_f32_bf16(*x));
}

static void
bf16_decode(const uint8_t *x, float *y, size_t n)
{
	uint32x4_t u;

	for (; n >= WIDE; n -= WIDE, x += 2 * WIDE, y += WIDE) {
		u = vshll_n_u16(vreinterpret_u16_u8(vld1_u8(x)), 16);
		vst1q_f32(y, vreinterpretq_f32_u32(u));
	}
	for (; n > 0; n--, x += 2, y++)
		*y = half_bf16_f32(le16(x));
}

const struct kernel neon_f16 = { .dtype = "F16", .encode = f16_encode, .decode = f16_decode };
const struct kernel neon_bf16 = {
	.dtype = "BF16", .encode = bf16_encode, .decode = bf16_decode
};
