/* Q4_K and Q5_K: 256 values in 144 or 176 bytes,
 * value = d × scale × code - m × least.
 *
 *	 0    2    4        16                               144
 *	+----+----+--------+--------------------------------+
 *	| d  | m  | scales | low four bits                  | Q4_K
 *	+----+----+--------+--------------------------------+
 *	 0    2    4        16           48                               176
 *	+----+----+--------+------------+--------------------------------+
 *	| d  | m  | scales | fifth bits | low four bits                  | Q5_K
 *	+----+----+--------+------------+--------------------------------+
 *	  f16  f16  8 × (6 + 6) bits
 *
 * A sub-block of 32 values shares a scale and a least, 0 to 63 each. Low bits
 * lie as nibbles_pack_256, fifth bits as bits_pack says. For j < 4, scale j is
 * in the low six bits of byte j of the scales, least j in those of byte j + 4;
 * scale and least j + 4 have their low four bits in the halves of byte j + 8,
 * their high two above the other six in bytes j and j + 4.
 *
 * Each sub-block first finds the line (scale, and least value of at most zero)
 * of least weighted squared error. Plain: 21 candidates (Q5_K: 16), values
 * weighted by their magnitude + the root of the mean square of the sub-block; d
 * and m then make the largest scale and the largest least 63. With importance:
 * 37 candidates, weights importance × sqrt(twice the mean square of the block +
 * the value's own), d and m by search_steps. Codes are taken anew against scale
 * and least as stored.
 * Source of layout and formula: GGML's reference quantizer.
 */
#include "kernels/ref/types.h"

#include "kernels/common/pack.h"
#include "kernels/common/search.h"

enum {
	ITEMS = 256,
	SUBS = 8, /* sub-blocks */
	SUB = 32, /* values of a sub-block */
	SCALE = 0,
	LEAST = SCALE + 2,
	SCALES = LEAST + 2,
	CODES = SCALES + 12,
	Q4_BYTES = CODES + ITEMS / 2,
	Q5_BYTES = Q4_BYTES + ITEMS / 8
};
enum { TOGETHER = LANES / SUBS }; /* blocks that the lanes hold */
_Static_assert(SUBS * SUB == ITEMS && (int)SUB == (int)DEPTH, "the lanes hold whole blocks");
_Static_assert(Q4_BYTES == 144 && Q5_BYTES == 176, "Q4_K and Q5_K blocks");

/* The differences between the two types. */
struct form {
	int last; /* code */
	struct line_range plain, weighted;
};
static const struct form q4 = {
	15, { 15, -1.0f, 0.1f, 20, false }, { 15, -0.9f, 0.05f, 36, false }
};
static const struct form q5 = {
	31, { 31, -0.5f, 0.1f, 15, false }, { 31, -0.9f, 0.05f, 36, false }
};

/* ---- scales ---- */

static void
scales_pack(const uint8_t *scale, const uint8_t *least, uint8_t *y)
{
	int j;

	for (j = 0; j < 4; j++) {
		y[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
		y[j + 4] = (uint8_t)(least[j] | least[j + 4] >> 4 << 6);
		y[j + 8] = (uint8_t)((scale[j + 4] & 15) | least[j + 4] << 4);
	}
}

static void
scales_unpack(const uint8_t *x, uint8_t *scale, uint8_t *least)
{
	int j;

	for (j = 0; j < 4; j++) {
		scale[j] = x[j] & 63;
		least[j] = x[j + 4] & 63;
		scale[j + 4] = (uint8_t)((x[j + 8] & 15) | x[j] >> 6 << 4);
		least[j + 4] = (uint8_t)(x[j + 8] >> 4 | x[j + 4] >> 6 << 4);
	}
}

/* Make the largest v code 63. Returns the step between codes. */
static float
spread(const float *v, uint8_t *code)
{
	float inverse, most = 0;
	int j;

	for (j = 0; j < SUBS; j++)
		most = v[j] > most ? v[j] : most;
	inverse = most > 0 ? 63.0f / most : 0;
	for (j = 0; j < SUBS; j++) {
		code[j] = (uint8_t)nearest_int(inverse * v[j]);
		code[j] = code[j] < 63 ? code[j] : 63;
	}
	return most / 63.0f;
}

/* ---- blocks ---- */

static void
weigh(struct lanes *l, const float *x, const float *importance, int count)
{
	float power[LANES] = { 0 }, mean;
	int b, j;

	for (b = 0; b < count; b++) {
		mean = 2 * squares(x + ITEMS * b, ITEMS) / ITEMS;
		for (j = 0; j < SUBS; j++)
			power[SUBS * b + j] = mean;
	}
	search->weigh_power(l, importance, power, SUBS * count);
}

/* Write the codes of scales and leasts to y, and their units d and m. offset is -least, at
 * most zero. w has weights, or is NULL. */
static void
fit_scales(const float *scale, const float *offset, const float *w, uint8_t *y)
{
	uint8_t scales[SUBS], leasts[SUBS];
	float d, m, least[SUBS];
	int j;

	for (j = 0; j < SUBS; j++)
		least[j] = -offset[j];
	if (w) {
		d = search_steps(scale, w, SUBS, 63, scales);
		m = search_steps(least, w, SUBS, 63, leasts);
	} else {
		d = spread(scale, scales);
		m = spread(least, leasts);
	}
	half_put(y + SCALE, d);
	half_put(y + LEAST, m);
	scales_pack(scales, leasts, y + SCALES);
}

/* Codes are computed from scale and least as stored. */
static void
stored(const uint8_t *x, float *scale, float *offset)
{
	float d = half_f16_f32(le16(x + SCALE)), m = half_f16_f32(le16(x + LEAST));
	uint8_t scales[SUBS], leasts[SUBS];
	int j;

	scales_unpack(x + SCALES, scales, leasts);
	for (j = 0; j < SUBS; j++) {
		scale[j] = d * (float)scales[j];
		offset[j] = -(m * (float)leasts[j]);
	}
}

/* Quantize up to TOGETHER blocks of that many bytes. */
static void
blocks_encode(const struct form *t, const float *x, const float *importance, int count,
              uint8_t *y, size_t bytes)
{
	float offset[LANES] = { 0 }, scale[LANES] = { 0 }, w[LANES];
	uint8_t code[TOGETHER * ITEMS];
	struct line_fit f;
	struct lanes l;
	int b;

	search->load(&l, x, SUB, SUBS * count);
	if (importance)
		weigh(&l, x, importance, count);
	else
		search->weigh_root(&l);
	search->line(&l, importance ? &t->weighted : &t->plain, &f);
	if (importance)
		search->weight(&l, w);
	for (b = 0; b < count; b++) {
		fit_scales(f.scale + SUBS * b, f.offset + SUBS * b,
		           importance ? w + SUBS * b : NULL, y + bytes * (size_t)b);
		stored(y + bytes * (size_t)b, scale + SUBS * b, offset + SUBS * b);
	}
	search->line_codes(&l, &f, scale, offset, t->last, code);
	for (b = 0; b < count; b++, y += bytes) {
		if (t->last == 31)
			bits_pack(code + ITEMS * b, 4, y + CODES);
		nibbles_pack_256(code + ITEMS * b, y + bytes - ITEMS / 2);
	}
}

static void
row_encode(const struct form *t, const float *x, const float *importance, uint8_t *y,
           size_t bytes, size_t n)
{
	size_t blocks = n / ITEMS, i;

	for (i = 0; i < blocks; i += TOGETHER)
		blocks_encode(t, x + i * ITEMS, importance ? importance + i * ITEMS : NULL,
		              blocks - i < TOGETHER ? (int)(blocks - i) : TOGETHER,
		              y + i * bytes, bytes);
}

static void
block_decode(const struct form *t, const uint8_t *x, float *y)
{
	float d = half_f16_f32(le16(x + SCALE)), m = half_f16_f32(le16(x + LEAST));
	uint8_t code[ITEMS], scales[SUBS], leasts[SUBS];
	float scale, least;
	int i, j;

	scales_unpack(x + SCALES, scales, leasts);
	nibbles_unpack_256(x + CODES + (t->last == 31 ? ITEMS / 8 : 0), code);
	if (t->last == 31)
		bits_unpack(x + CODES, 4, code);
	for (j = 0; j < SUBS; j++) {
		scale = d * (float)scales[j];
		least = m * (float)leasts[j];
		for (i = SUB * j; i < SUB * (j + 1); i++)
			y[i] = scale * (float)code[i] - least;
	}
}

static void
q4_k_encode(const float *x, uint8_t *y, size_t n)
{
	row_encode(&q4, x, NULL, y, Q4_BYTES, n);
}

static void
q4_k_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	row_encode(&q4, x, importance, y, Q4_BYTES, n);
}

static void
q4_k_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q4_BYTES, y += ITEMS)
		block_decode(&q4, x, y);
}

static void
q5_k_encode(const float *x, uint8_t *y, size_t n)
{
	row_encode(&q5, x, NULL, y, Q5_BYTES, n);
}

static void
q5_k_encode_weighted(const float *x, const float *importance, uint8_t *y, size_t n)
{
	row_encode(&q5, x, importance, y, Q5_BYTES, n);
}

static void
q5_k_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += Q5_BYTES, y += ITEMS)
		block_decode(&q5, x, y);
}

const struct kernel KERNEL(q4_k) = {
	"Q4_K", ONLY_WRITES(q4_k_encode), ONLY_WRITES(q4_k_encode_weighted), q4_k_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(q5_k) = {
	"Q5_K", ONLY_WRITES(q5_k_encode), ONLY_WRITES(q5_k_encode_weighted), q5_k_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
