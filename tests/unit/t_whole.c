/* whole: one scale for all of a tensor's values. */
#include "kernels/whole.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/le.h"
#include "kernels/kernel.h"
#include "test.h"

static const char *const types[] = { "Q8_TENSOR", "APR_Q8" };

static const struct whole *
of(size_t i)
{
	return whole_for(dtype_by_name(types[i]));
}

static void
table(void)
{
	const struct dtype *t;
	unsigned i, wrong = 0;

	for (i = 0; (t = dtype_row(i)); i++) {
		wrong += (whole_for(t) != NULL) != (t->head != 0);
		wrong += t->head > DTYPE_HEAD;
		wrong += t->head && (!kernel_decodes(t) || !kernel_encodes(t) || kernel_for(t));
	}
	test_ok(wrong == 0, "the types with a head, and no others, are of this kind");
}

/* The largest number becomes the outermost code, and comes back finite. */
static void
heads(size_t i)
{
	static const float mosts[] = { 1, 127, 0.1f, 1e-45f, 4e-45f, 1.8e-43f, 2.66e-43f, FLT_MIN,
		1e-40f, 65504, 1e38f, FLT_MAX };
	uint8_t head[DTYPE_HEAD], y[2];
	bool far = true, finite = true, near = true;
	float x[2], back[2];
	size_t k;

	for (k = 0; k < sizeof mosts / sizeof *mosts; k++) {
		of(i)->begin(mosts[k], head);
		x[0] = mosts[k];
		x[1] = -mosts[k];
		of(i)->encode(head, x, y, 2);
		of(i)->decode(head, y, back, 2);
		/* Denormal scales are coarse: a code is still more than half the range. */
		far &= (int8_t)y[0] >= (mosts[k] > FLT_MIN ? 127 : mosts[k] > 1e-43f ? 63 : 1);
		far &= (int8_t)y[1] == -(int8_t)y[0];
		finite &= isfinite(back[0]) && isfinite(back[1]);
		near &= fabsf(back[0] - x[0]) <= le_f32(head) / 2;
	}
	test_ok(far && finite && near, "%s: the largest magnitude gets the outermost code, "
	        "back finite and near", types[i]);
	of(i)->begin(0, head);
	test_ok(le_f32(head) == 1 && (i == 1 || le32(head + 4) == 0),
	        "%s: of zeros the scale is 1%s", types[i], i ? "" : ", the zero point 0");
}

static void
codes(size_t i)
{
	static const float x[] = { 0.5f, -0.5f, 0.49999997f, 1.5f, -2.5f, 127, -127, 128, -1000,
		INFINITY, -INFINITY, NAN, -0.0f };
	static const int8_t want[] = { 1, -1, 0, 2, -3, 127, -127, 127, -127, 127, -127, 0, 0 };
	uint8_t head[DTYPE_HEAD] = { 0 }, y[sizeof want];

	le_f32_put(head, 1);
	of(i)->encode(head, x, y, sizeof want);
	test_ok(!memcmp(y, want, sizeof want), "%s: halves away from zero, never -128, NaN is 0",
	        types[i]);
}

static void
decodes(size_t i)
{
	uint8_t head[DTYPE_HEAD] = { 0 }, x[256];
	float y[256];
	bool zero = true, every = true;
	int k;

	for (k = 0; k < 256; k++)
		x[k] = (uint8_t)k;
	of(i)->decode(head, x, y, 256);
	for (k = 0; k < 256; k++)
		zero &= y[k] == 0;
	test_ok(zero, "FALSIFY-QUANT-004 %s: scale 0 decodes to zeros", types[i]);
	le_f32_put(head, 0.25f);
	of(i)->decode(head, x, y, 256);
	for (k = 0; k < 256; k++)
		every &= y[k] == 0.25f * (float)(k < 128 ? k : k - 256);
	test_ok(every, "%s: each code times the scale, -128 too", types[i]);
}

static void
zero_points(void)
{
	static const int32_t zeros[] = { 5, -128, INT32_MAX, INT32_MIN };
	static const double want[] = { -133, 0, -2147483775.0, 2147483520.0 };
	uint8_t head[8], x = 0x80;
	bool ok = true;
	size_t i;
	float y;

	for (i = 0; i < 4; i++) {
		le_f32_put(head, 1);
		le32_put(head + 4, (uint32_t)zeros[i]);
		of(0)->decode(head, &x, &y, 1);
		ok &= y == (float)want[i];
	}
	test_ok(ok, "Q8_TENSOR: any zero point is read");
}

int
main(void)
{
	size_t i;

	table();
	for (i = 0; i < 2; i++) {
		heads(i);
		codes(i);
		decodes(i);
	}
	zero_points();
	return test_done();
}
