/* rows_i16: products with one row of activations in WebAssembly. Internal to this folder; rows.h has those
 * of 64-bit ARM.
 *
 * Four rows are computed at a time, each in its own lane, which adds blocks in their order: products have the
 * bits of plain C.
 *
 * For the types that are run there most, activations are widened to 16 bits once for all rows. Codes of weights
 * become 16 bits by masks and shifts of eight pairs of bytes, so most activations are the eight at even places of
 * sixteen and then the eight at odd ones.
 *
 * Engines load everything of a straight piece of code before they compute, and what registers do not hold
 * goes to the stack. So loops are not unrolled.
 */
#ifndef DOT_ROWS_I16_H
#define DOT_ROWS_I16_H

#include "kernels/neon/codes.h"
#include "kernels/neon/panel.h"

enum {
	COLUMNS = 4096, /* that are widened at once */
	VECTORS = 5,    /* of 32 columns, at most */
	LANES = 4,
	RUN = 32        /* blocks of 32 columns */
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

/* The totals of four vectors, side by side. */
INLINE v128_t
lanes_of(const v128_t *v)
{
	const v128_t a = add(wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7));
	const v128_t b = add(wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5), wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7));

	return add(wasm_i64x2_shuffle(a, b, 0, 2), wasm_i64x2_shuffle(a, b, 1, 3));
}

/* The halves at place at of four rows, times unit, a power of two. They are in the upper halves of lanes, where
 * sign, exponent and fraction move to their places; the difference of the biases is multiplied in. */
INLINE v128_t
halves_of(const uint8_t *const *x, size_t at, float unit)
{
	const v128_t none = wasm_i32x4_splat(0), most = wasm_i32x4_splat(0x7c000000);
	const v128_t one = wasm_v128_load16_lane(x[0] + at, none, 1), two = wasm_v128_load16_lane(x[1] + at, one, 3);
	const v128_t v = wasm_v128_load16_lane(x[3] + at, wasm_v128_load16_lane(x[2] + at, two, 5), 7);
	const v128_t number = wasm_f32x4_mul(wasm_v128_and(wasm_i32x4_shr(v, 3), wasm_i32x4_splat((int32_t)0x8fffe000)),
	                                     wasm_f32x4_splat(0x1p112f * unit));
	const v128_t special = wasm_i32x4_eq(wasm_v128_and(v, most), most);

	return wasm_v128_or(number, wasm_v128_and(special, wasm_i32x4_splat(0x7f800000)));
}

/* The next block. The compiler cannot tell where it is: it would compute all addresses of a loop from one number,
 * which engines do not fold into their loads. */
INLINE const uint8_t *
next_block(const uint8_t *x, size_t bytes)
{
	x += bytes;
	__asm__("" : "+r"(x));
	return x;
}

/* Four rows from row i of count on; behind the last row, the last row again. */
INLINE void
four_rows(const uint8_t **row, const uint8_t *w, size_t stride, size_t count, size_t i)
{
	int k;

	for (k = 0; k < LANES; k++)
		row[k] = row_at(w + stride * i, stride, count - i, k);
}

/* What the products of four rows begin with: those of the columns before at. */
INLINE v128_t
begun(const float *y, size_t count, size_t at)
{
	return at > 0 ? (v128_t)get_rows(y, count, 0) : wasm_f32x4_splat(0);
}

/* ---- blocks of 32 ---- */

struct small {
	size_t bytes, vectors; /* of weights, and of wide activations; a block */
	float unit;            /* of products */
	bool least;
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

/* As they are, for other types. */
INLINE void
small_widen(v128_t *to, const int8_t *a, int32_t sum)
{
	(void)sum;
	to[0] = wasm_v128_load(a);
	to[1] = wasm_v128_load(a + 16);
}

/* The products of up to RUN blocks of four rows. */
INLINE void
small_sums(const struct small *s, const uint8_t *const *row, const v128_t *a, size_t blocks, v128_t *sum)
{
	const uint8_t *x[LANES] = { row[0], row[1], row[2], row[3] };
	size_t b, i;

#pragma GCC unroll 1
	for (b = 0; b < blocks; b++, a += s->vectors, sum += LANES)
#pragma GCC unroll 4
		for (i = 0; i < LANES; i++) {
			sum[i] = s->product(x[i], a);
			x[i] = next_block(x[i], s->bytes);
		}
}

/* Blocks of four rows, which follow those in acc. */
INLINE v128_t
small_four(const struct small *s, const uint8_t **x, const v128_t *a, const float *scale, const float *value,
           size_t blocks, v128_t acc)
{
	v128_t sum[RUN * LANES], y, d;
	size_t b, i;

	small_sums(s, x, a, blocks, sum);
#pragma GCC unroll 1
	for (b = 0; b < blocks; b++) {
		d = s->bytes == 17 ? (v128_t)(float32x4_t){ power_at(x[0]), power_at(x[1]), power_at(x[2]), power_at(x[3]) }
			: halves_of(x, 0, s->unit);
		y = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(lanes_of(sum + LANES * b)), d);
		acc = wasm_f32x4_add(acc, wasm_f32x4_mul(y, wasm_v128_load32_splat(scale + b)));
		if (s->least)
			acc = wasm_f32x4_add(acc, wasm_f32x4_mul(halves_of(x, 2, 1), wasm_v128_load32_splat(value + b)));
		for (i = 0; i < LANES; i++)
			x[i] += s->bytes;
	}
	return acc;
}

INLINE void
small_rows(const struct small *s, const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n,
           float *y)
{
	const struct quantized q = quantized_at(a, n, SMALL);
	const int32_t *of = q.sums;
	const uint8_t *row[LANES];
	size_t at, b, blocks, i;
	wide_columns wide;
	v128_t sum;

	for (at = 0; at < n / SMALL; at += blocks, w += blocks * s->bytes) {
		blocks = n / SMALL - at < COLUMNS / SMALL ? n / SMALL - at : COLUMNS / SMALL;
		for (b = 0; b < blocks; b++)
			s->widen(wide + s->vectors * b, q.code + SMALL * (at + b), of[at + b]);
		for (i = 0; i < count; i += LANES) {
			four_rows(row, w, stride, count, i);
			sum = begun(y + i, count - i, at);
			for (b = 0; b < blocks; b += RUN)
				sum = small_four(s, row, wide + s->vectors * b, q.scale + at + b, (const float *)q.sums + at + b,
				                 blocks - b < RUN ? blocks - b : RUN, sum);
			put_rows(y + i, count - i, 0, (float32x4_t)sum);
		}
	}
}

/* ---- blocks of 256 ---- */

/* What each of four rows has of a block. */
struct four {
	v128_t sum[LANES], taken[LANES]; /* four sums each */
};

struct large {
	size_t bytes, d; /* of a block; where the unit is, with that of leasts behind it */
	bool least;
	void (*widen)(v128_t *to, const int8_t *a);
	/* A block of row i; of: sums of 16 activations. */
	void (*product)(const uint8_t *block, const v128_t *a, const int16_t *of, struct four *f, size_t i);
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

INLINE void
q4_k_product(const uint8_t *x, const v128_t *a, const int16_t *of, struct four *f, size_t i)
{
	const struct scales s = q4_k_scales(x);
	const v128_t least = (v128_t)s.least[0], v = wasm_v128_load(of), w = wasm_v128_load(of + 8);
	v128_t sum = wasm_i32x4_splat(0);
	int16_t scale[8];
	int k;

	f->taken[i] = two(wasm_i16x8_shuffle(v, w, 0, 2, 4, 6, 8, 10, 12, 14), least,
	                  wasm_i16x8_shuffle(v, w, 1, 3, 5, 7, 9, 11, 13, 15), least);
	wasm_v128_store(scale, wasm_i16x8_narrow_i32x4((v128_t)s.scale[0], (v128_t)s.scale[1]));
#pragma GCC unroll 1
	for (k = 0; k < 4; k++)
		sum = add(sum, q4_k_part(x + 16 + 32 * k, a + 8 * k, scale + 2 * k));
	f->sum[i] = sum;
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

INLINE void
q6_k_product(const uint8_t *x, const v128_t *a, const int16_t *of, struct four *f, size_t i)
{
	const v128_t taken = two(wasm_v128_load(of), wasm_i16x8_load8x8(x + 192),
	                         wasm_v128_load(of + 8), wasm_i16x8_load8x8(x + 200));
	const uint8_t *low = x, *scale = x + 192;
	v128_t sum = wasm_i32x4_neg(wasm_i32x4_shl(taken, 5));
	int k;

#pragma GCC unroll 1
	for (k = 0; k < 4; k++, a += 8) {
		sum = add(sum, q6_k_part(low, x + 128 + 16 * k, a, scale));
		low += 16 + 32 * (k % 2);
		scale += 1 + 6 * (k % 2);
	}
	f->sum[i] = sum;
}

/* Other types take them as they are. */
INLINE void
large_widen(v128_t *to, const int8_t *a)
{
	memcpy(to, a, LARGE);
}

INLINE void
large_product(large_codes *codes, large_scales *scales, int sub, bool least, const uint8_t *x, const v128_t *a,
              const int16_t *of, struct four *f, size_t i)
{
	const struct scales s = scales(x);

	f->sum[i] = (v128_t)scaled(codes, &s, sub, x, (const int8_t *)a);
	if (least)
		f->taken[i] = (v128_t)taken(&s, sub, of);
}

/* Blocks of four rows, which follow those in acc. */
INLINE v128_t
large_four(const struct large *l, const uint8_t *const *row, const v128_t *a, const struct quantized *q, size_t at,
           size_t blocks, v128_t acc)
{
	const int16_t *of = (const int16_t *)q->sums + LARGE / SUB * at;
	struct four f;
	size_t b, i;
	v128_t y;

	for (b = 0; b < blocks; b++, a += LARGE / 8, of += LARGE / SUB) {
#pragma GCC unroll 1
		for (i = 0; i < LANES; i++)
			l->product(row[i] + l->bytes * b, a, of, &f, i);
		y = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(lanes_of(f.sum)), halves_of(row, l->bytes * b + l->d, 1));
		if (l->least)
			y = wasm_f32x4_sub(y, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(lanes_of(f.taken)),
			                                     halves_of(row, l->bytes * b + l->d + 2, 1)));
		acc = wasm_f32x4_add(acc, wasm_f32x4_mul(y, wasm_v128_load32_splat(q->scale + at + b)));
	}
	return acc;
}

INLINE void
large_rows(const struct large *l, const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n,
           float *y)
{
	const struct quantized q = quantized_at(a, n, LARGE);
	const uint8_t *row[LANES];
	size_t at, b, blocks, i;
	wide_columns wide;
	v128_t sum;

	for (at = 0; at < n / LARGE; at += blocks, w += blocks * l->bytes) {
		blocks = n / LARGE - at < COLUMNS / LARGE ? n / LARGE - at : COLUMNS / LARGE;
		for (b = 0; b < blocks; b++)
			l->widen(wide + LARGE / 8 * b, q.code + LARGE * (at + b));
		for (i = 0; i < count; i += LANES) {
			four_rows(row, w, stride, count, i);
			sum = large_four(l, row, wide, &q, at, blocks, begun(y + i, count - i, at));
			put_rows(y + i, count - i, 0, (float32x4_t)sum);
		}
	}
}

/* ---- types ---- */

#define ROWS_I16(NAME, SIZE, ...) \
void \
NAME##_rows_neon(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y) \
{ \
	static const struct SIZE s = { __VA_ARGS__ }; \
\
	SIZE##_rows(&s, w, stride, count, a, n, y); \
}

ROWS_I16(q4_0, small, 18, 5, 1.0f / 256, false, q4_0_widen, q4_0_product)
ROWS_I16(q8_0, small, 34, 4, 1, false, q8_0_widen, q8_0_product)
ROWS_I16(q4_k, large, 144, 0, true, q4_k_widen, q4_k_product)
ROWS_I16(q6_k, large, 210, 208, false, q6_k_widen, q6_k_product)

#define SMALL_ROWS(NAME, BYTES, LEAST) \
INLINE v128_t \
NAME##_product(const uint8_t *x, const v128_t *a) \
{ \
	return (v128_t)thirty_two(NAME##_codes(x), (const int8_t *)a); \
} \
ROWS_I16(NAME, small, BYTES, 2, 1, LEAST, small_widen, NAME##_product)

#define LARGE_ROWS(NAME, SCALES, BYTES, D, SUBS, LEAST) \
INLINE void \
NAME##_product(const uint8_t *x, const v128_t *a, const int16_t *of, struct four *f, size_t i) \
{ \
	large_product(NAME##_codes, SCALES, SUBS, LEAST, x, a, of, f, i); \
} \
ROWS_I16(NAME, large, BYTES, D, LEAST, large_widen, NAME##_product)

#endif
