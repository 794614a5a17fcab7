/* Types of values, and blocks of earlier generations.
 *
 * generation 1    byte j of a block of 4-bit values holds the values 2j (low bits) and 2j+1;
 *                 scales of Q4_0, Q4_1 and Q8_0 are F32
 * generation 2    (GGJT 2) byte j holds the values j and j + 16; scales as before
 * generation 3    (GGJT 3) all scales are F16: today's blocks
 *
 * Blocks of generation 1 and 2 become today's if each scale is exactly an F16, else F32, with the
 * values that GGML computes. Q5_0 and Q5_1 had F16 scales always.
 */
#include <inttypes.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/num.h"
#include "imports/ggml/ggml.h"

#define VALUES 32 /* of a block */
#define NIBBLES 16
#define SCANNED (4 << 20) /* bytes */

/* A block of generation 1 or 2. */
struct old_block {
	uint32_t ggml;     /* number of the type */
	unsigned last;     /* the last generation that had it */
	uint8_t bytes;
	uint8_t scales;    /* F32 numbers at its beginning; 0: F16 as today */
	uint8_t nibbles;   /* offset of the 4-bit values; 0: values of 8 bits */
};

static const struct old_block old_blocks[] = {
	{ 2, 2, 20, 1, 4 },   /* Q4_0 */
	{ 3, 2, 24, 2, 8 },   /* Q4_1 */
	{ 6, 1, 22, 0, 6 },   /* Q5_0 */
	{ 7, 1, 24, 0, 8 },   /* Q5_1 */
	{ 8, 2, 36, 1, 0 },   /* Q8_0 */
};

/* rwkv.cpp's numbers. */
static const int8_t rwkv_types[] = { 0, 1, 2, 3, -1, -1, -1, 6, 7, 8, -1, 10, 11, 12, 13, 14 };

static const struct old_block *
old_block(uint32_t ggml, unsigned generation)
{
	size_t i;

	for (i = 0; i < sizeof old_blocks / sizeof *old_blocks; i++)
		if (old_blocks[i].ggml == ggml && generation <= old_blocks[i].last)
			return &old_blocks[i];
	return NULL;
}

/* ---- conversions ---- */

/* True if an F16 holds the number exactly. */
static bool
is_half(const uint8_t *p)
{
	float f = le_f32(p), back = half_f16_f32(half_f32_f16(f));

	return memcmp(&f, &back, sizeof f) == 0;
}

/* Bytes with neighbours 2j, 2j+1 become bytes with the values j, j + 16. */
static void
pair_again(const uint8_t *from, uint8_t *to)
{
	unsigned j;

	for (j = 0; j < NIBBLES; j++) {
		unsigned low = from[j / 2] >> 4 * (j % 2) & 15;
		unsigned high = from[NIBBLES / 2 + j / 2] >> 4 * (j % 2) & 15;

		to[j] = (uint8_t)(low | high << 4);
	}
}

/* Today's block. more[0]: generation. */
static void
make_blocks(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct old_block *b = x->data;
	const uint8_t *p = x->p + first * b->bytes;
	uint64_t i;
	unsigned k, head = b->scales ? b->scales * 4u : b->nibbles;

	for (i = 0; i < count; i++, p += b->bytes, to += x->out) {
		if (b->scales)
			for (k = 0; k < b->scales; k++)
				le16_put(to + 2 * k, half_f32_f16(le_f32(p + 4 * k)));
		else
			memcpy(to, p, head);
		k = b->scales ? 2u * b->scales : head;
		if (b->nibbles && x->more[0] == 1)
			pair_again(p + head, to + k);
		else
			memcpy(to + k, p + head, (size_t)(b->bytes - head));
	}
}

/* The quantized value k of a block of Q4_0, Q4_1 or Q8_0. */
static int
quant(const struct old_block *b, const uint8_t *q, unsigned k, bool neighbours)
{
	if (!b->nibbles)
		return (int8_t)q[k];
	if (neighbours)
		return q[k / 2] >> 4 * (k % 2) & 15;
	return q[k % NIBBLES] >> 4 * (k / NIBBLES) & 15;
}

/* The values of blocks as F32. */
static void
make_values(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct old_block *b = x->data;
	const uint8_t *p = x->p + first * b->bytes;
	uint64_t i;
	unsigned k;

	for (i = 0; i < count; i++, p += b->bytes)
		for (k = 0; k < VALUES; k++, to += 4) {
			int q = quant(b, p + 4 * b->scales, k, x->more[0] == 1);
			float v = (float)(b->nibbles && b->scales == 1 ? q - 8 : q) * le_f32(p);

			if (b->scales == 2)
				v += le_f32(p + 4);
			le_f32_put(to, v);
		}
}

/* ---- types ---- */

/* The name of a type that GGML removed, or NULL. rwkv.cpp has a number for one more. */
static const char *
removed(uint32_t number, bool rwkv)
{
	static const char *const names[] = { "Q4_1_O", "Q4_2", "Q4_3" };
	uint32_t first = rwkv ? 4 : 3;

	return number >= 4 && number < first + 3 ? names[number - first] : NULL;
}

static const struct dtype *
refuse(const struct ggml *g, const char *name, uint32_t number, bool rwkv)
{
	const char *old = removed(number, rwkv);

	if (!old) {
		err_set(g->import.err, ERR_FORMAT, name, "has the type %" PRIu32 ", which is not known",
		        number);
		return NULL;
	}
	err_set(g->import.err, ERR_FORMAT, name, "has the type %s, which GGML removed in 2023", old);
	err_hint(g->import.err, "no type of today holds its blocks: an F16 file of the model can "
	         "be quantized again");
	return NULL;
}

const struct dtype *
ggml_type(struct ggml *g, uint32_t number, const char *name, uint64_t items, uint64_t row,
          struct import_place *x, uint64_t *bytes)
{
	bool rwkv = g->layout && g->layout->flags & GGML_RWKV;
	uint32_t ggml = !rwkv ? number : number < sizeof rwkv_types && rwkv_types[number] >= 0
	                                     ? (uint32_t)rwkv_types[number] : UINT32_MAX;
	const struct dtype *type = ggml <= 14 && ggml != 4 && ggml != 5 && ggml != 9
	                               ? dtype_by_ggml(ggml) : NULL;
	const struct old_block *b = type ? old_block(ggml, g->generation) : NULL;

	if (!type)
		return refuse(g, name, number, rwkv);
	if (rwkv && b) {
		err_set(g->import.err, ERR_FORMAT, name, "has the type %s of rwkv.cpp's version 100, "
		        "whose blocks changed without a new version", type->name);
		return NULL;
	}
	if (row % type->items) {
		err_set(g->import.err, ERR_CORRUPT, name, "has rows of %" PRIu64 " values, which do "
		        "not fill blocks of %s", row, type->name);
		return NULL;
	}
	if (num_mul(items / type->items, b ? b->bytes : type->bytes, bytes) < 0)
		*bytes = UINT64_MAX;
	if (b) {
		x->data = b;
		x->more[0] = g->generation;
		x->in = b->bytes;
	}
	return type;
}

/* True if each scale of the blocks is an F16. Ends at the first that is not, which is usual. */
static bool
fits_today(const struct import *im, const struct old_block *b, const uint8_t *p, uint64_t bytes)
{
	const uint8_t *released = p;
	uint64_t at;
	unsigned k;

	for (at = 0; at < bytes; at += b->bytes) {
		for (k = 0; k < b->scales; k++)
			if (!is_half(p + at + 4 * k))
				return false;
		if (p + at - released >= SCANNED) {
			map_release(&im->whole.map, released, SCANNED);
			released += SCANNED;
		}
	}
	return true;
}

const struct dtype *
ggml_settle(struct ggml *g, const struct dtype *type, uint64_t bytes, struct import_place *x)
{
	const struct old_block *b = x->data;

	if (!b)
		return type;
	x->make = make_blocks;
	x->out = type->bytes;
	if (fits_today(&g->import, b, x->p, bytes)) {
		g->converted++;
		return type;
	}
	x->make = make_values;
	x->out = 4 * VALUES;
	g->widened++;
	return dtype_by_name("F32");
}
