/* IQ1_S and IQ1_M: 256 values in 50 or 56 bytes;
 * value = d × (2 × scale + 1) × (level ± 1/8), levels -1, 0, 1.
 *
 *	 0    2              34             50
 *	+----+--------------+--------------+
 *	| d  | indexes, low | 8 × u16      |        IQ1_S
 *	+----+--------------+--------------+
 *	 0              32             48       56
 *	+--------------+--------------+--------+
 *	| indexes, low | indexes, high| scales | IQ1_M
 *	+--------------+--------------+--------+
 *	  32 × u8        32 × 4 bits    4 × u16
 *
 * Each eight values are a point of a grid of 2048. IQ1_S: a u16 serves 32 values:
 * the high three bits of four indexes, from bit 0 up, a scale of three bits, and
 * in bit 15 which way the 1/8 goes (set: down). IQ1_M: an index has its high
 * three bits and that sign bit in its four; the words of scales hold four of
 * three bits, for 16 values each, and in their top four bits a quarter of d.
 * The encoder sorts the values of a sub-block (32 of IQ1_S, 16 of IQ1_M) and tries every split
 * into three levels with either sign of the 1/8, of both signs for each half in IQ1_M. Then it
 * takes the points nearest to these levels, and the best scale for them. IQ1_S is only encoded
 * by importance. Equal values keep their order, as in the C library whose sorting GGML uses.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include <math.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/iq_grid.h"
#include "kernels/common/near.h"
#include "kernels/common/search.h"

enum {
	ITEMS = 256,
	S_SUB = 32, /* values that share a scale */
	S_SUBS = ITEMS / S_SUB,
	M_SUB = 16,
	M_SUBS = ITEMS / M_SUB,
	S_LOW = 2,
	S_HIGH = 34,
	S_BYTES = 50,
	M_HIGH = 32,
	M_SCALES = 48,
	M_BYTES = 56
};

static void
eight(float scale, unsigned index, int down, float *y)
{
	unsigned point = iq1_grid[index];
	float delta = down ? -0.125f : 0.125f;
	int j;

	for (j = 0; j < 8; j++)
		y[j] = scale * ((float)((int)(point >> 2 * j & 3) - 1) + delta);
}

static void
s_block_decode(const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x)), scale;
	unsigned high, i;

	for (i = 0; i < ITEMS / 8; i++) {
		high = le16(x + S_HIGH + 2 * (i / 4));
		scale = d * (float)(2 * (int)(high >> 12 & 7) + 1);
		eight(scale, x[S_LOW + i] | (high >> 3 * (i % 4) & 7) << 8, high >> 15 != 0,
		      y + 8 * i);
	}
}

static void
m_block_decode(const uint8_t *x, float *y)
{
	const uint8_t *scales = x + M_SCALES;
	unsigned four, high, i;
	float d, scale;

	d = half_f16_f32((uint16_t)(le16(scales) >> 12 | le16(scales + 2) >> 12 << 4 |
	                            le16(scales + 4) >> 12 << 8 | le16(scales + 6) >> 12 << 12));
	for (i = 0; i < ITEMS / 8; i++) {
		four = le16(scales + 2 * (i / 8));
		scale = d * (float)(2 * (int)(four >> 3 * (i / 2 % 4) & 7) + 1);
		high = x[M_HIGH + i / 2] >> 4 * (i % 2) & 15u;
		eight(scale, x[i] | (high & 7) << 8, high >> 3 != 0, y + 8 * i);
	}
}

/* ---- encoding ---- */

/* Sub-blocks in the making. */
struct thirds {
	const struct grid *grid;
	struct lanes l;
	struct thirds_lanes sorted;
	int order[DEPTH][LANES]; /* number i in the order of values is value order[i] */
	struct thirds_fit fit;   /* scales are not negative, 0 of a lane without one */
	uint16_t point[DEPTH / 8][LANES];
	uint8_t down[DEPTH / 8][LANES]; /* 1: 1/8 is subtracted */
	bool silent[LANES];
};

static float
level_of(const struct thirds *b, int i, int j)
{
	int code = b->point[i / 8][j] >> 2 * (i % 8) & 3;

	return (float)(code - 1) + (b->down[i / 8][j] ? -0.125f : 0.125f);
}

static void
load(struct thirds *b, int depth, const float *x, const float *importance, int count)
{
	int j, subs = ITEMS / depth;
	float power[LANES] = { 0 };

	b->grid = near_grid(NEAR_IQ1);
	search->load(&b->l, x, depth, count);
	for (j = 0; j < count; j++)
		power[j] = j % subs ? power[j - 1] : 2 * squares(x + depth * j, ITEMS) / ITEMS;
	if (importance)
		search->weigh_power(&b->l, importance, power, count);
	else
		search->weigh_square(&b->l);
}

/* Ranks are counted, which needs no branches: value i comes before a later value unless it is
 * larger. */
static void
sort(struct thirds *b)
{
	int rank[DEPTH][LANES] = { 0 }, i, j, k, larger;

	for (i = 0; i < b->l.depth; i++) {
		for (k = i + 1; k < b->l.depth; k++) {
			for (j = 0; j < LANES; j++) {
				larger = b->l.x[i][j] > b->l.x[k][j];
				rank[i][j] += larger;
				rank[k][j] += !larger;
			}
		}
	}
	b->sorted.depth = b->l.depth;
	for (i = 0; i < b->l.depth; i++) {
		for (j = 0; j < LANES; j++) {
			b->order[rank[i][j]][j] = i;
			b->sorted.x[rank[i][j]][j] = b->l.x[i][j];
			b->sorted.w[rank[i][j]][j] = b->l.w[i][j];
			b->sorted.second[rank[i][j]][j] = i >= b->l.depth / 2;
		}
	}
}

/* Lanes whose magnitudes are all below silent. */
static void
find_silent(struct thirds *b, float silent)
{
	float most[LANES] = { 0 };
	int i, j;

	for (i = 0; i < b->l.depth; i++)
		for (j = 0; j < LANES; j++)
			most[j] = fabsf(b->l.x[i][j]) > most[j] ? fabsf(b->l.x[i][j]) : most[j];
	for (j = 0; j < LANES; j++)
		b->silent[j] = most[j] < silent || b->fit.shift[j] < 0;
}

/* The rounding of each group, from the split; a negative scale turns all signs. */
static void
round_split(struct thirds *b)
{
	int code, i, j, turn;

	memset(b->point, 0, sizeof b->point);
	for (j = 0; j < LANES; j++) {
		turn = b->fit.scale[j] < 0;
		for (i = 0; i < b->l.depth && !b->silent[j]; i++) {
			code = i < b->fit.first[j] ? 0 : i < b->fit.last[j] ? 1 : 2;
			code = turn ? 2 - code : code;
			b->point[b->order[i][j] / 8][j] |=
				(uint16_t)(code << 2 * (b->order[i][j] % 8));
		}
		if (turn && !b->silent[j]) {
			b->fit.scale[j] = -b->fit.scale[j];
			b->fit.shift[j] = 3 - b->fit.shift[j];
		}
		for (i = 0; i < b->l.depth / 8; i++)
			b->down[i][j] = !b->silent[j] && b->fit.shift[j] >>
				(i < b->l.depth / 16) & 1;
	}
}

/* The best scale for the points of a lane where one was not a rounding; 0: none is better. */
static float
scale_of(const struct thirds *b, int j)
{
	float q, qq = 0, w, xq = 0;
	int i;

	for (i = 0; i < b->l.depth; i++) {
		q = level_of(b, i, j);
		w = b->l.w[i][j];
		xq += w * q * b->l.x[i][j];
		qq += w * q * q;
	}
	return xq > 0 && qq > 0 ? xq / qq : 0;
}

static void
take_points(struct thirds *b)
{
	bool off[LANES] = { false };
	float scale;
	int j, k;

	for (k = 0; k < b->l.depth / 8; k++)
		for (j = 0; j < LANES; j++)
			off[j] |= b->grid->place[b->point[k][j]] >= NEAR_LIST;
	search->thirds_points(&b->l, b->grid, b->fit.scale, b->down, b->point);
	for (j = 0; j < LANES; j++) {
		scale = off[j] && !b->silent[j] ? scale_of(b, j) : 0;
		scale = scale != 0 ? scale : b->fit.scale[j];
		b->fit.scale[j] = b->silent[j] ? 0 : number(scale);
		for (k = 0; k < b->l.depth / 8 && b->silent[j]; k++)
			b->point[k][j] = 0;
	}
}

/* Fit up to LANES sub-blocks of whole blocks. */
static void
thirds_fit(struct thirds *b, int depth, const float *x, const float *importance, int count)
{
	load(b, depth, x, importance, count);
	sort(b);
	if (depth == S_SUB)
		search->thirds(&b->sorted, &b->fit);
	else
		search->thirds_halves(&b->sorted, &b->fit);
	find_silent(b, depth == S_SUB ? 1e-12f : 1e-7f);
	round_split(b);
	take_points(b);
}

/* The largest of the scales of a block. */
static float
most_of(const float *scale, int count)
{
	float most = 0;
	int j;

	for (j = 0; j < count; j++)
		most = scale[j] > most ? scale[j] : most;
	return most;
}

/* Codes of three bits; the largest scale gets the last. */
static int
scale_code(float scale, float most)
{
	float inverse = 1 / (most / 15);

	return clamp_int(nearest_int(0.5f * (inverse * scale - 1)), 0, 7);
}

static void
s_put(const struct thirds *b, int at, uint8_t *y)
{
	float most = most_of(b->fit.scale + at, S_SUBS);
	unsigned high, index;
	int j, k;

	memset(y, 0, S_BYTES);
	if (most > 0)
		half_put(y, most / 15 * 1.125f);
	for (j = 0; j < S_SUBS; j++) {
		for (high = 0, k = 0; k < 4; k++) {
			index = b->grid->place[b->point[k][at + j]];
			y[S_LOW + 4 * j + k] = (uint8_t)index;
			high |= index >> 8 << 3 * k;
		}
		if (most > 0)
			high |= (unsigned)(scale_code(b->fit.scale[at + j], most) |
			                   b->down[0][at + j] << 3) << 12;
		le16_put(y + S_HIGH + 2 * j, (uint16_t)high);
	}
}

/* The unit of the scales: the best one for all values of a block. */
static float
m_unit(const struct thirds *b, const int *code, float unit)
{
	float q, qq = 0, w, xq = 0;
	int i, j;

	for (j = 0; j < M_SUBS; j++) {
		for (i = 0; i < M_SUB; i++) {
			q = level_of(b, i, j) * (float)(2 * code[j] + 1);
			w = b->l.w[i][j];
			xq += w * q * b->l.x[i][j];
			qq += w * q * q;
		}
	}
	return qq > 0 ? xq / qq : unit;
}

static void
m_put(const struct thirds *b, uint8_t *y)
{
	float most = most_of(b->fit.scale, M_SUBS);
	unsigned index, word[4] = { 0 };
	int code[M_SUBS], i, j;
	uint8_t half[2];

	memset(y, 0, M_BYTES);
	for (i = 0; i < ITEMS / 8; i++) {
		index = b->grid->place[b->point[i % 2][i / 2]];
		y[i] = (uint8_t)index;
		y[M_HIGH + i / 2] |= (uint8_t)(index >> 8 << 4 * (i % 2));
	}
	if (!(most > 0))
		return;
	for (j = 0; j < M_SUBS; j++) {
		code[j] = scale_code(b->fit.scale[j], most);
		word[j / 4] |= (unsigned)code[j] << 3 * (j % 4);
		y[M_HIGH + j] |= (uint8_t)(b->down[0][j] << 3 | b->down[1][j] << 7);
	}
	half_put(half, m_unit(b, code, most / 15) * 1.1125f);
	for (i = 0; i < 4; i++)
		le16_put(y + M_SCALES + 2 * i, (uint16_t)(word[i] | (le16(half) >> 4 * i & 15u) << 12));
}

static void
iq1_s_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	enum { TOGETHER = LANES / S_SUBS };
	size_t blocks = n / ITEMS, i;
	struct thirds b;
	int count, k;

	for (i = 0; i < blocks; i += TOGETHER) {
		count = blocks - i < TOGETHER ? (int)(blocks - i) : TOGETHER;
		thirds_fit(&b, S_SUB, x + i * ITEMS, importance + i * ITEMS, S_SUBS * count);
		for (k = 0; k < count; k++)
			s_put(&b, S_SUBS * k, y + (i + (size_t)k) * S_BYTES);
	}
}

static void
iq1_m_encode(const float *x, uint8_t *y, size_t n)
{
	struct thirds b;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += M_BYTES) {
		thirds_fit(&b, M_SUB, x, NULL, M_SUBS);
		m_put(&b, y);
	}
}

static void
iq1_m_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	struct thirds b;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, importance += ITEMS, y += M_BYTES) {
		thirds_fit(&b, M_SUB, x, importance, M_SUBS);
		m_put(&b, y);
	}
}

static void
iq1_s_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += S_BYTES, y += ITEMS)
		s_block_decode(x, y);
}

static void
iq1_m_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += M_BYTES, y += ITEMS)
		m_block_decode(x, y);
}

const struct kernel KERNEL(iq1_s) = {
	"IQ1_S", NULL, ONLY_WRITES(iq1_s_encode_weighted), iq1_s_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq1_m) = {
	"IQ1_M", ONLY_WRITES(iq1_m_encode), ONLY_WRITES(iq1_m_encode_weighted), iq1_m_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
