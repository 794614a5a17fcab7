/* IQ2_XXS, IQ2_XS and IQ2_S: 256 values in 66, 74 or 82 bytes;
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
 * grid_block.h has the search for points and scales. IQ2_XXS and IQ2_XS are only encoded by
 * importance; the error of a value of IQ2_S counts x² plus half the mean square of the block
 * without.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/iq_grid.h"
#include "kernels/ref/grid_block.h"

enum {
	ITEMS = 256,
	XXS_SUB = 32, /* values that share a scale */
	XXS_BYTES = 66,
	SUB = 16, /* of XS and S */
	SUBS = ITEMS / SUB,
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

/* ---- encoding ---- */

static const struct grid_type xxs = {
	.grid = NEAR_IQ2_XXS, .range = { 0.1f, 6 }, .depth = XXS_SUB, .silent = SILENT, .power = 1,
	.even = true, .steps = true, .again = GRID_ALL
};
static const struct grid_type xs = {
	.grid = NEAR_IQ2_XS, .range = { 0.1f, 9 }, .depth = SUB, .silent = SILENT, .power = 1,
	.even = true, .again = GRID_OFF
};
static const struct grid_type s = {
	.grid = NEAR_IQ2_S, .range = { 0.1f, 9 }, .depth = SUB, .silent = 1e-8f, .power = 2,
	.again = GRID_OFF
};

/* Sub-blocks from lane at on are a block. */
static void
xxs_put(const struct grid_blocks *b, int at, uint8_t *y)
{
	uint8_t code[ITEMS / XXS_SUB];
	float d;
	bool some = grid_scales(b->fit.scale + at, ITEMS / XXS_SUB, &d, code);
	uint32_t rest;
	int j, k;

	memset(y, 0, XXS_BYTES);
	if (!some)
		return;
	half_put(y, d);
	for (j = 0, y += 2; j < ITEMS / XXS_SUB; j++, y += 8) {
		for (rest = (uint32_t)code[j] << 28, k = 0; k < 4; k++) {
			y[k] = (uint8_t)grid_index(b, k, at + j);
			rest |= (b->minus[k][at + j] & 127u) << 7 * k;
		}
		le32_put(y + 4, rest);
	}
}

static void
scales_put(const uint8_t *code, uint8_t *y)
{
	int j;

	for (j = 0; j < SUBS; j += 2)
		y[j / 2] = (uint8_t)(code[j] | code[j + 1] << 4);
}

static void
xs_put(const struct grid_blocks *b, uint8_t *y)
{
	uint8_t code[SUBS];
	float d;
	bool some = grid_scales(b->fit.scale, SUBS, &d, code);
	unsigned point;
	int i;

	memset(y, 0, XS_BYTES);
	if (!some)
		return;
	half_put(y, d);
	for (i = 0; i < ITEMS / 8; i++) {
		point = grid_index(b, i % 2, i / 2) | (b->minus[i % 2][i / 2] & 127u) << 9;
		le16_put(y + XS_POINTS + 2 * i, (uint16_t)point);
	}
	scales_put(code, y + XS_SCALES);
}

static void
s_put(const struct grid_blocks *b, uint8_t *y)
{
	uint8_t code[SUBS];
	float d;
	bool some = grid_scales(b->fit.scale, SUBS, &d, code);
	unsigned index;
	int i;

	memset(y, 0, S_BYTES);
	for (i = 0; i < ITEMS / 8; i++) {
		index = grid_index(b, i % 2, i / 2);
		y[S_LOW + i] = (uint8_t)index;
		y[S_SIGNS + i] = b->minus[i % 2][i / 2];
		y[S_HIGH + i / 4] |= (uint8_t)(index >> 8 << 2 * (i % 4));
	}
	if (!some)
		return;
	half_put(y, d * 0.9875f);
	scales_put(code, y + S_SCALES);
}

static void
iq2_xxs_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	enum { SUBS_XXS = ITEMS / XXS_SUB, TOGETHER = LANES / SUBS_XXS };
	size_t blocks = n / ITEMS, i;
	struct grid_blocks b;
	int count, k;

	for (i = 0; i < blocks; i += TOGETHER) {
		count = blocks - i < TOGETHER ? (int)(blocks - i) : TOGETHER;
		grid_fit(&b, &xxs, x + i * ITEMS, importance + i * ITEMS, SUBS_XXS * count, 0);
		for (k = 0; k < count; k++)
			xxs_put(&b, SUBS_XXS * k, y + (i + (size_t)k) * XXS_BYTES);
	}
}

static void
iq2_xs_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	struct grid_blocks b;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += XS_BYTES) {
		grid_fit(&b, &xs, x, importance, SUBS, 0);
		xs_put(&b, y);
	}
}

static void
iq2_s_encode(const float *x, uint8_t *y, size_t n)
{
	struct grid_blocks b;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += S_BYTES) {
		grid_fit(&b, &s, x, NULL, SUBS, 0.25f);
		s_put(&b, y);
	}
}

static void
iq2_s_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	struct grid_blocks b;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += S_BYTES) {
		grid_fit(&b, &s, x, importance, SUBS, 0);
		s_put(&b, y);
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
	"IQ2_XXS", NULL, ONLY_WRITES(iq2_xxs_encode_weighted), iq2_xxs_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq2_xs) = {
	"IQ2_XS", NULL, ONLY_WRITES(iq2_xs_encode_weighted), iq2_xs_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq2_s) = {
	"IQ2_S", ONLY_WRITES(iq2_s_encode), ONLY_WRITES(iq2_s_encode_weighted), iq2_s_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
