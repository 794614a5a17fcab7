/* Q6_K: 256 values in 210 bytes, value = d × scale × (code - 32).
 *
 *	 0              128             192            208  210
 *	+---------------+---------------+---------------+----+
 *	| low           | high          | scales        | d  |
 *	+---------------+---------------+---------------+----+
 *	  4 bits a code   2 bits a code   16 × i8         f16
 *
 * A sub-block of 16 values shares a scale. Codes are packed by halves h of 128
 * values; value v = 128 h + 32 q + l, 0 <= q < 4, 0 <= l < 32, has its low four
 * bits in low[64 h + 32 (q & 1) + l], upper nibble for q >= 2, and its high two
 * in high[32 h + l], shifted by 2 q.
 *
 * Each sub-block first finds the scale of least squared error among 19 candidates
 * around -32 / (value of largest magnitude), values weighted by their square, or
 * by importance alone. d then makes the largest of the 16 scales -128, and the
 * codes are taken anew against d × scale as stored.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <math.h>

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum {
	ITEMS = 256,
	SUBS = 16, /* sub-blocks */
	SUB = 16,  /* values of a sub-block */
	LOW = 0,
	HIGH = LOW + ITEMS / 2,
	SCALES = HIGH + ITEMS / 4,
	SCALE = SCALES + SUBS,
	BYTES = SCALE + 2
};
_Static_assert(SUBS * SUB == ITEMS && (int)SUBS == (int)LANES && BYTES == 210, "Q6_K block");

/* The low four bits: value 128 h + 32 q + l in byte 64 h + 32 (q & 1) + l, high
 * half for q >= 2. */
static void
low_pack(const uint8_t *code, uint8_t *low)
{
	int h, l;

	for (h = 0; h < 2; h++, code += 128, low += 64)
		for (l = 0; l < 64; l++)
			low[l] = (uint8_t)((code[l] & 15) | code[l + 64] << 4);
}

static void
low_unpack(const uint8_t *low, uint8_t *code)
{
	int h, l;

	for (h = 0; h < 2; h++, code += 128, low += 64) {
		for (l = 0; l < 64; l++) {
			code[l] = low[l] & 15;
			code[l + 64] = low[l] >> 4;
		}
	}
}

static void
block_encode(const float *x, const float *importance, uint8_t *y)
{
	struct scale_fit f;
	struct lanes l;
	uint8_t code[ITEMS];
	float d, inverse, most, step[SUBS];
	int j, scale;

	search->load(&l, x, SUB, SUBS);
	if (importance)
		search->weigh_by(&l, importance, SUBS);
	else
		search->weigh_square(&l);
	search->scale(&l, 32, &f);
	most = extreme_of(f.scale, SUBS);
	if (fabsf(most) < SILENT) {
		memset(y, 0, BYTES);
		return;
	}
	inverse = -128.0f / most;
	half_put(y + SCALE, 1.0f / inverse);
	d = half_f16_f32(le16(y + SCALE));
	for (j = 0; j < SUBS; j++) {
		scale = clamp_int(nearest_int(inverse * f.scale[j]), -128, 127);
		y[SCALES + j] = (uint8_t)scale;
		step[j] = d * (float)scale;
	}
	search->scale_codes(&l, &f, step, 32, code);
	low_pack(code, y + LOW);
	pairs_pack(code, 4, y + HIGH);
}

static void
block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x + SCALE)), scale;
	uint8_t code[ITEMS];
	int i, j;

	low_unpack(x + LOW, code);
	pairs_unpack(x + HIGH, 4, code);
	for (j = 0; j < SUBS; j++) {
		scale = d * (float)(int8_t)x[SCALES + j];
		for (i = SUB * j; i < SUB * (j + 1); i++)
			y[i] = scale * (float)(code[i] - 32);
	}
}

static void
q6_k_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES)
		block_encode(x, NULL, y);
}

static void
q6_k_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += BYTES)
		block_encode(x, importance, y);
}

static void
q6_k_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS)
		block_decode(x, y);
}

const struct kernel KERNEL(q6_k) = {
	"Q6_K", ONLY_WRITES(q6_k_encode), ONLY_WRITES(q6_k_encode_weighted), q6_k_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
