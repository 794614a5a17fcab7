/* rows: how rows of activations lie in memory, and what plain C reads of a block of weights.
 * Internal to kernels.
 *
 * A row of F32 is n floats. The other forms are arrays that each begin at a multiple of 64
 * bytes. Rows of I16 may have any length; m is n rounded up to a multiple of 32:
 *
 *	I16     n values (f32) | m codes (i16), zero from n on | m / 32 scales (f32)
 *	Q8_0    n codes (i8) | n / 32 scales (f32) | n / 32 sums of codes (i32)
 *	Q8_1    n codes (i8) | n / 32 scales (f32) | n / 32 sums of values (f32)
 *	Q8_K    n codes (i8) | n / 256 scales (f32) | n / 16 sums of codes (i16)
 *
 * Scales of Q8_0 and Q8_1 and sums of Q8_1 were rounded to half precision.
 */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "kernels/attend.h"
#include "kernels/dot.h"

enum { SMALL = 32, LARGE = 256, SUB = 16 };

/* The largest code of I16: 32 products of two codes fit into 32 bits. */
#define I16_MOST 8191.0f

static inline size_t
up64(size_t n)
{
	return (n + 63) / 64 * 64;
}

/* A row of Q8_0, Q8_1 or Q8_K. */
struct quantized {
	const int8_t *code;
	const float *scale;
	const void *sums;
};

static inline struct quantized
quantized_at(const uint8_t *a, size_t n, size_t block)
{
	struct quantized q;

	q.code = (const int8_t *)a;
	q.scale = (const float *)(const void *)(a + up64(n));
	q.sums = a + up64(n) + up64(n / block * sizeof(float));
	return q;
}

/* Codes and scales of a row of I16; its values are at the start of the row. */
struct i16_row {
	const int16_t *code;
	const float *scale;
};

static inline struct i16_row
i16_row_at(const uint8_t *a, size_t n)
{
	size_t m = (n + SMALL - 1) / SMALL * SMALL;
	struct i16_row w;

	w.code = (const int16_t *)(const void *)(a + up64(n * sizeof(float)));
	w.scale = (const float *)(const void *)(w.code + up64(m * sizeof *w.code) / sizeof *w.code);
	return w;
}

extern const struct activation activation_f32, activation_i16;
extern const struct activation activation_q8_0, activation_q8_1, activation_q8_k;

/* A block of 32 weights: value = d × code - m; or of 256: value = d × scale × code - m × least. */
struct codes {
	int8_t code[LARGE];
	int16_t scale[LARGE / SUB], least[LARGE / SUB]; /* for sub values each */
	float d, m;
};

/* How plain C unpacks a block type. */
struct unpacking {
	const char *dtype;
	const struct activation *activation;
	unsigned items, bytes; /* of a block */
	unsigned sub;          /* values that share a scale: 16 or 32 */
	bool least;            /* false: unpack does not set m and least, which count as zero */
	void (*unpack)(const uint8_t *x, struct codes *c);
};

/* By index; NULL past the last. */
const struct unpacking *unpacking_row(size_t index);

/* Products of one row in plain C. Blocks are whole numbers times their units, added in the order of blocks in single
 * precision; floats are added in double precision. */
float dot_row_ref(const struct unpacking *f, const uint8_t *w, const uint8_t *a, size_t n);
float dot_f32_ref(const float *w, const float *a, size_t n);

#endif
