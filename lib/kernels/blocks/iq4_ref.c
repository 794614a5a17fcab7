/* IQ4_NL and IQ4_XS: codes of four bits that stand for unevenly spaced levels.
 *
 *	 0      2                18
 *	+------+------------------+
 *	| d    | codes            |     IQ4_NL: 32 values, value = d × level
 *	+------+------------------+
 *	  f16    as nibbles_pack says
 *	 0      2      4      8                136
 *	+------+------+------+----------------+
 *	| d    | high | low  | 8 × 32 codes   | IQ4_XS: 256 values,
 *	+------+------+------+----------------+ value = d × (scale - 32) × level
 *	  f16    u16    8 × 4 bits
 *
 * Scale j of IQ4_XS has its low four bits in byte j / 2 of low, high half for
 * odd j, and its high two in high, shifted by 2 j.
 *
 * Each 32 values first find the scale of least weighted squared error. The first
 * candidate makes the value of largest magnitude 127, the other fifteen make it
 * -127 + step, -7 <= step <= 7. Weights are the squares of the values, or, with
 * importance, importance × sqrt(twice the mean square of the block + the value's
 * own). IQ4_XS makes the largest of its scales 0, -32 times d. Codes are then
 * taken anew against the scale, before its rounding to half precision.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref.h"

#include <math.h>

#include "kernels/blocks/iq4.h"
#include "kernels/blocks/pack.h"
#include "kernels/search/search.h"

enum {
	SUB = 32,
	NL_CODES = 2,
	NL_BYTES = NL_CODES + SUB / 2,
	ITEMS = 256, /* of an IQ4_XS block */
	SUBS = 8,
	XS_HIGH = 2,
	XS_LOW = XS_HIGH + 2,
	XS_CODES = XS_LOW + SUBS / 2,
	XS_BYTES = XS_CODES + ITEMS / 2
};
_Static_assert(NL_BYTES == 18 && XS_BYTES == 136 && (int)SUBS == (int)LANES, "IQ4 blocks");

static void
search_levels(const struct lanes *l, float *scale)
{
	float extreme[LANES], gain[LANES], inverse[LANES], qq[LANES], xq[LANES];
	int j, step;

	lanes_extreme(l, extreme);
	for (j = 0; j < LANES; j++)
		inverse[j] = 1 / (-extreme[j] / (float)iq4_levels[0]);
	search->level_sums(l, inverse, xq, qq);
	for (j = 0; j < LANES; j++) {
		scale[j] = qq[j] > 0 ? xq[j] / qq[j] : 0;
		gain[j] = scale[j] * xq[j];
	}
	for (step = -7; step <= 7; step++) {
		for (j = 0; j < LANES; j++)
			inverse[j] = (float)(step + iq4_levels[0]) / extreme[j];
		search->level_sums(l, inverse, xq, qq);
		for (j = 0; j < LANES; j++) {
			if (!(qq[j] > 0) || !(xq[j] * xq[j] > gain[j] * qq[j]))
				continue;
			scale[j] = xq[j] / qq[j];
			gain[j] = scale[j] * xq[j];
		}
	}
	for (j = 0; j < LANES; j++)
		scale[j] = fabsf(extreme[j]) < SILENT ? 0 : number(scale[j]);
}

/* Codes of 32 values against a scale as it was before half precision. */
static void
codes(const float *x, float scale, uint8_t *y)
{
	float inverse = scale != 0 ? 1 / scale : 0;
	uint8_t code[SUB];
	int i;

	for (i = 0; i < SUB; i++)
		code[i] = (uint8_t)iq4_code(inverse * number(x[i]));
	nibbles_pack(code, y);
}

/* ---- IQ4_NL ---- */

/* Up to LANES blocks. */
static void
nl_blocks_encode(const float *x, const float *importance, int count, uint8_t *y)
{
	float power[LANES] = { 0 }, scale[LANES];
	struct lanes l;
	int j;

	search->load(&l, x, SUB, count);
	for (j = 0; j < count; j++)
		power[j] = squares(x + SUB * j, SUB) * (2.0f / SUB);
	if (importance)
		lanes_weigh(&l, importance, power, count);
	else
		lanes_weigh_square(&l);
	search_levels(&l, scale);
	for (j = 0; j < count; j++, x += SUB, y += NL_BYTES) {
		half_put(y, scale[j]);
		codes(x, scale[j], y + NL_CODES);
	}
}

static void
nl_encode(const float *x, const float *importance, uint8_t *y, size_t n)
{
	size_t blocks = n / SUB, i;

	for (i = 0; i < blocks; i += LANES)
		nl_blocks_encode(x + i * SUB, importance ? importance + i * SUB : NULL,
		                 blocks - i < LANES ? (int)(blocks - i) : LANES,
		                 y + i * NL_BYTES);
}

static void
iq4_nl_encode(const float *x, uint8_t *y, size_t n)
{
	nl_encode(x, NULL, y, n);
}

static void
iq4_nl_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	nl_encode(x, importance, y, n);
}

static void
sub_decode(float scale, const uint8_t *x, float *y)
{
	uint8_t code[SUB];
	int i;

	nibbles_unpack(x, code);
	for (i = 0; i < SUB; i++)
		y[i] = scale * (float)iq4_levels[code[i]];
}

static void
iq4_nl_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= SUB; n -= SUB, x += NL_BYTES, y += SUB)
		sub_decode(half_f16_f32(le16(x)), x + NL_CODES, y);
}

/* ---- IQ4_XS ---- */

static void
xs_block_encode(const float *x, const float *importance, uint8_t *y)
{
	float d, inverse, most = 0, power[LANES], scale[LANES];
	struct lanes l;
	unsigned high = 0;
	int code, j;

	search->load(&l, x, SUB, LANES);
	lanes_set(power, squares(x, ITEMS) * (2.0f / ITEMS));
	if (importance)
		lanes_weigh(&l, importance, power, LANES);
	else
		lanes_weigh_square(&l);
	search_levels(&l, scale);
	for (j = 0; j < SUBS; j++)
		most = fabsf(scale[j]) > fabsf(most) ? scale[j] : most;
	d = -most / 32;
	inverse = d != 0 ? 1 / d : 0;
	half_put(y, d);
	memset(y + XS_LOW, 0, SUBS / 2);
	for (j = 0; j < SUBS; j++) {
		code = clamp_int(nearest_int(inverse * scale[j]), -32, 31);
		codes(x + SUB * j, d * (float)code, y + XS_CODES + SUB / 2 * j);
		code += 32;
		y[XS_LOW + j / 2] |= (uint8_t)((code & 15) << 4 * (j % 2));
		high |= (unsigned)code >> 4 << 2 * j;
	}
	le16_put(y + XS_HIGH, (uint16_t)high);
}

static void
xs_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x));
	unsigned high = le16(x + XS_HIGH);
	int j, scale;

	for (j = 0; j < SUBS; j++) {
		scale = (x[XS_LOW + j / 2] >> 4 * (j % 2) & 15) | (int)(high >> 2 * j & 3) << 4;
		sub_decode(d * (float)(scale - 32), x + XS_CODES + SUB / 2 * j, y + SUB * j);
	}
}

static void
iq4_xs_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += XS_BYTES)
		xs_block_encode(x, NULL, y);
}

static void
iq4_xs_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += XS_BYTES)
		xs_block_encode(x, importance, y);
}

static void
iq4_xs_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += XS_BYTES, y += ITEMS)
		xs_block_decode(x, y);
}

const struct kernel ref_iq4_nl = {
	"IQ4_NL", iq4_nl_encode, iq4_nl_encode_weighted, iq4_nl_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel ref_iq4_xs = {
	"IQ4_XS", iq4_xs_encode, iq4_xs_encode_weighted, iq4_xs_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
