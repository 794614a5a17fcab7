/* Q3_K: 256 values in 110 bytes, value = d × (scale - 32) × (code - 4).
 *
 *	 0              32              96       108  110
 *	+--------------+---------------+--------+----+
 *	| high bits    | low bits      | scales | d  |
 *	+--------------+---------------+--------+----+
 *	  1 bit a code   2 bits a code   16 × 6   f16
 *
 * A sub-block of 16 values shares a scale. High bits lie as bits_pack, low ones
 * as pairs_pack says. Scale j has its low four bits in byte j % 8 of the scales,
 * high half for j >= 8, and its high two in byte 8 + j % 4, shifted by 2 (j / 4).
 *
 * Plain: a sub-block starts from the scale that makes its extreme code 0, then
 * changes one code after another for the best at the scale that the others give,
 * values weighted by their square, until a pass changes none. d makes the
 * largest of the 16 scales 0. With importance: search_scale, values weighted by
 * importance × sqrt(twice the mean square of the block + the value's own), and
 * search_scale again for the scales themselves. Codes are then taken anew
 * against the scale as stored.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum {
	ITEMS = 256,
	SUBS = 16, /* sub-blocks */
	SUB = 16,  /* values of a sub-block */
	HIGH = 0,
	LOW = HIGH + ITEMS / 8,
	SCALES = LOW + ITEMS / 4,
	SCALE = SCALES + 12,
	BYTES = SCALE + 2
};
_Static_assert(SUBS * SUB == ITEMS && (int)SUBS == (int)LANES && BYTES == 110, "Q3_K block");

/* ---- scales ---- */

static void
scales_pack(const uint8_t *scale, uint8_t *y)
{
	int j;

	memset(y, 0, 12);
	for (j = 0; j < SUBS; j++) {
		y[j % 8] |= (uint8_t)((scale[j] & 15) << (j < 8 ? 0 : 4));
		y[8 + j % 4] |= (uint8_t)(scale[j] >> 4 << 2 * (j / 4));
	}
}

static void
scales_unpack(const uint8_t *x, uint8_t *scale)
{
	int j;

	for (j = 0; j < SUBS; j++)
		scale[j] = (uint8_t)((x[j % 8] >> (j < 8 ? 0 : 4) & 15) |
		                     (x[8 + j % 4] >> 2 * (j / 4) & 3) << 4);
}

/* Make the scale of largest magnitude code 0, -32 times d. Returns d. */
static float
scales_spread(const float *scale, uint8_t *code)
{
	const float most = extreme_of(scale, SUBS);
	float inverse;
	int j;

	memset(code, 0, SUBS);
	if (most == 0)
		return 0;
	inverse = -32.0f / most;
	for (j = 0; j < SUBS; j++)
		code[j] = (uint8_t)(clamp_int(nearest_int(inverse * scale[j]), -32, 31) + 32);
	return 1 / inverse;
}

/* The same by search, weighted. */
static float
scales_search(const float *scale, const float *w, uint8_t *code)
{
	static const float none[LANES];
	uint8_t codes[LANES * SUBS];
	struct scale_fit f;
	struct lanes l;

	search->load(&l, scale, SUBS, 1);
	search->weigh_by(&l, w, 1);
	search->scale(&l, 32, &f);
	search->scale_codes(&l, &f, none, 32, codes);
	memcpy(code, codes, SUBS);
	return f.scale[0];
}

/* ---- blocks ---- */

/* Store d. Returns it as stored. */
static float
scale_put(float d, uint8_t *y)
{
	half_put(y + SCALE, d);
	return half_f16_f32(le16(y + SCALE));
}

static void
block_put(const uint8_t *scale, const uint8_t *code, uint8_t *y)
{
	scales_pack(scale, y + SCALES);
	bits_pack(code, 2, y + HIGH);
	pairs_pack(code, 0, y + LOW);
}

static void
block_encode(const float *x, uint8_t *y)
{
	static const struct scale_fit none;
	uint8_t code[ITEMS], scales[SUBS], taken[ITEMS];
	float d, scale[SUBS], step[SUBS];
	struct lanes l;
	int j;

	search->load(&l, x, SUB, SUBS);
	search->weigh_square(&l);
	search->descent(&l, scale, code);
	d = scale_put(scales_spread(scale, scales), y);
	for (j = 0; j < SUBS; j++)
		step[j] = d * (float)(scales[j] - 32);
	search->scale_codes(&l, &none, step, 4, taken);
	for (j = 0; j < SUBS; j++)
		if (step[j] != 0)
			memcpy(code + SUB * j, taken + SUB * j, SUB);
	block_put(scales, code, y);
}

static void
block_encode_weighted(const float *x, const float *importance, uint8_t *y)
{
	float d, power[LANES], step[SUBS], w[SUBS];
	uint8_t code[ITEMS], scales[SUBS];
	struct scale_fit f;
	struct lanes l;
	int j;

	lanes_set(power, 2 * squares(x, ITEMS) / ITEMS);
	search->load(&l, x, SUB, SUBS);
	search->weigh_power(&l, importance, power, SUBS);
	search->weight(&l, w);
	search->scale(&l, 4, &f);
	d = scale_put(scales_search(f.scale, w, scales), y);
	for (j = 0; j < SUBS; j++)
		step[j] = d * (float)(scales[j] - 32);
	search->scale_codes(&l, &f, step, 4, code);
	block_put(scales, code, y);
}

static void
block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x + SCALE)), scale;
	uint8_t code[ITEMS] = { 0 }, scales[SUBS];
	int i, j;

	pairs_unpack(x + LOW, 0, code);
	bits_unpack(x + HIGH, 2, code);
	scales_unpack(x + SCALES, scales);
	for (j = 0; j < SUBS; j++) {
		scale = d * (float)(scales[j] - 32);
		for (i = SUB * j; i < SUB * (j + 1); i++)
			y[i] = scale * (float)(code[i] - 4);
	}
}

static void
q3_k_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES)
		block_encode(x, y);
}

static void
q3_k_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += BYTES)
		block_encode_weighted(x, importance, y);
}

static void
q3_k_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS)
		block_decode(x, y);
}

const struct kernel KERNEL(q3_k) = {
	"Q3_K", ONLY_WRITES(q3_k_encode), ONLY_WRITES(q3_k_encode_weighted), q3_k_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
