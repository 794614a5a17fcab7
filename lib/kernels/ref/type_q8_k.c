/* Q8_K: 256 values in 292 bytes, value = d × code.
 *
 *	 0      4                               260      292
 *	+------+-------------------------------+--------+
 *	| d    | codes                         | sums   |
 *	+------+-------------------------------+--------+
 *	  f32    i8 each, -127 to 127 as written 16 × i16
 *
 * The value of largest magnitude, whatever its sign, becomes code -127. Each 16
 * codes have their sum, which serves products with types that have a least value;
 * decoding ignores it.
 * Source of layout and formula: GGML's reference quantizer, which leaves the
 * sums of a block of zeros undefined: they are zero here.
 */
#include "kernels/ref/types.h"

#include <string.h>

#include "kernels/common/search.h"

enum { ITEMS = 256, SUB = 16, CODES = 4, SUMS = CODES + ITEMS, BYTES = SUMS + ITEMS / SUB * 2 };
_Static_assert(BYTES == 292, "Q8_K block");

static void
block_encode(const float *x, uint8_t *y)
{
	const float most = extreme_of(x, ITEMS);
	float inverse;
	int code, i, sum = 0;

	if (most == 0) {
		memset(y, 0, BYTES);
		return;
	}
	inverse = -127.0f / most;
	le_f32_put(y, 1 / inverse);
	for (i = 0; i < ITEMS; i++) {
		code = nearest_int(inverse * x[i]);
		y[CODES + i] = (uint8_t)(code < 127 ? code : 127);
		sum += (int8_t)y[CODES + i];
		if (i % SUB == SUB - 1) {
			le16_put(y + SUMS + i / SUB * 2, (uint16_t)sum);
			sum = 0;
		}
	}
}

static void
block_decode(const uint8_t *x, float *y)
{
	const float d = le_f32(x);
	int i;

	for (i = 0; i < ITEMS; i++)
		y[i] = d * (float)(int8_t)x[CODES + i];
}

static void
q8_k_encode(const float *x, uint8_t *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES)
		block_encode(x, y);
}

static void
q8_k_decode(const uint8_t *x, float *y, size_t n)
{
	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS)
		block_decode(x, y);
}

const struct kernel KERNEL(q8_k) = {
	"Q8_K", ONLY_WRITES(q8_k_encode), NULL, q8_k_decode, 0x1p126f, INFINITY
};
