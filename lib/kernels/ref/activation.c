/* Forms of activations, as in kernels/common/rows.h. Source of the formulas: GGML's
 * reference quantizers; the codes are those of type_q8_0.c and type_q8_k.c.
 */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/rows.h"
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

const struct activation activation_f32 = { "F32", 1, f32_bytes, f32_quantize };

/* ---- floats, and codes of fourteen bits ---- */

static size_t
i16_bytes(size_t n)
{
	size_t m = (n + SMALL - 1) / SMALL * SMALL;

	return up64(n * sizeof(float)) + up64(m * sizeof(int16_t)) + up64(m / SMALL * sizeof(float));
}

/* Up to 32 values. A value that is not finite makes the scale not finite. */
static void
i16_block(const float *x, size_t count, int16_t *code, float *scale)
{
	float most = 0, by = 0;
	bool finite = true;
	size_t i;

	for (i = 0; i < count; i++) {
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
		finite &= isfinite(x[i]) != 0;
	}
	if (finite && most >= DOT_LEAST)
		by = I16_MOST / most;
	*scale = !finite ? NAN : by > 0 ? most / I16_MOST : 0;
	for (i = 0; i < SMALL; i++)
		code[i] = finite && i < count ? (int16_t)lrintf(x[i] * by) : 0;
}

static void
i16_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	struct i16_row q = i16_row_at(row, n);
	int16_t *code = (int16_t *)q.code + at;
	float *scale = (float *)q.scale + at / SMALL;
	size_t i;

	memcpy(row + at * sizeof *x, x, count * sizeof *x);
	for (i = 0; i < count; i += SMALL)
		i16_block(x + i, count - i < SMALL ? count - i : SMALL, code + i, scale++);
}

const struct activation activation_i16 = { "I16", 1, i16_bytes, i16_quantize };

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

/* Codes and scales by the kernel of Q8_0. Only Q8_1 needs the scale before it was
 * rounded. */
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
