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
#include "kernels/ref.h"

#include <math.h>

#include "kernels/blocks/pack.h"
#include "kernels/search/search.h"

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
_Static_assert(SUBS * SUB == ITEMS && SUBS == 2 * LANES && BYTES == 110, "Q3_K block");

/* ---- the plain search ---- */

/* What search_scale would start from, and what it is then changed to. */
struct descent {
	float code[SUB][LANES]; /* -4 to 3 */
	float xc[LANES], cc[LANES]; /* weighted products: value × code, code × code */
};

static void
descent_begin(struct descent *s, const struct lanes *l, const float *extreme)
{
	float code, inverse[LANES], v, w;
	int i, j;

	for (j = 0; j < LANES; j++) {
		inverse[j] = -4.0f / extreme[j];
		s->xc[j] = s->cc[j] = 0;
	}
	for (i = 0; i < SUB; i++) {
		for (j = 0; j < LANES; j++) {
			v = l->x[i][j];
			w = l->w[i][j];
			code = clamp(nearest(inverse[j] * v), -4, 3);
			s->xc[j] += w * v * code;
			s->cc[j] += w * code * code;
			s->code[i][j] = code;
		}
	}
}

/* Change value i of lane j where that saves more: the best scale for given codes
 * saves xc² / cc of the squared error. Returns whether it did. */
static bool
descent_step(struct descent *s, float v, float w, int i, int j)
{
	float code = s->code[i][j];
	float xc = s->xc[j] - w * v * code;
	float cc = s->cc[j] - w * code * code;
	float better;

	if (!(xc > 0))
		return false;
	better = (float)clamp_int(nearest_int(v * cc / xc), -4, 3);
	if (better == code)
		return false;
	xc += w * v * better;
	cc += w * better * better;
	if (!(cc > 0) || !(xc * xc * s->cc[j] > s->xc[j] * s->xc[j] * cc))
		return false;
	s->code[i][j] = better;
	s->xc[j] = xc;
	s->cc[j] = cc;
	return true;
}

static void
descend(struct descent *s, const struct lanes *l)
{
	bool changed = true;
	int i, j, pass;

	for (pass = 0; pass < 5 && changed; pass++) {
		changed = false;
		for (i = 0; i < SUB; i++)
			for (j = 0; j < LANES; j++)
				changed |= descent_step(s, l->x[i][j], l->w[i][j], i, j);
	}
}

/* Scales of eight sub-blocks, and their codes for where the stored scale is
 * zero: plus 4, but 0 for a silent lane. */
static void
search_plain(const struct lanes *l, float *scale, uint8_t *code)
{
	float extreme[LANES];
	struct descent s;
	bool silent;
	int i, j;

	lanes_extreme(l, extreme);
	descent_begin(&s, l, extreme);
	descend(&s, l);
	for (j = 0; j < LANES; j++) {
		silent = fabsf(extreme[j]) < SILENT;
		scale[j] = silent || !(s.cc[j] > 0) ? 0 : number(s.xc[j] / s.cc[j]);
		for (i = 0; i < SUB; i++, code++)
			*code = silent ? 0 : (uint8_t)(int)(number(s.code[i][j]) + 4);
	}
}

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
	float inverse, most = 0;
	int j;

	for (j = 0; j < SUBS; j++)
		most = fabsf(scale[j]) > fabsf(most) ? scale[j] : most;
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
	lanes_weigh_plain(&l, w, 1);
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
	struct lanes l[2];
	int h, j;

	for (h = 0; h < 2; h++) {
		search->load(&l[h], x + ITEMS / 2 * h, SUB, LANES);
		lanes_weigh_square(&l[h]);
		search_plain(&l[h], scale + LANES * h, code + ITEMS / 2 * h);
	}
	d = scale_put(scales_spread(scale, scales), y);
	for (j = 0; j < SUBS; j++)
		step[j] = d * (float)(scales[j] - 32);
	for (h = 0; h < 2; h++)
		search->scale_codes(&l[h], &none, step + LANES * h, 4, taken + ITEMS / 2 * h);
	for (j = 0; j < SUBS; j++)
		if (step[j] != 0)
			memcpy(code + SUB * j, taken + SUB * j, SUB);
	block_put(scales, code, y);
}

static void
block_encode_weighted(const float *x, const float *importance, uint8_t *y)
{
	float d, power[LANES], scale[SUBS], step[SUBS], w[SUBS];
	uint8_t code[ITEMS], scales[SUBS];
	struct scale_fit f[2];
	struct lanes l[2];
	int h, j;

	lanes_set(power, 2 * squares(x, ITEMS) / ITEMS);
	for (h = 0; h < 2; h++) {
		search->load(&l[h], x + ITEMS / 2 * h, SUB, LANES);
		lanes_weigh(&l[h], importance + ITEMS / 2 * h, power, LANES);
		lanes_weight(&l[h], w + LANES * h);
		search->scale(&l[h], 4, &f[h]);
		memcpy(scale + LANES * h, f[h].scale, sizeof f[h].scale);
	}
	d = scale_put(scales_search(scale, w, scales), y);
	for (j = 0; j < SUBS; j++)
		step[j] = d * (float)(scales[j] - 32);
	for (h = 0; h < 2; h++)
		search->scale_codes(&l[h], &f[h], step + LANES * h, 4, code + ITEMS / 2 * h);
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

const struct kernel ref_q3_k = {
	"Q3_K", q3_k_encode, q3_k_encode_weighted, q3_k_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
