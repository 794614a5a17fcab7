/* Products of one row in plain C: the definition of all others. */
#include "core/half.h"
#include "core/le.h"
#include "kernels/common/rows.h"

/* The sum of code × code for sub values from part j on. */
static int32_t
sum_of(const struct unpacking *f, const struct codes *c, const int8_t *code, unsigned j)
{
	int32_t sum = 0;
	unsigned i;

	for (i = f->sub * j; i < f->sub * (j + 1); i++)
		sum += c->code[i] * code[i];
	return sum;
}

/* A block of 256, whose leasts are multiplied by sums of 16 or 32 codes of activations. */
static float
large_block(const struct unpacking *f, const struct codes *c, const int8_t *code, const int16_t *of)
{
	int32_t sum = 0, taken = 0;
	unsigned j;

	for (j = 0; j < LARGE / f->sub; j++)
		sum += c->scale[j] * sum_of(f, c, code, j);
	if (!f->least)
		return c->d * (float)sum;
	for (j = 0; j < LARGE / f->sub; j++)
		taken += c->least[j] * (f->sub == SUB ? of[j] : of[2 * j] + of[2 * j + 1]);
	return c->d * (float)sum - c->m * (float)taken;
}

static float
large_row(const struct unpacking *f, const uint8_t *w, const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, LARGE);
	const int16_t *of = q.sums;
	struct codes c;
	float sum = 0;
	size_t b;

	for (b = 0; b < n / LARGE; b++, w += f->bytes, of += LARGE / SUB) {
		f->unpack(w, &c);
		sum += q.scale[b] * large_block(f, &c, q.code + LARGE * b, of);
	}
	return sum;
}

/* The sums of Q8_1 are of values, with the scale in them. */
static float
small_row(const struct unpacking *f, const uint8_t *w, const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, SMALL);
	const float *values = q.sums;
	struct codes c;
	float sum = 0;
	size_t b;

	for (b = 0; b < n / SMALL; b++, w += f->bytes) {
		f->unpack(w, &c);
		sum += q.scale[b] * (c.d * (float)sum_of(f, &c, q.code + SMALL * b, 0));
		if (f->least)
			sum -= c.m * values[b];
	}
	return sum;
}

float
dot_row_ref(const struct unpacking *f, const uint8_t *w, const uint8_t *a, size_t n)
{
	return f->items == LARGE ? large_row(f, w, a, n) : small_row(f, w, a, n);
}

float
dot_f32_ref(const float *w, const float *a, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (double)w[i] * a[i];
	return (float)sum;
}
