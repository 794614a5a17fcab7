/* extremes: ranges against a sort of all values, for shares and numbers of values that meet ends. */
#include "generate/extremes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { N = 1200 };

static float x[N], sorted[N], kept[N + 2];

static int
upwards(const void *a, const void *b)
{
	const float p = *(const float *)a, q = *(const float *)b;

	return (p > q) - (p < q);
}

/* The value of rank ceil(P / 100 × n) of n magnitudes, by a sort. */
static float
wanted(size_t n, double percentile)
{
	double at = ceil(percentile / 100 * (double)n);
	size_t i;

	for (i = 0; i < n; i++)
		sorted[i] = fabsf(x[i]);
	qsort(sorted, n, sizeof *sorted, upwards);
	return sorted[(size_t)at - 1];
}

int
main(void)
{
	static const double shares[] = { 50, 51.3, 90, 99, 99.9, 99.99, 100 };
	size_t s, n, i, depth;

	for (i = 0; i < N; i++)
		x[i] = (float)((int)(i * 2654435761u >> 16 & 0x3ff) - 512) / 7;
	for (s = 0; s < sizeof shares / sizeof *shares; s++)
		for (n = 1; n <= N; n += n < 40 ? 1 : 193) {
			depth = extremes_depth(N, shares[s]);
			test_ok(depth <= N / 2 + 2, "%zu are kept of %d at %g", depth, N, shares[s]);
			memset(kept, 0, sizeof kept);
			for (i = 0; i < n; i++)
				extremes_add(kept, depth, x[i]);
			test_ok(extremes_range(kept, depth, n, shares[s]) == wanted(n, shares[s]),
			   "%zu values at %g", n, shares[s]);
		}
	memset(kept, 0, sizeof kept);
	test_ok(extremes_depth(N, 100) == 1, "one value is kept of a whole range");
	test_ok(extremes_range(kept, 1, 0, 100) == 0, "no values have no range");
	extremes_add(kept, 1, NAN);
	test_ok(isinf(extremes_range(kept, 1, 1, 100)), "what is not a number is not lost");
	return test_done();
}
