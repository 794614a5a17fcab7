#include "quant/clip.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel.h"

#define ITEMS 256 /* of a block, at most */
#define BYTES 1024

static const float ranges[] = { 0.998f, 0.996f, 0.994f, 0.99f, 0.98f, 0.96f, 0.94f, 0.92f, 0.9f, 0.875f,
	0.85f, 0.8f, 0.75f, 0.7f, 0.6f };

bool
clip_encodes(const struct dtype *t)
{
	const struct kernel *k = kernel_for(t);

	return k && k->encode && !k->encode_weighted && t->items > 1 && t->items <= ITEMS && t->bytes <= BYTES && !t->head &&
	       !t->whole;
}

static float
largest(const float *x, size_t n)
{
	float most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	return most;
}

/* The weighted error of a block. */
static double
error_of(const struct kernel *k, const float *x, const float *importance, const uint8_t *y, size_t n)
{
	float back[ITEMS];
	double sum = 0;
	size_t i;

	k->decode(y, back, n);
	for (i = 0; i < n; i++) {
		const double d = (double)back[i] - x[i];

		sum += importance[i] * d * d;
	}
	return sum;
}

static void
block_encode(const struct kernel *k, const float *x, const float *importance, uint8_t *y,
             const struct dtype *t)
{
	const float most = largest(x, t->items);
	float clipped[ITEMS];
	uint8_t other[BYTES];
	double least, error;
	size_t c, i;

	k->encode(x, y, t->items);
	if (!(most > 0 && most <= FLT_MAX))
		return;
	least = error_of(k, x, importance, y, t->items);
	for (c = 0; c < sizeof ranges / sizeof *ranges; c++) {
		const float range = most * ranges[c];

		for (i = 0; i < t->items; i++)
			clipped[i] = x[i] > range ? range : x[i] < -range ? -range : x[i];
		k->encode(clipped, other, t->items);
		error = error_of(k, x, importance, other, t->items);
		if (error < least) {
			least = error;
			memcpy(y, other, t->bytes);
		}
	}
}

void
clip_encode(const struct dtype *t, const float *x, const float *importance, uint8_t *y, size_t n)
{
	const struct kernel *k = kernel_for(t);

	for (; n >= t->items; n -= t->items, x += t->items, importance += t->items, y += t->bytes)
		block_encode(k, x, importance, y, t);
}
