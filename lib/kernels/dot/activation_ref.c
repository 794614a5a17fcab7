/* Forms of activations, as kinds.h has them. Source of the formulas: GGML's reference
 * quantizers; the codes are those of q8_0_ref.c and q8_k_ref.c.
 */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/dot/kinds.h"
#include "kernels/kernel.h"

/* ---- floats ---- */

static size_t
f32_bytes(size_t n)
{
	return up64(n * sizeof(float));
}

static void
f32_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	(void)n;
	memcpy(row + at * sizeof *x, x, count * sizeof *x);
}

static size_t
half_bytes(size_t n)
{
	return up64(n * 2);
}

/* As weights of that type are encoded. */
static void
half_quantize(const char *type, const float *x, uint8_t *y, size_t count)
{
	kernel_for(dtype_by_name(type))->encode(x, y, count);
}

static void
f16_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	(void)n;
	half_quantize("F16", x, row + 2 * at, count);
}

static void
bf16_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	(void)n;
	half_quantize("BF16", x, row + 2 * at, count);
}

const struct activation activation_f32 = { "F32", 1, f32_bytes, f32_quantize };
const struct activation activation_f16 = { "F16", 1, half_bytes, f16_quantize };
const struct activation activation_bf16 = { "BF16", 1, half_bytes, bf16_quantize };

/* ---- codes of eight bits ---- */

static size_t
small_bytes(size_t n)
{
	return up64(n) + 2 * up64(n / SMALL * sizeof(float));
}

static size_t
large_bytes(size_t n)
{
	return up64(n) + up64(n / LARGE * sizeof(float)) + up64(n / SUB * sizeof(int16_t));
}

static int
sum_of(const uint8_t *code, int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += (int8_t)code[i];
	return sum;
}

/* Codes and scales by the kernel of Q8_0; the scale before it was rounded is wanted by
 * Q8_1 alone. */
static void
small_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count, bool values)
{
	const struct kernel *k = kernel_for(dtype_by_name("Q8_0"));
	struct quantized q = quantized_at(row, n, SMALL);
	float *scale = (float *)q.scale + at / SMALL, most, value;
	uint8_t block[2 + SMALL], *code = row + at, *sums;
	int32_t sum;
	size_t i;
	int j;

	sums = (uint8_t *)q.sums + at / SMALL * sizeof sum;
	for (i = 0; i < count; i += SMALL, x += SMALL, sums += sizeof sum) {
		k->encode(x, block, SMALL);
		memcpy(code + i, block + 2, SMALL);
		scale[i / SMALL] = half_f16_f32(le16(block));
		sum = sum_of(block + 2, SMALL);
		if (values) {
			for (j = 0, most = 0; j < SMALL; j++)
				most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
			value = half_f16_f32(half_f32_f16((float)sum * (most / 127.0f)));
			memcpy(sums, &value, sizeof value);
		} else {
			memcpy(sums, &sum, sizeof sum);
		}
	}
}

static void
q8_0_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	small_quantize(x, row, n, at, count, false);
}

static void
q8_1_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	small_quantize(x, row, n, at, count, true);
}

static void
q8_k_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	const struct kernel *k = kernel_for(dtype_by_name("Q8_K"));
	struct quantized q = quantized_at(row, n, LARGE);
	float *scale = (float *)q.scale + at / LARGE;
	int16_t *sums = (int16_t *)q.sums + at / SUB;
	uint8_t block[sizeof *scale + LARGE + LARGE / SUB * 2];
	uint32_t bits;
	size_t i;
	int j;

	for (i = 0; i < count; i += LARGE, sums += LARGE / SUB) {
		k->encode(x + i, block, LARGE);
		bits = le32(block);
		memcpy(scale++, &bits, sizeof bits);
		memcpy(row + at + i, block + sizeof *scale, LARGE);
		for (j = 0; j < LARGE / SUB; j++)
			sums[j] = (int16_t)le16(block + sizeof *scale + LARGE + 2 * j);
	}
}

const struct activation activation_q8_0 = { "Q8_0", SMALL, small_bytes, q8_0_quantize };
const struct activation activation_q8_1 = { "Q8_1", SMALL, small_bytes, q8_1_quantize };
const struct activation activation_q8_k = { "Q8_K", LARGE, large_bytes, q8_k_quantize };
