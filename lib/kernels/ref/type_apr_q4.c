/* APR_Q4: 32 values in 18 bytes, value = d × (code - 8), of existing .apr files.
 *
 *	 0      2                                18
 *	+------+----------------------------------+
 *	| d    | codes 1 0, codes 3 2 … 31 30     |
 *	+------+----------------------------------+
 *	  f16    4 bits each, the first in the lower half
 *
 * d is the largest magnitude over 7, or 1 if that is 0; codes come from d before it is
 * rounded to half precision. Blocks run over the whole tensor. If values end within a
 * block, its other codes are written as 0 and ignored by readers.
 * Source of layout and formula: the writer of such files. One of their readers takes
 * a d below the normal numbers of half precision for 0; this one does not.
 */
#include "kernels/ref/types.h"

#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"

enum { ITEMS = 32, CODES = 2, BYTES = CODES + ITEMS / 2 };
_Static_assert(BYTES == 18, "APR_Q4 block");

/* The nearest integer, halves away from zero; values out of range get the outermost code;
 * NaN gets 0. */
static int
code_of(float v)
{
	int whole;
	float rest;

	if (!(fabsf(v) < 8.0f))
		return 8 + (isnan(v) ? 0 : v < 0 ? -8 : 7);
	whole = (int)v;
	rest = v - (float)whole;
	whole += (rest >= 0.5f) - (rest <= -0.5f);
	return 8 + (whole > 7 ? 7 : whole);
}

static void
block_encode(const float *x, uint8_t *y, size_t n)
{
	float a, d, most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		a = fabsf(x[i]);
		most = a > most ? a : most;
	}
	d = most == 0 ? 1 : most / 7.0f;
	le16_put(y, half_f32_f16(d));
	memset(y + CODES, 0, ITEMS / 2);
	for (i = 0; i < n; i++)
		y[CODES + i / 2] |= (uint8_t)(code_of(x[i] / d) << (i % 2 ? 4 : 0));
}

static void
apr_q4_encode(const float *x, uint8_t *y, size_t n)
{
	size_t part;

	for (; n > 0; n -= part, x += part, y += BYTES) {
		part = n < ITEMS ? n : ITEMS;
		block_encode(x, y, part);
	}
}

static void
apr_q4_decode(const uint8_t *x, float *y, size_t n)
{
	float d = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const uint8_t *block = x + i / ITEMS * BYTES;
		size_t at = i % ITEMS;

		if (at == 0)
			d = half_f16_f32(le16(block));
		y[i] = d * (float)((block[CODES + at / 2] >> (at % 2 ? 4 : 0) & 15) - 8);
	}
}

const struct kernel KERNEL(apr_q4) = {
	"APR_Q4", ONLY_WRITES(apr_q4_encode), NULL, apr_q4_decode,
	KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
