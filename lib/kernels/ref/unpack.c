/* Blocks of weights as codes, scales and leasts. The layouts are described where these types
 * are decoded (type_*.c). Codes of all types are integers of eight bits with a sign.
 */
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/rows.h"
#include "kernels/common/iq4.h"
#include "kernels/common/iq_grid.h"
#include "kernels/common/pack.h"

static float
half_at(const uint8_t *x)
{
	return half_f16_f32(le16(x));
}

/* ---- blocks of 32 ---- */

/* Codes of four bits, and a fifth bit of each in the 32 bits at fifth unless that is NULL;
 * zero is subtracted. */
static void
small_codes(const uint8_t *x, const uint8_t *fifth, int zero, struct codes *c)
{
	uint32_t high = fifth ? le32(fifth) : 0;
	uint8_t code[SMALL];
	int i;

	nibbles_unpack(x, code);
	for (i = 0; i < SMALL; i++)
		c->code[i] = (int8_t)((code[i] | (int)(high >> i & 1) << 4) - zero);
}

static void
q4_0_unpack(const uint8_t *x, struct codes *c)
{
	c->d = half_at(x);
	small_codes(x + 2, NULL, 8, c);
}

static void
q4_1_unpack(const uint8_t *x, struct codes *c)
{
	c->d = half_at(x);
	c->m = -half_at(x + 2);
	small_codes(x + 4, NULL, 0, c);
}

static void
q5_0_unpack(const uint8_t *x, struct codes *c)
{
	c->d = half_at(x);
	small_codes(x + 6, x + 2, 16, c);
}

static void
q5_1_unpack(const uint8_t *x, struct codes *c)
{
	c->d = half_at(x);
	c->m = -half_at(x + 2);
	small_codes(x + 8, x + 4, 0, c);
}

static void
q8_0_unpack(const uint8_t *x, struct codes *c)
{
	c->d = half_at(x);
	memcpy(c->code, x + 2, SMALL);
}

/* Codes of four bits that stand for levels. */
static void
levels_unpack(const uint8_t *x, const int8_t *levels, int8_t *y)
{
	uint8_t code[SMALL];
	int i;

	nibbles_unpack(x, code);
	for (i = 0; i < SMALL; i++)
		y[i] = levels[code[i]];
}

static void
iq4_nl_unpack(const uint8_t *x, struct codes *c)
{
	c->d = half_at(x);
	levels_unpack(x + 2, iq4_levels, c->code);
}

static void
mxfp4_unpack(const uint8_t *x, struct codes *c)
{
	static const int8_t levels[16] = {
		0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12
	};
	/* 2^(e - 128), subnormal below 2. */
	uint32_t u = x[0] < 2 ? 0x00200000u << x[0] : (uint32_t)(x[0] - 1) << 23;

	memcpy(&c->d, &u, sizeof u);
	levels_unpack(x + 1, levels, c->code);
}

/* ---- blocks of 256 ---- */

static void
less(struct codes *c, const uint8_t *code, int zero)
{
	int i;

	for (i = 0; i < LARGE; i++)
		c->code[i] = (int8_t)(code[i] - zero);
}

static void
q2_k_unpack(const uint8_t *x, struct codes *c)
{
	uint8_t code[LARGE] = { 0 };
	int j;

	c->d = half_at(x + 80);
	c->m = half_at(x + 82);
	pairs_unpack(x + 16, 0, code);
	less(c, code, 0);
	for (j = 0; j < LARGE / SUB; j++) {
		c->scale[j] = x[j] & 15;
		c->least[j] = x[j] >> 4;
	}
}

static void
q3_k_unpack(const uint8_t *x, struct codes *c)
{
	const uint8_t *low = x + 96, *high = low + 8;
	uint8_t code[LARGE] = { 0 };
	int j, scale;

	c->d = half_at(x + 108);
	pairs_unpack(x + 32, 0, code);
	bits_unpack(x, 2, code);
	less(c, code, 4);
	for (j = 0; j < LARGE / SUB; j++) {
		scale = low[j % 8] >> 4 * (j / 8) & 15;
		scale |= (high[j % 4] >> 2 * (j / 4) & 3) << 4;
		c->scale[j] = (int16_t)(scale - 32);
	}
}

/* Eight scales and leasts of six bits, and their units. */
static void
six_unpack(const uint8_t *x, struct codes *c)
{
	int j;

	c->d = half_at(x);
	c->m = half_at(x + 2);
	for (j = 0, x += 4; j < 4; j++) {
		c->scale[j] = x[j] & 63;
		c->least[j] = x[j + 4] & 63;
		c->scale[j + 4] = (int16_t)((x[j + 8] & 15) | x[j] >> 6 << 4);
		c->least[j + 4] = (int16_t)(x[j + 8] >> 4 | x[j + 4] >> 6 << 4);
	}
}

static void
q4_k_unpack(const uint8_t *x, struct codes *c)
{
	uint8_t code[LARGE];

	six_unpack(x, c);
	nibbles_unpack_256(x + 16, code);
	less(c, code, 0);
}

static void
q5_k_unpack(const uint8_t *x, struct codes *c)
{
	uint8_t code[LARGE];

	six_unpack(x, c);
	nibbles_unpack_256(x + 48, code);
	bits_unpack(x + 16, 4, code);
	less(c, code, 0);
}

static void
q6_k_unpack(const uint8_t *x, struct codes *c)
{
	const uint8_t *low = x;
	uint8_t code[LARGE];
	int h, j, l;

	c->d = half_at(x + 208);
	for (h = 0; h < LARGE; h += 128, low += 64) {
		for (l = 0; l < 64; l++) {
			code[h + l] = low[l] & 15;
			code[h + l + 64] = low[l] >> 4;
		}
	}
	pairs_unpack(x + 128, 4, code);
	less(c, code, 32);
	for (j = 0; j < LARGE / SUB; j++)
		c->scale[j] = (int8_t)x[192 + j];
}

static void
iq4_xs_unpack(const uint8_t *x, struct codes *c)
{
	unsigned high = le16(x + 2);
	int j, scale;

	c->d = half_at(x);
	for (j = 0; j < LARGE / SMALL; j++) {
		scale = (x[4 + j / 2] >> 4 * (j % 2) & 15) | (int)(high >> 2 * j & 3) << 4;
		c->scale[j] = (int16_t)(scale - 32);
		levels_unpack(x + 8 + 16 * j, iq4_levels, c->code + SMALL * j);
	}
}

static void
tq1_0_unpack(const uint8_t *x, struct codes *c)
{
	static const int bytes[3] = { 32, 16, 4 }, digits[3] = { 5, 5, 4 };
	int8_t *y = c->code;
	unsigned n;
	int i, k, p;

	c->d = half_at(x + 52);
	for (p = 0; p < 3; p++) {
		for (i = 0; i < bytes[p]; i++) {
			n = x[i];
			for (k = 0; k < digits[p]; k++) {
				n *= 3;
				y[bytes[p] * k + i] = (int8_t)((int)(n >> 8) - 1);
				n &= 255;
			}
		}
		x += bytes[p];
		y += bytes[p] * digits[p];
	}
	for (i = 0; i < LARGE / SMALL; i++)
		c->scale[i] = 1;
}

static void
tq2_0_unpack(const uint8_t *x, struct codes *c)
{
	uint8_t code[LARGE] = { 0 };
	int i;

	c->d = half_at(x + 64);
	pairs_unpack(x, 0, code);
	less(c, code, 1);
	for (i = 0; i < LARGE / SMALL; i++)
		c->scale[i] = 1;
}

/* ---- points of grids ---- */

/* Each coordinate of a point has bits bits, the number of its level; a set bit of signs is
 * a minus. */
static void
point_unpack(unsigned point, int bits, int count, const int8_t *levels, unsigned signs, int8_t *y)
{
	int j, level;

	for (j = 0; j < count; j++) {
		level = levels[point >> bits * j & ((1u << bits) - 1)];
		y[j] = (int8_t)(signs >> j & 1 ? -level : level);
	}
}

static const int8_t iq2_levels[4] = { 8, 25, 43, 0 };

static void
iq2_xxs_unpack(const uint8_t *x, struct codes *c)
{
	uint32_t rest;
	int i, k;

	c->d = half_at(x) * 0.125f;
	for (i = 0, x += 2; i < LARGE / 32; i++, x += 8) {
		rest = le32(x + 4);
		c->scale[i] = (int16_t)(2 * (rest >> 28) + 1);
		for (k = 0; k < 4; k++)
			point_unpack(iq2_xxs_grid[x[k]], 2, 8, iq2_levels,
			             iq_signs(rest >> 7 * k & 127), c->code + 32 * i + 8 * k);
	}
}

/* Scales of four bits, two a byte. */
static void
iq2_scales(const uint8_t *x, struct codes *c)
{
	int j;

	for (j = 0; j < LARGE / SUB; j++)
		c->scale[j] = (int16_t)(2 * (x[j / 2] >> 4 * (j % 2) & 15) + 1);
}

static void
iq2_xs_unpack(const uint8_t *x, struct codes *c)
{
	unsigned point;
	int i;

	c->d = half_at(x) * 0.125f;
	iq2_scales(x + 66, c);
	for (i = 0; i < LARGE / 8; i++) {
		point = le16(x + 2 + 2 * i);
		point_unpack(iq2_xs_grid[point & 511], 2, 8, iq2_levels, iq_signs(point >> 9),
		             c->code + 8 * i);
	}
}

static void
iq2_s_unpack(const uint8_t *x, struct codes *c)
{
	unsigned high;
	int i;

	c->d = half_at(x) * 0.125f;
	iq2_scales(x + 74, c);
	for (i = 0; i < LARGE / 8; i++) {
		high = x[66 + i / 4] >> 2 * (i % 4) & 3u;
		point_unpack(iq2_s_grid[x[2 + i] | high << 8], 2, 8, iq2_levels, x[34 + i],
		             c->code + 8 * i);
	}
}

static void
iq3_xxs_unpack(const uint8_t *x, struct codes *c)
{
	static const int8_t levels[8] = { 4, 12, 20, 28, 36, 44, 52, 62 };
	unsigned signs;
	uint32_t rest;
	int i;

	c->d = half_at(x) * 0.25f;
	for (i = 0; i < LARGE / 4; i++) {
		rest = le32(x + 66 + 4 * (i / 8));
		signs = iq_signs(rest >> 7 * (i / 2 % 4) & 127) >> 4 * (i % 2);
		c->scale[i / 8] = (int16_t)(2 * (rest >> 28) + 1);
		point_unpack(iq3_xxs_grid[x[2 + i]], 3, 4, levels, signs, c->code + 4 * i);
	}
}

static void
iq3_s_unpack(const uint8_t *x, struct codes *c)
{
	static const int8_t levels[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };
	unsigned high;
	int i;

	c->d = half_at(x);
	for (i = 0; i < LARGE / 4; i++) {
		high = x[66 + i / 8] >> i % 8 & 1u;
		c->scale[i / 8] = (int16_t)(1 + 2 * (x[106 + i / 16] >> 4 * (i / 8 % 2) & 15));
		point_unpack(iq3_s_grid[x[2 + i] | high << 8], 3, 4, levels,
		             x[74 + i / 2] >> 4 * (i % 2), c->code + 4 * i);
	}
}

/* Levels -1, 0, 1 and an eighth up or down, in eighths. */
static const int8_t iq1_up[4] = { -7, 1, 9, 17 }, iq1_down[4] = { -9, -1, 7, 15 };

static void
iq1_s_unpack(const uint8_t *x, struct codes *c)
{
	unsigned high;
	int i;

	c->d = half_at(x) * 0.125f;
	for (i = 0; i < LARGE / 8; i++) {
		high = le16(x + 34 + 2 * (i / 4));
		c->scale[i / 4] = (int16_t)(2 * (high >> 12 & 7) + 1);
		point_unpack(iq1_grid[x[2 + i] | (high >> 3 * (i % 4) & 7) << 8], 2, 8,
		             high >> 15 ? iq1_down : iq1_up, 0, c->code + 8 * i);
	}
}

static void
iq1_m_unpack(const uint8_t *x, struct codes *c)
{
	const uint8_t *scales = x + 48;
	unsigned four, high;
	int i;

	c->d = half_f16_f32((uint16_t)(le16(scales) >> 12 | le16(scales + 2) >> 12 << 4 |
	                               le16(scales + 4) >> 12 << 8 | le16(scales + 6) >> 12 << 12)) * 0.125f;
	for (i = 0; i < LARGE / 8; i++) {
		four = le16(scales + 2 * (i / 8));
		c->scale[i / 2] = (int16_t)(2 * (four >> 3 * (i / 2 % 4) & 7) + 1);
		high = x[32 + i / 2] >> 4 * (i % 2) & 15u;
		point_unpack(iq1_grid[x[i] | (high & 7) << 8], 2, 8,
		             high >> 3 ? iq1_down : iq1_up, 0, c->code + 8 * i);
	}
}

static const struct unpacking forms[] = {
	{ "Q4_0", &activation_q8_0, 32, 18, 32, false, q4_0_unpack },
	{ "Q5_0", &activation_q8_0, 32, 22, 32, false, q5_0_unpack },
	{ "Q8_0", &activation_q8_0, 32, 34, 32, false, q8_0_unpack },
	{ "IQ4_NL", &activation_q8_0, 32, 18, 32, false, iq4_nl_unpack },
	{ "MXFP4", &activation_q8_0, 32, 17, 32, false, mxfp4_unpack },
	{ "Q4_1", &activation_q8_1, 32, 20, 32, true, q4_1_unpack },
	{ "Q5_1", &activation_q8_1, 32, 24, 32, true, q5_1_unpack },
	{ "Q2_K", &activation_q8_k, 256, 84, 16, true, q2_k_unpack },
	{ "Q3_K", &activation_q8_k, 256, 110, 16, false, q3_k_unpack },
	{ "Q4_K", &activation_q8_k, 256, 144, 32, true, q4_k_unpack },
	{ "Q5_K", &activation_q8_k, 256, 176, 32, true, q5_k_unpack },
	{ "Q6_K", &activation_q8_k, 256, 210, 16, false, q6_k_unpack },
	{ "IQ4_XS", &activation_q8_k, 256, 136, 32, false, iq4_xs_unpack },
	{ "TQ1_0", &activation_q8_k, 256, 54, 32, false, tq1_0_unpack },
	{ "TQ2_0", &activation_q8_k, 256, 66, 32, false, tq2_0_unpack },
	{ "IQ1_S", &activation_q8_k, 256, 50, 32, false, iq1_s_unpack },
	{ "IQ1_M", &activation_q8_k, 256, 56, 16, false, iq1_m_unpack },
	{ "IQ2_XXS", &activation_q8_k, 256, 66, 32, false, iq2_xxs_unpack },
	{ "IQ2_XS", &activation_q8_k, 256, 74, 16, false, iq2_xs_unpack },
	{ "IQ2_S", &activation_q8_k, 256, 82, 16, false, iq2_s_unpack },
	{ "IQ3_XXS", &activation_q8_k, 256, 98, 32, false, iq3_xxs_unpack },
	{ "IQ3_S", &activation_q8_k, 256, 110, 32, false, iq3_s_unpack },
};

const struct unpacking *
unpacking_row(size_t index)
{
	return index < sizeof forms / sizeof forms[0] ? &forms[index] : NULL;
}
