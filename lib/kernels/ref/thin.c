/* Products of rows without zeros: the definition. */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernels/common/thin_line.h"

static float
value(bool f16, const uint8_t *p)
{
	return f16 ? half_f16_f32(le16(p)) : half_bf16_f32(le16(p));
}

static float
row(const struct thin *t, size_t i, const float *x)
{
	const bool f16 = strcmp(t->type->name, "F16") == 0;
	float sum[THIN_SUMS] = { 0 };
	struct thin_line l;
	size_t at, k, half;

	thin_line_begin(&l, t->data + t->starts[i], t->columns);
	for (at = 0; at < t->columns; at += THIN_LINE) {
		const uint8_t *p = thin_line_next(&l, t->kind);

		for (k = 0; k < l.count; k++) {
			size_t column = at + l.place[k];

			sum[k % THIN_SUMS] = fmaf(value(f16, p + k * THIN_VALUE),
			                          column < t->columns ? x[column] : 0,
			                          sum[k % THIN_SUMS]);
		}
	}
	for (half = THIN_SUMS / 2; half; half /= 2)
		for (k = 0; k < half; k++)
			sum[k] += sum[k + half];
	return sum[0];
}

void
thin_product_ref(const struct thin *t, size_t first, size_t count, const float *x, float *y)
{
	size_t i;

	for (i = 0; i < count; i++)
		y[i] = row(t, first + i, x);
}
