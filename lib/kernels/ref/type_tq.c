/* TQ1_0 and TQ2_0: 256 values in 54 or 66 bytes, each -d, 0 or d.
 *
 *	 0             32            48   52   54
 *	+-------------+-------------+----+----+
 *	| 32 × 5      | 16 × 5      | 4×4| d  |        TQ1_0
 *	+-------------+-------------+----+----+
 *	 0                               64   66
 *	+-------------------------------+----+
 *	| codes of two bits             | d  |         TQ2_0
 *	+-------------------------------+----+
 *	                                  f16
 *
 * d is the largest magnitude; codes 0, 1, 2 are what value / d rounds to, plus 1.
 * TQ2_0 packs them as pairs_pack says. TQ1_0 packs five into a byte (the last
 * four bytes: four), the first weighing most: values v, v + w, v + 2 w, … of a
 * part share a byte, w being the part's bytes. The number of base 3 is stored as
 * a fraction of 3^5 in 256ths, rounded up, so that multiplying by 3 lifts digit
 * after digit out of the byte.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <math.h>

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum {
	ITEMS = 256,
	TQ1_SCALE = 52,
	TQ1_BYTES = TQ1_SCALE + 2,
	TQ2_SCALE = 64,
	TQ2_BYTES = TQ2_SCALE + 2
};

/* The parts of TQ1_0: bytes, and values in each byte. */
static const struct {
	int bytes, digits;
} parts[] = { { 32, 5 }, { 16, 5 }, { 4, 4 } };

enum { PARTS = sizeof parts / sizeof parts[0] };

/* d, and code + 1 of each value. Halves round away from zero; NaN, and values for which 1 /
 * d overflows, become 0. */
static float
block_codes(const float *x, uint8_t *code)
{
	float d = 0, inverse, v;
	int i;

	for (i = 0; i < ITEMS; i++)
		d = fabsf(x[i]) > d ? fabsf(x[i]) : d;
	inverse = d != 0 ? 1 / d : 0;
	for (i = 0; i < ITEMS; i++) {
		v = x[i] * inverse;
		v = fabsf(v) < 1.5f ? v : 0;
		code[i] = (uint8_t)(1 + (v >= 0.5f) - (v <= -0.5f));
	}
	return d;
}

static void
tq1_part_pack(const uint8_t *code, int bytes, int digits, uint8_t *y)
{
	int i, k;
	unsigned n;

	for (i = 0; i < bytes; i++) {
		n = 0;
		for (k = 0; k < 5; k++)
			n = 3 * n + (k < digits ? code[bytes * k + i] : 0u);
		y[i] = (uint8_t)((n * 256 + 242) / 243);
	}
}

static void
tq1_0_block_encode(const float *x, uint8_t *y)
{
	uint8_t code[ITEMS], *c = code;
	int p;

	half_put(y + TQ1_SCALE, block_codes(x, code));
	for (p = 0; p < PARTS; p++) {
		tq1_part_pack(c, parts[p].bytes, parts[p].digits, y);
		c += parts[p].bytes * parts[p].digits;
		y += parts[p].bytes;
	}
}

static void
tq1_0_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x + TQ1_SCALE));
	unsigned n;
	int i, k, p;

	for (p = 0; p < PARTS; p++) {
		for (i = 0; i < parts[p].bytes; i++) {
			n = x[i];
			for (k = 0; k < parts[p].digits; k++) {
				n *= 3;
				y[parts[p].bytes * k + i] = (float)((int)(n >> 8) - 1) * d;
				n &= 255;
			}
		}
		x += parts[p].bytes;
		y += parts[p].bytes * parts[p].digits;
	}
}

static void
tq2_0_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x + TQ2_SCALE));
	uint8_t code[ITEMS] = { 0 };
	int i;

	pairs_unpack(x, 0, code);
	for (i = 0; i < ITEMS; i++)
		y[i] = (float)(code[i] - 1) * d;
}

static void
tq1_0_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += TQ1_BYTES)
		tq1_0_block_encode(x, y);
}

static void
tq1_0_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += TQ1_BYTES, y += ITEMS)
		tq1_0_block_decode(x, y);
}

static void
tq2_0_encode(const float *x, uint8_t *y, size_t n)
{
	uint8_t code[ITEMS];

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += TQ2_BYTES) {
		half_put(y + TQ2_SCALE, block_codes(x, code));
		pairs_pack(code, 0, y);
	}
}

static void
tq2_0_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += TQ2_BYTES, y += ITEMS)
		tq2_0_block_decode(x, y);
}

const struct kernel KERNEL(tq1_0) = {
	"TQ1_0", ONLY_WRITES(tq1_0_encode), NULL, tq1_0_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(tq2_0) = {
	"TQ2_0", ONLY_WRITES(tq2_0_encode), NULL, tq2_0_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
