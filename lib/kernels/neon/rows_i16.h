/* rows_i16: products with one row of activations in WebAssembly, for the types that are run there most.
 * Internal to this folder; rows.h has the others.
 *
 * Activations are widened to 16 bits once for all rows. Codes of weights become 16 bits by masks and
 * shifts of eight pairs of bytes, so most activations are the eight at even places of sixteen and then
 * the eight at odd ones.
 *
 * Engines load everything of a straight piece of code before they compute, and what registers do not hold
 * goes to the stack. So loops are not unrolled.
 */
#ifndef DOT_ROWS_I16_H
#define DOT_ROWS_I16_H

#include "kernels/neon/codes.h"

enum {
	COLUMNS = 4096, /* that are widened at once */
	VECTORS = 5     /* of 32 columns, at most */
};

typedef v128_t wide_columns[COLUMNS / SMALL * VECTORS];

INLINE v128_t
add(v128_t a, v128_t b)
{
	return wasm_i32x4_add(a, b);
}

/* v × a + w × b, in pairs of neighbours. */
INLINE v128_t
two(v128_t v, v128_t a, v128_t w, v128_t b)
{
	return add(wasm_i32x4_dot_i16x8(v, a), wasm_i32x4_dot_i16x8(w, b));
}

/* Nibbles stay where they are in 16 bits, which makes some 16 or 256 times as large. Activations make all
 * products 256 times as large: of low nibbles, then of high ones. */
INLINE void
for_low(v128_t *to, const int8_t *a)
{
	const v128_t v = wasm_v128_load(a);

	to[0] = wasm_i16x8_shl(v, 8);
	to[1] = wasm_i16x8_shr(v, 8);
}

INLINE void
for_high(v128_t *to, const int8_t *a)
{
	const v128_t v = wasm_v128_load(a);

	to[0] = wasm_i16x8_shr(wasm_i16x8_shl(v, 8), 4);
	to[1] = wasm_i16x8_shl(wasm_i16x8_shr(v, 8), 8);
}

INLINE v128_t
low_nibbles(v128_t v, const v128_t *a)
{
	return two(wasm_v128_and(v, wasm_i16x8_splat(0x000f)), a[0],
	           wasm_v128_and(v, wasm_i16x8_splat(0x0f00)), a[1]);
}

INLINE v128_t
high_nibbles(v128_t v, const v128_t *a)
{
	return two(wasm_v128_and(v, wasm_i16x8_splat(0x00f0)), a[0], wasm_u16x8_shr(v, 12), a[1]);
}

/* ---- blocks of 32 ---- */

struct small {
	size_t bytes, vectors; /* of weights, and of wide activations; a block */
	float unit;            /* of products */
	void (*widen)(v128_t *to, const int8_t *a, int32_t sum);
	/* Four sums, which together are the products of a block. */
	v128_t (*product)(const uint8_t *block, const v128_t *a);
};

INLINE void
q8_0_widen(v128_t *to, const int8_t *a, int32_t sum)
{
	(void)sum;
	to[0] = wasm_i16x8_load8x8(a);
	to[1] = wasm_i16x8_load8x8(a + 8);
	to[2] = wasm_i16x8_load8x8(a + 16);
	to[3] = wasm_i16x8_load8x8(a + 24);
}

INLINE v128_t
q8_0_product(const uint8_t *x, const v128_t *a)
{
	return add(two(wasm_i16x8_load8x8(x + 2), a[0], wasm_i16x8_load8x8(x + 10), a[1]),
	           two(wasm_i16x8_load8x8(x + 18), a[2], wasm_i16x8_load8x8(x + 26), a[3]));
}

/* Nibbles have no sign: -8 times the sum of activations is added. */
INLINE void
q4_0_widen(v128_t *to, const int8_t *a, int32_t sum)
{
	for_low(to, a);
	for_high(to + 2, a + 16);
	to[4] = wasm_i32x4_make(sum * -8 * 256, 0, 0, 0);
}

INLINE v128_t
q4_0_product(const uint8_t *x, const v128_t *a)
{
	const v128_t v = wasm_v128_load(x + 2);

	return add(add(low_nibbles(v, a), high_nibbles(v, a + 2)), a[4]);
}

/* Scales of blocks times those of activations. */
INLINE void
units_of(float *to, const struct small *s, const uint8_t *w, const float *scale, size_t blocks)
{
	size_t b;

	for (b = 0; b + 4 <= blocks; b += 4, w += 4 * s->bytes)
		vst1q_f32(to + b, vmulq_f32(vmulq_n_f32(four_halves(w, s->bytes), s->unit), vld1q_f32(scale + b)));
	for (; b < blocks; b++, w += s->bytes)
		to[b] = half_at(w) * s->unit * scale[b];
}

/* Two rows, which meet the same activations. */
INLINE void
small_two(const struct small *s, const uint8_t *w, const uint8_t *v, const v128_t *a, const float *scale,
          size_t blocks, float *y)
{
	float unit[2][COLUMNS / SMALL];
	v128_t acc[2] = { wasm_f32x4_splat(0), wasm_f32x4_splat(0) }, sum[2];
	size_t b;

	units_of(unit[0], s, w, scale, blocks);
	units_of(unit[1], s, v, scale, blocks);
#pragma GCC unroll 1
	for (b = 0; b < blocks; b++, w += s->bytes, v += s->bytes, a += s->vectors) {
		sum[0] = wasm_f32x4_convert_i32x4(s->product(w, a));
		sum[1] = wasm_f32x4_convert_i32x4(s->product(v, a));
		acc[0] = wasm_f32x4_add(acc[0], wasm_f32x4_mul(sum[0], wasm_v128_load32_splat(&unit[0][b])));
		acc[1] = wasm_f32x4_add(acc[1], wasm_f32x4_mul(sum[1], wasm_v128_load32_splat(&unit[1][b])));
	}
	y[0] = vaddvq_f32((float32x4_t)acc[0]);
	y[1] = vaddvq_f32((float32x4_t)acc[1]);
}

INLINE void
small_rows(const struct small *s, const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n,
           float *y)
{
	const struct quantized q = quantized_at(a, n, SMALL);
	const int32_t *of = q.sums;
	size_t at, b, blocks, i;
	wide_columns wide;
	float sum[2];

	for (at = 0; at < n / SMALL; at += blocks, w += blocks * s->bytes) {
		blocks = n / SMALL - at < COLUMNS / SMALL ? n / SMALL - at : COLUMNS / SMALL;
		for (b = 0; b < blocks; b++)
			s->widen(wide + s->vectors * b, q.code + SMALL * (at + b), of[at + b]);
		for (i = 0; i < count; i += 2) {
			small_two(s, w + stride * i, w + stride * (i + 1 < count ? i + 1 : i), wide, q.scale + at,
			          blocks, sum);
			y[i] = at > 0 ? y[i] + sum[0] : sum[0];
			if (i + 1 < count)
				y[i + 1] = at > 0 ? y[i + 1] + sum[1] : sum[1];
		}
	}
}

/* ---- blocks of 256 ---- */

struct large {
	size_t bytes;
	void (*widen)(v128_t *to, const int8_t *a);
	/* Four numbers whose total is a product without the scale of activations; of: sums of 16 of them. */
	v128_t (*product)(const uint8_t *block, const v128_t *a, const int16_t *of);
};

/* Two vectors of four sums below 2^15, times a scale each. */
INLINE v128_t
times(v128_t v, v128_t w, v128_t scales)
{
	return wasm_i32x4_dot_i16x8(wasm_i16x8_narrow_i32x4(v, w), scales);
}

INLINE void
q4_k_widen(v128_t *to, const int8_t *a)
{
	int i;

	for (i = 0; i < LARGE; i += 64, to += 8, a += 64) {
		for_low(to, a);
		for_low(to + 2, a + 16);
		for_high(to + 4, a + 32);
		for_high(to + 6, a + 48);
	}
}

/* The products of 64 columns, whose nibbles are in 32 bytes. */
INLINE v128_t
q4_k_part(const uint8_t *x, const v128_t *a, const int16_t *scale)
{
	const v128_t v = wasm_v128_load(x), w = wasm_v128_load(x + 16), s = wasm_v128_load32_splat(scale);
	const v128_t low = add(low_nibbles(v, a), low_nibbles(w, a + 2));
	const v128_t high = add(high_nibbles(v, a + 4), high_nibbles(w, a + 6));

	return times(wasm_i32x4_shr(low, 8), wasm_i32x4_shr(high, 8),
	             wasm_i16x8_shuffle(s, s, 0, 0, 0, 0, 1, 1, 1, 1));
}

INLINE v128_t
q4_k_product(const uint8_t *x, const v128_t *a, const int16_t *of)
{
	const struct scales s = q4_k_scales(x);
	const v128_t least = (v128_t)s.least[0], v = wasm_v128_load(of), w = wasm_v128_load(of + 8);
	const v128_t taken = two(wasm_i16x8_shuffle(v, w, 0, 2, 4, 6, 8, 10, 12, 14), least,
	                         wasm_i16x8_shuffle(v, w, 1, 3, 5, 7, 9, 11, 13, 15), least);
	v128_t sum = wasm_i32x4_splat(0);
	int16_t scale[8];
	int i;

	wasm_v128_store(scale, wasm_i16x8_narrow_i32x4((v128_t)s.scale[0], (v128_t)s.scale[1]));
#pragma GCC unroll 1
	for (i = 0; i < 4; i++)
		sum = add(sum, q4_k_part(x + 16 + 32 * i, a + 8 * i, scale + 2 * i));
	return wasm_f32x4_sub(wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum), wasm_f32x4_splat(s.d)),
	                      wasm_f32x4_mul(wasm_f32x4_convert_i32x4(taken), wasm_f32x4_splat(s.m)));
}

/* In the order of q6_k_part. */
INLINE void
q6_k_widen(v128_t *to, const int8_t *a)
{
	v128_t v;
	int i;

	for (i = 0; i < LARGE / 16; i++) {
		v = wasm_v128_load(a + 128 * (i / 8) + 16 * (i / 4 % 2) + 32 * (i % 4));
		*to++ = wasm_i16x8_shr(wasm_i16x8_shl(v, 8), 8);
		*to++ = wasm_i16x8_shr(v, 8);
	}
}

/* Sixteen codes of six bits: bits 0 to 3 of low, 4 and 5 of high. */
INLINE v128_t
q6_k_sixteen(v128_t low, v128_t high, const v128_t *a)
{
	const v128_t v = wasm_v128_or(wasm_v128_and(low, wasm_i8x16_splat(0x0f)),
	                              wasm_v128_and(high, wasm_i8x16_splat(0x30)));

	return two(wasm_v128_and(v, wasm_i16x8_splat(0x00ff)), a[0], wasm_u16x8_shr(v, 8), a[1]);
}

/* Sixteen columns of each 32 of 128. */
INLINE v128_t
q6_k_part(const uint8_t *low, const uint8_t *high, const v128_t *a, const uint8_t *scale)
{
	const v128_t v = wasm_v128_load(low), w = wasm_v128_load(low + 32), h = wasm_v128_load(high);
	const v128_t s = wasm_i16x8_load8x8(scale); /* of columns that are 16 apart */
	const v128_t first = times(q6_k_sixteen(v, wasm_i16x8_shl(h, 4), a),
	                           q6_k_sixteen(w, wasm_i16x8_shl(h, 2), a + 2),
	                           wasm_i16x8_shuffle(s, s, 0, 0, 0, 0, 2, 2, 2, 2));

	return add(first, times(q6_k_sixteen(wasm_u16x8_shr(v, 4), h, a + 4),
	                        q6_k_sixteen(wasm_u16x8_shr(w, 4), wasm_u16x8_shr(h, 2), a + 6),
	                        wasm_i16x8_shuffle(s, s, 4, 4, 4, 4, 6, 6, 6, 6)));
}

INLINE v128_t
q6_k_product(const uint8_t *x, const v128_t *a, const int16_t *of)
{
	const v128_t taken = two(wasm_v128_load(of), wasm_i16x8_load8x8(x + 192),
	                         wasm_v128_load(of + 8), wasm_i16x8_load8x8(x + 200));
	const uint8_t *low = x, *scale = x + 192;
	v128_t sum = wasm_i32x4_neg(wasm_i32x4_shl(taken, 5));
	int i;

#pragma GCC unroll 1
	for (i = 0; i < 4; i++, a += 8) {
		sum = add(sum, q6_k_part(low, x + 128 + 16 * i, a, scale));
		low += 16 + 32 * (i % 2);
		scale += 1 + 6 * (i % 2);
	}
	return wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum), wasm_f32x4_splat(half_at(x + 208)));
}

INLINE void
large_rows(const struct large *l, const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n,
           float *y)
{
	const struct quantized q = quantized_at(a, n, LARGE);
	const int16_t *of = q.sums;
	size_t at, b, columns, i;
	wide_columns wide;
	v128_t acc, product;
	float sum;

	for (at = 0; at < n; at += columns, w += columns / LARGE * l->bytes) {
		columns = n - at < COLUMNS ? n - at : COLUMNS;
		for (i = 0; i < columns; i += LARGE)
			l->widen(wide + i / 8, q.code + at + i);
		for (i = 0; i < count; i++) {
			acc = wasm_f32x4_splat(0);
			for (b = 0; b < columns / LARGE; b++) {
				product = l->product(w + stride * i + l->bytes * b, wide + LARGE / 8 * b,
				                     of + at / SUB + LARGE / SUB * b);
				acc = wasm_f32x4_add(acc, wasm_f32x4_mul(product, wasm_v128_load32_splat(q.scale + at / LARGE + b)));
			}
			sum = vaddvq_f32((float32x4_t)acc);
			y[i] = at > 0 ? y[i] + sum : sum;
		}
	}
}

/* ---- types ---- */

#define ROWS_I16(NAME, SIZE, ...) \
void \
NAME##_rows_neon(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	static const struct SIZE s = { __VA_ARGS__, NAME##_widen, NAME##_product }; \
\
	SIZE##_rows(&s, w, stride, count, a, n, y); \
}

ROWS_I16(q4_0, small, 18, 5, 1.0f / 256)
ROWS_I16(q8_0, small, 34, 4, 1)
ROWS_I16(q4_k, large, 144)
ROWS_I16(q6_k, large, 210)

#endif
