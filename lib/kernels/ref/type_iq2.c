/* IQ2_XXS, IQ2_XS and IQ2_S: 256 values in 66, 74 or 82 bytes, read only;
 * value = d × (1/2 + scale) / 4 × ±level, levels 8, 25, 43.
 *
 *	 0    2                              66
 *	+----+------------------------------+
 *	| d  | 8 × (4 indexes, u32)         |        IQ2_XXS
 *	+----+------------------------------+
 *	 0    2                              66       74
 *	+----+------------------------------+--------+
 *	| d  | 32 × u16                     | scales | IQ2_XS
 *	+----+------------------------------+--------+
 *	 0    2              34              66       74       82
 *	+----+--------------+---------------+--------+--------+
 *	| d  | indexes, low | signs         | high   | scales | IQ2_S
 *	+----+--------------+---------------+--------+--------+
 *	  f16  32 × u8        32 × 8 bits     32×2 b   16×4 b
 *
 * Each eight values are a point of a grid of 256, 512 or 1024, and eight signs,
 * seven of them stored in XXS and XS. IQ2_XXS: the u32 has the signs of its four
 * points, from bit 0 up, and a scale of four bits for all 32 values. IQ2_XS: a
 * u16 is an index of nine bits and the signs. Scales of XS and S, two a byte,
 * serve 16 values each.
 * Source of layout and formula: GGML's reference decoder.
 */
#include "kernels/ref/types.h"

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/iq_grid.h"

enum {
	ITEMS = 256,
	XXS_BYTES = 66,
	XS_POINTS = 2,
	XS_SCALES = 66,
	XS_BYTES = 74,
	S_LOW = 2,
	S_SIGNS = 34,
	S_HIGH = 66,
	S_SCALES = 74,
	S_BYTES = 82
};

static const int8_t levels[4] = { 8, 25, 43, 0 };

static void
eight(float scale, unsigned point, unsigned signs, float *y)
{
	int j, level;

	for (j = 0; j < 8; j++) {
		level = levels[point >> 2 * j & 3];
		y[j] = scale * (float)(signs >> j & 1 ? -level : level);
	}
}

static float
scale_of(float d, unsigned scale)
{
	return d * (0.5f + (float)(int)scale) * 0.25f;
}

static void
xxs_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x));
	uint32_t rest;
	unsigned i, k;

	for (i = 0, x += 2; i < ITEMS / 32; i++, x += 8) {
		rest = le32(x + 4);
		for (k = 0; k < 4; k++, y += 8)
			eight(scale_of(d, rest >> 28), iq2_xxs_grid[x[k]],
			      iq_signs(rest >> 7 * k & 127), y);
	}
}

/* The scale of point i: four bits for two points. */
static unsigned
scale_at(const uint8_t *scales, unsigned i)
{
	return scales[i / 4] >> 4 * (i / 2 % 2) & 15u;
}

static void
xs_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x));
	unsigned i, point;

	for (i = 0; i < ITEMS / 8; i++) {
		point = le16(x + XS_POINTS + 2 * i);
		eight(scale_of(d, scale_at(x + XS_SCALES, i)), iq2_xs_grid[point & 511],
		      iq_signs(point >> 9), y + 8 * i);
	}
}

static void
s_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x));
	unsigned high, i;

	for (i = 0; i < ITEMS / 8; i++) {
		high = x[S_HIGH + i / 4] >> 2 * (i % 4) & 3u;
		eight(scale_of(d, scale_at(x + S_SCALES, i)),
		      iq2_s_grid[x[S_LOW + i] | high << 8], x[S_SIGNS + i], y + 8 * i);
	}
}

static void
iq2_xxs_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += XXS_BYTES, y += ITEMS)
		xxs_block_decode(x, y);
}

static void
iq2_xs_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += XS_BYTES, y += ITEMS)
		xs_block_decode(x, y);
}

static void
iq2_s_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += S_BYTES, y += ITEMS)
		s_block_decode(x, y);
}

const struct kernel KERNEL(iq2_xxs) = {
	"IQ2_XXS", NULL, NULL, iq2_xxs_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq2_xs) = {
	"IQ2_XS", NULL, NULL, iq2_xs_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq2_s) = {
	"IQ2_S", NULL, NULL, iq2_s_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
