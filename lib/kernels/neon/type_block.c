/* Q8_0 and Q4_0 with NEON, as ref/type_q8_0.c and ref/type_q4_0.c define them. */
#include <arm_neon.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/neon/types.h"

enum { ITEMS = 32, WIDE = 4, PARTS = ITEMS / WIDE, Q8_BYTES = 34, Q4_BYTES = 18 };

/* The largest magnitude; NaN has none. */
static inline float
largest(const float32x4_t *v)
{
	float32x4_t a, most = vdupq_n_f32(0);
	int i;

	for (i = 0; i < PARTS; i++) {
		a = vabsq_f32(v[i]);
		most = vbslq_f32(vcgtq_f32(a, most), a, most);
	}
	return vmaxvq_f32(most);
}

static inline void
load(const float *x, float32x4_t *v)
{
	int i;

	for (i = 0; i < PARTS; i++)
		v[i] = vld1q_f32(x + WIDE * i);
}

/* A value that no code can hold becomes zero. */
static inline float32x4_t
held(float32x4_t v)
{
	uint32x4_t holds = vcltq_f32(vabsq_f32(v), vdupq_n_f32(128));

	return vreinterpretq_f32_u32(vandq_u32(holds, vreinterpretq_u32_f32(v)));
}

/* The low bytes of sixteen numbers of -128 to 255. */
static inline uint8x16_t
bytes(const int32x4_t *v)
{
	int16x8_t low = vcombine_s16(vmovn_s32(v[0]), vmovn_s32(v[1]));
	int16x8_t high = vcombine_s16(vmovn_s32(v[2]), vmovn_s32(v[3]));

	return vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

static void
q8_0_encode(const float *x, uint8_t *y, size_t n)
{
	float32x4_t v[PARTS];
	int32x4_t code[PARTS];
	float by, d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q8_BYTES) {
		load(x, v);
		d = largest(v) / 127.0f;
		le16_put(y, half_f32_f16(d));
		by = d != 0 ? 1.0f / d : 0;
		/* Halves round away from zero. */
		for (i = 0; i < PARTS; i++)
			code[i] = vcvtaq_s32_f32(held(vmulq_n_f32(v[i], by)));
		vst1q_u8(y + 2, bytes(code));
		vst1q_u8(y + 18, bytes(code + 4));
	}
}

/* The first value of that magnitude; 0 if that is 0. */
static inline float
first_of(const float *x, float most)
{
	int i;

	for (i = 0; most > 0 && i < ITEMS; i++)
		if (x[i] == most || x[i] == -most)
			return x[i];
	return 0;
}

static void
q4_0_encode(const float *x, uint8_t *y, size_t n)
{
	const int32x4_t low = vdupq_n_s32(15);
	float32x4_t v[PARTS];
	int32x4_t code[PARTS];
	float by, d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += Q4_BYTES) {
		load(x, v);
		d = first_of(x, largest(v)) / -8.0f;
		le16_put(y, d == d ? half_f32_f16(d) : 0x7e00);
		by = d != 0 ? 1.0f / d : 0;
		for (i = 0; i < PARTS; i++) {
			v[i] = vaddq_f32(vmulq_n_f32(v[i], by), vdupq_n_f32(8.5f));
			code[i] = vcvtq_s32_f32(held(v[i]));
			code[i] = vandq_s32(vminq_s32(code[i], low), low);
		}
		for (i = 0; i < PARTS / 2; i++)
			code[i] = vorrq_s32(code[i], vshlq_n_s32(code[i + PARTS / 2], 4));
		vst1q_u8(y + 2, bytes(code));
	}
}

const struct kernel neon_q8_0 = { .dtype = "Q8_0", .encode = q8_0_encode };
const struct kernel neon_q4_0 = { .dtype = "Q4_0", .encode = q4_0_encode };
