#include "kernels/whole.h"

#include <math.h>
#include <string.h>

#include "core/le.h"

enum { ZERO = 4, MOST = 127 };

/* The smallest number d, from most / 127 on, that reaches most: near the lower end of
 * single precision a quotient can be too small by a good part of itself, or zero. At the
 * upper end, one whose product with 127 is finite. */
static void
scale_begin(float most, uint8_t *head)
{
	float d = most / MOST;

	if (most == 0)
		d = 1;
	while (most / d >= MOST + 0.5f)
		d = nextafterf(d, INFINITY);
	if (!isfinite(MOST * d))
		d = nextafterf(d, 0);
	le_f32_put(head, d);
}

static void
q8_tensor_begin(float most, uint8_t *head)
{
	scale_begin(most, head);
	le32_put(head + ZERO, 0);
}

/* The nearest integer, halves away from zero. */
static int
code_of(float v)
{
	int whole;
	float rest;

	if (!(fabsf(v) < MOST))
		return isnan(v) ? 0 : v < 0 ? -MOST : MOST;
	whole = (int)v;
	rest = v - (float)whole;
	return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static void
codes_encode(const uint8_t *head, const float *x, uint8_t *y, size_t n)
{
	float d = le_f32(head);
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = (uint8_t)code_of(x[i] / d);
}

static void
apr_q8_decode(const uint8_t *head, const uint8_t *x, float *y, size_t n)
{
	float d = le_f32(head);
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = d * (float)(int8_t)x[i];
}

static void
q8_tensor_decode(const uint8_t *head, const uint8_t *x, float *y, size_t n)
{
	int64_t zero = (int32_t)le32(head + ZERO);
	float d = le_f32(head);
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = d * (float)((int8_t)x[i] - zero);
}

const struct whole *
whole_for(const struct dtype *t)
{
	static const struct whole types[] = {
		{ "Q8_TENSOR", q8_tensor_begin, codes_encode, q8_tensor_decode },
		{ "APR_Q8", scale_begin, codes_encode, apr_q8_decode },
	};
	size_t i;

	for (i = 0; t->head && i < sizeof types / sizeof types[0]; i++)
		if (!strcmp(types[i].dtype, t->name))
			return &types[i];
	return NULL;
}
