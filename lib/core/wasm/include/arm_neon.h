/* arm_neon: NEON's operations by those of WebAssembly, so that kernels/neon is the level of both. Most
 * are SIMDe's (Debian: libsimde-dev); here is what it lacks or does one value after the other.
 */
#ifndef WASM_ARM_NEON_H
#define WASM_ARM_NEON_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/arm/neon.h>
#include <wasm_simd128.h>

#define NEON static inline __attribute__((always_inline, unused))

NEON float32x4_t
vsqrtq_f32(float32x4_t v)
{
	return (float32x4_t)wasm_f32x4_sqrt((v128_t)v);
}

/* To the nearest integer, ties to even. */
NEON int32x4_t
vcvtnq_s32_f32(float32x4_t v)
{
	return (int32x4_t)wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest((v128_t)v));
}

/* Ties away from zero: the fraction is exact. */
NEON int32x4_t
vcvtaq_s32_f32(float32x4_t v)
{
	const v128_t x = (v128_t)v, whole = wasm_f32x4_trunc(x);
	const v128_t far = wasm_f32x4_ge(wasm_f32x4_abs(wasm_f32x4_sub(x, whole)), wasm_f32x4_splat(0.5f));
	const v128_t sign = wasm_v128_and(x, wasm_i32x4_splat(INT32_MIN));
	const v128_t one = wasm_v128_or(wasm_v128_and(far, wasm_f32x4_splat(1)), sign);

	return (int32x4_t)wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(whole, one));
}

NEON float32x4_t
vfmsq_f32(float32x4_t a, float32x4_t b, float32x4_t c)
{
	return a - b * c;
}

/* ---- products of bytes ----
 *
 * NEON multiplies bytes and adds the 16-bit products in pairs. Here adding pairs of 16-bit numbers takes
 * several instructions, but one multiplies and adds pairs of them, so bytes are widened first. */

/* Eight bytes, as 16 bits each. */
NEON v128_t
wasm_low(int8x16_t v)
{
	return wasm_i16x8_extend_low_i8x16((v128_t)v);
}

NEON v128_t
wasm_high(int8x16_t v)
{
	return wasm_i16x8_extend_high_i8x16((v128_t)v);
}

/* sum + v × w, in pairs of neighbours. */
NEON int32x4_t
wasm_add_pairs(int32x4_t sum, v128_t v, v128_t w)
{
	return (int32x4_t)wasm_i32x4_add((v128_t)sum, wasm_i32x4_dot_i16x8(v, w));
}

/* Four sums, which together are sixteen products. */
#define WASM_SIXTEEN(sum, v, w) \
	wasm_add_pairs(wasm_add_pairs(sum, wasm_low(v), wasm_low(w)), wasm_high(v), wasm_high(w))

/* ---- halves: bits of F16 and BF16 ---- */

#undef vshll_n_u16
#define vshll_n_u16(v, n) ((uint32x4_t)wasm_i32x4_shl((v128_t)__builtin_convertvector((v), uint32x4_t), n))

#define float16x4_t wasm_half_t
typedef struct { uint16x4_t bits; } wasm_half_t;
#define vreinterpret_f16_u16(v) ((wasm_half_t){ (v) })
#define vreinterpret_f16_u8(v) ((wasm_half_t){ (uint16x4_t)(v) })
#undef vcvt_f32_f16
#define vcvt_f32_f16 wasm_half_float

/* Exponent and fraction are moved to their places, and the difference of the biases is multiplied in,
 * which makes subnormal numbers normal. */
NEON float32x4_t
wasm_half_float(wasm_half_t h)
{
	const v128_t v = (v128_t)__builtin_convertvector(h.bits, uint32x4_t);
	const v128_t sign = wasm_i32x4_shl(wasm_v128_and(v, wasm_i32x4_splat(0x8000)), 16);
	const v128_t rest = wasm_i32x4_shl(wasm_v128_and(v, wasm_i32x4_splat(0x7fff)), 13);
	const v128_t number = wasm_f32x4_mul(rest, wasm_f32x4_splat(0x1p112f));
	const v128_t special = wasm_i32x4_ge(rest, wasm_i32x4_splat(31 << 23));
	const v128_t most = wasm_v128_and(special, wasm_i32x4_splat(0x7f800000));

	return (float32x4_t)wasm_v128_or(wasm_v128_or(number, most), sign);
}

#undef NEON

#endif
