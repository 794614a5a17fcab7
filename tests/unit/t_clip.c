/* clip: the blocks of each type are those of its own encoder for some range, never worse than without,
 * and better where one value is far from the others and does not matter. */
#include "quant/clip.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel.h"
#include "test.h"

enum { N = 2048, BYTES = 4 * N };

static float x[N], back[N], weight[N];
static uint8_t plain[BYTES], clipped[BYTES];

static double
error_of(const struct dtype *t, const uint8_t *y, size_t first)
{
	double sum = 0;
	size_t i;

	kernel_for(t)->decode(y + first / t->items * t->bytes, back, t->items);
	for (i = 0; i < t->items; i++)
		sum += weight[first + i] * pow((double)back[i] - x[first + i], 2);
	return sum;
}

static void
make(unsigned seed, bool outliers)
{
	size_t i;

	for (i = 0; i < N; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (float)((int)(seed >> 8 & 0xffff) - 0x8000) / 0x20000;
		weight[i] = outliers && i % 32 == 5 ? 0 : (float)(1 + (seed >> 24 & 7));
		if (outliers && i % 32 == 5)
			x[i] = 0.55f; /* of values up to a quarter */
	}
}

/* Returns the number of blocks with a smaller error. */
static size_t
compare(const struct dtype *t, const char *what)
{
	size_t i, better = 0, worse = 0;

	kernel_for(t)->encode(x, plain, N);
	clip_encode(t, x, weight, clipped, N);
	for (i = 0; i < N; i += t->items) {
		const double a = error_of(t, plain, i), b = error_of(t, clipped, i);

		better += b < a;
		worse += b > a;
	}
	test_ok(worse == 0, "%s, %s: %zu blocks are worse", t->name, what, worse);
	return better;
}

int
main(void)
{
	const struct dtype *t;
	size_t types = 0;
	unsigned i;

	for (i = 0; (t = dtype_row(i)); i++) {
		if (!clip_encodes(t))
			continue;
		types++;
		make(i, false);
		compare(t, "even values");
		make(i, true);
		test_ok(compare(t, "outliers") > N / t->items / 2, "%s: values that do not matter are cut",
		        t->name);
		memset(weight, 0, sizeof weight);
		test_ok(compare(t, "no weight") == 0 && memcmp(plain, clipped, N / t->items * t->bytes) == 0,
		   "%s: blocks that do not matter stay", t->name);
		make(i, false);
		x[3] = INFINITY;
		x[40] = 0;
		clip_encode(t, x, weight, clipped, N);
		kernel_for(t)->encode(x, plain, N);
		test_ok(memcmp(plain, clipped, t->bytes) == 0, "%s: a block that is not finite stays", t->name);
	}
	test_ok(types >= 3, "%zu types have ranges", types);
	test_ok(!clip_encodes(dtype_by_name("F16")) && !clip_encodes(dtype_by_name("F8_E4M3")) &&
	   !clip_encodes(dtype_by_name("Q8_TENSOR")), "floats and whole tensors have none");
	return test_done();
}
