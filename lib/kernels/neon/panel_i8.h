/* panel_i8: products with many activations. The file that includes this defines VARIANT
 * (neon.h), and is compiled with or without the instructions for sums of four products of
 * bytes (SDOT), and for products of matrices of bytes (I8MM).
 *
 * Four or eight rows of weights make a panel of 256 columns: four neighbouring codes of
 * four rows side by side, a row in each lane, or eight of two rows. It is unpacked once and
 * stays in the nearest cache while all activations pass by. So a scale serves four rows,
 * and little is added across lanes.
 */
#include "kernels/neon/codes.h"
#include "kernels/neon/neon.h"
#include "kernels/neon/panel.h"

enum { STEPS = LARGE / 4, GROUP = 4 };

#ifdef __ARM_FEATURE_DOTPROD
enum { HALVES = 2 }; /* of a panel: four rows each */
#else
enum { HALVES = 1 };
#endif
enum { ROWS = 4 * HALVES };

struct panel {
	int8x16_t code[STEPS][HALVES];          /* four steps are sixteen columns */
	int32x4_t scale[LARGE / SUB][HALVES];   /* for each 16 or 32 columns */
	int16x4_t least[LARGE / SUB][HALVES];
	float32x4_t d[HALVES], m[HALVES];       /* units of scale and least */
	float32x4_t unit[LARGE / SMALL][HALVES]; /* blocks of 32: scales, */
	float32x4_t lift[LARGE / SMALL][HALVES]; /* and the part that is added */
};

/* ---- sums of products ----
 *
 * put_codes: sixteen columns of four rows to four steps. tile: sum[g][h] = codes of 16 or 32
 * columns of half h × those of activation g.
 */

#ifdef __ARM_FEATURE_MATMUL_INT8

/* The first or the second eight columns of two rows. */
INLINE int8x16_t
first_of(int8x16_t a, int8x16_t b)
{
	return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

INLINE int8x16_t
second_of(int8x16_t a, int8x16_t b)
{
	return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

/* Two steps are eight columns, first of rows 0 and 1, then of 2 and 3. */
INLINE void
put_codes(struct panel *p, int step, int half, const int8x16_t *row)
{
	p->code[step][half] = first_of(row[0], row[1]);
	p->code[step + 1][half] = first_of(row[2], row[3]);
	p->code[step + 2][half] = second_of(row[0], row[1]);
	p->code[step + 3][half] = second_of(row[2], row[3]);
}

/* A product has two rows × two activations; a single activation is taken twice. */
INLINE void
tile(int32x4_t (*sum)[HALVES], const struct panel *p, int step, int columns, const int8_t *const *a,
     int group)
{
	int32x4_t s[GROUP / 2][HALVES][2] = { 0 };
	int8x16_t v, next, low, high;
	int g, h, k;

#pragma GCC unroll 2
	for (k = 0; k < columns / 16; k++, step += 4)
#pragma GCC unroll 2
		for (g = 0; g < (group + 1) / 2; g++) {
			v = vld1q_s8(a[2 * g] + 16 * k);
			next = group == 1 ? v : vld1q_s8(a[2 * g + 1] + 16 * k);
			low = first_of(v, next);
			high = second_of(v, next);
#pragma GCC unroll 2
			for (h = 0; h < HALVES; h++) {
				s[g][h][0] = vmmlaq_s32(s[g][h][0], p->code[step][h], low);
				s[g][h][1] = vmmlaq_s32(s[g][h][1], p->code[step + 1][h], low);
				s[g][h][0] = vmmlaq_s32(s[g][h][0], p->code[step + 2][h], high);
				s[g][h][1] = vmmlaq_s32(s[g][h][1], p->code[step + 3][h], high);
			}
		}
#pragma GCC unroll 4
	for (g = 0; g < group; g++)
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++)
			sum[g][h] = g % 2 ? vuzp2q_s32(s[g / 2][h][0], s[g / 2][h][1])
				: vuzp1q_s32(s[g / 2][h][0], s[g / 2][h][1]);
}

#else

/* A step is four columns of four rows. */
INLINE void
put_codes(struct panel *p, int step, int half, const int8x16_t *row)
{
	int32x4_t v[4];
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		v[i] = vreinterpretq_s32_s8(row[i]);
	turn_whole(v);
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		p->code[step + i][half] = vreinterpretq_s8_s32(v[i]);
}

#ifdef __ARM_FEATURE_DOTPROD
typedef int32x4_t sums;
#else
typedef int32x4x2_t sums; /* rows 0 and 1, rows 2 and 3: two lanes each */

/* Eight columns. Two products fit into 16 bits, since activations are never -128. */
INLINE sums
eight(sums s, int8x16_t w0, int8x16_t w1, int8x16_t a0, int8x16_t a1)
{
	int16x8_t low = vmull_s8(vget_low_s8(w0), vget_low_s8(a0)), high = vmull_high_s8(w0, a0);

	s.val[0] = vpadalq_s16(s.val[0], vmlal_s8(low, vget_low_s8(w1), vget_low_s8(a1)));
	s.val[1] = vpadalq_s16(s.val[1], vmlal_high_s8(high, w1, a1));
	return s;
}

#define LANE(V, I) vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(V), I))
#endif

INLINE sums
none(void)
{
#ifdef __ARM_FEATURE_DOTPROD
	return vdupq_n_s32(0);
#else
	return (sums){ { vdupq_n_s32(0), vdupq_n_s32(0) } };
#endif
}

/* s + the codes of sixteen columns × those of one activation, which is broadcast four codes
 * at a time. */
INLINE sums
multiply(sums s, const int8x16_t (*code)[HALVES], int half, int8x16_t a)
{
#ifdef __ARM_FEATURE_DOTPROD
	s = vdotq_laneq_s32(s, code[0][half], a, 0);
	s = vdotq_laneq_s32(s, code[1][half], a, 1);
	s = vdotq_laneq_s32(s, code[2][half], a, 2);
	return vdotq_laneq_s32(s, code[3][half], a, 3);
#elif defined WASM_SIXTEEN
	const v128_t low = wasm_low(a), high = wasm_high(a);
	const v128_t four[4] = {
		wasm_i64x2_shuffle(low, low, 0, 0), wasm_i64x2_shuffle(low, low, 1, 1),
		wasm_i64x2_shuffle(high, high, 0, 0), wasm_i64x2_shuffle(high, high, 1, 1)
	};
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		s.val[0] = wasm_add_pairs(s.val[0], wasm_low(code[i][half]), four[i]);
		s.val[1] = wasm_add_pairs(s.val[1], wasm_high(code[i][half]), four[i]);
	}
	return s;
#else
	s = eight(s, code[0][half], code[1][half], LANE(a, 0), LANE(a, 1));
	return eight(s, code[2][half], code[3][half], LANE(a, 2), LANE(a, 3));
#endif
}

INLINE int32x4_t
total(sums s)
{
#ifdef __ARM_FEATURE_DOTPROD
	return s;
#else
	return vpaddq_s32(s.val[0], s.val[1]);
#endif
}

INLINE void
tile(int32x4_t (*sum)[HALVES], const struct panel *p, int step, int columns, const int8_t *const *a,
     int group)
{
	sums s[GROUP][HALVES];
	int g, h, k;

#pragma GCC unroll 4
	for (g = 0; g < group; g++)
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++)
			s[g][h] = none();
#pragma GCC unroll 2
	for (k = 0; k < columns / 16; k++)
#pragma GCC unroll 4
		for (g = 0; g < group; g++)
#pragma GCC unroll 2
			for (h = 0; h < HALVES; h++)
				s[g][h] = multiply(s[g][h], p->code + step + 4 * k, h,
				                   vld1q_s8(a[g] + 16 * k));
#pragma GCC unroll 4
	for (g = 0; g < group; g++)
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++)
			sum[g][h] = total(s[g][h]);
}

#endif

/* ---- both sizes of blocks ---- */

INLINE void
begin(float32x4_t (*acc)[HALVES], const struct job *o, size_t rows, bool first, size_t j, int group)
{
	int g, h;

#pragma GCC unroll 4
	for (g = 0; g < group; g++)
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++)
			acc[g][h] = first ? vdupq_n_f32(0)
				: get_rows(o->y + (j + (size_t)g) * o->leading, rows, 4 * (size_t)h);
}

INLINE void
finish(float32x4_t (*acc)[HALVES], const struct job *o, size_t rows, size_t j, int group)
{
	int g, h;

#pragma GCC unroll 4
	for (g = 0; g < group; g++)
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++)
			put_rows(o->y + (j + (size_t)g) * o->leading, rows, 4 * (size_t)h, acc[g][h]);
}

/* ---- blocks of 256 ---- */

INLINE void
large_fill(struct panel *p, large_codes *codes, large_scales *scales, int sub, bool least,
           const uint8_t *w, size_t stride, size_t count)
{
	float d[4], m[4];
	int16_t taken[LARGE / SUB][4], all[LARGE / SUB];
	int32x4_t v[LARGE / SUB / 4][4];
	const uint8_t *row[4];
	int8x16_t low[4], high[4];
	int8x16x2_t c;
	struct scales s;
	int h, i, k;

	for (h = 0; h < HALVES; h++) {
		for (i = 0; i < 4; i++) {
			row[i] = row_at(w, stride, count, 4 * h + i);
			s = scales(row[i]);
			d[i] = s.d;
			m[i] = least ? s.m : 0;
			for (k = 0; k < LARGE / sub / 4; k++)
				v[k][i] = s.scale[k];
			for (k = 0; least && k < LARGE / sub / 8; k++)
				vst1q_s16(all + 8 * k, s.least[k]);
			for (k = 0; least && k < LARGE / sub; k++)
				taken[k][i] = all[k];
		}
		p->d[h] = vld1q_f32(d);
		p->m[h] = vld1q_f32(m);
		for (k = 0; k < LARGE / sub / 4; k++) {
			turn_whole(v[k]);
			for (i = 0; i < 4; i++)
				p->scale[4 * k + i][h] = v[k][i];
		}
		for (k = 0; least && k < LARGE / sub; k++)
			p->least[k][h] = vld1_s16(taken[k]);
#pragma GCC unroll 8
		for (k = 0; k < LARGE / SMALL; k++) {
#pragma GCC unroll 4
			for (i = 0; i < 4; i++) {
				c = codes(row[i], k);
				low[i] = c.val[0];
				high[i] = c.val[1];
			}
			put_codes(p, 8 * k, h, low);
			put_codes(p, 8 * k + 4, h, high);
		}
	}
}

/* Mins × the sums of codes in of. */
INLINE int32x4_t
taken(const struct panel *p, int sub, int half, const int16_t *of)
{
	int32x4_t sum = vdupq_n_s32(0);
	int16x8_t v;
	int16_t all[LARGE / SUB];
	int k;

	if (sub == SMALL) {
		v = vpaddq_s16(vld1q_s16(of), vld1q_s16(of + 8));
		vst1q_s16(all, v);
		of = all;
	}
	for (k = 0; k < LARGE / sub; k++)
		sum = vmlal_n_s16(sum, p->least[k][half], of[k]);
	return sum;
}

/* Block b of a group of activations from j on. */
INLINE void
large_group(const struct panel *p, int sub, bool least, const struct job *o, size_t rows, size_t b,
            size_t j, int group)
{
	float32x4_t acc[GROUP][HALVES], y;
	int32x4_t whole[GROUP][HALVES], sum[GROUP][HALVES];
	const int8_t *a[GROUP];
	struct quantized q;
	int g, h, i;

#pragma GCC unroll 4
	for (g = 0; g < group; g++) {
		a[g] = (const int8_t *)o->a + (j + (size_t)g) * o->bytes + LARGE * b;
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++)
			whole[g][h] = vdupq_n_s32(0);
	}
	for (i = 0; i < LARGE / sub; i++) {
		tile(sum, p, sub / 4 * i, sub, a, group);
#pragma GCC unroll 4
		for (g = 0; g < group; g++) {
			a[g] += sub;
#pragma GCC unroll 2
			for (h = 0; h < HALVES; h++)
				whole[g][h] = vmlaq_s32(whole[g][h], sum[g][h], p->scale[i][h]);
		}
	}
	begin(acc, o, rows, b == 0, j, group);
#pragma GCC unroll 4
	for (g = 0; g < group; g++) {
		q = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, LARGE);
#pragma GCC unroll 2
		for (h = 0; h < HALVES; h++) {
			y = vmulq_f32(vcvtq_f32_s32(whole[g][h]), p->d[h]);
			if (least)
				y = vfmsq_f32(y, vcvtq_f32_s32(taken(p, sub, h, (const int16_t *)q.sums +
				                               LARGE / SUB * b)), p->m[h]);
			acc[g][h] = vfmaq_n_f32(acc[g][h], y, q.scale[b]);
		}
	}
	finish(acc, o, rows, j, group);
}

INLINE void
large_panel(large_codes *codes, large_scales *scales, size_t bytes, int sub, bool least,
            const uint8_t *w, size_t stride, size_t count, const struct job *o)
{
	struct panel p;
	size_t b, j;

	for (b = 0; b < o->n / LARGE; b++, w += bytes) {
		large_fill(&p, codes, scales, sub, least, w, stride, count);
		for (j = 0; j + GROUP <= o->many; j += GROUP)
			large_group(&p, sub, least, o, count, b, j, GROUP);
		for (; j < o->many; j++)
			large_group(&p, sub, least, o, count, b, j, 1);
	}
}

/* ---- blocks of 32 ---- */

/* Unpack up to eight blocks. */
INLINE void
small_fill(struct panel *p, small_codes *codes, size_t bytes, bool least, const uint8_t *w,
           size_t stride, size_t count, int blocks)
{
	float unit[4], lift[4];
	int8x16_t low[4], high[4];
	const uint8_t *x;
	int8x16x2_t c;
	int b, h, i;

	for (b = 0; b < blocks; b++, w += bytes) {
		for (h = 0; h < HALVES; h++) {
#pragma GCC unroll 4
			for (i = 0; i < 4; i++) {
				x = row_at(w, stride, count, 4 * h + i);
				unit[i] = bytes == 17 ? power_at(x) : half_at(x);
				lift[i] = least ? half_at(x + 2) : 0;
				c = codes(x);
				low[i] = c.val[0];
				high[i] = c.val[1];
			}
			p->unit[b][h] = vld1q_f32(unit);
			p->lift[b][h] = vld1q_f32(lift);
			put_codes(p, 8 * b, h, low);
			put_codes(p, 8 * b + 4, h, high);
		}
	}
}

/* Blocks from b on of a group of activations from j on. */
INLINE void
small_group(const struct panel *p, bool least, const struct job *o, size_t rows, size_t b,
            int blocks, size_t j, int group)
{
	float32x4_t acc[GROUP][HALVES], y;
	int32x4_t sum[GROUP][HALVES];
	struct quantized q[GROUP];
	const int8_t *a[GROUP];
	int g, h, i;

	begin(acc, o, rows, b == 0, j, group);
#pragma GCC unroll 4
	for (g = 0; g < group; g++) {
		q[g] = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, SMALL);
		a[g] = q[g].code + SMALL * b;
	}
	for (i = 0; i < blocks; i++, b++) {
		tile(sum, p, 8 * i, SMALL, a, group);
#pragma GCC unroll 4
		for (g = 0; g < group; g++) {
			a[g] += SMALL;
#pragma GCC unroll 2
			for (h = 0; h < HALVES; h++) {
				y = vmulq_f32(vcvtq_f32_s32(sum[g][h]), p->unit[i][h]);
				acc[g][h] = vfmaq_n_f32(acc[g][h], y, q[g].scale[b]);
				if (least)
					acc[g][h] = vfmaq_n_f32(acc[g][h], p->lift[i][h],
					                        ((const float *)q[g].sums)[b]);
			}
		}
	}
	finish(acc, o, rows, j, group);
}

INLINE void
small_panel(small_codes *codes, size_t bytes, bool least, const uint8_t *w, size_t stride,
            size_t count, const struct job *o)
{
	size_t b, j, left;
	struct panel p;
	int blocks;

	for (b = 0; b < o->n / SMALL; b += (size_t)blocks) {
		left = o->n / SMALL - b;
		blocks = left < LARGE / SMALL ? (int)left : LARGE / SMALL;
		small_fill(&p, codes, bytes, least, w + bytes * b, stride, count, blocks);
		for (j = 0; j + GROUP <= o->many; j += GROUP)
			small_group(&p, least, o, count, b, blocks, j, GROUP);
		for (; j < o->many; j++)
			small_group(&p, least, o, count, b, blocks, j, 1);
	}
}

/* ---- types ---- */

#define SMALL_PANELS(NAME, BYTES, LEAST) \
	PANELS(VARIANT(NAME##_panels), false, \
	       small_panel(NAME##_codes, BYTES, LEAST, w, stride, part, &o))
#define LARGE_PANELS(NAME, SCALES, BYTES, SUBS, LEAST) \
	PANELS(VARIANT(NAME##_panels), false, \
	       large_panel(NAME##_codes, SCALES, BYTES, SUBS, LEAST, w, stride, part, &o))

SMALL_PANELS(q4_0, 18, false)
SMALL_PANELS(q5_0, 22, false)
SMALL_PANELS(q8_0, 34, false)
SMALL_PANELS(iq4_nl, 18, false)
SMALL_PANELS(mxfp4, 17, false)
SMALL_PANELS(q4_1, 20, true)
SMALL_PANELS(q5_1, 24, true)
LARGE_PANELS(q2_k, q2_k_scales, 84, 16, true)
LARGE_PANELS(q3_k, q3_k_scales, 110, 16, false)
LARGE_PANELS(q4_k, q4_k_scales, 144, 32, true)
LARGE_PANELS(q5_k, q4_k_scales, 176, 32, true)
LARGE_PANELS(q6_k, q6_k_scales, 210, 16, false)
LARGE_PANELS(iq4_xs, iq4_xs_scales, 136, 32, false)
LARGE_PANELS(tq2_0, tq2_0_scales, 66, 32, false)
