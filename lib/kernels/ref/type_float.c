/* F32, F16, BF16: one value a block, little-endian. */
#include "kernels/ref/types.h"

#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"

static void
f32_encode(const float *x, uint8_t *y, size_t n)
{
	uint32_t bits;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&bits, x + i, sizeof bits);
		le32_put(y + 4 * i, bits);
	}
}

static void
f32_decode(const uint8_t *x, float *y, size_t n)
{
	uint32_t bits;
	size_t i;

	for (i = 0; i < n; i++) {
		bits = le32(x + 4 * i);
		memcpy(y + i, &bits, sizeof bits);
	}
}

static void
f16_encode(const float *x, uint8_t *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		le16_put(y + 2 * i, half_f32_f16(x[i]));
}

static void
f16_decode(const uint8_t *x, float *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = half_f16_f32(le16(x + 2 * i));
}

static void
bf16_encode(const float *x, uint8_t *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		le16_put(y + 2 * i, half_f32_bf16(x[i]));
}

static void
bf16_decode(const uint8_t *x, float *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = half_bf16_f32(le16(x + 2 * i));
}

const struct kernel KERNEL(f32) = {
	"F32", ONLY_WRITES(f32_encode), NULL, f32_decode, INFINITY, INFINITY
};
const struct kernel KERNEL(f16) = {
	"F16", ONLY_WRITES(f16_encode), NULL, f16_decode, 65504.0f, INFINITY
};
const struct kernel KERNEL(bf16) = {
	"BF16", ONLY_WRITES(bf16_encode), NULL, bf16_decode, 0x1p127f, INFINITY
};
