/* Products of one row in plain C: the definition of all others. */
#include "core/half.h"
#include "core/le.h"
#include "kernels/common/rows.h"

/* The sums of block b of Q8_K that leasts are multiplied by: of 16 or 32 codes. */
static void
block_sums(const struct unpacking *f, const int16_t *of, float *sums)
{
	unsigned j;

	for (j = 0; j < LARGE / f->sub; j++)
		sums[j] = (float)(f->sub == SUB ? of[j] : of[2 * j] + of[2 * j + 1]);
}

/* The sum of scale × (sum of code × code). */
static float
block_product(const struct unpacking *f, const struct codes *c, const int8_t *code)
{
	float product = 0;
	unsigned i, j;
	int sum;

	for (j = 0; j < f->items / f->sub; j++) {
		sum = 0;
		for (i = f->sub * j; i < f->sub * (j + 1); i++)
			sum += c->code[i] * code[i];
		product += c->scale[j] * (float)sum;
	}
	return product;
}

static float
large_row(const struct unpacking *f, const uint8_t *w, const uint8_t *a, size_t n)
{
	struct quantized q = quantized_at(a, n, LARGE);
	const int16_t *of = q.sums;
	float product, sum = 0, sums[LARGE / SUB];
	struct codes c;
	size_t b;
	unsigned j;

	for (b = 0; b < n / LARGE; b++, w += f->bytes, of += LARGE / SUB) {
		f->unpack(w, &c);
		product = block_product(f, &c, q.code + LARGE * b);
		if (f->least) {
			block_sums(f, of, sums);
			for (j = 0; j < LARGE / f->sub; j++)
				product -= c.least[j] * sums[j];
		}
		sum += q.scale[b] * product;
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
		sum += q.scale[b] * block_product(f, &c, q.code + SMALL * b);
		if (f->least)
			sum -= c.least[0] * values[b];
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
