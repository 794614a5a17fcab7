/* IQ1_S and IQ1_M: 256 values in 50 or 56 bytes, read only;
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
 * Source of layout and formula: GGML's reference decoder.
 */
#include "kernels/ref/types.h"

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/iq_grid.h"

enum {
	ITEMS = 256,
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
	"IQ1_S", NULL, NULL, iq1_s_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
const struct kernel KERNEL(iq1_m) = {
	"IQ1_M", NULL, NULL, iq1_m_decode, KERNEL_HALF_HOLDS, KERNEL_HALF_LOSES
};
