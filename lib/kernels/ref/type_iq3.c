/* IQ3_XXS and IQ3_S: 256 values in 98 or 110 bytes, read only;
 * value = d × (1/2 + scale) / 2 × ±level, levels 4, 12, 20, 28, 36, 44, 52, 62, or
 * value = d × (1 + 2 × scale) × ±level, levels 1, 3, 5, 7, 9, 11, 13, 15.
 *
 *	 0    2                      66               98
 *	+----+----------------------+----------------+
 *	| d  | indexes              | 8 × u32        |       IQ3_XXS
 *	+----+----------------------+----------------+
 *	 0    2                      66     74       106    110
 *	+----+----------------------+------+--------+------+
 *	| d  | indexes, low         | high | signs  |scales| IQ3_S
 *	+----+----------------------+------+--------+------+
 *	  f16  64 × u8                64×1 b 256×1 b  8×4 b
 *
 * Each four values are a point of a grid of 256 or 512. IQ3_XXS: the u32 serves
 * 32 values: four times seven signs, for eight values each, from bit 0 up, and a
 * scale of four bits. Scales of IQ3_S, two a byte, serve 32 values each.
 * Source of layout and formula: GGML's reference decoder.
 */
#include "kernels/ref/types.h"

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/iq_grid.h"

enum {
	ITEMS = 256,
	LOW = 2,
	XXS_REST = 66,
	XXS_BYTES = 98,
	S_HIGH = 66,
	S_SIGNS = 74,
	S_SCALES = 106,
	S_BYTES = 110
};

static const int8_t xxs_levels[8] = { 4, 12, 20, 28, 36, 44, 52, 62 };
static const int8_t s_levels[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };

static void
four(float scale, const int8_t *levels, unsigned point, unsigned signs, float *y)
{
	int j, level;

	for (j = 0; j < 4; j++) {
		level = levels[point >> 3 * j & 7];
		y[j] = scale * (float)(signs >> j & 1 ? -level : level);
	}
}

static void
xxs_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x)), scale;
	unsigned i, signs;
	uint32_t rest;

	for (i = 0; i < ITEMS / 4; i++) {
		rest = le32(x + XXS_REST + 4 * (i / 8));
		scale = d * (0.5f + (float)(int)(rest >> 28)) * 0.5f;
		signs = iq_signs(rest >> 7 * (i / 2 % 4) & 127);
		four(scale, xxs_levels, iq3_xxs_grid[x[LOW + i]], signs >> 4 * (i % 2),
		     y + 4 * i);
	}
}

static void
s_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x)), scale;
	unsigned high, i, signs;

	for (i = 0; i < ITEMS / 4; i++) {
		high = x[S_HIGH + i / 8] >> i % 8 & 1u;
		signs = x[S_SIGNS + i / 2];
		scale = d * (float)(1 + 2 * (x[S_SCALES + i / 16] >> 4 * (i / 8 % 2) & 15));
		four(scale, s_levels, iq3_s_grid[x[LOW + i] | high << 8], signs >> 4 * (i % 2),
		     y + 4 * i);
	}
}

static void
iq3_xxs_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += XXS_BYTES, y += ITEMS)
		xxs_block_decode(x, y);
}

static void
iq3_s_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += S_BYTES, y += ITEMS)
		s_block_decode(x, y);
}

const struct kernel KERNEL(iq3_xxs) = {
	"IQ3_XXS", NULL, NULL, iq3_xxs_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq3_s) = {
	"IQ3_S", NULL, NULL, iq3_s_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
