/* Q2_K: 256 values in 84 bytes, value = d × scale × code - m × least.
 *
 *	 0                16              80   82   84
 *	+----------------+---------------+----+----+
 *	| scales, leasts | codes         | d  | m  |
 *	+----------------+---------------+----+----+
 *	  16 × (4 + 4)     2 bits a code   f16  f16
 *
 * A sub-block of 16 values shares a scale, in the low half of byte j, and a
 * least, in its high half. Codes lie as pairs_pack says.
 *
 * Each sub-block first finds the line (scale, and least value of at most zero)
 * through codes 0 to 3. Plain: 16 candidates, compared by absolute error, values
 * weighted by their magnitude; d and m then make the largest scale and the
 * largest least 15. With importance: 37 candidates, by squared error, weighted
 * by importance × sqrt(mean square of the block + the value's own); d and m are
 * found by search_steps. Codes are taken anew against scale and least as stored.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <math.h>

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum {
	ITEMS = 256,
	SUBS = 16,       /* sub-blocks */
	SUB = 16,        /* values of a sub-block */
	SCALES = 0,
	CODES = SCALES + SUBS,
	SCALE = CODES + ITEMS / 4,
	LEAST = SCALE + 2,
	BYTES = LEAST + 2
};
_Static_assert(SUBS * SUB == ITEMS && (int)SUBS == (int)LANES && BYTES == 84, "Q2_K block");

static const struct line_range plain = { 3, -0.5f, 0.1f, 15, true };
static const struct line_range weighted = { 3, -0.9f, 0.05f, 36, false };

/* Make the largest v code 15. Returns the step between codes. */
static float
spread(const float *v, uint8_t *code)
{
	float inverse, most = 0;
	int j;

	for (j = 0; j < SUBS; j++)
		most = v[j] > most ? v[j] : most;
	inverse = most > 0 ? 15.0f / most : 0;
	for (j = 0; j < SUBS; j++)
		code[j] = (uint8_t)nearest_int(inverse * v[j]);
	return most / 15.0f;
}

/* The codes of scales and leasts of the sub-blocks, and their units d and m. */
static void
fit_scales(const struct lanes *l, const struct line_fit *f, bool importance, uint8_t *y)
{
	uint8_t scales[SUBS], leasts[SUBS];
	float d, m, least[SUBS], w[SUBS];
	int j;

	for (j = 0; j < SUBS; j++)
		least[j] = -f->offset[j];
	if (importance) {
		search->weight(l, w);
		d = search_steps(f->scale, w, SUBS, 15, scales);
		m = search_steps(least, w, SUBS, 15, leasts);
	} else {
		d = spread(f->scale, scales);
		m = spread(least, leasts);
	}
	half_put(y + SCALE, d);
	half_put(y + LEAST, m);
	for (j = 0; j < SUBS; j++)
		y[SCALES + j] = (uint8_t)(scales[j] | leasts[j] << 4);
}

static void
block_encode(const float *x, const float *importance, uint8_t *y)
{
	float d, m, offset[SUBS], power[LANES], scale[SUBS];
	uint8_t code[ITEMS];
	struct line_fit f;
	struct lanes l;
	int j;

	search->load(&l, x, SUB, SUBS);
	if (importance) {
		lanes_set(power, squares(x, ITEMS) / ITEMS);
		search->weigh_power(&l, importance, power, SUBS);
	} else {
		search->weigh_magnitude(&l);
	}
	search->line(&l, importance ? &weighted : &plain, &f);
	fit_scales(&l, &f, importance != NULL, y);
	d = half_f16_f32(le16(y + SCALE));
	m = half_f16_f32(le16(y + LEAST));
	for (j = 0; j < SUBS; j++) {
		scale[j] = d * (float)(y[SCALES + j] & 15);
		offset[j] = -(m * (float)(y[SCALES + j] >> 4));
	}
	search->line_codes(&l, &f, scale, offset, 3, code);
	pairs_pack(code, 0, y + CODES);
}

static void
block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x + SCALE)), m = half_f16_f32(le16(x + LEAST));
	float scale, least;
	uint8_t code[ITEMS] = { 0 };
	int i, j;

	pairs_unpack(x + CODES, 0, code);
	for (j = 0; j < SUBS; j++) {
		scale = d * (float)(x[SCALES + j] & 15);
		least = m * (float)(x[SCALES + j] >> 4);
		for (i = SUB * j; i < SUB * (j + 1); i++)
			y[i] = scale * (float)code[i] - least;
	}
}

static void
q2_k_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES)
		block_encode(x, NULL, y);
}

static void
q2_k_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += BYTES)
		block_encode(x, importance, y);
}

static void
q2_k_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS)
		block_decode(x, y);
}

const struct kernel KERNEL(q2_k) = {
	"Q2_K", ONLY_WRITES(q2_k_encode), ONLY_WRITES(q2_k_encode_weighted), q2_k_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
