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
#include "kernels/ref/types.h"

#include "kernels/common/iq4.h"
#include "kernels/common/pack.h"
#include "kernels/common/search.h"

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
enum { TOGETHER = LANES / SUBS }; /* IQ4_XS blocks that the lanes hold */
_Static_assert(NL_BYTES == 18 && XS_BYTES == 136, "IQ4 blocks");

/* Values are multiplied by this before they get their level. */
static float
inverse_of(float scale)
{
	return scale != 0 ? 1 / scale : 0;
}

/* ---- IQ4_NL ---- */

/* Quantize up to LANES blocks. */
static void
nl_blocks_encode(const float *x, const float *importance, int count, uint8_t *y)
{
	float inverse[LANES], power[LANES] = { 0 }, scale[LANES];
	uint8_t code[LANES * SUB];
	struct lanes l;
	int j;

	search->load(&l, x, SUB, count);
	if (importance) {
		for (j = 0; j < count; j++)
			power[j] = squares(x + SUB * j, SUB) * (2.0f / SUB);
		search->weigh_power(&l, importance, power, count);
	} else {
		search->weigh_square(&l);
	}
	search->levels(&l, scale);
	for (j = 0; j < LANES; j++)
		inverse[j] = inverse_of(scale[j]);
	search->level_codes(&l, inverse, code);
	for (j = 0; j < count; j++, y += NL_BYTES) {
		half_put(y, scale[j]);
		nibbles_pack(code + SUB * j, y + NL_CODES);
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

/* Write the scales of a block as codes, and their unit d, to y; scale becomes the decoded
 * scales. */
static void
xs_scales_put(float *scale, uint8_t *y)
{
	const float d = -extreme_of(scale, SUBS) / 32;
	float inverse;
	unsigned high = 0;
	int code, j;

	inverse = inverse_of(d);
	half_put(y, d);
	memset(y + XS_LOW, 0, SUBS / 2);
	for (j = 0; j < SUBS; j++) {
		code = clamp_int(nearest_int(inverse * scale[j]), -32, 31);
		scale[j] = d * (float)code;
		code += 32;
		y[XS_LOW + j / 2] |= (uint8_t)((code & 15) << 4 * (j % 2));
		high |= (unsigned)code >> 4 << 2 * j;
	}
	le16_put(y + XS_HIGH, (uint16_t)high);
}

/* Quantize up to TOGETHER blocks. */
static void
xs_blocks_encode(const float *x, const float *importance, int count, uint8_t *y)
{
	float inverse[LANES], power[LANES] = { 0 }, scale[LANES];
	uint8_t code[LANES * SUB];
	struct lanes l;
	int b, j;

	search->load(&l, x, SUB, SUBS * count);
	if (importance) {
		for (j = 0; j < SUBS * count; j++)
			power[j] = j % SUBS ? power[j - 1]
				: squares(x + SUB * j, ITEMS) * (2.0f / ITEMS);
		search->weigh_power(&l, importance, power, SUBS * count);
	} else {
		search->weigh_square(&l);
	}
	search->levels(&l, scale);
	for (b = 0; b < count; b++)
		xs_scales_put(scale + SUBS * b, y + XS_BYTES * b);
	for (j = 0; j < LANES; j++)
		inverse[j] = inverse_of(scale[j]);
	search->level_codes(&l, inverse, code);
	for (j = 0; j < SUBS * count; j++)
		nibbles_pack(code + SUB * j, y + XS_BYTES * (j / SUBS) + XS_CODES +
		             SUB / 2 * (j % SUBS));
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
xs_encode(const float *x, const float *importance, uint8_t *y, size_t n)
{
	size_t blocks = n / ITEMS, i;

	for (i = 0; i < blocks; i += TOGETHER)
		xs_blocks_encode(x + i * ITEMS, importance ? importance + i * ITEMS : NULL,
		                 blocks - i < TOGETHER ? (int)(blocks - i) : TOGETHER,
		                 y + i * XS_BYTES);
}

static void
iq4_xs_encode(const float *x, uint8_t *y, size_t n)
{
	xs_encode(x, NULL, y, n);
}

static void
iq4_xs_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	xs_encode(x, importance, y, n);
}

static void
iq4_xs_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += XS_BYTES, y += ITEMS)
		xs_block_decode(x, y);
}

const struct kernel KERNEL(iq4_nl) = {
	"IQ4_NL", ONLY_WRITES(iq4_nl_encode), ONLY_WRITES(iq4_nl_encode_weighted), iq4_nl_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq4_xs) = {
	"IQ4_XS", ONLY_WRITES(iq4_xs_encode), ONLY_WRITES(iq4_xs_encode_weighted), iq4_xs_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
