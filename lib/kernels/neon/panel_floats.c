/* Many activations with weights of F32, F16 and BF16. A column of eight rows, in two
 * vectors, is multiplied by eight activations, with the sums in registers. Rows are
 * converted to F32 once for all activations, and activations are copied once for 32 rows.
 */
#include "kernels/neon/neon.h"
#include "kernels/neon/panel.h"

enum { PAIR = 8, PAIRS = 4, ROWS = PAIR * PAIRS, CHUNK = 128, GROUP = 8 };

struct floats {
	float32x4_t w[PAIRS][CHUNK][2]; /* of a column, rows 0 to 3 and 4 to 7 */
	float a[GROUP][CHUNK];          /* activations */
};

/* Columns from k on; zeros behind the last. */
INLINE float32x4_t
some(load_floats *get, load_float *one, size_t bytes, const uint8_t *x, size_t k, size_t columns)
{
	float32x4_t v = vdupq_n_f32(0);
	size_t i;

	if (k + 4 <= columns)
		return get(x + bytes * k);
	for (i = 0; k + i < columns; i++)
		v[i] = one(x + bytes * (k + i));
	return v;
}

INLINE void
half_fill(float32x4_t (*to)[2], load_floats *get, load_float *one, size_t bytes, const uint8_t *w,
          size_t stride, size_t count, size_t columns, int half)
{
	int32x4_t v[4];
	size_t k;
	int i;

	for (k = 0; k < columns; k += 4) {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			v[i] = vreinterpretq_s32_f32(some(get, one, bytes,
			                                  row_at(w, stride, count, 4 * half + i),
			                                  k, columns));
		turn_whole(v);
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			to[k + (size_t)i][half] = vreinterpretq_f32_s32(v[i]);
	}
}

/* Multiply the 8 rows of a pair, or fewer, by the group of activations from j on. */
INLINE void
group_multiply(const struct floats *p, const struct job *o, size_t pair, size_t rows, size_t at,
               size_t columns, size_t j, int group)
{
	float *y = o->y + j * o->leading + pair * PAIR;
	float32x4_t acc[GROUP][2], a;
	size_t k;
	int g, h;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		acc[g][0] = acc[g][1] = vdupq_n_f32(0);
	for (k = 0; k < columns; k += 4) {
		const float32x4_t (*w)[2] = p->w[pair] + k;

#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = vld1q_f32(&p->a[g][k]);
#pragma GCC unroll 2
			for (h = 0; h < 2; h++) {
				acc[g][h] = vfmaq_laneq_f32(acc[g][h], w[0][h], a, 0);
				acc[g][h] = vfmaq_laneq_f32(acc[g][h], w[1][h], a, 1);
				acc[g][h] = vfmaq_laneq_f32(acc[g][h], w[2][h], a, 2);
				acc[g][h] = vfmaq_laneq_f32(acc[g][h], w[3][h], a, 3);
			}
		}
	}
	/* Store the sums of these columns: y begins with them, or they are added to it. */
#pragma GCC unroll 8
	for (g = 0; g < group; g++, y += o->leading)
#pragma GCC unroll 2
		for (h = 0; h < 2; h++) {
			if (at || o->add)
				acc[g][h] = vaddq_f32(acc[g][h], get_rows(y, rows, 4 * (size_t)h));
			put_rows(y, rows, 4 * (size_t)h, acc[g][h]);
		}
}

INLINE void
float_group(struct floats *p, const struct job *o, size_t count, size_t at, size_t columns,
            size_t j, int group)
{
	const uint8_t *a = o->a + j * o->bytes + sizeof(float) * at;
	size_t i, k;
	int g;

	for (g = 0; g < group; g++, a += o->bytes)
		for (k = 0; k < columns; k += 4)
			vst1q_f32(&p->a[g][k], some(f32_load, f32_one, sizeof(float), a, k, columns));
	for (i = 0; i * PAIR < count; i++)
		group_multiply(p, o, i, count - i * PAIR, at, columns, j, group);
}

INLINE void
float_panel(load_floats *get, load_float *one, size_t bytes, const uint8_t *w, size_t stride,
            size_t count, const struct job *o)
{
	size_t at, columns, i, j;
	struct floats p;

	for (at = 0; at < o->n; at += columns, w += bytes * columns) {
		columns = o->n - at < CHUNK ? o->n - at : CHUNK;
		for (i = 0; i * PAIR < count; i++) {
			half_fill(p.w[i], get, one, bytes, w + i * PAIR * stride, stride,
			          count - i * PAIR, columns, 0);
			half_fill(p.w[i], get, one, bytes, w + i * PAIR * stride, stride,
			          count - i * PAIR, columns, 1);
		}
		for (j = 0; j + GROUP <= o->many; j += GROUP)
			float_group(&p, o, count, at, columns, j, GROUP);
		for (; j + 4 <= o->many; j += 4)
			float_group(&p, o, count, at, columns, j, 4);
		for (; j < o->many; j++)
			float_group(&p, o, count, at, columns, j, 1);
	}
}

#define FLOAT_PANELS(FUNCTION, NAME, ONE, BYTES, ADD) \
	PANELS(FUNCTION, ADD, \
	       float_panel(NAME##_load, ONE, BYTES, w, stride, part, &o))

FLOAT_PANELS(f32_panels_neon, f32, f32_one, 4, false)
FLOAT_PANELS(f16_panels_neon, f16, half_at, 2, false)
FLOAT_PANELS(bf16_panels_neon, bf16, bf16_one, 2, false)
FLOAT_PANELS(add_f32_neon, f32, f32_one, 4, true)
