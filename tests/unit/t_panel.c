/* panels: many activations at once, for each type that a level of this CPU has a panel of
 * (kernels/common/rows.h): the numbers do not depend on what is beside a row or an
 * activation, and the largest codes do not overflow.
 */
#include <math.h>
#include <string.h>

#include "kernels/dot.h"
#include "kernels/common/products.h"
#include "kernels/kernel.h"
#include "kernels/level.h"

#include "test.h"

enum { TALL = 70, WIDE = 512, MOST = 20 };

static _Alignas(DOT_ALIGN) uint8_t a[MOST * 8 * WIDE];
static uint8_t w[TALL * WIDE * 4];
static uint32_t last = 2463534242u;

static uint32_t
chance(void)
{
	last ^= last << 13;
	last ^= last >> 17;
	return last ^= last << 5;
}

static float
like_weight(void)
{
	float v = 0;
	int i;

	for (i = 0; i < 4; i++)
		v += ((float)(chance() >> 8) - 0x1p23f) * 0x1p-26f;
	return v;
}

/* Row i of the weights; of types that are read only any bytes, but for blocks that decode
 * to what is not moderate. */
static void
row_put(const struct dtype *t, size_t i, const float *row)
{
	size_t span = dtype_span(t, WIDE), b, k;
	uint8_t *to = w + i * span;
	float y[256];

	if (kernel_for(t)->encode) {
		kernel_for(t)->encode(row, to, WIDE);
		return;
	}
	for (b = 0; b < span; b++)
		to[b] = (uint8_t)(chance() >> 11);
	for (b = 0; b < span; b += t->bytes) {
		kernel_decode(t, NULL, to + b, y, t->items);
		for (k = 0; k < t->items; k++)
			if (!(fabsf(y[k]) < 0x1p40f))
				memset(to + b, 0, t->bytes);
	}
}

/* Rows that fill panels of any height and end in the middle of one, and any number of
 * activations: the numbers of rows one by one, with all activations. */
static void
heights_tested(const struct dtype *t, const struct products *l)
{
	static const size_t heights[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 31, 32, 33, 48, 49,
		63, 64, 65, 69, TALL
	};
	static float all[MOST * TALL], one[TALL][MOST];
	const struct activation *form = dot_activation(t, WIDE);
	struct dot_weights m = { t, NULL, w, TALL, WIDE, false };
	size_t first, i, j, k, many;
	float v[WIDE];
	bool good = true;

	for (i = 0; i < TALL; i++) {
		for (k = 0; k < WIDE; k++)
			v[k] = like_weight();
		row_put(t, i, v);
	}
	for (j = 0; j < MOST; j++) {
		for (k = 0; k < WIDE; k++)
			v[k] = like_weight();
		dot_quantize(form, v, a + j * form->bytes(WIDE), WIDE);
	}
	for (i = 0; i < TALL; i++)
		dot_product(&m, i, 1, a, MOST, one[i], 1);
	for (k = 0; k < sizeof heights / sizeof *heights; k++) {
		first = TALL - heights[k];
		memset(all, 0x7f, sizeof all);
		dot_product(&m, first, heights[k], a, MOST, all, TALL);
		for (j = 0; j < MOST; j++)
			for (i = 0; i < TALL; i++)
				good &= i < heights[k]
					? !memcmp(&all[j * TALL + i], &one[first + i][j], sizeof **one)
					: all[j * TALL + i] > 0x1p126f; /* is as it was */
	}
	test_ok(good, "%s: 1 to %d rows at once give what one gives (%s)", t->name, TALL,
	        l->name);
	good = true;
	for (many = DOT_MANY; many < MOST; many++) {
		first = many % 3;
		dot_product(&m, first, 19, a + form->bytes(WIDE), many, all, TALL);
		for (j = 0; j < many; j++)
			for (i = 0; i < 19; i++)
				good &= !memcmp(&all[j * TALL + i], &one[first + i][j + 1],
				                sizeof **one);
	}
	test_ok(good, "%s: %d to %d activations give what %d give (%s)", t->name, DOT_MANY,
	        MOST - 1, MOST, l->name);
}

/* Row i of a type that is read only, of whose grid it has the last point throughout, all
 * signs and the largest scales, times 1. */
static void
last_put(const struct dtype *t, size_t i)
{
	static const uint8_t one[4] = { 0x0f, 0x0f, 0xcf, 0x3f };
	uint8_t *to = w + i * dtype_span(t, WIDE), *end = to + dtype_span(t, WIDE);
	size_t k;

	memset(to, 0xff, (size_t)(end - to));
	for (; to < end; to += t->bytes) {
		for (k = 0; k < 4 && !strcmp(t->name, "IQ1_M"); k++)
			to[49 + 2 * k] = one[k];
		if (k == 0) {
			to[0] = 0x00;
			to[1] = 0x3c;
		}
	}
}

/* Rows and activations that have the largest codes, of the same sign in all columns or of
 * every other one: within the bound of plain C. Products that overflow where they are
 * added would be far from that. */
static void
extremes_tested(const struct dtype *t, const struct products *l)
{
	enum { PATTERNS = 8 };
	static float decoded[WIDE], want[PATTERNS * PATTERNS], have[PATTERNS * PATTERNS];
	const struct activation *form = dot_activation(t, WIDE);
	struct dot_weights m = { t, NULL, w, PATTERNS, WIDE, false };
	double bound, magnitude;
	float v[WIDE];
	size_t i, j, k;
	bool good = true;

	for (i = 0; i < PATTERNS; i++) {
		for (k = 0; k < WIDE; k++) {
			float odd = i & 1 ? -1 : 1;

			/* One size; every other sign; from zero, and from the other side, so
			 * that a least is as far away as can be. */
			v[k] = i / 2 == 0 ? odd
				: i / 2 == 1 ? (k & 1 ? -odd : odd)
				: i / 2 == 2 ? (k % 16 ? odd : 0)
				: k % 32 ? odd : -odd;
		}
		if (kernel_for(t)->encode)
			row_put(t, i, v);
		else
			last_put(t, i);
		dot_quantize(form, v, a + i * form->bytes(WIDE), WIDE);
	}
	dot_use(NULL);
	dot_product(&m, 0, PATTERNS, a, PATTERNS, want, PATTERNS);
	dot_use(l);
	dot_product(&m, 0, PATTERNS, a, PATTERNS, have, PATTERNS);
	for (i = 0; i < PATTERNS; i++) {
		kernel_decode(t, NULL, w + i * dtype_span(t, WIDE), decoded, WIDE);
		for (magnitude = 0, k = 0; k < WIDE; k++) /* activations are at most 1 */
			magnitude += fabs((double)decoded[k]);
		/* A least of weights cancels what codes add. */
		bound = DOT_BOUND * ((double)WIDE / 32 + 80) * (magnitude * 8 + 1);
		for (j = 0; j < PATTERNS; j++)
			good &= fabs((double)want[j * PATTERNS + i] - have[j * PATTERNS + i]) <=
				bound;
	}
	test_ok(good, "%s: the largest codes give what plain C gives (%s)", t->name, l->name);
}

int
main(void)
{
	const struct products *l;
	const struct type_products *m;
	const struct dtype *t;
	struct err e = ERR_INIT;
	size_t i;
	int levels = 0;

	if (level_begin(NULL, NULL, &e) < 0)
		return 1;
	for (i = 0; (l = products_row(i)) != NULL; i++) {
		dot_use(l);
		levels++;
		for (m = l->types; m && m->dtype; m++) {
			t = dtype_by_name(m->dtype);
			heights_tested(t, l);
			extremes_tested(t, l);
		}
		if (l->add_f32)
			heights_tested(dtype_by_name("F8_E4M3"), l);
	}
	test_ok(levels > 0, "plain C is here"); /* and perhaps nothing else */
	return test_done();
}
