/* IQ3_XXS and IQ3_S: 256 values in 98 or 110 bytes;
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
 * grid_block.h has the search for points and scales. It takes the levels of IQ3_XXS for those
 * of IQ3_S, times four; d makes up for the difference.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/iq_grid.h"
#include "kernels/ref/grid_block.h"

enum {
	ITEMS = 256,
	SUB = 32, /* values that share a scale */
	SUBS = ITEMS / SUB,
	TOGETHER = LANES / SUBS, /* blocks */
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

/* ---- encoding ---- */

static const struct grid_type xxs = {
	.grid = NEAR_IQ3_XXS, .range = { 0.2f, 15 }, .depth = SUB, .silent = 1e-8f, .power = 2,
	.even = true, .again = GRID_OFF
};
static const struct grid_type s = {
	.grid = NEAR_IQ3_S, .range = { 0.2f, 9 }, .depth = SUB, .silent = 0, .power = 2,
	.again = GRID_ANY_OFF, .off = true
};

/* Sub-blocks from lane at on are a block. */
static void
xxs_put(const struct grid_blocks *b, int at, uint8_t *y)
{
	uint8_t code[SUBS];
	float d;
	bool some = grid_scales(b->fit.scale + at, SUBS, &d, code);
	uint32_t rest;
	int i, j, k;

	memset(y, 0, XXS_BYTES);
	if (!some)
		return;
	half_put(y, d * 1.0125f);
	for (i = 0; i < ITEMS / 4; i++)
		y[LOW + i] = (uint8_t)grid_index(b, i % 8, at + i / 8);
	for (j = 0; j < SUBS; j++) {
		for (rest = (uint32_t)code[j] << 28, k = 0; k < 4; k++)
			rest |= (b->minus[k][at + j] & 127u) << 7 * k;
		le32_put(y + XXS_REST + 4 * j, rest);
	}
}

/* GGML stores points and signs of the sub-blocks that have values one after another, without
 * gaps for those of zeros, although it reads them as if there were gaps. So a block where a
 * sub-block of zeros stands before others decodes to other values. The bytes are GGML's all the
 * same. */
static void
s_put(const struct grid_blocks *b, int at, uint8_t *y)
{
	uint8_t code[SUBS], *low = y + LOW, *signs = y + S_SIGNS;
	float d;
	bool some = grid_scales(b->fit.scale + at, SUBS, &d, code);
	unsigned index;
	int j, k;

	memset(y, 0, S_BYTES);
	for (j = 0; j < SUBS; j++) {
		if (!(b->fit.most[at + j] > 0))
			continue;
		for (k = 0; k < SUB / 4; k++) {
			index = grid_index(b, k, at + j);
			*low++ = (uint8_t)index;
			y[S_HIGH + j] |= (uint8_t)(index >> 8 << k);
		}
		for (k = 0; k < SUB / 8; k++)
			*signs++ = b->minus[k][at + j];
	}
	if (!some)
		return;
	half_put(y, d * 1.033f);
	for (j = 0; j < SUBS; j += 2)
		y[S_SCALES + j / 2] = (uint8_t)(code[j] | code[j + 1] << 4);
}

static void
encode(const struct grid_type *t, void (*put)(const struct grid_blocks *, int, uint8_t *),
       size_t bytes, const float *x, const float *importance, uint8_t *y, size_t n)
{
	size_t blocks = n / ITEMS, i;
	struct grid_blocks b;
	int count, k;

	for (i = 0; i < blocks; i += TOGETHER) {
		count = blocks - i < TOGETHER ? (int)(blocks - i) : TOGETHER;
		grid_fit(&b, t, x + i * ITEMS, importance ? importance + i * ITEMS : NULL,
		         SUBS * count, 0);
		for (k = 0; k < count; k++)
			put(&b, SUBS * k, y + (i + (size_t)k) * bytes);
	}
}

static void
iq3_xxs_encode(const float *x, uint8_t *y, size_t n)
{
	encode(&xxs, xxs_put, XXS_BYTES, x, NULL, y, n);
}

static void
iq3_xxs_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	encode(&xxs, xxs_put, XXS_BYTES, x, importance, y, n);
}

static void
iq3_s_encode(const float *x, uint8_t *y, size_t n)
{
	encode(&s, s_put, S_BYTES, x, NULL, y, n);
}

static void
iq3_s_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	encode(&s, s_put, S_BYTES, x, importance, y, n);
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
	"IQ3_XXS", ONLY_WRITES(iq3_xxs_encode),
	ONLY_WRITES(iq3_xxs_encode_weighted), iq3_xxs_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq3_s) = {
	"IQ3_S", ONLY_WRITES(iq3_s_encode), ONLY_WRITES(iq3_s_encode_weighted), iq3_s_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
